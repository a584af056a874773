"""Settings are checked against their declared types: `Literal` choices, and numbers within a range.

A setting's type says everything: `Annotated[int, Range(1)] | None` is a whole number from 1, or None for "choose it".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from newfound.defaults import MAX_SEED
from newfound.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from `low`, or above it if `open`, up to and without `high`."""

    low: float
    high: float = math.inf
    open: bool = False

    def holds(self, value: float) -> bool:
        return (value > self.low if self.open else value >= self.low) and value < self.high

    def __str__(self) -> str:
        if self.high == math.inf:
            return f"be above {self.low:g}" if self.open else f"be {self.low:g} or more"
        if self.open:
            return f"lie strictly between {self.low:g} and {self.high:g}"
        return f"lie in [{self.low:g}, {self.high:g})"


Count = Annotated[int, Range(1)]
NonNegativeInt = Annotated[int, Range(0)]
Seed = Annotated[int, Range(0, MAX_SEED + 1)]
Positive = Annotated[float, Range(0, open=True)]
NotNegative = Annotated[float, Range(0)]
DropoutRate = Annotated[float, Range(0, 1)]
OpenShare = Annotated[float, Range(0, 1, open=True)]


def check_types(settings: Any) -> None:
    """Raise a `SettingsError` for the first field of a dataclass whose value does not fit its declared type."""
    hints = _hints(type(settings))  # type: ignore[arg-type]
    for field in fields(settings):
        value = getattr(settings, field.name)
        if not _fits(value, hints[field.name]):
            raise SettingsError(f"{field.name}={value!r} {_expected(hints[field.name])}")


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _fits(value: Any, hint: Any) -> bool:
    origin = get_origin(hint)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(_fits(value, arm) for arm in get_args(hint))
    if origin is Literal:
        return any(type(value) is type(choice) and value == choice for choice in get_args(hint))
    if origin is Annotated:
        kind, *limits = get_args(hint)
        return _fits(value, kind) and all(limit.holds(value) for limit in limits)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, origin or hint)


def _expected(hint: Any) -> str:
    """What a value should have been: "must be above 0", "is not one of a, b"."""
    arms = [arm for arm in (get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)) if arm != NoneType]
    choices = [choice for arm in arms if get_origin(arm) is Literal for choice in get_args(arm)]
    others = [_describe(arm) for arm in arms if get_origin(arm) is not Literal]
    if not others:
        return f"is not one of {', '.join(map(str, choices))}"
    return f"must {', or '.join([*others, *(repr(choice) for choice in choices)])}"


def _describe(hint: Any) -> str:
    kind, *limits = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    if kind is int and limits:
        most = "" if limits[0].high == math.inf else f" to {limits[0].high - 1:.0f}"
        return f"be a whole number from {limits[0].low:g}{most}"
    if limits:
        return " and ".join(map(str, limits))
    names = {int: "be a whole number", float: "be a finite number", bool: "be true or false", str: "be a text"}
    return names.get(kind, f"be of the type {getattr(kind, '__name__', kind)}")
