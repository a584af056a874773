"""What is kept of questions and answers: a transcript that the user asks for, and a cache of answers."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from newfound.errors import SettingsError
from newfound.files import write_atomically

OWNER_ONLY, OWNER_ONLY_FOLDER = 0o600, 0o700
VERSION_OF_KEYS = 1


def open_transcript(path: Path) -> TextIO:
    """Open a file for one JSON line for each request. Only its owner may read it: it holds utterances."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, OWNER_ONLY)
    except OSError as error:
        raise SettingsError(f"transcript {path}: cannot be written ({error.strerror})") from None
    if path.is_file():  # and no device; it may have been there before
        with contextlib.suppress(OSError):
            path.chmod(OWNER_ONLY)
    return os.fdopen(handle, "w", buffering=1, encoding="utf-8", errors="replace")  # each line is written at once


class AnswerCache:
    """Answers on disk, one file each. What cannot be read counts as missing, and what cannot be written is not kept."""

    def __init__(self, folder: Path, source: Sequence[str | int]) -> None:
        """Use a folder for answers, which depend on the prompt and the source: address, model, longest answer."""
        self._folder, self._source = folder, [VERSION_OF_KEYS, *source]

    def get(self, prompt: str) -> str | None:
        """Return the answer to a prompt; None if there is none."""
        try:
            kept = json.loads(self._path(prompt).read_bytes())
            return kept["answer"] if kept["source"] == self._source and isinstance(kept["answer"], str) else None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def put(self, prompt: str, answer: str) -> None:
        path = self._path(prompt)
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=OWNER_ONLY_FOLDER, parents=True, exist_ok=True)
            self._folder.chmod(OWNER_ONLY_FOLDER)
            write_atomically(path, json.dumps({"source": self._source, "answer": answer}).encode())

    def _path(self, prompt: str) -> Path:
        digest = hashlib.sha256(json.dumps([*self._source, prompt]).encode()).hexdigest()
        return self._folder / digest[:2] / f"{digest}.json"
