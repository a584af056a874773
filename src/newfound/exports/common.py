"""Functions that the writers of several platforms share.

A writer returns the file for a corpus and a `Project`, of which most formats say only a part.
"""

from __future__ import annotations

import io
import re
import uuid
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from newfound.data.corpus import Corpus
from newfound.defaults import LANGUAGE
from newfound.encoders.registry import RELEASES
from newfound.model.types import Status

QUOTED = "[“”…]"  # of names that quote an utterance (docs/names.md)
CONTROL_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f\ufffe\uffff]")
ZIP_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest time of the format, so that equal content gives equal files


@dataclass(frozen=True, slots=True)
class Project:
    """What a format may say of a model besides its utterances."""

    name: str = "newfound"  # of the project on the platform
    language: str = LANGUAGE  # of the utterances, a code
    encoder: str = RELEASES["minilm"].repo  # as sentence-transformers loads it
    statuses: Mapping[str, Status] = field(default_factory=dict)  # of the intents; known by default
    thresholds: Mapping[str, float] = field(default_factory=dict)  # least probabilities at which they are trusted
    descriptions: Mapping[str, str] = field(default_factory=dict)  # a sentence about each


def by_intent(corpus: Corpus) -> dict[str, list[str]]:
    """Return the utterances of each intent, each on one line, without repeats and without control characters."""
    texts_of: dict[str, dict[str, None]] = {intent: {} for intent in corpus.intents}
    for text, label in zip(corpus.texts, corpus.labels, strict=True):
        if label is not None:
            texts_of[label][one_line(text)] = None
    return {intent: [text for text in texts if text] for intent, texts in texts_of.items()}


def one_line(text: str) -> str:
    """Return a text on one line; control characters, which the platforms' formats do not allow, become spaces."""
    return " ".join(CONTROL_CHARACTERS.sub(" ", text).split())


def zip_files(files: dict[str, bytes]) -> bytes:
    """Return a zip of files, given by path; equal content gives an equal zip."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(zipfile.ZipInfo(path, ZIP_TIME), content, zipfile.ZIP_DEFLATED)
    return sink.getvalue()


def stable_id(*parts: str) -> str:
    """Return an id (UUID) that is the same for the same parts, so that an intent keeps it in later exports."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "newfound:" + "\0".join(parts)))


def file_name(intent: str) -> str:
    """Return an intent's name as a file name: all but letters, digits, dashes and underscores become underscores.

    A name that had to be changed gets a suffix, so that two intents never have the same file name.
    """
    clean = re.sub(r"[^\w-]+", "_", intent).strip("_") or "intent"
    return clean if clean == intent else f"{clean}_{stable_id(intent)[:6]}"


def plain_names(intents: Sequence[str], pattern: str = QUOTED) -> dict[str, str]:
    """Return names without what a pattern finds; one that another intent has gets a suffix that stays the same."""
    names: dict[str, str] = {}
    taken = {intent for intent in intents if not re.search(pattern, intent)}
    for intent in intents:
        is_quoted, name = re.search(QUOTED, intent), re.sub(pattern, "_", intent)
        name = re.sub(r"[\W_]+", "_", name).strip("_").lower() if is_quoted else name
        if name != intent and (name in taken or not name):
            name = f"{name or 'intent'}_{stable_id(intent)[:6]}"
        taken.add(name)
        names[intent] = name
    return names
