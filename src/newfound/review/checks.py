"""What is required of new decisions only: names that can be read, and limits. Earlier ones are replayed without it."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping
from typing import Any

from newfound.errors import DecisionError
from newfound.review.decisions import Decision, Review, list_of_texts
from newfound.text import did_you_mean

MAX_COMMENTS = 200  # on one intent
MAX_PARTS = 20  # of one split
MAX_DESCRIBING_TEXTS = 200  # of one part
# Marks that change the direction of the text around them. A name that contains one can look like another name.
DIRECTION_MARKS = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u061c")
INVISIBLE_AT_THE_ENDS = frozenset("\u200b\u200c\u200d\u2060\ufeff\u00ad")


def check_new(decision: Decision, texts: Collection[str], review: Review | None = None) -> None:
    """Check what is required of new decisions only. Earlier decisions are replayed without this check.

    Args:
        decision: The new decision.
        texts: The utterances of the model; empty if they are not stored.
        review: The state that the decision is added to; without it, comments are not counted.

    Raises:
        DecisionError: A name is not readable, a split has too many parts or texts, an intent has too many comments, or
            a moved text is not in the model.
    """
    arguments = decision.arguments
    for name in _new_names(decision):
        _check_visible(name)
    if decision.kind == "comment":
        _check_comment(arguments, review)
    if decision.kind == "split":
        into = arguments.get("into")
        if isinstance(into, dict) and len(into) > MAX_PARTS:
            raise DecisionError(f"split: at most {MAX_PARTS} parts at a time; split one of them again")
        if isinstance(into, dict) and any(isinstance(t, list) and len(t) > MAX_DESCRIBING_TEXTS for t in into.values()):
            raise DecisionError(f"split: at most {MAX_DESCRIBING_TEXTS} utterances describe a part; give the clearest")
    if decision.kind == "move" and texts:
        unknown = [text for text in list_of_texts(arguments, "texts") if text not in texts]
        if unknown:
            meant = did_you_mean(unknown[0], texts)
            raise DecisionError(f"move: {unknown[0][:80]!r} is not among the utterances of this model{meant}")


def _new_names(decision: Decision) -> list[str]:
    """Return the names of intents that a decision introduces."""
    arguments = decision.arguments
    into = arguments.get("into")
    names = {
        "rename": [arguments.get("to")],
        "move": [arguments.get("to")] if arguments.get("create") is True else [],
        "split": list(into) if isinstance(into, dict) else [],
    }.get(decision.kind, [])
    return [name for name in names if isinstance(name, str)]


def _check_comment(arguments: Mapping[str, Any], review: Review | None) -> None:
    """Refuse direction marks, control characters other than line breaks and tabs, and too many comments."""
    intent, text = arguments.get("intent"), arguments.get("text")
    if review is not None and isinstance(intent, str) and len(review.comments.get(intent, ())) >= MAX_COMMENTS:
        raise DecisionError(f"{intent!r} has {MAX_COMMENTS} comments, and more are not kept; undo some of them first")
    for character in text if isinstance(text, str) else "":
        if character in DIRECTION_MARKS or (unicodedata.category(character) == "Cc" and character not in "\n\t"):
            raise DecisionError(f"a comment must not hold the invisible character U+{ord(character):04X}")


def _check_visible(name: str) -> None:
    """Refuse a name with line breaks, direction marks or other invisible characters, or with nothing visible."""
    invisible = [c for c in name if c in DIRECTION_MARKS or unicodedata.category(c) in ("Cc", "Zl", "Zp", "Co", "Cn")]
    if invisible:
        raise DecisionError(f"an intent's name must not hold the invisible character U+{ord(invisible[0]):04X}")
    if name and (name[0] in INVISIBLE_AT_THE_ENDS or name[-1] in INVISIBLE_AT_THE_ENDS or name != name.strip()):
        raise DecisionError("an intent's name must not begin or end with a space or an invisible character")
    if not any(unicodedata.category(c)[0] in "LNPS" for c in name):
        raise DecisionError("an intent's name needs something visible")
