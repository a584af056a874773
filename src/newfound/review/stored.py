"""What can be said of a reviewed model without its network, and so without torch.

Renaming, accepting and moving do not change what the model predicts for other utterances, so that the stored intents of
its utterances still hold. Merging, splitting and rejecting change which intent is the most probable one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from newfound.model.types import AssignedUtterance, Intent, Utterance
from newfound.review.state import WHOLE, Review


def assigned_without_network(review: Review, utterances: Sequence[Utterance]) -> list[AssignedUtterance] | None:
    """Return the training utterances with their intents after the review; None if that takes the network.

    Args:
        review: The state of the review.
        utterances: The utterances as the model folder stores them.
    """
    names = _name_of_each_column(review)
    if names is None or review.possible_parts:
        return None
    assigned = []
    for u in utterances:
        is_moved = u.text in review.moved
        name = review.moved[u.text] if is_moved else None if u.intent is None else names[u.intent]
        probability = 1.0 if is_moved or u.labelled else u.probability
        assigned.append(AssignedUtterance(u.text, name, u.labelled, probability, u.count, u.source))
    return assigned


def described_without_network(review: Review, intents: Sequence[Intent]) -> tuple[Intent, ...] | None:
    """Return the descriptions of the intents after the review; None if their utterances have changed.

    Args:
        review: The state of the review.
        intents: The intents as the model folder describes them.
    """
    names = _name_of_each_column(review)
    if names is None or review.checked or review.created:
        return None
    is_changed = review.accepted or names != [intent.name for intent in intents]
    if is_changed and any(intent.certainty is None for intent in intents):  # the description of an older version
        return None
    new_name = {intent.name: names[column] for column, intent in enumerate(intents)}
    return tuple(
        replace(
            intent,
            name=new_name[intent.name],
            accepted=intent.accepted or new_name[intent.name] in review.accepted,
            overlaps=tuple(replace(o, name=new_name.get(o.name, o.name)) for o in intent.overlaps),
        )
        for intent in intents
    )


def discovered_intents(review: Review, intents: Sequence[Intent]) -> set[str]:
    """Return the intents that were found in logs, in this round or an earlier one, after the review.

    Args:
        review: The state of the review.
        intents: The intents as the model folder describes them, one for each column.
    """
    named_by_labels = {name for (column, _), name in review.slots.items() if not intents[column].discovered}
    return set(review.names) - named_by_labels


def accepted_intents(review: Review, intents: Sequence[Intent]) -> set[str]:
    """Return the discovered intents that a person accepted, in this round or an earlier one.

    Args:
        review: The state of the review.
        intents: The intents as the model folder describes them, one for each column.
    """
    return discovered_intents(review, intents) & (review.known | review.accepted)


def _name_of_each_column(review: Review) -> list[str] | None:
    """Return the names of the model's columns; None if a column is split or rejected, or if two have one name."""
    names = [name for (_, part), name in sorted(review.slots.items()) if part == WHOLE and name is not None]
    return names if len(names) == len(review.slots) and len(set(names)) == len(names) else None
