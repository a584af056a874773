"""The labels of a clustering under what answers have said about it."""

from __future__ import annotations

import torch
from torch import Tensor

from newfound.questions.evidence import LOG_ODDS_SAME, probability
from newfound.questions.state import AnswerState


def resolve_labels(state: AnswerState, k: int | None = None) -> Tensor:
    """Return the intent of each row, [n]: the numbers of the clustering, of `outside`, and new ones.

    Args:
        state: What was said.
        k: The number of intents, besides those from outside. By default it is what the answers leave; otherwise
            intents are joined where the least is lost, even those that answers tell apart if there are more of
            them than k, or the parts most in doubt become intents, until there are k.
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
