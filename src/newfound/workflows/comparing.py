"""From round to round: what became of the intents of one model in another, by utterances and not by names."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from newfound.algorithms.rounds import Change, compare_rounds
from newfound.errors import DataError
from newfound.model.types import Utterance
from newfound.workflows.assigned import AssignedModel, read_assigned
from newfound.workflows.runtime import ModelSource, Runtime, name_of

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder

MIN_SHARED = 0.02  # of the utterances of the model that has fewer; two models with less in common are not two rounds
EXAMPLES = 3  # utterances of each intent, the most probable first
ORDER: tuple[Change, ...] = ("new", "gone", "split", "merged", "renamed", "kept")


@dataclass(frozen=True, slots=True)
class DiffIntent:
    """An intent of one of the models, with the number of its distinct utterances and some of them."""

    id: str
    name: str
    size: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IntentChange:
    """Intents of the two models that belong together.

    Attributes:
        change: What happened.
        before: The intents of the earlier model; none if they are new.
        after: The intents of the later model; none if they are gone.
        shared: How many utterances are both in one of the earlier and in one of the later intents.
    """

    change: Change
    before: tuple[DiffIntent, ...]
    after: tuple[DiffIntent, ...]
    shared: int


@dataclass(frozen=True, slots=True)
class ModelDiff:
    """What changed from one model to another.

    Attributes:
        utterances_before: How many distinct utterances the earlier model has.
        utterances_after: How many the later one has.
        shared: How many both have.
        changes: What became of the intents: changes first, the largest intents first.
    """

    utterances_before: int
    utterances_after: int
    shared: int
    changes: tuple[IntentChange, ...]

    @property
    def counts(self) -> dict[Change, int]:
        """How many changes there are of each kind."""
        counted = Counter(change.change for change in self.changes)
        return {change: counted[change] for change in ORDER}


def diff(before: ModelSource, after: ModelSource, *, encoder: str | Encoder | None = None) -> ModelDiff:
    """Compare two models as they are reviewed: which intents were kept, renamed, split or merged, are new or gone.

    They may have different encoders, since only utterances are compared.

    Args:
        before: The earlier model: a folder, or a loaded model.
        after: The later model.
        encoder: Where the models' encoder lies, if a review needs it and it cannot be found.

    Raises:
        DataError: The models have hardly any utterance in common.
    """
    runtime = Runtime.of(None, encoder, "cpu")
    (intent_before, earlier), (intent_after, later) = (_describe(read_assigned(m, runtime)) for m in (before, after))
    shared, totals = len(intent_before.keys() & intent_after.keys()), (len(intent_before), len(intent_after))
    if shared <= MIN_SHARED * min(totals):
        raise DataError(
            f"{name_of(before)} and {name_of(after)} share {shared:,} of {totals[0]:,} and "
            f"{totals[1]:,} utterances, too few to compare intents by; compare two rounds on the same logs"
        )
    changes = []
    for relation in compare_rounds(intent_before, intent_after, names=(earlier, later)):
        sides = (earlier, relation.before), (later, relation.after)
        first, second = (sorted((of[name] for name in names), key=lambda intent: -intent.size) for of, names in sides)
        changes.append(IntentChange(relation.change, tuple(first), tuple(second), relation.moved))
    changes.sort(key=lambda c: (ORDER.index(c.change), -sum(intent.size for intent in (*c.before, *c.after))))
    return ModelDiff(*totals, shared, tuple(changes))


def _describe(model: AssignedModel) -> tuple[dict[str, str | None], dict[str, DiffIntent]]:
    """Return the intent of each utterance of a model by its text, and the intents by their names."""
    intent_of: dict[str, str | None] = {}
    members: dict[str, list[Utterance]] = {name: [] for name in model.review.names}
    for u in model.utterances:
        intent_of[u.text] = u.intent
        if u.intent is not None:
            members[u.intent].append(u)
    described = {}
    for name, own in members.items():
        probable = sorted(own, key=lambda u: -u.probability)[:EXAMPLES]
        described[name] = DiffIntent(model.ids[name], name, len(own), tuple(u.text for u in probable))
    return intent_of, described
