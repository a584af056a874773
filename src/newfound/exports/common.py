"""What the writers of several platforms share."""

from __future__ import annotations

import io
import re
import uuid
import zipfile

from newfound.data.corpus import Corpus

NO_DATE = (1980, 1, 1, 0, 0, 0)


def by_intent(corpus: Corpus) -> dict[str, list[str]]:
    """Return the utterances of each intent, on one line each, without repeats and without control characters."""
    found: dict[str, dict[str, None]] = {intent: {} for intent in corpus.intents}
    for text, label in zip(corpus.texts, corpus.labels, strict=True):
        if label is not None:
            found[label][one_line(text)] = None
    return {intent: [text for text in texts if text] for intent, texts in found.items()}


def one_line(text: str) -> str:
    """Return a text on one line; control characters, which no platform's format can hold, become spaces."""
    return " ".join("".join(" " if _is_control(c) else c for c in text).split())


def _is_control(character: str) -> bool:
    return character < " " or "\x7f" <= character <= "\x9f" or character in "\ufffe\uffff"


def zipped(files: dict[str, bytes]) -> bytes:
    """Return a zip of these files; the same content gives the same zip."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(zipfile.ZipInfo(path, NO_DATE), content, zipfile.ZIP_DEFLATED)
    return sink.getvalue()


def stable_id(*parts: str) -> str:
    """Return an id that the same intent keeps from export to export."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "newfound:" + "\0".join(parts)))


def file_name(intent: str) -> str:
    """Return a name that is a file in every system: anything but letters, digits, dashes becomes an underscore."""
    clean = re.sub(r"[^\w-]+", "_", intent).strip("_") or "intent"
    return clean if clean == intent else f"{clean}_{stable_id(intent)[:6]}"
