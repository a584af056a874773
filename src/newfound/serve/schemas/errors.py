"""The bodies of errors, what a client may read in them, and the OpenAPI description of errors and fields."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import is_dataclass
from inspect import cleandoc
from pathlib import Path
from typing import Any, get_args, get_type_hints

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


def encodable(text: str) -> str:
    """Replace what cannot be encoded: an error message may repeat parts of the request."""
    return text.encode("utf-8", "replace").decode()


class WrongField(BaseModel):
    """A field of a request that is not valid."""

    where: list[str] = Field(description="The way to the field, for instance body, texts, 0")
    what: str = Field(description="What is wrong with it")


class Problem(BaseModel):
    """Why a request was not answered."""

    detail: str | list[WrongField] = Field(description="One sentence, or what is wrong with which field")
    entry: int | None = Field(None, description="The number of the decision in the way (409), if it can be undone")


REFUSALS: dict[int | str, dict[str, Any]] = {  # what any request may be answered with
    status: {"model": Problem, "description": description}
    for status, description in {
        401: "A token is needed, and the request has none or a wrong one",
        403: "The request comes from a page of another site, or in the name of somebody else than the token's owner",
        409: "What was asked for is not possible as things are; `detail` says why and what to do",
        413: "The request is too large",
        422: "A field or a parameter is not valid",
        429: "Too many waiting requests or wrong tokens; `Retry-After` says when to try again",
        503: "Too many requests are waiting, or the server is stopping",
    }.items()
}


def describe_fields(schema: dict[str, Any], answers: Iterable[Any]) -> dict[str, Any]:
    """Change an OpenAPI description so that fields of dataclasses among the answers have the text of the docstrings."""
    for dataclass in _dataclasses_in(answers, set()):
        component = schema["components"]["schemas"].get(dataclass.__name__)
        if component is None:
            continue
        component["description"] = cleandoc(dataclass.__doc__ or "").partition("\n\nAttributes:")[0]
        for base in reversed(dataclass.__mro__):
            for name, text in _attributes(cleandoc(base.__doc__ or "")):
                if name in component["properties"]:
                    component["properties"][name]["description"] = " ".join(text.split())
    return schema


def _attributes(docstring: str) -> list[tuple[str, str]]:
    """Return the entries under `Attributes:`; an entry goes on in lines that are indented further than its name."""
    section = docstring.partition("\n\nAttributes:\n")[2]
    return re.findall(r"^    (\w+): (.+(?:\n {8}.+)*)", section, re.MULTILINE)


def _dataclasses_in(types: Iterable[Any], seen: set[Any]) -> set[type]:
    """Return the dataclasses that values of some types consist of."""
    for one in types:
        if one not in seen:
            seen.add(one)
            has_fields = is_dataclass(one) or (isinstance(one, type) and issubclass(one, BaseModel))
            _dataclasses_in([*get_args(one), *(get_type_hints(one).values() if has_fields else ())], seen)
    return {one for one in seen if isinstance(one, type) and is_dataclass(one)}
