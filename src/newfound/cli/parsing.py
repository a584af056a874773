"""Parsers for option values that are given as text."""

from __future__ import annotations

from typing import Literal, cast, get_args

from newfound.defaults import Conflicts, LogsHold, NoIntent, Precision
from newfound.errors import SettingsError


def whole_number_or_auto(text: str, option: str) -> int | Literal["auto"]:
    """Parse a whole number, or the word auto."""
    if text == "auto":
        return "auto"
    try:
        return int(text)
    except ValueError:
        raise SettingsError(f"{option} {text}: give a whole number, or auto") from None


def share(text: str, option: str) -> float:
    """Parse a share, such as `5%` or `0.05`."""
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise SettingsError(f"{option} {text}: give a share, such as 5% or 0.05")
    return value


def share_without_intent(text: str) -> NoIntent:
    """Parse how many utterances are to have no intent: a share, auto or none."""
    if text in ("auto", "none"):
        return cast(Literal["auto", "none"], text)
    try:
        value = share(text, "--no-intent")
    except SettingsError:
        raise SettingsError(f"--no-intent {text}: give auto, none, or a share such as 10%") from None
    if value >= 1:
        raise SettingsError(f"--no-intent {text}: leave something to have an intent, for instance 10%")
    return value or "none"


def parts(text: str) -> list[str]:
    """Parse values separated by commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def whole_numbers(text: str, option: str) -> list[int]:
    """Parse whole numbers separated by commas."""
    try:
        return [int(part) for part in parts(text)]
    except ValueError:
        raise SettingsError(f"{option} {text}: give whole numbers separated by commas") from None


def parse_precision(text: str) -> Precision:
    """Parse a precision."""
    return cast(Precision, one_of(text, "--precision", *get_args(Precision)))


def conflict_policy(text: str) -> Conflicts:
    """Parse what becomes of a text with several labels."""
    return cast(Conflicts, one_of(text, "--conflicts", *get_args(Conflicts)))


def logs_contain(text: str) -> LogsHold:
    """Parse what the logs contain."""
    return cast(LogsHold, one_of(text, "--logs-contain", *get_args(LogsHold)))


def one_of(value: str, option: str, *choices: str) -> str:
    """Return the value, or raise a `SettingsError` if it is not one of the choices."""
    if value not in choices:
        raise SettingsError(f"{option} {value}: one of {', '.join(choices)}")
    return value
