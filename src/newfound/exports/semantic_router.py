"""semantic-router 1.1: a router's file as JSON, for `load_router`."""

from __future__ import annotations

from typing import Any

from newfound.data.corpus import Corpus
from newfound.exports.common import ModelFacts, by_intent
from newfound.files import to_json


def to_semantic_router(corpus: Corpus, name: str, language: str, facts: ModelFacts) -> bytes:
    """Return a corpus as an indexed router: one route for each intent, and the model's encoder.

    The least probability of an intent (`newfound thresholds`) is in its route's metadata, and not yet its
    `confidence_threshold` (`score_threshold` before version 1): the confidence of a router is a similarity until the
    router is fitted, and few similarities reach a threshold that is a probability (docs/howto/export.md).
    """
    routes = []
    for intent, texts in by_intent(corpus).items():
        described = facts.of(intent)
        metadata: dict[str, Any] = {"status": described.status}
        if described.threshold is not None:
            metadata["threshold"] = described.threshold
        routes.append({"name": intent, "utterances": texts, "metadata": metadata})
    return to_json({"router_type": "indexed", "encoder": {"type": "local", "name": facts.encoder}, "routes": routes})
