"""A clustering, what answers have said about it so far, and the labels under these answers.

The clusters of a consensus are the first intents. Each is one piece, and a piece is cut in two where it falls apart
most easily. The part away from the utterance that stands for the piece is asked about; the answer decides for all of
the part. Which question comes next is in `selection`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.clustering import kmeans

MIN_DOUBT_TO_FOLLOW = 0.5  # about a part, for it to follow one of its rows that nobody asked about
MIN_ROWS_TO_CUT = 4
CUT_RESTARTS = 3
MAX_KEPT_CUTS = 4_096
# Logistic regressions on 1,000 cuts and 300 pairs of clusters on four fresh partitions.
LOG_ODDS_DIFFERENT = (4.07, -6.72)  # two parts are two intents: constant, and factor of their co-association
LOG_ODDS_SAME = (-4.37, 6.83)  # two clusters are one intent


@dataclass(slots=True, eq=False)
class Piece:
    """Rows that are taken for one intent, the row that stands for them, and where they would be cut next."""

    rows: Tensor
    anchor: int  # the row that stands for them
    intent: int
    counts: Tensor  # how votes divide the rows, [votes, clusters]
    part: Tensor | None = None  # the rows away from the anchor; None if the piece is not cut
    medoid: int = -1  # the row that stands for the part
    doubt: float = 0.0  # the probability that the part is another intent

    @property
    def gain(self) -> float:
        """The expected number of rows that a question about the part puts right."""
        return 0.0 if self.part is None else self.doubt * len(self.part)


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What clusterings and vectors say about sets of rows: where one falls apart, and whether two are one intent."""

    x: Tensor  # [n, d]
    votes: Tensor  # [votes, n]
    clusters: int  # the largest number of clusters of a vote
    cuts: dict[bytes, Tensor] = field(default_factory=dict)  # those that were made, by their rows

    def piece(self, rows: Tensor, anchor: int, intent: int) -> Piece:
        """Return rows as one piece, with the part that a question would be about."""
        piece = Piece(rows, anchor, intent, self.counts(rows))
        if len(rows) >= MIN_ROWS_TO_CUT:
            half = self.cut(rows)
            part = rows[half != half[(rows == anchor).nonzero()[0, 0]]]
            if len(part):
                piece.part, piece.medoid, piece.doubt = part, self.medoid(part), self.doubt(part, rows)
        return piece

    def around(self, rows: Tensor, row: int, others: Tensor) -> Tensor:
        """Return the rows around a row that are left when cuts have taken away all `others`."""
        while bool(torch.isin(rows, others).any()):
            if len(rows) < MIN_ROWS_TO_CUT:
                return torch.tensor([row], device=rows.device)
            half = self.cut(rows)
            with_row = half == half[(rows == row).nonzero()[0, 0]]
            if bool(with_row.all()):
                return torch.tensor([row], device=rows.device)
            rows = rows[with_row]
        return rows

    def doubt(self, part: Tensor, rows: Tensor) -> float:
        """Return the probability that a part of some rows is another intent than the rest."""
        counts = self.counts(part)
        return float(probability(LOG_ODDS_DIFFERENT, co_association(counts, self.counts(rows) - counts)))

    def confusion(self, pieces: list[Piece]) -> tuple[list[int], Tensor, Tensor]:
        """Return the intents of pieces, how far votes put each two together [intents, intents], and their sizes."""
        intents = sorted({p.intent for p in pieces})
        place = {intent: i for i, intent in enumerate(intents)}
        of_piece = torch.tensor([place[p.intent] for p in pieces], device=self.x.device)
        every = torch.stack([p.counts for p in pieces])  # [pieces, votes, clusters]
        counts = torch.zeros(len(intents), *every.shape[1:], device=self.x.device).index_add_(0, of_piece, every)
        unit = F.normalize(counts, dim=-1).flatten(1)
        return intents, unit @ unit.T / len(self.votes), counts[:, 0].sum(1)

    def counts(self, rows: Tensor) -> Tensor:
        """Return how votes divide some rows, [votes, clusters]."""
        votes = self.votes[:, rows]
        counts = torch.zeros(len(votes), self.clusters, device=votes.device)
        return counts.scatter_add_(1, votes, torch.ones_like(votes, dtype=counts.dtype))

    def cut(self, rows: Tensor) -> Tensor:
        """Return which of two halves each row is in; the same rows are cut once."""
        key = rows.cpu().numpy().tobytes()
        half = self.cuts.get(key)
        if half is None:
            if len(self.cuts) >= MAX_KEPT_CUTS:
                self.cuts.clear()
            half = self.cuts[key] = kmeans(self.x[rows], 2, restarts=CUT_RESTARTS, seed=0).labels
        return half

    def medoid(self, rows: Tensor) -> int:
        """Return the row that is nearest to the mean of some rows."""
        return int(rows[(self.x[rows] @ self.x[rows].mean(0)).argmax()])


def co_association(one: Tensor, other: Tensor) -> Tensor:
    """Return how far votes put two sets of rows together, 0 to 1: the mean cosine of counts [..., votes, clusters]."""
    return (F.normalize(one, dim=-1) * F.normalize(other, dim=-1)).sum(-1).mean(-1)


