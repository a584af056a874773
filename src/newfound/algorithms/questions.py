"""Which questions about a clustering gain most, and the clusters that the answers leave.

A question shows one utterance and a few intents, each by utterances that stand for it: which of them fits, or none?
Whoever answers, a person, a language model or, in a study, the gold labels, answers with one choice.

The clusters of a consensus are the first intents. Each is one piece, and a piece is cut in two where it falls apart
most easily. The part away from the utterance that stands for the piece is asked about; the answer decides for all of
the part. How far votes put both parts together says how probable it is that they are two intents. In the same way, an
intent that votes confuse with another is asked about as a whole. The question whose answer is expected to put most
utterances right comes first.

Vectors are [n, d] of unit length, votes [n] each.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.clustering import kmeans
from newfound.algorithms.ranking import ranked

MAX_CANDIDATES = 5
MAX_EXAMPLES = 3  # of an intent in a question
MAX_CONFUSED = 2  # other intents that one is compared with
MAX_OTHERS = 4  # rows that can be asked about to make sure
MAX_OUTSIDE = 2  # intents without rows here that a question shows
MIN_DOUBT_TO_FOLLOW = 0.5  # about a part, for it to follow one of its rows that nobody asked about
MIN_ROWS_TO_CUT = 4
CUT_RESTARTS = 3
# Logistic regressions on 1,000 cuts and 300 pairs of clusters on four fresh partitions (benchmarks/questions/odds.py).
PARTS_DIFFER = (4.07, -6.72)  # log odds that two parts are two intents: constant, and factor of their co-association
PAIR_IS_ONE = (-4.37, 6.83)  # log odds that two clusters are one intent


@dataclass(frozen=True, slots=True)
class Question:
    """Which of some intents an utterance belongs to.

    Attributes:
        row: The utterance.
        intents: The numbers of the intents, the present one or most probable one first.
        candidates: For each of them rows that stand for it.
        gain: The expected number of utterances that the answer puts right.
        doubt: The probability that what is assigned now is wrong.
        rows: How many rows the answer decides about.
        others: Some more of these rows, which can be asked about to make sure.
        is_about: The intent that the utterance stands for as a whole; None if it stands for a part.
    """

    row: int
    intents: tuple[int, ...]
    candidates: tuple[tuple[int, ...], ...]
    gain: float
    doubt: float
    rows: int
    others: tuple[int, ...] = ()
    is_about: int | None = None

    def probabilities(self, choices: Sequence[int | None], reliability: float) -> dict[int | None, float]:
        """Return how probable each answer is to be right, given what several rows were answered.

        Args:
            choices: The answers about the utterance and about some of `others`.
            reliability: The share of the answers that are right.
        """
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
    """An intent that has no rows in a clustering, but to which some of them may belong.

    Attributes:
        vector: Of unit length, [d].
        examples: Numbers that stand for it in questions; no row has them.
    """

    vector: Tensor
    examples: tuple[int, ...]


@dataclass(slots=True, eq=False)
class _Piece:
    """Rows that are taken for one intent, the row that stands for them, and where they would be cut next."""

    rows: Tensor
    anchor: int
    intent: int
    counts: Tensor  # [votes, clusters] how votes divide the rows
    part: Tensor | None = None  # the rows away from the anchor
    medoid: int = -1  # the row that stands for the part
    doubt: float = 0.0  # the probability that the part is another intent

    @property
    def gain(self) -> float:
        return 0.0 if self.part is None else self.doubt * len(self.part)


class Inquiry:
    """Asks about a clustering, question after question, and holds what the answers say."""

    def __init__(
        self,
        x: Tensor,
        votes: Sequence[Tensor],
        labels: Tensor,
        *,
        settled: Collection[int] = (),
        outside: Mapping[int, OutsideIntent] | None = None,
    ) -> None:
        """Begin with a consensus.

        Args:
            x: Vectors of the rows.
            votes: Clusterings of the rows, one or more.
            labels: The consensus: numbers from 0, one for each intent.
            settled: Intents that are not to be joined with each other.
            outside: Intents without rows, by numbers that `labels` does not have. Answers may give them rows.
        """
        self._x = x
        self._votes = torch.stack(list(votes))  # [votes, n]
        self._clusters = int(self._votes.max()) + 1 if len(x) else 0
        self._pieces: list[_Piece] = []
        self._examples: dict[int, list[int]] = {}  # rows that stand for each intent, the first one for all of it
        self._outside = dict(outside or {})
        self._settled = frozenset(settled) | self._outside.keys()
        self._apart: set[frozenset[int]] = set()  # pairs of intents that answers tell apart
        self._skipped: set[frozenset[int]] = set()
        self._asked: set[int] = set()
        self._told: set[int] = set()
        self._confirmed: set[int] = set()  # of the told rows those that were told to be where they were
        for intent in torch.unique(labels).tolist():
            rows = (labels == intent).nonzero().squeeze(1)
            anchor = self._medoid(rows)
            self._examples[intent] = [anchor]
            self._add(rows, anchor, intent)
        self._k = len(self._examples)
        self._next_intent = max(self._examples, default=-1) + 1
        self._examples |= {intent: [] for intent in self._outside}

    def next(self) -> Question | None:
        """Return the question that is expected to gain most; None if nothing is left to ask."""
        if not self._pieces:
            return None
        part, whole = self._about_a_part(), self._about_an_intent()
        if part is None or whole is None:
            return part or whole
        return part if part.gain >= whole.gain else whole

    def answer(self, question: Question, choice: int | None) -> None:
        """Take an answer.

        Args:
            question: The question that `next` returned last.
            choice: The position of the candidate that fits; None if none of them does.
        """
        chosen = None if choice is None else question.intents[choice]
        self._asked.add(question.row)
        self._told.add(question.row)
        if question.is_about is None:
            self._separate(question.row, self._founded(question) if chosen is None else chosen)
        elif chosen is None:
            self._note_apart(question.is_about, question)
        else:
            self._join(question.is_about, chosen)

    def skip(self, question: Question) -> None:
        """Go on without an answer to a question."""
        self._asked.add(question.row)
        if question.is_about is not None:
            self._skipped |= {frozenset((question.is_about, other)) for other in question.intents}

    def tell(self, row: int, intent: int) -> None:
        """Take it as certain that a row belongs to an intent, whether or not it was asked about.

        If it was in another intent, the part around it that is away from rows which are certain follows it, provided
        that a question would have been about just this row, or that votes tell this part from the rest.

        Args:
            row: The row.
            intent: The intent; a new number is a new intent.
        """
        self._asked.add(row)
        self._told.add(row)
        self._examples.setdefault(intent, [])
        self._next_intent = max(self._next_intent, intent + 1)
        self._separate(row, intent)

    def labels(self, k: int | None = None) -> Tensor:
        """Return the intent of each row, [n]: the numbers of the clustering, of `outside`, and new ones.

        Args:
            k: The number of intents, besides those from outside. By default it is what the answers leave; otherwise
                intents are joined where the least is lost, even those that answers tell apart if there are more of
                them than k, or the parts most in doubt become intents, until there are k.
        """
        becomes = {piece.intent: piece.intent for piece in self._pieces}
        while k is not None and len(set(becomes.values()) - self._outside.keys()) > max(1, k):
            if not self._join_at_least_loss(becomes, self._apart) and not self._join_at_least_loss(becomes, set()):
                break
        labels = torch.full((len(self._x),), -1, device=self._x.device)
        for piece in self._pieces:
            labels[piece.rows] = becomes[piece.intent]
        missing = 0 if k is None else max(0, k - len(set(becomes.values()) - self._outside.keys()))
        inside = (p for p in self._pieces if p.part is not None and p.intent not in self._outside)
        doubtful = sorted(inside, key=lambda p: -p.gain)[:missing]
        for number, piece in enumerate(doubtful):
            assert piece.part is not None
            labels[piece.part] = self._next_intent + number
        return labels

    # What answers change

    def _separate(self, row: int, intent: int) -> None:
        """Cut the piece of a row until the row's part holds no row that stands for another intent, and assign that."""
        piece = next(p for p in self._pieces if bool((p.rows == row).any()))
        if row not in self._examples[intent]:
            self._examples[intent].append(row)
        certain = torch.tensor(sorted(self._told - {row}), dtype=torch.int64, device=self._x.device)
        if piece.part is not None and piece.medoid == row and not bool(torch.isin(piece.part, certain).any()):
            self._pieces.remove(piece)
            self._add(piece.rows[~torch.isin(piece.rows, piece.part)], piece.anchor, piece.intent)
            self._add(piece.part, row, intent)
            return
        if piece.intent == intent:
            self._confirmed.add(row)
            return
        self._pieces.remove(piece)
        rows = piece.rows
        centre = piece.medoid if row == piece.anchor and piece.part is not None else piece.anchor
        others = torch.cat([certain[torch.isin(certain, rows)], torch.tensor([centre], device=self._x.device)])
        around = self._around(rows, row, others)
        if self._differ(around, rows) < MIN_DOUBT_TO_FOLLOW:
            around = torch.tensor([row], device=self._x.device)
        self._add(around, row, intent)
        rest = rows[~torch.isin(rows, around)]
        if len(rest):
            anchor = piece.anchor if piece.anchor != row else self._medoid(rest)
            self._examples[piece.intent] = [e for e in self._examples[piece.intent] if e != row] or [anchor]
            self._add(rest, anchor, piece.intent)
        elif not any(p.intent == piece.intent for p in self._pieces):
            del self._examples[piece.intent]

    def _around(self, rows: Tensor, row: int, others: Tensor) -> Tensor:
        """The rows around a row that are left when cuts have taken away all `others`."""
        while bool(torch.isin(rows, others).any()):
            if len(rows) < MIN_ROWS_TO_CUT:
                return torch.tensor([row], device=rows.device)
            half = self._cut(rows)
            with_row = half == half[(rows == row).nonzero()[0, 0]]
            if bool(with_row.all()):
                return torch.tensor([row], device=rows.device)
            rows = rows[with_row]
        return rows

    def _differ(self, part: Tensor, rows: Tensor) -> float:
        """The probability that a part of some rows is another intent than the rest."""
        counts = self._counts(part)
        return float(_probability(PARTS_DIFFER, _co_association(counts, self._counts(rows) - counts)))

    def _founded(self, question: Question) -> int:
        intent, self._next_intent = self._next_intent, self._next_intent + 1
        self._examples[intent] = []
        self._note_apart(intent, question)
        return intent

    def _note_apart(self, intent: int, question: Question) -> None:
        """Note that the intent is none of those that were shown. Of those, two may still be one intent."""
        self._apart |= {frozenset((intent, other)) for other in question.intents}

    def _join(self, gone: int, kept: int) -> None:
        for piece in self._pieces:
            if piece.intent == gone:
                piece.intent = kept
        self._examples[kept] += self._examples.pop(gone)
        self._apart = {frozenset(kept if i == gone else i for i in pair) for pair in self._apart}
        self._apart = {pair for pair in self._apart if len(pair) == 2}
        self._skipped = {pair for pair in self._skipped if gone not in pair}

    # Questions

    def _about_a_part(self) -> Question | None:
        open_pieces = [p for p in self._pieces if p.part is not None and p.medoid not in self._asked]
        if not open_pieces:
            return None
        piece = max(open_pieces, key=lambda p: p.gain)
        assert piece.part is not None
        return self._question(piece.medoid, piece.part, piece.doubt, len(piece.part), first=piece.intent)

    def _about_an_intent(self) -> Question | None:
        """A question about the smaller one of the two intents that votes confuse most."""
        intents, together, size = self._confusion()
        if len(intents) < 2:
            return None
        together.fill_diagonal_(-1.0)
        near = together.topk(min(MAX_CONFUSED if len(intents) <= self._k else MAX_CANDIDATES, len(intents) - 1)).indices
        chance = torch.zeros_like(together).scatter_(1, near, _probability(PAIR_IS_ONE, together.gather(1, near)))
        gain = chance * torch.minimum(size[:, None], size[None])
        place = {intent: i for i, intent in enumerate(intents)}
        for a, b in (tuple(pair) for pair in self._apart | self._skipped):
            if a in place and b in place:
                gain[place[a], place[b]] = gain[place[b], place[a]] = 0.0
        confirmed = torch.tensor([self._examples[i][0] in self._confirmed for i in intents], device=gain.device)
        answered = torch.zeros_like(gain, dtype=torch.bool).scatter_(1, near, confirmed[:, None].expand_as(near))
        gain[answered | answered.T] = 0.0  # who confirmed what stands for an intent has seen these beside it
        askable = torch.tensor([i not in self._settled for i in intents], device=gain.device) & ~confirmed
        gain[~askable[:, None] & ~askable[None]] = 0.0
        a, b = divmod(int(gain.argmax()), len(intents))
        if float(gain[a, b]) <= 0:
            return None
        first, second = sorted((a, b), key=lambda i: (not bool(askable[i]), float(size[i])))
        own = intents[first]
        rows = torch.cat([p.rows for p in self._pieces if p.intent == own])
        row, smaller = self._examples[own][0], float(torch.minimum(size[a], size[b]))
        return self._question(row, rows, float(chance[a, b]), smaller, first=intents[second], is_about=own)

    def _question(
        self, row: int, rows: Tensor, doubt: float, size: float, *, first: int, is_about: int | None = None
    ) -> Question:
        centre = F.normalize(self._x[rows].mean(0), dim=-1)
        together = _co_association(self._counts(rows), torch.stack([p.counts for p in self._pieces]))
        close = together + self._x[[p.anchor for p in self._pieces]] @ centre
        likely: dict[int, float] = {}
        for piece, value in zip(self._pieces, close.tolist(), strict=True):
            if piece.intent != is_about and frozenset((piece.intent, is_about)) not in self._apart:
                likely[piece.intent] = max(likely.get(piece.intent, value), value)
        near = {intent: float(o.vector @ centre) for intent, o in self._outside.items() if intent not in likely}
        near = {i: value for i, value in near.items() if frozenset((i, is_about)) not in self._apart}
        from_outside = sorted(near, key=lambda i: -near[i])[:MAX_OUTSIDE]
        order = sorted(likely, key=lambda i: (i != first, -likely[i]))[: MAX_CANDIDATES - len(from_outside)]
        order += from_outside
        shown = tuple(tuple(self._nearest_examples(intent, row)) for intent in order)
        central = ranked(self._x[rows] @ centre)[: MAX_OTHERS + 1]
        others = tuple(i for i in rows[central].tolist() if i != row)[:MAX_OTHERS]
        return Question(row, tuple(order), shown, doubt * size, doubt, len(rows), others, is_about)

    def _nearest_examples(self, intent: int, row: int) -> list[int]:
        if intent in self._outside:
            return list(self._outside[intent].examples)[:MAX_EXAMPLES]
        rows = self._examples[intent]
        near = ranked(self._x[rows] @ self._x[row])[:MAX_EXAMPLES]
        return [rows[i] for i in near.tolist()]

    def _confusion(self) -> tuple[list[int], Tensor, Tensor]:
        """The intents, how far votes put each two together [intents, intents], and their sizes."""
        intents = sorted({p.intent for p in self._pieces})
        place = {intent: i for i, intent in enumerate(intents)}
        of_piece = torch.tensor([place[p.intent] for p in self._pieces], device=self._x.device)
        every = torch.stack([p.counts for p in self._pieces])  # [pieces, votes, clusters]
        counts = torch.zeros(len(intents), *every.shape[1:], device=self._x.device).index_add_(0, of_piece, every)
        unit = F.normalize(counts, dim=-1).flatten(1)
        return intents, unit @ unit.T / len(self._votes), counts[:, 0].sum(1)

    def _join_at_least_loss(self, becomes: dict[int, int], told_apart: set[frozenset[int]]) -> bool:
        """Join two intents that are not told apart at the least expected loss; False if there are none."""
        intents, together, size = self._confusion()
        differ = 1 - _probability(PAIR_IS_ONE, together)
        total: dict[int, float] = {}
        for intent, n in zip(intents, size.tolist(), strict=True):
            total[becomes[intent]] = total.get(becomes[intent], 0.0) + n
        apart = {frozenset(becomes.get(i, i) for i in pair) for pair in told_apart}
        best: tuple[float, int, int] | None = None
        for a, one in enumerate(intents):
            for b, other in enumerate(intents[:a]):
                pair = frozenset((becomes[one], becomes[other]))
                may_be_one = not pair <= self._settled and not pair & self._outside.keys()
                if len(pair) == 2 and pair not in apart and may_be_one:
                    small, large = sorted(pair, key=lambda g: (g in self._settled, total[g]))
                    loss = float(differ[a, b]) * total[small]
                    best = min(best or (loss, small, large), (loss, small, large))
        if best is None:
            return False
        _, gone, kept = best
        becomes.update({intent: kept for intent, group in becomes.items() if group == gone})
        return True

    # Pieces

    def _add(self, rows: Tensor, anchor: int, intent: int) -> None:
        piece = _Piece(rows, anchor, intent, self._counts(rows))
        if len(rows) >= MIN_ROWS_TO_CUT:
            half = self._cut(rows)
            part = rows[half != half[(rows == anchor).nonzero()[0, 0]]]
            if len(part):
                piece.part, piece.medoid, piece.doubt = part, self._medoid(part), self._differ(part, rows)
        self._pieces.append(piece)

    def _cut(self, rows: Tensor) -> Tensor:
        return kmeans(self._x[rows], 2, restarts=CUT_RESTARTS, seed=0).labels

    def _counts(self, rows: Tensor) -> Tensor:
        votes = self._votes[:, rows]
        counts = torch.zeros(len(votes), self._clusters, device=votes.device)
        return counts.scatter_add_(1, votes, torch.ones_like(votes, dtype=counts.dtype))

    def _medoid(self, rows: Tensor) -> int:
        return int(rows[(self._x[rows] @ self._x[rows].mean(0)).argmax()])


def _co_association(one: Tensor, other: Tensor) -> Tensor:
    """How far votes put two sets of rows together, 0 to 1: the mean cosine of their counts [..., votes, clusters]."""
    return (F.normalize(one, dim=-1) * F.normalize(other, dim=-1)).sum(-1).mean(-1)


def _probability(odds: tuple[float, float], co_association: Tensor) -> Tensor:
    return torch.sigmoid(odds[0] + odds[1] * co_association)
