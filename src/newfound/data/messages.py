"""Conversations in JSON: objects that hold a list of messages become one record for each message.

Exports of chat and tracing tools differ in their keys only. A message says who wrote it (`role`, `speaker`, `author`,
`from`) and what (`content`, `text`, `body`), as a text or as a list of parts. What else an object says in single values
stands in all of its records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from newfound.data.columns import plain_name
from newfound.data.rows import ReadOptions, Record

LISTS = frozenset(
    "messages turns conversation conversations dialog dialogue chat history transcript utterances comments".split()
)
ROLES = ("role", "speaker", "author", "sender", "from", "participant", "type")
TEXTS = ("content", "text", "body", "message", "value", "utterance", "parts", "data")
THINGS = "conversation dialogue dialog session thread chat ticket trace".split()
IDENTITIES = ("conversation", *(f"{thing} id" for thing in THINGS), "id")
MAX_DEPTH_OF_PARTS = 20  # of a message
MAX_DEPTH = 2  # below an object: traces have their messages in `inputs`


def is_list_of_messages(name: str) -> bool:
    """Return whether a column may hold lists of messages, by its name."""
    return plain_name(name) in LISTS


def messages_of(record: Record, depth: int = 0) -> Sequence[Mapping[str, Any]] | None:
    """Return the messages that a record holds as a list, there or in one of its objects; None if it holds none."""
    for name, value in record.items():
        if is_list_of_messages(name) and isinstance(value, list):
            inner = value[0] if len(value) == 1 and isinstance(value[0], list) else value  # some traces: a list of one
            if all(isinstance(m, Mapping) for m in inner) and (
                not inner or any(_first(m, ROLES) is not None for m in inner)
            ):
                return inner
    inside = (messages_of(value, depth + 1) for value in record.values() if isinstance(value, Mapping))
    return next((found for found in inside if found is not None), None) if depth < MAX_DEPTH else None


def records_of(
    record: Record, messages: Sequence[Mapping[str, Any]], place: int, options: ReadOptions
) -> Iterator[Record]:
    """Yield a record for each of the messages that a record holds, in order.

    `place` names a conversation that has no name; the options may say which keys hold texts, speakers and conversation.
    """
    shared = _single_values(record)
    name = _first(shared, (options.conversation_column or "", *IDENTITIES))
    for turn, message in enumerate(messages, start=1):
        yield {
            **shared,
            **_single_values(message),
            options.conversation_column or "conversation": str(place if name is None else name),
            "turn": turn,
            options.speaker_column or "speaker": _speaker(_first(message, (options.speaker_column or "", *ROLES))),
            options.text_column or "text": text_of(_first(message, (options.text_column or "", *TEXTS))),
        }


def text_of(content: Any, depth: int = 0) -> str:
    """Return the text of a message: a string, a list of parts, or an object with either; pictures have none."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping) and depth < MAX_DEPTH_OF_PARTS:
        return text_of(_first(content, TEXTS), depth + 1)
    if isinstance(content, list) and depth < MAX_DEPTH_OF_PARTS:
        return "\n".join(filter(None, (text_of(part, depth + 1) for part in content)))
    return ""


def _speaker(value: Any) -> str:
    """Return who wrote a message; an author may be an object, whose type says more than the name."""
    if isinstance(value, Mapping):
        value = _first(value, ("role", "type", "kind", "name"))
    return "" if value is None else str(value)


def _first(values: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return the value of the first of the names that is there; None if none is."""
    plain = {plain_name(key): value for key, value in reversed(list(values.items()))} | dict(values)
    return next((plain[name] for name in names if plain.get(name) is not None), None)


def _single_values(record: Record) -> dict[str, Any]:
    """Return the single values of an object and of the objects in it; its own come before those."""
    inside = (value for value in record.values() if isinstance(value, Mapping))
    found = {key: value for values in inside for key, value in values.items() if _is_single(value)}
    return found | {key: value for key, value in record.items() if _is_single(value)}


def _is_single(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)
