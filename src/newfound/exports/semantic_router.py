"""semantic-router 1.1: a router's file as JSON, for `load_router`."""

from __future__ import annotations

from typing import Any

from newfound.data.corpus import Corpus
from newfound.exports.common import Project, by_intent
from newfound.files import to_json


def to_semantic_router(corpus: Corpus, project: Project) -> bytes:
    """Return a corpus as an indexed router: one route for each intent, and the model's encoder.

    The least probability of an intent (`newfound thresholds`) is in its route's metadata, and not yet its
    `confidence_threshold` (`score_threshold` before version 1): the confidence of a router is a similarity until the
    router is fitted, and few similarities reach a threshold that is a probability (docs/howto/export.md).
    """
    routes = []
    for intent, texts in by_intent(corpus).items():
        metadata: dict[str, Any] = {"status": project.statuses.get(intent, "known")}
        if intent in project.thresholds:
            metadata["threshold"] = project.thresholds[intent]
        about = {"description": project.descriptions[intent]} if intent in project.descriptions else {}
        routes.append({"name": intent, "utterances": texts, **about, "metadata": metadata})
    return to_json({"router_type": "indexed", "encoder": {"type": "local", "name": project.encoder}, "routes": routes})
