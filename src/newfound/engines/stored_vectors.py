"""Predictions for texts that were encoded before: their vectors are read from the feature cache. Nothing is stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from newfound.encoders.shards import StoredVectors
from newfound.engines.predictor import Classifying
from newfound.model.arrays import Array
from newfound.model.types import Prediction
from newfound.paths import feature_cache_dir


class Embedding(Classifying, Protocol):
    """What classifies texts by their vectors."""

    def transform(self, texts: Sequence[str]) -> Array:
        """Return the vectors of texts, [n, d]."""


def with_stored_vectors(model: Embedding, features: str) -> Classifying:
    """Return a model that does not encode what was encoded before, for instance by the fit of the model.

    Args:
        model: The model.
        features: The folder of its encoder's vectors in the feature cache; empty if they are not kept there.
    """
    return ModelWithStoredVectors(model, StoredVectors(feature_cache_dir() / features)) if features else model


class ModelWithStoredVectors:
    """Classifies as a model does."""

    def __init__(self, model: Embedding, stored: StoredVectors) -> None:
        """Use a model.

        Args:
            model: The model, which encodes the texts that are not stored.
            stored: The vectors of its encoder.
        """
        self.columns = model.columns
        self._model, self._stored = model, stored

    def classify(self, texts: Sequence[str], *, top: int = 0) -> list[Prediction]:
        """Return one prediction per text, with its probability and its outlier score.

        Args:
            texts: The texts.
            top: How many of the most probable intents each prediction holds.
        """
        vectors = self._stored.find(texts)
        missing = [i for i, vector in enumerate(vectors) if vector is None]
        if len(missing) == len(texts):
            return self._model.classify(texts, top=top)
        for i, vector in zip(missing, self._model.transform([texts[i] for i in missing]), strict=True):
            vectors[i] = vector
        return self.columns.classify(texts, np.stack([v for v in vectors if v is not None]), top=top)
