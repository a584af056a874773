"""Which question about a clustering comes next: the one whose answer is expected to put most utterances right.

A question shows one utterance and a few intents, each by utterances that stand for it: which of them fits, or none?
How far votes put the two parts of a piece together says how probable it is that they are two intents. In the same way,
an intent that votes confuse with another is asked about as a whole. Nothing here changes the state.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.neighbours import rank_descending
from newfound.questions.state import LOG_ODDS_SAME, AnswerState, Question, co_association, probability

MAX_CANDIDATES = 5
MAX_EXAMPLES = 3  # of an intent in a question
MAX_CONFUSED = 2  # other intents that one is compared with
MAX_OTHERS = 4  # rows that can be asked about to make sure
MAX_OUTSIDE = 2  # intents without rows here that a question shows


def next_question(state: AnswerState) -> Question | None:
    """Return the question that is expected to gain most; None if nothing is left to ask."""
    if not state.pieces:
        return None
    questions = filter(None, (_about_a_part(state), _about_an_intent(state)))
    return max(questions, key=lambda question: question.gain, default=None)


def _about_a_part(state: AnswerState) -> Question | None:
    open_pieces = [p for p in state.pieces if p.part is not None and p.medoid not in state.asked]
    piece = max(open_pieces, key=lambda p: p.gain, default=None)
    if piece is None or piece.part is None:
        return None
    return _question(state, piece.medoid, piece.part, piece.doubt, len(piece.part), first=piece.intent)


def _about_an_intent(state: AnswerState) -> Question | None:
    """A question about the smaller one of the two intents that votes confuse most."""
    intents, together, size = state.evidence.confusion(state.pieces)
    if len(intents) < 2:
        return None
    together.fill_diagonal_(-1.0)
    most = MAX_CONFUSED if len(intents) <= state.n_intents else MAX_CANDIDATES
    near = together.topk(min(most, len(intents) - 1)).indices
    chance = torch.zeros_like(together).scatter_(1, near, probability(LOG_ODDS_SAME, together.gather(1, near)))
    gain = chance * torch.minimum(size[:, None], size[None])
    place = {intent: i for i, intent in enumerate(intents)}
    for a, b in (tuple(pair) for pair in state.apart | state.skipped):
        if a in place and b in place:
            gain[place[a], place[b]] = gain[place[b], place[a]] = 0.0
    confirmed = torch.tensor([state.examples[i][0] in state.confirmed for i in intents], device=gain.device)
    answered = torch.zeros_like(gain, dtype=torch.bool).scatter_(1, near, confirmed[:, None].expand_as(near))
    gain[answered | answered.T] = 0.0  # who confirmed what stands for an intent has seen these beside it
    askable = torch.tensor([i not in state.fixed for i in intents], device=gain.device) & ~confirmed
    gain[~askable[:, None] & ~askable[None]] = 0.0
    a, b = divmod(int(gain.argmax()), len(intents))
    if float(gain[a, b]) <= 0:
        return None
    first, second = sorted((a, b), key=lambda i: (not bool(askable[i]), float(size[i])))
    own, doubt, smaller = intents[first], float(chance[a, b]), float(torch.minimum(size[a], size[b]))
    rows = torch.cat([p.rows for p in state.pieces if p.intent == own])
    return _question(state, state.examples[own][0], rows, doubt, smaller, first=intents[second], is_about=own)


def _question(
    state: AnswerState, row: int, rows: Tensor, doubt: float, size: float, *, first: int, is_about: int | None = None
) -> Question:
    centre = F.normalize(state.evidence.x[rows].mean(0), dim=-1)
    order = _candidates(state, rows, centre, first, is_about)
    shown = tuple(tuple(_nearest_examples(state, intent, row)) for intent in order)
    central = rank_descending(state.evidence.x[rows] @ centre)[: MAX_OTHERS + 1]
    others = tuple(i for i in rows[central].tolist() if i != row)[:MAX_OTHERS]
    return Question(row, tuple(order), shown, doubt * size, doubt, len(rows), others, is_about)


def _candidates(state: AnswerState, rows: Tensor, centre: Tensor, first: int, is_about: int | None) -> list[int]:
    """Intents that rows may belong to: a given one first, then by votes and vectors, then those from outside."""
    together = co_association(state.evidence.counts(rows), torch.stack([p.counts for p in state.pieces]))
    close = together + state.evidence.x[[p.anchor for p in state.pieces]] @ centre
    likely: dict[int, float] = {}
    for piece, value in zip(state.pieces, close.tolist(), strict=True):
        if piece.intent != is_about and frozenset((piece.intent, is_about)) not in state.apart:
            likely[piece.intent] = max(likely.get(piece.intent, value), value)
    near = {intent: float(o.vector @ centre) for intent, o in state.outside.items() if intent not in likely}
    near = {i: value for i, value in near.items() if frozenset((i, is_about)) not in state.apart}
    from_outside = sorted(near, key=lambda i: -near[i])[:MAX_OUTSIDE]
    order = sorted(likely, key=lambda i: (i != first, -likely[i]))[: MAX_CANDIDATES - len(from_outside)]
    return order + from_outside


def _nearest_examples(state: AnswerState, intent: int, row: int) -> list[int]:
    if intent in state.outside:
        return list(state.outside[intent].examples)[:MAX_EXAMPLES]
    rows = state.examples[intent]
    near = rank_descending(state.evidence.x[rows] @ state.evidence.x[row])[:MAX_EXAMPLES]
    return [rows[i] for i in near.tolist()]
