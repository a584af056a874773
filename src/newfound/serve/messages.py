"""What a client may read of a message of the package."""

from __future__ import annotations

import re
from pathlib import Path

# What stands before the last name of an absolute path, which follows a space, a quote or the like.
PARENT_FOLDERS = re.compile(r"(?:(?<=[\s'\"(\[=])|^)(?:[A-Za-z]:)?[/\\](?=[\w.])(?:[^\s/\\'\":;,()]+[/\\])*")


def without_paths(text: str, *folders: Path) -> str:
    """Return a message with the names of files and folders, but without the folders that they lie in."""
    known = {str(path) for folder in (*folders, Path.home()) for path in (folder, folder.resolve())} - {".", "/"}
    for folder in sorted(known, key=len, reverse=True):
        text = text.replace(f"{folder}/", "").replace(f"{folder}\\", "")
    return PARENT_FOLDERS.sub("", text)


def encodable(text: str) -> str:
    """Replace what cannot be encoded: an error message may repeat parts of the request."""
    return text.encode("utf-8", "replace").decode()
