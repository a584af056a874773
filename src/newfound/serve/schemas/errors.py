"""The bodies of errors, and what FastAPI leaves out of the OpenAPI description."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import is_dataclass
from inspect import cleandoc
from typing import Any, get_args, get_type_hints

from pydantic import BaseModel, Field

WRITTEN_BY_FASTAPI = ("HTTPValidationError", "ValidationError")  # schemas of errors that are never sent
REFUSALS = {  # what any request under /v1/ may be answered with
    "401": "A token is needed, and the request has none or a wrong one",
    "403": "The request comes from a page of another site, or in the name of somebody else than the token's owner",
    "409": "What was asked for is not possible as things are; `detail` says why and what to do",
    "413": "The request is too large",
    "429": "Too many connections, waiting requests or wrong tokens; `Retry-After` says when to try again",
}


class WrongField(BaseModel):
    """A field of a request that is not valid."""

    where: list[str] = Field(description="The way to the field, for instance body, texts, 0")
    what: str = Field(description="What is wrong with it")


class Problem(BaseModel):
    """Why a request was not answered."""

    detail: str | list[WrongField] = Field(description="One sentence, or what is wrong with which field")


def describe_errors(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an OpenAPI description in which errors are described as they are sent."""
    problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas = schema["components"]["schemas"]
    for name in WRITTEN_BY_FASTAPI:
        schemas.pop(name, None)
    schemas |= {**problem.pop("$defs"), "Problem": problem}
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            responses = operation["responses"]
            if path.startswith("/v1/"):
                for status, description in REFUSALS.items():
                    if status != "403" or method == "post":
                        responses.setdefault(status, {"description": description})
            for status, response in responses.items():
                if status.startswith("4"):
                    content = {"schema": {"$ref": "#/components/schemas/Problem"}}
                    response["content"] = {"application/json": content}
    return schema


def describe_fields(schema: dict[str, Any], answers: Iterable[Any]) -> dict[str, Any]:
    """Return an OpenAPI description in which the fields of dataclasses are described as in their docstrings."""
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
