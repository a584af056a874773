"""Check questions: about utterances whose intent is certain, to measure which share of somebody's answers is right.

Labelled utterances are certain. Without enough of them, so are those on which all clusterings agree.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from newfound.algorithms.assignment import class_means
from newfound.algorithms.ranking import rank_descending
from newfound.questions.annotators import CheckQuestion, PosedQuestion
from newfound.questions.selection import MAX_CANDIDATES, MAX_EXAMPLES

SHARE_WITHOUT_RIGHT_CANDIDATE = 1 / 6  # of the questions


def check_questions(texts: Sequence[str], x: Tensor, y: Tensor, count: int, *, seed: int) -> list[CheckQuestion]:
    """Return questions whose candidates are the intents nearest to each utterance.

    Args:
        texts: The texts of all rows, by row number.
        x: Vectors of unit length, [n, d].
        y: The intent of each row, [n] (CPU); -1 where it is not certain. There are no questions unless some intents
            have several rows.
        count: The number of questions at most.
        seed: Same seed, same questions.
    """
    n_intents = int(y.max()) + 1 if len(y) else 0
    sizes = y[y >= 0].bincount(minlength=n_intents)
    usable = [int(i) for i in (sizes >= MAX_EXAMPLES).nonzero().squeeze(1)]
    if len(usable) < 2:
        return []
    rng = np.random.default_rng(seed)
    means = class_means(x, y.to(x.device), n_intents)[0]
    checks = []
    for intent in rng.permutation(usable)[:count].tolist():
        row = int(rng.permutation((y == intent).nonzero().squeeze(1).numpy())[0])
        others = [i for i in rank_descending(means @ x[row]).tolist() if i in usable and i != intent]
        shown = others[:MAX_CANDIDATES]
        if rng.random() >= SHARE_WITHOUT_RIGHT_CANDIDATE:
            shown = rng.permutation([intent, *others[: MAX_CANDIDATES - 1]]).tolist()
        examples = tuple(_examples(texts, y, i, row, rng) for i in shown)
        fits = shown.index(intent) if intent in shown else None
        checks.append(CheckQuestion(PosedQuestion(texts[row], examples), fits))
    return checks


def _examples(texts: Sequence[str], y: Tensor, intent: int, without: int, rng: np.random.Generator) -> tuple[str, ...]:
    rows = [i for i in (y == intent).nonzero().squeeze(1).tolist() if i != without]
    return tuple(texts[i] for i in rng.permutation(rows)[:MAX_EXAMPLES].tolist())
