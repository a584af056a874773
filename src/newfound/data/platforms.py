"""Readers for the training data of bot platforms. `newfound.exports` writes the same formats.

The line of a row is the number of its utterance in the file, except in Rasa's YAML: nobody writes the other formats by
hand, line by line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from newfound.data.compressed import open_zip
from newfound.data.rows import Records, Source
from newfound.errors import DataError

ANNOTATED_ENTITY = re.compile(r"\[([^\]\[]*)\](?:\([^)]*\)|\{[^}]*\})")


def read_clu(source: Source) -> Records:
    """Read a project of Azure's conversational language understanding."""
    utterances = _get(_json(source), source, "assets", "utterances")
    yield from _records(source, ((u.get("text"), u.get("intent")) for u in _mappings(utterances, source)))


def read_dialogflow_cx(source: Source) -> Records:
    """Read Intent resources of the Dialogflow CX API."""
    intents = _mappings(_get(_json(source), source, "intents"), source)
    yield from _records(
        source, ((_phrase(p), i.get("displayName")) for i in intents for p in _list(i, "trainingPhrases"))
    )


def read_botpress(source: Source) -> Records:
    """Read intents of Botpress's NLU, with the utterances of all languages."""
    pairs = []
    for intent in _mappings(_get(_json(source), source, "intents"), source):
        by_language = intent.get("utterances")
        for texts in by_language.values() if isinstance(by_language, dict) else ():
            pairs += [(text, intent.get("name")) for text in texts if isinstance(texts, list)]
    yield from _records(source, pairs)


def read_dialogflow_es(source: Source) -> Records:
    """Read a Dialogflow ES agent that was exported as a zip."""
    archive = open_zip(
        source.name,
        source.stream.read(),
        if_damaged="not a zip; export the agent again",
        if_large="this is not a Dialogflow agent",
    )
    pairs = []
    for path in sorted(archive.namelist()):
        if not path.startswith("intents/") or "_usersays_" not in path:
            continue
        try:
            about = json.loads(archive.read(path.split("_usersays_")[0] + ".json"))
            phrases = json.loads(archive.read(path))
        except (KeyError, ValueError):
            raise DataError(f"{source.name}: {path} is damaged or without its intent; export the agent again") from None
        pairs += [(_join(phrase.get("data", [])), about.get("name")) for phrase in phrases]
    yield from _records(source, pairs)


def _records(source: Source, pairs: Iterable[tuple[Any, Any]]) -> Records:
    for number, (text, label) in enumerate(pairs, 1):
        if not isinstance(text, str) or not isinstance(label, str):
            raise DataError(f"{source.name}: utterance {number} has no text or no intent")
        yield number, {"text": text, "label": label}


def _phrase(phrase: Any) -> str | None:
    parts = phrase.get("parts") if isinstance(phrase, dict) else None
    return _join(parts) if isinstance(parts, list) else None


def _join(parts: list[dict[str, Any]]) -> str:
    return "".join(str(part.get("text", "")) for part in parts)


def _json(source: Source) -> Any:
    try:
        return json.loads(source.stream.read().decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise DataError(f"{source.name}: not JSON in UTF-8; export it again") from None


def _get(value: Any, source: Source, *keys: str) -> Any:
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            raise DataError(f"{source.name}: has no {'.'.join(keys)}, so that it may be of another format", "format")
        value = value[key]
    return value


def _mappings(values: Any, source: Source) -> list[dict[str, Any]]:
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise DataError(f"{source.name}: damaged; export it again")
    return values


def _list(value: dict[str, Any], key: str) -> list[Any]:
    items = value.get(key, [])
    return items if isinstance(items, list) else []


def read_rasa(source: Source) -> Records:
    """Read Rasa NLU YAML (`nlu:` with `intent` and `examples`); an annotated entity is reduced to its text."""
    import yaml

    name = source.name
    try:
        document = yaml.load("\n".join(source.lines()), Loader=_loader_with_lines(yaml))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise DataError(f"{name}{where}: not valid YAML ({getattr(error, 'problem', error)})") from None
    if not isinstance(document, dict) or not isinstance(document.get("nlu"), list):
        raise DataError(f"{name}: no `nlu:` list; this reader takes Rasa NLU training data (version 2 or 3)")
    for block in document["nlu"]:
        if not isinstance(block, dict) or "intent" not in block:
            continue  # Synonyms, lookups and regexes are not utterances.
        yield from _rasa_examples(name, block)


def _loader_with_lines(yaml: Any) -> Any:
    """Return a safe YAML loader that adds the line on which the examples of an intent start."""

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        pass

    def construct_mapping(loader: Any, node: Any) -> dict[Any, Any]:
        mapping: dict[Any, Any] = loader.construct_mapping(node, deep=True)
        for key, value in node.value:
            if key.value == "examples":
                mapping["__line__"] = value.start_mark.line + 1
        return mapping

    Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, construct_mapping)
    return Loader


def _rasa_examples(name: str, block: dict[str, Any]) -> Records:
    start = int(block.get("__line__", 1))
    if not isinstance(block["intent"], str):
        raise DataError(f"{name}, line {start}: the intent there has no name; write `intent: its_name`")
    examples = block.get("examples") or ""
    if isinstance(examples, list):
        texts = [(start + i, str((e.get("text") or "") if isinstance(e, dict) else e)) for i, e in enumerate(examples)]
    else:
        texts = []
        for number, line in enumerate(map(str.strip, str(examples).splitlines()), start + 1):
            if line and not line.startswith(("-", "#")):
                problem = f"an example of intent {block['intent']!r} does not start with '-'"
                raise DataError(f"{name}, line {number}: {problem}")
            if line.startswith("-"):
                texts.append((number, line[1:]))
    for number, text in texts:  # `fly to [Paris](city)` and `fly to [Paris]{"entity": "city"}` say `fly to Paris`
        yield number, {"text": ANNOTATED_ENTITY.sub(r"\1", text.strip()), "label": block["intent"]}
