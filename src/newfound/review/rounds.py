"""After a review: train on from its decisions, or discover again in newer logs with what was accepted as known.

Nothing is forgotten because nothing is thrown away: the training utterances lie in the model's folder, and every
round trains on all of them.
"""

from __future__ import annotations

from typing import Any

from newfound.data.corpus import Corpus
from newfound.errors import DecisionError
from newfound.methods.consensus import Consensus
from newfound.methods.refit import Refit
from newfound.model import IntentModel
from newfound.review.reviewed import ReviewedModel
from newfound.training.run import Run


def refit(reviewed: ReviewedModel, *, run: Run | None = None, **settings: Any) -> IntentModel:
    """A classifier trained on the reviewed intents; known and accepted ones are known to it, the others stay new."""
    corpus = reviewed.corpus()
    fitted = Refit(encoder=reviewed.model.encoder, **settings).fit(corpus.texts, corpus.labels, run=run)
    return fitted.model_.with_known(reviewed.review.known | reviewed.review.accepted)


def next_round(
    reviewed: ReviewedModel, logs: Corpus, *, accept_all: bool = False, run: Run | None = None, **settings: Any
) -> Consensus:
    """Discover in new logs and in what is undecided, with known and accepted intents as known."""
    review = reviewed.review
    decided = set(reviewed.names) if accept_all else review.known | review.accepted
    if not accept_all and not review.accepted and len(review.known) < len(reviewed.names):
        raise DecisionError(
            "no new intent was accepted yet; accept some with `newfound review apply`, or add --accept-all"
        )
    utterances = [u for u in reviewed.assigned() if u.intent is not None]
    known = Corpus.of([u.text for u in utterances], [u.intent if u.intent in decided else None for u in utterances])
    corpus = known + Corpus.of(logs.texts)
    settings = {"logs": "mixed", "n_new": "auto", **settings}
    return Consensus(encoder=reviewed.model.encoder, **settings).fit(corpus.texts, corpus.labels, run=run)
