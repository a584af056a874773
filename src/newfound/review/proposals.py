"""What a reviewer should look at: examples of each intent, proposals to merge or split, and pairs that are mixed up."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TypeVar

import torch
from torch import Tensor

from newfound.algorithms.intent_tree import two_halves
from newfound.algorithms.metrics import silhouette
from newfound.intents.description import IntentDescriber, exemplars
from newfound.intents.naming import name_intents
from newfound.review.views import ConfusedPair, MergeProposal, Part, SplitProposal

MAX_UTTERANCES_COMPARED = 400  # per intent, for the proposals to merge or split
MAX_DESCRIBING_UTTERANCES = 12  # of a part of a proposed split
MAX_EVIDENCE_PAIRS = 3  # per proposal to merge
MAX_CACHED_VALUES = 4_096
MIN_SEPARATION_TO_SUGGEST = 0.2  # the silhouette of two parts that are clearly apart
MIN_EXPECTED_CONFUSIONS = 0.5  # utterances, for a pair of intents to be shown
T = TypeVar("T")


class CacheByRows:
    """Keeps what was computed from the utterances of an intent, until other utterances belong to it."""

    def __init__(self) -> None:
        self._values: OrderedDict[tuple[str, bytes], object] = OrderedDict()
        self._lock = Lock()

    def get(self, what: str, rows: Sequence[int], compute: Callable[[], T]) -> T:
        """Return a value, which is computed if it is not in the cache.

        Args:
            what: The name of the value.
            rows: The row numbers of the utterances that it is computed from.
            compute: Function that computes it. It may run twice if two threads ask at the same time.
        """
        numbers = torch.tensor(list(rows), dtype=torch.int32).numpy().tobytes()
        key = what, hashlib.blake2b(numbers, digest_size=16).digest()
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                value: T = self._values[key]  # type: ignore[assignment]
                return value
        value = compute()
        with self._lock:
            self._values[key] = value
            while len(self._values) > MAX_CACHED_VALUES:
                self._values.popitem(last=False)
        return value


@dataclass(frozen=True, slots=True)
class TwoParts:
    """The utterances of an intent, divided in two.

    Attributes:
        label: The part of each utterance, [n].
        separation: The silhouette of the two parts.
    """

    label: Tensor
    separation: float


def two_parts(vectors: Tensor) -> TwoParts | None:
    """Divide utterances in two by k-means; None if they are too few.

    Args:
        vectors: Unit vectors of the utterances, [n, d].
    """
    label = two_halves(vectors)
    if label is None:
        return None
    sample = torch.randperm(len(vectors), generator=torch.Generator().manual_seed(0))[:MAX_UTTERANCES_COMPARED]
    return TwoParts(label, round(silhouette(vectors[sample], label[sample]), 3))


def split_proposal(
    parts: TwoParts, vectors: Tensor, texts: Sequence[str], names_in_use: Sequence[str]
) -> SplitProposal:
    """Return the proposal to split an intent, with a name and central utterances for each part.

    Args:
        parts: The two parts.
        vectors: Unit vectors of the intent's utterances, [n, d].
        texts: These utterances, in the same order.
        names_in_use: Names that the parts must not have.
    """
    groups = [(parts.label == part).nonzero().squeeze(1) for part in (0, 1)]
    texts_of_parts = [[texts[i] for i in group.tolist()] for group in groups]
    names = name_intents(texts_of_parts, taken=names_in_use)
    shown = []
    for group, own, name in zip(groups, texts_of_parts, names, strict=True):
        x = vectors[group]
        chosen = exemplars(x, x.mean(0), own, count=MAX_DESCRIBING_UTTERANCES)
        shown.append(Part(name, len(own), tuple(own[i] for i in chosen)))
    return SplitProposal(parts.separation, tuple(shown))


def merge_proposals(describer: IntentDescriber, vectors: Tensor, intent: int) -> tuple[MergeProposal, ...]:
    """Propose to merge an intent with those it overlaps with.

    Args:
        describer: Describes the intents.
        vectors: Unit vectors of all utterances, [n, d].
        intent: The number of the intent.
    """
    proposals = []
    for overlap in describer.overlaps_of(intent):
        rows = describer.rows(intent)[:MAX_UTTERANCES_COMPARED]
        other_rows = describer.rows(describer.names.index(overlap.name))[:MAX_UTTERANCES_COMPARED]
        similarity = vectors[rows] @ vectors[other_rows].T
        best = similarity.flatten().topk(min(MAX_EVIDENCE_PAIRS, similarity.numel())).indices.tolist()
        pairs = tuple(
            (
                describer.utterances[rows[i // len(other_rows)]].text,
                describer.utterances[other_rows[i % len(other_rows)]].text,
            )
            for i in best
        )
        proposals.append(MergeProposal(overlap.name, describer.statuses[overlap.name], overlap.share, pairs))
    return tuple(proposals)


def confused_pairs(describer: IntentDescriber, rows: Sequence[int], count: int) -> list[ConfusedPair]:
    """Return the pairs of intents that are most often mixed up, by the model's own probabilities.

    Args:
        describer: Describes the intents.
        rows: The utterances that count, by row number: those from the logs that nobody has checked.
        count: The number of pairs at most.
    """
    n = len(describer.names)
    label = describer.label[list(rows)]
    kept = label >= 0
    expected = torch.zeros(n, n).index_add_(0, label[kept], describer.probabilities[list(rows)][kept])
    both = (expected + expected.T).triu(diagonal=1)
    best = both.flatten().topk(min(count, both.numel()))
    return [
        ConfusedPair(describer.names[i // n], describer.names[i % n], round(value, 1))
        for value, i in zip(best.values.tolist(), best.indices.tolist(), strict=True)
        if value >= MIN_EXPECTED_CONFUSIONS
    ]