def probability(odds: tuple[float, float], co_association: Tensor) -> Tensor:
    """Return the probability that follows from a co-association by a logistic regression."""
    return torch.sigmoid(odds[0] + odds[1] * co_association)


@dataclass(frozen=True, slots=True)
class Question:
    """Which of some intents an utterance belongs to."""

    row: int  # of the utterance
    intents: tuple[int, ...]  # the present one or most probable one first
    candidates: tuple[tuple[int, ...], ...]  # for each intent rows that stand for it
    gain: float  # the expected number of utterances that the answer puts right
    doubt: float  # the probability that what is assigned now is wrong
    rows: int  # how many rows the answer decides about
    others: tuple[int, ...] = ()  # some more of these rows, which can be asked about to make sure
    is_about: int | None = None  # the intent that the utterance stands for as a whole; None if it stands for a part

    def pairs_with(self, intent: int) -> set[frozenset[int]]:
        """Return the pairs of an intent with each of those that are shown."""
        return {frozenset((intent, other)) for other in self.intents}

    def probabilities(self, choices: Sequence[int | None], reliability: float) -> dict[int | None, float]:
        """Return how probable each answer is to be right, given what several rows were answered."""
        options: list[int | None] = [*range(len(self.intents)), None]
        present = 0 if self.is_about is None else None
        weight = {
            option: 1 - self.doubt if option == present else self.doubt / (len(options) - 1) for option in options
        }
        for choice in choices:
            for option in options:
                weight[option] *= reliability if choice == option else (1 - reliability) / (len(options) - 1)
        total = sum(weight.values())
        return {option: value / total if total else 0.0 for option, value in weight.items()}


@dataclass(frozen=True, slots=True)
class OutsideIntent:
    """An intent that has no rows in a clustering, but to which some of them may belong."""

    vector: Tensor  # the mean of its utterances, of unit length, [d]
    examples: tuple[int, ...]  # numbers that stand for it in questions; no row has them


class AnswerState:
    """The pieces of a clustering, and what answers say about them."""

    def __init__(
        self,
        x: Tensor,
        votes: Sequence[Tensor],
        labels: Tensor,
        *,
        fixed: Collection[int] = (),
        outside: Mapping[int, OutsideIntent] | None = None,
        cuts: dict[bytes, Tensor] | None = None,
    ) -> None:
        """Begin with a consensus.

        Args:
            x: Vectors of the rows, [n, d] of unit length.
            votes: Clusterings [n] of the rows.
            labels: The consensus, [n]: numbers from 0, one for each intent; rows of -1 are left out.
            fixed: Intents that are not to be joined with each other.
            outside: Intents without rows, by numbers that `labels` does not have. Answers may give them rows.
            cuts: The cuts that earlier states of the same vectors have made; those of this state are added.
        """
        every = torch.stack(list(votes))  # [votes, n]
        self.evidence = Evidence(x, every, int(every.max()) + 1 if len(x) else 0, {} if cuts is None else cuts)
        self.outside = dict(outside or {})
        self.fixed = frozenset(fixed) | self.outside.keys()
        self.apart: set[frozenset[int]] = set()  # pairs of intents that answers tell apart
        self.skipped: set[frozenset[int]] = set()  # pairs about which a question was left without an answer
        self.asked: set[int] = set()  # rows
        self.confirmed: set[int] = set()  # rows that were said to be where they were
        self._certain: set[int] = set()  # rows whose intent was said
        of_intent = {i: (labels == i).nonzero().squeeze(1) for i in torch.unique(labels[labels >= 0]).tolist()}
        anchors = {intent: self.evidence.medoid(rows) for intent, rows in of_intent.items()}
        self.pieces = [self.evidence.piece(rows, anchors[intent], intent) for intent, rows in of_intent.items()]
        # Rows that stand for each intent, the first one for all of it.
        self.examples = {intent: [anchor] for intent, anchor in anchors.items()}
        self.n_intents = len(self.examples)  # at the beginning, without those from outside
        self.next_intent = max(self.examples, default=-1) + 1
        self.examples |= {intent: [] for intent in self.outside}

    def answer(self, question: Question, choice: int | None) -> None:
        """Move the part that a question is about, or join two intents; None is none of the candidates."""
        self.asked.add(question.row)
        self._certain.add(question.row)
        if choice is None:  # Of the intents that were shown, two may still be one.
            self.apart |= question.pairs_with(self.next_intent if question.is_about is None else question.is_about)
        if question.is_about is not None:
            if choice is not None:
                self._join(question.is_about, question.intents[choice])
        elif choice is not None:
            self._separate(question.row, question.intents[choice])
        else:
            self.assign(question.row, self.next_intent)

    def skip(self, question: Question) -> None:
        """Go on without an answer to a question."""
        self.asked.add(question.row)
        if question.is_about is not None:
            self.skipped |= question.pairs_with(question.is_about)

    def assign(self, row: int, intent: int) -> None:
        """Take it as certain that a row belongs to an intent, whether or not it was asked about.

        If it was in another intent, the part around it that is away from rows which are certain follows it, provided
        that a question would have been about just this row, or that votes tell this part from the rest.
        """
        self.asked.add(row)
        self._certain.add(row)
        self.examples.setdefault(intent, [])
        self.next_intent = max(self.next_intent, intent + 1)
        self._separate(row, intent)

    def _separate(self, row: int, intent: int) -> None:
        """Cut the piece of a row until the row's part holds no row that stands for another intent, and assign that."""
        piece = next(p for p in self.pieces if bool((p.rows == row).any()))
        if row not in self.examples[intent]:
            self.examples[intent].append(row)
        device = self.evidence.x.device
        certain = torch.tensor(sorted(self._certain - {row}), dtype=torch.int64, device=device)
        if piece.part is not None and piece.medoid == row and not bool(torch.isin(piece.part, certain).any()):
            self.pieces.remove(piece)
            self._add(piece.rows[~torch.isin(piece.rows, piece.part)], piece.anchor, piece.intent)
            self._add(piece.part, row, intent)
            return
        if piece.intent == intent:
            self.confirmed.add(row)
            return
        self.pieces.remove(piece)
        rows = piece.rows
        centre = piece.medoid if row == piece.anchor and piece.part is not None else piece.anchor
        others = torch.cat([certain[torch.isin(certain, rows)], torch.tensor([centre], device=device)])
        around = self.evidence.around(rows, row, others)
        if self.evidence.doubt(around, rows) < MIN_DOUBT_TO_FOLLOW:
            around = torch.tensor([row], device=device)
        self._add(around, row, intent)
        rest = rows[~torch.isin(rows, around)]
        if len(rest):
            anchor = piece.anchor if piece.anchor != row else self.evidence.medoid(rest)
            self.examples[piece.intent] = [e for e in self.examples[piece.intent] if e != row] or [anchor]
            self._add(rest, anchor, piece.intent)
        elif not any(p.intent == piece.intent for p in self.pieces):
            del self.examples[piece.intent]

    def _add(self, rows: Tensor, anchor: int, intent: int) -> None:
        self.pieces.append(self.evidence.piece(rows, anchor, intent))

    def _join(self, gone: int, kept: int) -> None:
        for piece in self.pieces:
            if piece.intent == gone:
                piece.intent = kept
        self.examples[kept] += self.examples.pop(gone)
        self.apart = {frozenset(kept if i == gone else i for i in pair) for pair in self.apart}
        self.apart = {pair for pair in self.apart if len(pair) == 2}
        self.skipped = {pair for pair in self.skipped if gone not in pair}


