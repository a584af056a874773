"""What somebody who decides wants to know first: how much of the logs is new, and which new intents are the largest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from newfound.errors import DataError
from newfound.model.types import Intent, Utterance


@dataclass(frozen=True, slots=True)
class Traffic:
    """How the logs divide into intents; all utterances count where there are no logs.

    Attributes:
        utterances: The number of utterances, each counted as often as it occurred.
        shares: The share of each intent that has utterances.
        new: The share of all intents that were not known before.
        known: The share of the known intents.
        none: The share of utterances that belong to no intent.
    """

    utterances: int
    shares: Mapping[str, float]
    new: float
    known: float
    none: float


def traffic_of(utterances: Sequence[Utterance], known: Collection[str]) -> Traffic:
    """Return how utterances divide into intents, given the names of the known ones."""
    counts = sizes_of([u for u in utterances if not u.labelled] or utterances)
    total = counts.total()
    shares = {name: round(n / total, 5) for name, n in counts.most_common() if name is not None}
    n_known = sum(n for name, n in counts.items() if name in known)
    n_none = counts[None]
    parts = (total - n_known - n_none, n_known, n_none)
    return Traffic(total, shares, *(round(n / max(1, total), 5) for n in parts))


def sizes_of(utterances: Iterable[Utterance]) -> Counter[str | None]:
    """Return how often utterances of each intent, and of none, occurred."""
    sizes = Counter[str | None]()
    for u in utterances:
        sizes[u.intent] += u.count
    return sizes


def said_by(intents: Sequence[Intent], min_users: int) -> list[Intent]:
    """Return the intents that at least so many people said; the names of people were read with the logs."""
    if min_users and not any(intent.users for intent in intents):
        raise DataError("the logs that the model was made from do not say which people wrote", "user_column")
    return [intent for intent in intents if intent.users >= min_users]
