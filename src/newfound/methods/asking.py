"""Asking about doubtful utterances during a fit, and the labels under the answers."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from newfound.algorithms.assignment import class_means
from newfound.algorithms.ensembles import diffuse
from newfound.algorithms.neighbours import rank_descending
from newfound.methods.context import FitContext
from newfound.questions.annotators import ask
from newfound.questions.selection import MAX_EXAMPLES
from newfound.questions.state import AnswerState, OutsideIntent, resolve_labels
from newfound.training.seeding import derive


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
    texts = [context.train.texts[i] for i in [*rows.tolist(), *context.known_rows.tolist()]]
    present = set(labels.tolist())
    known = _known_outside(context, x, len(rows)) if offer_known else {}
    outside = {i: intent for i, intent in known.items() if i not in present}
    fixed = [i for i in present if i < context.n_known]
    state = AnswerState(diffuse(points), ensemble, labels, fixed=fixed, outside=outside)
    answered = ask(state, texts, context.annotator, count, seed=derive(context.seed, "order of candidates"))
    context.run.reporter.note(f"{answered} questions about doubtful utterances were answered")
    asked = resolve_labels(state, context.n_new + len(fixed))
    is_new = asked >= context.n_known
    asked[is_new] = context.n_known + torch.unique(asked[is_new], return_inverse=True)[1]
    return asked


def _known_outside(context: FitContext, x: Tensor, first: int) -> dict[int, OutsideIntent]:
    """The known intents as answers may name them; their examples are numbered from `first`, as `known_rows`."""
    known, y = context.known_rows, context.y[context.known_rows]
    points = x[known.to(x.device)]
    means = class_means(points, y.to(x.device), context.n_known)[0]
    typical = (points * means[y.to(x.device)]).sum(1).cpu()
    outside = {}
    for intent in range(context.n_known):
        own = (y == intent).nonzero().squeeze(1)
        own = own[rank_descending(typical[own])][:MAX_EXAMPLES]
        outside[intent] = OutsideIntent(means[intent], tuple(first + i for i in own.tolist()))
    return outside
