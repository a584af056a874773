"""semantic-router 1.1: a router's file as JSON, for `load_router`."""

from __future__ import annotations

from typing import Any

from newfound.data.corpus import Corpus
from newfound.exports.common import ModelFacts, by_intent
from newfound.files import to_json


def to_semantic_router(corpus: Corpus, name: str, language: str, facts: ModelFacts) -> bytes:
    """Return a corpus as an indexed router: one route for each intent, and the model's encoder.

    The least probability of an intent (`newfound thresholds`) is its route's `confidence_threshold`, called
    `score_threshold` before version 1. A router that was not fitted has similarities instead of probabilities.
    """
    routes = []
    for intent, texts in by_intent(corpus).items():
        described = facts.of(intent)
        route: dict[str, Any] = {"name": intent, "utterances": texts, "metadata": {"status": described.status}}
        if described.threshold is not None:
            route["confidence_threshold"] = described.threshold
        routes.append(route)
    return to_json({"router_type": "indexed", "encoder": {"type": "local", "name": facts.encoder}, "routes": routes})
