"""Readers for the training data of bot platforms. `newfound.exports` writes the same formats.

The line of a row is the number of its utterance in the file: nobody writes these formats by hand, line by line.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

from newfound.data.compressed import MAX_UNPACKED_BYTES
from newfound.data.rows import Row, Source
from newfound.errors import DataError


def read_clu(source: Source) -> Iterator[Row]:
    """Read a project of Azure's conversational language understanding."""
    utterances = _get(_json(source), source, "assets", "utterances")
    yield from _rows(source, ((u.get("text"), u.get("intent")) for u in _mappings(utterances, source)))


def read_dialogflow_cx(source: Source) -> Iterator[Row]:
    """Read Intent resources of the Dialogflow CX API."""
    intents = _mappings(_get(_json(source), source, "intents"), source)
    yield from _rows(source, ((_phrase(p), i.get("displayName")) for i in intents for p in _list(i, "trainingPhrases")))


def read_botpress(source: Source) -> Iterator[Row]:
    """Read intents of Botpress's NLU, with the utterances of all languages."""
    pairs = []
    for intent in _mappings(_get(_json(source), source, "intents"), source):
        by_language = intent.get("utterances")
        for texts in by_language.values() if isinstance(by_language, dict) else ():
            pairs += [(text, intent.get("name")) for text in texts if isinstance(texts, list)]
    yield from _rows(source, iter(pairs))


def read_dialogflow_es(source: Source) -> Iterator[Row]:
    """Read a Dialogflow ES agent that was exported as a zip."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(source.stream.read()))
    except zipfile.BadZipFile:
        raise DataError(f"{source.name}: not a zip; export the agent again") from None
    if sum(info.file_size for info in archive.infolist()) > MAX_UNPACKED_BYTES:
        raise DataError(
            f"{source.name}: unpacks to more than {MAX_UNPACKED_BYTES // 2**20} MiB; this is not a Dialogflow agent"
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
        pairs += [
            ("".join(part.get("text", "") for part in phrase.get("data", [])), about.get("name")) for phrase in phrases
        ]
    yield from _rows(source, iter(pairs))


def _rows(source: Source, pairs: Iterator[tuple[Any, Any]]) -> Iterator[Row]:
    for number, (text, label) in enumerate(pairs, 1):
        if not isinstance(text, str) or not isinstance(label, str):
            raise DataError(f"{source.name}: utterance {number} has no text or no intent")
        yield Row(number, text, label if source.reads_labels else None)


def _phrase(phrase: Any) -> str | None:
    parts = phrase.get("parts") if isinstance(phrase, dict) else None
    return "".join(str(part.get("text", "")) for part in parts) if isinstance(parts, list) else None


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
