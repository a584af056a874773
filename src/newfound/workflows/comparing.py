"""From round to round: what became of the intents of one model in another, by utterances and not by names."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from newfound.algorithms.rounds import Change, Pair, relate_intents
from newfound.errors import DataError
from newfound.model.types import Utterance
from newfound.training.progress import LoggingReporter, Reporter
from newfound.workflows.assigned import AssignedModel, read_assigned
from newfound.workflows.runtime import ModelSource, Runtime, name_of

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder

MIN_SHARED = 0.02  # of the utterances of the model that has fewer; two models with less in common are not two rounds
ORDER: tuple[Change, ...] = ("new", "gone", "split", "merged", "renamed", "kept")


@dataclass(frozen=True, slots=True)
class DiffRequest:
    """Which models are compared. They may have different encoders, since only utterances are compared.

    Attributes:
        before: The earlier model: a folder, or a loaded model.
        after: The later model.
        examples: How many utterances of each intent are returned, the most probable first.
        encoder: Where the models' encoder lies, if a review needs it and it cannot be found.
    """

    before: ModelSource
    after: ModelSource
    examples: int = 3
    encoder: str | Encoder | None = None


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


class _Intents:
    """Counts the utterances of each intent of a model, and keeps the most probable ones."""

    def __init__(self, model: AssignedModel, most: int) -> None:
        self.sizes: Counter[str | None] = Counter(dict.fromkeys(model.review.names, 0))
        self._ids, self._most = model.ids, most
        self._kept: dict[str | None, list[Utterance]] = defaultdict(list)

    def add(self, u: Utterance) -> None:
        self.sizes[u.intent] += 1
        kept = self._kept[u.intent]
        if len(kept) < self._most or (kept and u.probability > kept[-1].probability):
            self._kept[u.intent] = sorted([*kept, u], key=lambda u: -u.probability)[: self._most]

    def describe(self, names: Sequence[str]) -> tuple[DiffIntent, ...]:
        texts = {name: tuple(u.text for u in self._kept[name]) for name in names}
        ordered = sorted(names, key=lambda name: -self.sizes[name])
        return tuple(DiffIntent(self._ids[name], name, self.sizes[name], texts[name]) for name in ordered)


def diff(request: DiffRequest, *, reporter: Reporter | None = None) -> ModelDiff:
    """Compare two models as they are reviewed: which intents were kept, renamed, split or merged, are new or gone.

    Utterances are read one by one; of the earlier model, texts and intents are held in memory.

    Args:
        request: Which models are compared.
        reporter: Is told nothing yet; every workflow takes one.

    Raises:
        DataError: The models have hardly any utterance in common.
    """
    runtime = Runtime(reporter or LoggingReporter(), request.encoder, "cpu")
    earlier = read_assigned(request.before, runtime)
    before, intent_before = _Intents(earlier, request.examples), dict[str, str | None]()
    for u in earlier.utterances:
        before.add(u)
        intent_before[u.text] = u.intent
    later = read_assigned(request.after, runtime)
    after, pairs = _Intents(later, request.examples), Counter[Pair]()
    for u in later.utterances:
        after.add(u)
        if u.text in intent_before:
            pairs[intent_before[u.text], u.intent] += 1
    shared, totals = pairs.total(), (before.sizes.total(), after.sizes.total())
    if shared <= MIN_SHARED * min(totals):
        raise DataError(
            f"{name_of(request.before)} and {name_of(request.after)} share {shared:,} of {totals[0]:,} and "
            f"{totals[1]:,} utterances, too few to compare intents by; compare two rounds on the same logs"
        )
    changes = [
        IntentChange(relation.change, before.describe(relation.before), after.describe(relation.after), relation.moved)
        for relation in relate_intents(pairs, before.sizes, after.sizes)
    ]
    changes.sort(key=lambda c: (ORDER.index(c.change), -sum(intent.size for intent in (*c.before, *c.after))))
    return ModelDiff(*totals, shared, tuple(changes))
