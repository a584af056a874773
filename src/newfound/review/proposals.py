"""What a reviewer should look at: examples of each intent, proposals to merge or split, and pairs that are mixed up.

A `Resizer` proposes what to merge or split so that there are fewer or more new intents, without another fit. Only new
intents that nobody has accepted are merged or split: on the others a person has decided. What comes of it is ordinary
decisions, recorded together, so that one undo takes all of them back.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.intent_tree import Group, IntentTree, two_halves
from newfound.algorithms.metrics import silhouette
from newfound.errors import DecisionError
from newfound.intents.description import IntentDescriber, exemplars
from newfound.intents.naming import name_intents
from newfound.intents.overview import sizes_of
from newfound.review.decisions import MAX_PARTS, Decision
from newfound.review.reviewed import ReviewedModel
from newfound.review.views import Change, ConfusedPair, EstimatedNumber, MergeProposal, Part, Resizing, SplitProposal

if TYPE_CHECKING:
    from newfound.review.queries import ReviewView

MAX_UTTERANCES_COMPARED = 400  # per intent, for the proposals to merge or split
MAX_DESCRIBING_UTTERANCES = 12  # of a part of a proposed split
MAX_EVIDENCE_PAIRS = 3  # per proposal to merge
MIN_SEPARATION_TO_SUGGEST = 0.2  # the silhouette of two parts that are clearly apart
MIN_EXPECTED_CONFUSIONS = 0.5  # utterances, for a pair of intents to be shown
MIN_NEW_INTENTS = 2
MAX_OFFERED = 1_000  # new intents; it limits the time that one request takes
MAX_RATIO_TO_PRESENT = 3  # of the largest number that is offered to the present number, where more are present already
VECTOR_STEPS = 10_000  # of a unit vector's components, between 0 and 1: what differs less is the same
MAX_EXAMPLES = 2  # utterances that are shown of an intent
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


class Resizer:
    """Proposes decisions that lead to a number of new intents, for one version of a review.

    The tree over the new intents is computed once, when it is first used.
    """

    def __init__(self, view: ReviewView) -> None:
        self._view = view
        self._lock = Lock()
        self._names: dict[Group, str] = {}  # of parts of intents; a part keeps its name whatever number is asked for
        review = view.reviewed.review
        self._sizes = sizes_of(view.describer.utterances)
        self._present = len(view.names) - len(review.known)
        self._undecided = [name for name in view.names if review.status(name) == "new" and self._rows(name)]
        # Accepted intents, and those without utterances.
        self._untouched = self._present - len(self._undecided)

    def _rows(self, name: str) -> Sequence[int]:
        return self._view.describer.rows(self._view.number(name))

    @cached_property
    def _tree(self) -> IntentTree:
        rows = [self._distinct(self._rows(name)) for name in self._undecided]
        created = self._view.reviewed.review.created
        moved_alone = [i for i, name in enumerate(self._undecided) if name in created]
        most = max(MAX_OFFERED, MAX_RATIO_TO_PRESENT * self._present) - self._untouched
        return IntentTree(self._view.session.vectors, rows, whole=moved_alone, most=most, most_parts=MAX_PARTS)

    def _distinct(self, rows: Sequence[int]) -> list[int]:
        """Return the rows without those that the vectors of others do not tell apart, such as repeated utterances."""
        vectors = (VECTOR_STEPS * self._view.session.vectors[list(rows)]).round().short().numpy()
        return list({vector.tobytes(): row for vector, row in zip(vectors, rows, strict=True)}.values())

    def preview(self, n_new: int | None = None) -> Resizing:
        """Return what would be merged or split to have `n_new` new intents, accepted ones included.

        By default it is the present number. A `DecisionError` says which numbers are possible.
        """
        wanted = self._present if n_new is None else n_new
        with self._lock:  # the tree is computed once, and each part is named once
            fewest = min(self._present, max(MIN_NEW_INTENTS, self._untouched + self._tree.fewest))
            most = self._untouched + self._tree.most
            if not fewest <= wanted <= most:
                possible = f"choose a number from {fewest} to {most}"
                raise DecisionError(f"{wanted} new intents are not possible here; {possible}")
            decisions = self._decisions(wanted)
        return Resizing(
            self._view.version,
            self._present,
            wanted,
            fewest,
            most,
            EstimatedNumber.of(self._view.reviewed.model.provenance),
            self._changes(decisions) if decisions else (),
            tuple(decisions),
        )

    def _decisions(self, wanted: int) -> list[Decision]:
        self._name_parts(wanted - self._present)
        groups = self._tree.groups(wanted - self._untouched)
        parts: dict[int, list[Group]] = {}
        for group in groups:
            parts.setdefault(group.intents[0], []).append(group)
        merges = []
        for group in (group for group in groups if len(group.intents) > 1):
            into, *names = sorted((self._undecided[i] for i in group.intents), key=lambda name: -self._sizes[name])
            merges.append(Decision("merge", {"intents": names, "into": into}))
        splits = [self._split(intent, divided) for intent, divided in parts.items() if len(divided) > 1]
        return merges + splits

    def _split(self, intent: int, parts: Sequence[Group]) -> Decision:
        parts = sorted(parts, key=lambda part: -len(part.rows))
        x = self._view.session.vectors
        means = F.normalize(torch.stack([x[list(part.rows)].mean(0) for part in parts]), dim=-1)  # [parts, d]
        nearest = {i for part in parts for i in (x[list(part.rows)] @ means.T).argmax(1).tolist()}
        # A part whose mean is the nearest one to no utterance would be empty; a single utterance is nearest to itself.
        counts = [MAX_DESCRIBING_UTTERANCES if i in nearest else 1 for i in range(len(parts))]
        into = {self._names[part]: self._central(part.rows, n) for part, n in zip(parts, counts, strict=True)}
        return Decision("split", {"intent": self._undecided[intent], "into": into})

    def _name_parts(self, splits: int) -> None:
        """Name the parts of the first splits, in their order; a part may have the name of what it is a part of."""
        utterances = self._view.describer.utterances
        for split in self._tree.splits(splits):
            if split.parts[0] in self._names:
                continue
            whole = self._names.get(split.group) or self._undecided[split.group.intents[0]]
            texts = [[utterances[row].text for row in part.rows] for part in split.parts]
            names = name_intents(texts, taken={*self._view.names, *self._names.values()} - {whole})
            self._names |= dict(zip(split.parts, names, strict=True))

    def _changes(self, decisions: Sequence[Decision]) -> tuple[Change, ...]:
        """Return what each decision does, by applying all of them to a copy of the review."""
        reviewed = self._view.reviewed
        review = reviewed.review.copy()
        for decision in decisions:
            review.apply(decision)
        sizes = sizes_of(ReviewedModel(reviewed.model, review, vectors_of=reviewed.vectors_of).assigned)
        changes = []
        for decision in decisions:
            arguments = decision.arguments
            if decision.kind == "merge":
                before, into = [arguments["into"], *arguments["intents"]], arguments["into"]
                after = [Part(into, sizes[into], self._examples(into))]
            else:
                before = [arguments["intent"]]
                after = [Part(n, sizes[n], tuple(texts[:MAX_EXAMPLES])) for n, texts in arguments["into"].items()]
            shown = tuple(Part(name, self._sizes[name], self._examples(name)) for name in before)
            changes.append(Change("merge" if decision.kind == "merge" else "split", shown, tuple(after)))
        return tuple(changes)

    def _examples(self, name: str) -> tuple[str, ...]:
        return tuple(self._central(self._rows(name), MAX_EXAMPLES))

    def _central(self, rows: Sequence[int], count: int) -> list[str]:
        """Return central utterances that differ from one another."""
        texts = [self._view.describer.utterances[row].text for row in rows]
        return list(central_texts(self._view.session.vectors[list(rows)], texts, count))
