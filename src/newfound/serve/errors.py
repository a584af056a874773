"""The bodies of errors, and what a client may read in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

# What stands before the last name of an absolute path, which follows a space, a quote or the like.
PARENT_FOLDERS = re.compile(r"(?:(?<=[\s'\"(\[=])|^)(?:[A-Za-z]:)?[/\\](?=[\w.])(?:[^\s/\\'\":;,()]+[/\\])*")


def without_paths(text: str, *folders: Path) -> str:
    """Return a message with the names of files and folders, but without the folders that they lie in.

    Paths outside `folders` and the home folder cannot be recognised if they have spaces.
    """
    known = {str(path) for folder in (*folders, Path.home()) for path in (folder, folder.resolve())} - {".", "/"}
    for folder in sorted(known, key=len, reverse=True):
        text = text.replace(f"{folder}/", "").replace(f"{folder}\\", "")
    return PARENT_FOLDERS.sub("", text)


class WrongField(BaseModel):
    """A field of a request that is not valid."""

    where: list[str] = Field(description="The way to the field, for instance body, texts, 0")
    what: str = Field(description="What is wrong with it")


class Problem(BaseModel):
    """Why a request was not answered."""

    detail: str | list[WrongField] = Field(description="One sentence, or what is wrong with which field")
    entry: int | None = Field(None, description="The number of the decision in the way (409), if it can be undone")


REFUSALS: dict[int | str, dict[str, Any]] = {  # what any request may be answered with
    "4XX": {"model": Problem, "description": "The request cannot be answered as it is"},
    "5XX": {"model": Problem, "description": "The server cannot answer it now; a 503 can be tried again"},
}
