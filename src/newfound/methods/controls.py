"""Control questions: about labelled utterances, to measure how far the answers of somebody can be believed."""

from __future__ import annotations

import numpy as np
import torch.nn.functional as F

from newfound.algorithms.assignment import class_means
from newfound.algorithms.questions import MAX_CANDIDATES, MAX_EXAMPLES
from newfound.intents.questions import Control, PosedQuestion
from newfound.methods.context import FitContext
from newfound.training.seeding import derive

NONE_FITS = 1 / 6  # of the questions: the right intent is not among the candidates


def control_questions(context: FitContext, count: int) -> list[Control]:
    """Return questions about labelled utterances whose candidates are the known intents nearest to each.

    Args:
        context: The fit; there are none without known intents of a few utterances each.
        count: Their number at most.
    """
    y = context.y
    sizes = y[y >= 0].bincount(minlength=context.n_known) if context.n_known else y.new_zeros(0)
    usable = [int(i) for i in (sizes > MAX_EXAMPLES).nonzero().squeeze(1)]
    if len(usable) < 2:
        return []
    rng = np.random.default_rng(derive(context.seed, "control questions"))
    x = F.normalize(context.embed(context.network()).float(), dim=-1)
    means = class_means(x, y.to(x.device), context.n_known)[0]
    controls = []
    for intent in rng.permutation(usable)[:count].tolist():
        rows = rng.permutation((y == intent).nonzero().squeeze(1).numpy())
        row = int(rows[0])
        order = [i for i in (means @ x[row]).argsort(descending=True).tolist() if i in usable and i != intent]
        others = order[:MAX_CANDIDATES]
        shown = (
            others if rng.random() < NONE_FITS else rng.permutation([intent, *others[: MAX_CANDIDATES - 1]]).tolist()
        )
        examples = [_examples(context, i, row, rng) for i in shown]
        choice = shown.index(intent) if intent in shown else None
        controls.append(Control(PosedQuestion(context.train.texts[row], tuple(examples)), choice))
    return controls


def _examples(context: FitContext, intent: int, without: int, rng: np.random.Generator) -> tuple[str, ...]:
    rows = [i for i in (context.y == intent).nonzero().squeeze(1).tolist() if i != without]
    return tuple(context.train.texts[i] for i in rng.permutation(rows)[:MAX_EXAMPLES].tolist())
