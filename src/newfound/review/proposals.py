"""What a reviewer should look at: examples of each intent, proposals to merge or split, and pairs that are mixed up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

import numpy as np
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
        self._values: dict[tuple[str, bytes], Any] = {}  # the least recently used first
        self._lock = Lock()

    def get(self, what: str, rows: Sequence[int], compute: Callable[[], T]) -> T:
        """Return a value by its name and the rows that it is computed from.

        `compute` may run twice if two threads ask at the same time.
        """
        key = what, np.asarray(rows, np.int32).tobytes()
        with self._lock:
            value: T | None = self._values.get(key)
        if value is None:
            value = compute()
        with self._lock:
            self._values.pop(key, None)
            self._values[key] = value
            while len(self._values) > MAX_CACHED_VALUES:
                del self._values[next(iter(self._values))]
        return value


@dataclass(frozen=True, slots=True)
class TwoParts:
    """The utterances of an intent, divided in two."""

    label: Tensor  # the part of each utterance, [n]
    separation: float  # the silhouette of the two parts


def two_parts(vectors: Tensor) -> TwoParts | None:
    """Divide utterances with unit vectors [n, d] in two by k-means; None if they are too few."""
    label = two_halves(vectors)
    if label is None:
        return None
    sample = torch.randperm(len(vectors), generator=torch.Generator().manual_seed(0))[:MAX_UTTERANCES_COMPARED]
    return TwoParts(label, round(silhouette(vectors[sample], label[sample]), 3))


def central_texts(vectors: Tensor, texts: Sequence[str], count: int) -> tuple[str, ...]:
    """Return central texts that differ from one another, by their unit vectors [n, d]."""
    return tuple(texts[i] for i in exemplars(vectors, vectors.mean(0), texts, count=count))


def split_proposal(
    parts: TwoParts, vectors: Tensor, texts: Sequence[str], counts: Sequence[int], names_in_use: Sequence[str]
) -> SplitProposal:
    """Return the proposal to split an intent with these texts, which occurred so often.

    Each part has a name and central utterances.
    """
    groups = [(parts.label == part).nonzero().squeeze(1) for part in (0, 1)]
    texts_of_parts = [[texts[i] for i in group.tolist()] for group in groups]
    sizes = [sum(counts[i] for i in group.tolist()) for group in groups]
    names = name_intents(texts_of_parts, taken=names_in_use)
    shown = (
        Part(name, size, central_texts(vectors[group], part_texts, MAX_DESCRIBING_UTTERANCES))
        for group, part_texts, name, size in zip(groups, texts_of_parts, names, sizes, strict=True)
    )
    return SplitProposal(parts.separation, tuple(shown))


def merge_proposals(describer: IntentDescriber, vectors: Tensor, intent: int) -> tuple[MergeProposal, ...]:
    """Propose to merge an intent with those it overlaps with."""
    proposals = []
    rows = describer.rows(intent)[:MAX_UTTERANCES_COMPARED]
    for overlap in describer.overlaps_of(intent):
        other_rows = describer.rows(describer.names.index(overlap.name))[:MAX_UTTERANCES_COMPARED]
        similarity = vectors[rows] @ vectors[other_rows].T
        best = similarity.flatten().topk(min(MAX_EVIDENCE_PAIRS, similarity.numel())).indices.tolist()
        places = (divmod(i, len(other_rows)) for i in best)
        pairs = tuple((describer.utterances[rows[a]].text, describer.utterances[other_rows[b]].text) for a, b in places)
        proposals.append(MergeProposal(overlap.name, describer.statuses[overlap.name], overlap.share, pairs))
    return tuple(proposals)


def confused_pairs(describer: IntentDescriber, rows: Sequence[int], count: int) -> list[ConfusedPair]:
    """Return the pairs of intents that are most often mixed up, by the model's own probabilities of these rows."""
    n = len(describer.names)
    label = describer.label[list(rows)]
    kept = label >= 0
    expected = torch.zeros(n, n).index_add_(0, label[kept], describer.probabilities[list(rows)][kept])
    mixed_up = (expected + expected.T).triu(diagonal=1)
    best = mixed_up.flatten().topk(min(count, mixed_up.numel()))
    return [
        ConfusedPair(describer.names[i // n], describer.names[i % n], round(value, 1))
        for value, i in zip(best.values.tolist(), best.indices.tolist(), strict=True)
        if value >= MIN_EXPECTED_CONFUSIONS
    ]
