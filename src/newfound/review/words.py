"""Decisions in words, for the history, for messages about conflicts and for the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from newfound.review.decisions import Decision

MAX_SHOWN_LENGTH = 60  # characters of an utterance or a comment


def in_words(decision: Decision) -> str:
    """Return what somebody did, as the rest of a sentence that begins with the person's name.

    Stored decisions may be of a newer version or damaged; for those only the kind is returned.

    Args:
        decision: The decision.
    """
    try:
        return _WORDS[decision.kind](decision.arguments)
    except (KeyError, TypeError, AttributeError, IndexError):
        return decision.kind


def _merged(arguments: Mapping[str, Any]) -> str:
    others = [name for name in arguments["intents"] if name != arguments["into"]]
    return f"merged {_listed(others)} into {arguments['into']}"


def _moved(arguments: Mapping[str, Any]) -> str:
    texts = arguments["texts"]
    what = _quoted(texts[0]) if len(texts) == 1 else f"{len(texts)} utterances ({_quoted(texts[0])}, …)"
    if arguments["to"] is None:
        return f"put {what} into no intent"
    if arguments.get("create") is True:
        return f"made the intent {arguments['to']} of {what}"
    return f"put {what} into {arguments['to']}"


_WORDS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "rename": lambda a: f"renamed {a['intent']} to {a['to']}",
    "merge": _merged,
    "split": lambda a: f"split {a['intent']} into {_listed(list(a['into']))}",
    "reject": lambda a: f"rejected {a['intent']}",
    "accept": lambda a: f"accepted {a['intent']}",
    "move": _moved,
    "comment": lambda a: f"commented on {a['intent']}: {_quoted(a['text'])}",
}


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return f"“{line if len(line) <= MAX_SHOWN_LENGTH else line[: MAX_SHOWN_LENGTH - 1] + '…'}”"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
