"""Values of a type from the JSON of a file that may hold anything.

Integers are counts, floats are finite, and texts are not endless, so that nothing that follows has to check it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from newfound.text import has_half_character

T = TypeVar("T")
MAX_TEXT_LENGTH = 1_000_000  # characters
MAX_NUMBER = 2**53  # integers up to this one are exact as floats
PLAIN: dict[Any, Callable[[Any], bool]] = {
    Any: lambda value: True,
    str: lambda value: isinstance(value, str) and len(value) <= MAX_TEXT_LENGTH and not has_half_character(value),
    bool: lambda value: isinstance(value, bool),
    int: lambda value: type(value) is int and 0 <= value <= MAX_NUMBER,
    float: lambda value: type(value) in (int, float) and abs(value) <= MAX_NUMBER and not math.isnan(value),
}


def parse(kind: type[T], value: Any) -> T:
    """Return the dataclass, tuple, dictionary or plain value that a JSON value describes.

    Fields of a dataclass that have a default may be missing.

    Raises:
        ValueError: It does not describe one.
    """
    parsed: T = _parse(kind, value)
    return parsed


def _parse(kind: Any, value: Any) -> Any:
    if (is_valid := PLAIN.get(kind)) is not None:
        if is_valid(value):
            return value
        raise ValueError
    origin, parts = _parts(kind)
    if origin is None and isinstance(value, dict) and value.keys() <= kind.__dataclass_fields__.keys():
        of_fields = _kinds_of_fields(kind)
        try:
            return kind(**{name: _parse(of_fields[name], item) for name, item in value.items() if name in of_fields})
        except TypeError:  # a field without a default is missing
            raise ValueError from None
    if origin in (Union, UnionType):
        return None if value is None else _parse(next(part for part in parts if part is not NoneType), value)
    if origin is tuple and isinstance(value, list):
        kinds = [parts[0]] * len(value) if parts[-1] is ... else parts
        return tuple(_parse(one, item) for one, item in zip(kinds, value, strict=True))
    if origin in (dict, Mapping) and isinstance(value, dict):
        return {_parse(str, key): _parse(parts[1], item) for key, item in value.items()}
    if origin is Literal and value in parts:
        return value
    raise ValueError


@cache
def _parts(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    return get_origin(kind), get_args(kind)


@cache
def _kinds_of_fields(kind: Any) -> dict[str, Any]:
    kinds = get_type_hints(kind)
    return {field.name: kinds[field.name] for field in fields(kind) if field.init}
