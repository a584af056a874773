"""Readers for the training data of bot platforms. `newfound.exports` writes the same formats.

The line of a row is the number of its utterance in the file, except in Rasa's YAML: nobody writes the other formats by
hand, line by line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import yaml

from newfound.data.rows import Records, Source, open_zip
from newfound.errors import DataError

ANNOTATED_ENTITY = re.compile(r"\[([^\]\[]*)\](?:\([^)]*\)|\{[^}]*\})")


def read_clu(source: Source) -> Records:
    """Read a project of Azure's conversational language understanding."""
    yield from _records(source, ((u.get("text"), u.get("intent")) for u in _objects(source, "assets", "utterances")))


def read_dialogflow_cx(source: Source) -> Records:
    """Read Intent resources of the Dialogflow CX API."""
    pairs = []
    for intent in _objects(source, "intents"):
        phrases = intent.get("trainingPhrases")
        for phrase in phrases if isinstance(phrases, list) else ():
            pairs.append((_join(phrase, "parts"), intent.get("displayName")))
    yield from _records(source, pairs)


def read_botpress(source: Source) -> Records:
    """Read intents of Botpress's NLU, with the utterances of all languages."""
    pairs = []
    for intent in _objects(source, "intents"):
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
            name = json.loads(archive.read(path.split("_usersays_")[0] + ".json"))["name"]
            pairs += [(_join(phrase, "data"), name) for phrase in json.loads(archive.read(path))]
        except Exception:  # A damaged archive raises different types.
            raise DataError(f"{source.name}: {path} is damaged or without its intent; export the agent again") from None
    yield from _records(source, pairs)


def _records(source: Source, pairs: Iterable[tuple[Any, Any]]) -> Records:
    for number, (text, label) in enumerate(pairs, 1):
        if not isinstance(text, str) or not isinstance(label, str):
            raise DataError(f"{source.name}: utterance {number} has no text or no intent")
        yield number, {"text": text, "label": label}


def _join(phrase: object, key: str) -> str | None:
    """Return the text of a training phrase, whose parts are at this key; None if it is damaged."""
    parts = phrase.get(key) if isinstance(phrase, dict) else None
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        return None
    return "".join(str(part.get("text", "")) for part in parts)


def _objects(source: Source, *keys: str) -> list[dict[str, Any]]:
    """Return the list of objects that a JSON file has at some keys."""
    try:
        value = json.loads(source.stream.read().decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise DataError(f"{source.name}: not JSON in UTF-8; export it again") from None
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            raise DataError(f"{source.name}: has no {'.'.join(keys)}, so that it may be of another format", "format")
        value = value[key]
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise DataError(f"{source.name}: damaged; export it again")
    return value


class _LoaderWithLines(yaml.SafeLoader):
    """Adds to a mapping the line on which its `examples` start."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        mapping = super().construct_mapping(node, deep=True)
        lines = [value.start_mark.line + 1 for key, value in node.value if key.value == "examples"]
        return {**mapping, "__line__": lines[-1]} if lines else mapping


def read_rasa(source: Source) -> Records:
    """Read Rasa NLU YAML (`nlu:` with `intent` and `examples`); an annotated entity is reduced to its text."""
    name = source.name
    try:
        document = yaml.load("\n".join(source.lines()), Loader=_LoaderWithLines)
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
