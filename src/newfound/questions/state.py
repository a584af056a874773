"""A clustering, what answers have said about it so far, and the labels under these answers.

The clusters of a consensus are the first intents. Each is one piece, and a piece is cut in two where it falls apart
most easily. The part away from the utterance that stands for the piece is asked about; the answer decides for all of
the part. Which question comes next is in `selection`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from newfound.questions.evidence import LOG_ODDS_SAME, Evidence, probability

MIN_DOUBT_TO_FOLLOW = 0.5  # about a part, for it to follow one of its rows that nobody asked about


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
        settled: Collection[int] = (),
        outside: Mapping[int, OutsideIntent] | None = None,
        cuts: dict[bytes, Tensor] | None = None,
    ) -> None:
        """Begin with a consensus.

        Args:
            x: Vectors of the rows, [n, d] of unit length.
            votes: Clusterings [n] of the rows, one or more.
            labels: The consensus, [n]: numbers from 0, one for each intent; rows of -1 are left out.
            settled: Intents that are not to be joined with each other.
            outside: Intents without rows, by numbers that `labels` does not have. Answers may give them rows.
            cuts: The cuts that earlier states of the same vectors have made; those of this state are added.
        """
        every = torch.stack(list(votes))  # [votes, n]
        self.evidence = Evidence(x, every, int(every.max()) + 1 if len(x) else 0, {} if cuts is None else cuts)
        self.outside = dict(outside or {})
        self.settled = frozenset(settled) | self.outside.keys()
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
            self.tell(question.row, self.next_intent)

    def skip(self, question: Question) -> None:
        """Go on without an answer to a question."""
        self.asked.add(question.row)
        if question.is_about is not None:
            self.skipped |= question.pairs_with(question.is_about)

    def tell(self, row: int, intent: int) -> None:
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
            may_be_one = not pair <= state.settled and not pair & state.outside.keys()
            if len(pair) == 2 and pair not in apart and may_be_one:
                small, large = sorted(pair, key=lambda g: (g in state.settled, total[g]))
                loss = float(differ[a, b]) * total[small]
                best = min(best or (loss, small, large), (loss, small, large))
    if best is None:
        return False
    _, gone, kept = best
    becomes.update({intent: kept for intent, group in becomes.items() if group == gone})
    return True
