"""Checks of what decisions are made with: their arguments, and the texts that people type."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from newfound.errors import DecisionError
from newfound.text import has_half_character

# Marks that change the direction of the text around them. A name that contains one can look like another name.
DIRECTION_MARKS = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u061c")
INVISIBLE_AT_THE_ENDS = frozenset("\u200b\u200c\u200d\u2060\ufeff\u00ad")


def check_name(name: str) -> None:
    """Refuse a name with line breaks, direction marks or other invisible characters, or with nothing visible."""
    invisible = [c for c in name if c in DIRECTION_MARKS or unicodedata.category(c) in ("Cc", "Zl", "Zp", "Co", "Cn")]
    if invisible:
        raise DecisionError(f"an intent's name must not hold the invisible character U+{ord(invisible[0]):04X}")
    if name[0] in INVISIBLE_AT_THE_ENDS or name[-1] in INVISIBLE_AT_THE_ENDS or name != name.strip():
        raise DecisionError("an intent's name must not begin or end with a space or an invisible character")
    if not any(unicodedata.category(c)[0] in "LNPS" for c in name):
        raise DecisionError("an intent's name needs something visible")


def check_text(text: str) -> None:
    """Refuse a comment with direction marks, or with control characters other than line breaks and tabs."""
    for character in text:
        if character in DIRECTION_MARKS or (unicodedata.category(character) == "Cc" and character not in "\n\t"):
            raise DecisionError(f"a comment must not hold the invisible character U+{ord(character):04X}")


def _text(arguments: Mapping[str, Any], name: str) -> str:
    text = arguments.get(name)
    if not isinstance(text, str) or not text:
        raise DecisionError(f"the argument {name!r} is missing or not a text")
    return _encodable(text)


def _encodable(text: str) -> str:
    if has_half_character(text):
        raise DecisionError("half a character (a lone surrogate) in it; remove it")
    return text


def _text_or_none(arguments: Mapping[str, Any], name: str) -> str | None:
    return None if name in arguments and arguments[name] is None else _text(arguments, name)


def _texts(arguments: Mapping[str, Any], name: str) -> tuple[str, ...]:
    texts = arguments.get(name)
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
        raise DecisionError(f"{name!r} needs a list of at least one text")
    return tuple(map(_encodable, texts))


def _texts_by_name(arguments: Mapping[str, Any], name: str) -> dict[str, tuple[str, ...]]:
    groups = arguments.get(name)
    if not isinstance(groups, dict) or len(groups) < 2 or not all(isinstance(key, str) and key for key in groups):
        raise DecisionError(f"split: `{name}` needs at least two names, each with a few utterances")
    return {_encodable(key): _texts(groups, key) for key in groups}


def _flag(arguments: Mapping[str, Any], name: str) -> bool:
    if not isinstance(arguments[name], bool):
        raise DecisionError(f"the argument {name!r} is true or false")
    return bool(arguments[name])


# How an argument is read, by the type that its field has.
READERS: dict[str, Callable[[Mapping[str, Any], str], Any]] = {
    "str": _text,
    "str | None": _text_or_none,
    "tuple[str, ...]": _texts,
    "dict[str, tuple[str, ...]]": _texts_by_name,
    "bool": _flag,
}
