"""Asking about doubtful utterances during a fit: which share of the answers is right, and the labels under them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.assignment import class_means
from newfound.algorithms.ensembles import diffuse, share_agreeing
from newfound.algorithms.neighbours import rank_descending
from newfound.methods.context import FitContext
from newfound.questions.annotators import ask, check_questions, measure_reliability
from newfound.questions.selection import MAX_EXAMPLES
from newfound.questions.state import AnswerState, OutsideIntent, resolve_labels
from newfound.training.seeding import derive

MAX_CHECKS = 20  # questions about certain utterances, which measure the share of right answers
UNMEASURED_RELIABILITY = 0.7  # of answers, where there is nothing certain to measure it on
MIN_RELIABILITY = 0.5  # of answers that are believed at all
MIN_AGREEMENT_UNLABELLED = 0.9  # share of the clusterings: rows on which fewer agree get a short label


def ask_about(
    context: FitContext,
    x: Tensor,
    rows: Tensor,
    ensemble: Sequence[Tensor],
    labels: Tensor,
    count: int,
    *,
    offer_known: bool,
) -> Tensor:
    """Ask the annotator about rows on which clusterings disagree, and return the labels [m] under the answers.

    `rows` [m] of x [n, d] were clustered; `ensemble` has their clusterings and `labels` [m] their intents, new ones
    from n_known on. With `offer_known` an answer may be a known intent. Without an annotator nothing is asked.
    """
    if context.annotator is None or not count:
        return labels
    points = x[rows.to(x.device)]
    texts = [context.train.texts[i] for i in rows.tolist()]
    certain = torch.where(share_agreeing(ensemble, labels) == 1, labels, -1).cpu()
    certain_rows = (context.train.texts, x, context.y), (texts, points, certain)
    reliability, left = _reliability(context, certain_rows, count)
    if reliability < MIN_RELIABILITY:
        context.run.reporter.warn(
            f"about {reliability:.0%} of the answers about certain utterances were right; nothing else is asked"
        )
        return labels
    present = set(labels.tolist())
    known = _known_outside(context, x, len(texts)) if offer_known else {}
    outside = {i: intent for i, intent in known.items() if i not in present}
    texts += [context.train.texts[i] for i in context.known_rows.tolist()]
    settled = [i for i in present if i < context.n_known]
    state = AnswerState(diffuse(points), ensemble, labels, settled=settled, outside=outside)
    seed = derive(context.seed, "order of candidates")
    answered = ask(state, texts, context.annotator, left, reliability=reliability, seed=seed)
    context.run.reporter.note(f"{answered} questions about doubtful utterances were answered")
    asked = resolve_labels(state, context.n_new + len(settled))
    is_new = asked >= context.n_known
    asked[is_new] = context.n_known + torch.unique(asked[is_new], return_inverse=True)[1]
    return asked


def _reliability(
    context: FitContext, sources: Iterable[tuple[Sequence[str], Tensor, Tensor]], count: int
) -> tuple[float, int]:
    """The share of answers that are right, and how many questions are left when it was measured.

    It is measured on the first of the sources (texts, vectors, labels) that gives check questions.
    """
    assert context.annotator is not None
    given = context.annotator.reliability
    if given is not None:
        return given, count
    at_most, seed = min(MAX_CHECKS, count // 4), derive(context.seed, "control questions")
    every = (check_questions(*source, at_most, seed=seed) for source in sources)
    checks = next(filter(None, every), [])
    measured = measure_reliability(context.annotator, checks)
    return UNMEASURED_RELIABILITY if measured is None else measured, count - len(checks)


def _known_outside(context: FitContext, x: Tensor, first: int) -> dict[int, OutsideIntent]:
    """The known intents as answers may name them; their examples are numbered from `first`, as `known_rows`."""
    known = context.known_rows
    y = context.y[known]
    points = x[known.to(x.device)]
    means = class_means(points, y.to(x.device), context.n_known)[0]
    typical = (points * means[y.to(x.device)]).sum(1).cpu()
    outside = {}
    for intent in range(context.n_known):
        own = (y == intent).nonzero().squeeze(1)
        own = own[rank_descending(typical[own])][:MAX_EXAMPLES]
        outside[intent] = OutsideIntent(means[intent], tuple(first + i for i in own.tolist()))
    return outside


def move_to_short_labels(context: FitContext, x: Tensor, texts: Sequence[str], agreement: Tensor) -> Tensor | None:
    """Return vectors [m, d] halfway to those of short labels where clusterings disagree; None if there are none."""
    assert context.labeller is not None
    doubtful = (agreement < MIN_AGREEMENT_UNLABELLED).nonzero().squeeze(1)
    doubtful = doubtful[agreement[doubtful].argsort(stable=True)].cpu()
    labels = context.labeller.labels([texts[i] for i in doubtful.tolist()]) if len(doubtful) else []
    given = [(i, label) for i, label in zip(doubtful.tolist(), labels, strict=True) if label is not None]
    if not given:
        return None
    at = torch.tensor([i for i, _ in given], device=x.device)
    of_labels = torch.from_numpy(context.encoder.vectors([label for _, label in given])).to(x.device)
    moved = x.clone()
    moved[at] = F.normalize(x[at] + F.normalize(of_labels, dim=-1), dim=-1)
    return moved