def resolve_labels(state: AnswerState, k: int | None = None) -> Tensor:
    """Return the intent of each row, [n]: the numbers of the clustering, of `outside`, and new ones.

    `k` is the number of intents besides those from outside. By default it is what the answers leave; otherwise intents
    are joined where the least is lost, even those that answers tell apart if there are more of them than k, or the
    parts most in doubt become intents, until there are k.
    """
    pieces, outside = state.pieces, state.outside.keys()
    becomes = {piece.intent: piece.intent for piece in pieces}
    while k is not None and len(set(becomes.values()) - outside) > max(1, k):
        if not _join_at_least_loss(state, becomes, state.apart) and not _join_at_least_loss(state, becomes, set()):
            break
    labels = torch.full((len(state.evidence.x),), -1, device=state.evidence.x.device)
    for piece in pieces:
        labels[piece.rows] = becomes[piece.intent]
    missing = 0 if k is None else max(0, k - len(set(becomes.values()) - outside))
    inside = (p for p in pieces if p.part is not None and p.intent not in outside)
    doubtful = sorted(inside, key=lambda p: -p.gain)[:missing]
    for number, piece in enumerate(doubtful):
        assert piece.part is not None
        labels[piece.part] = state.next_intent + number
    return labels


def _join_at_least_loss(state: AnswerState, becomes: dict[int, int], told_apart: set[frozenset[int]]) -> bool:
    """Join two intents that are not told apart at the least expected loss; False if there are none."""
    intents, together, size = state.evidence.confusion(state.pieces)
    differ = 1 - probability(LOG_ODDS_SAME, together)
    total: dict[int, float] = {}
    for intent, n in zip(intents, size.tolist(), strict=True):
        total[becomes[intent]] = total.get(becomes[intent], 0.0) + n
    apart = {frozenset(becomes.get(i, i) for i in pair) for pair in told_apart}
    best: tuple[float, int, int] | None = None
    for a, one in enumerate(intents):
        for b, other in enumerate(intents[:a]):
            pair = frozenset((becomes[one], becomes[other]))
            may_be_one = not pair <= state.fixed and not pair & state.outside.keys()
            if len(pair) == 2 and pair not in apart and may_be_one:
                small, large = sorted(pair, key=lambda g: (g in state.fixed, total[g]))
                loss = float(differ[a, b]) * total[small]
                best = min(best or (loss, small, large), (loss, small, large))
    if best is None:
        return False
    _, gone, kept = best
    becomes.update({intent: kept for intent, group in becomes.items() if group == gone})
    return True
