"""What a reviewer should look at: examples of each intent, proposals to merge or split, and pairs that are mixed up."""

from __future__ import annotations

from collections.abc import Sequence

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
MIN_SEPARATION_TO_SUGGEST = 0.2  # the silhouette of two parts that are clearly apart
MIN_EXPECTED_CONFUSIONS = 0.5  # utterances, for a pair of intents to be shown
TwoParts = tuple[Tensor, float]


def two_parts(vectors: Tensor) -> TwoParts | None:
    """Divide utterances with unit vectors [n, d] in two by k-means; None if they are too few.

    Returns the part of each utterance, [n], and the silhouette of the two parts.
    """
    label = two_halves(vectors)
    if label is None:
        return None
    sample = torch.randperm(len(vectors), generator=torch.Generator().manual_seed(0))[:MAX_UTTERANCES_COMPARED]
    return label, round(silhouette(vectors[sample], label[sample]), 3)


def central_texts(vectors: Tensor, texts: Sequence[str], count: int) -> tuple[str, ...]:
    """Return central texts that differ from one another, by their unit vectors [n, d]."""
    return tuple(texts[i] for i in exemplars(vectors, vectors.mean(0), texts, count=count))


def split_proposal(describer: IntentDescriber, vectors: Tensor, intent: int, parts: TwoParts) -> SplitProposal:
    """Return the proposal to split an intent into parts, each with a name and central utterances."""
    label, separation = parts
    rows = torch.tensor(describer.rows(intent))
    groups = [rows[label == part].tolist() for part in (0, 1)]
    texts = [[describer.utterances[i].text for i in group] for group in groups]
    names = name_intents(texts, taken=describer.names)
    shown = (
        Part(name, describer.occurrences(group), central_texts(vectors[group], own, MAX_DESCRIBING_UTTERANCES))
        for group, own, name in zip(groups, texts, names, strict=True)
    )
    return SplitProposal(separation, tuple(shown))


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
