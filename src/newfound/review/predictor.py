"""A saved model that is only asked for predictions: its graph in the cache answers, and torch is not imported.

Importing torch and reading the encoder takes most of the time of a short command.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from newfound.defaults import Precision
from newfound.encoders.onnx.session import GraphSession, is_available
from newfound.encoders.onnx.store import GraphKey, StoredGraph, find_graph, hash_of_arrays
from newfound.encoders.shards import StoredVectors
from newfound.model.about import WEIGHTS_FILE, inside, read_about, read_intents
from newfound.model.arrays import Array, Classifier, batches_of
from newfound.model.estimator import FittedClassifier
from newfound.paths import feature_cache_dir
from newfound.review.columns import ReviewedColumns
from newfound.review.store import ReviewStore

CLASSIFIER_WEIGHTS = "classifier.weight"


class StoredPredictor(FittedClassifier):
    """Classifies texts as `ReviewedModel` does. `open_stored` adds the columns."""

    def __init__(self, session: GraphSession, stored: StoredGraph, max_length: int) -> None:
        self._session, self._tokenizer, self._max_length = session, stored.tokenizer(), max_length
        self._padded = stored.padded
        if stored.features:
            self.stored_vectors = StoredVectors(feature_cache_dir() / stored.features)

    def _encode(self, texts: Sequence[str]) -> Array:
        pieces = [self._vectors(batch) for batch in batches_of(texts)]
        return np.concatenate(pieces) if pieces else np.empty((0, self._session.width), np.float32)

    def _vectors(self, texts: Sequence[str]) -> Array:
        tokens = self._tokenizer(
            texts, truncation=True, max_length=self._max_length, padding="max_length" if self._padded else False
        )
        lengths = [sum(mask) for mask in tokens["attention_mask"]] if self._padded else None
        return self._session.vectors(tokens["input_ids"], lengths)


def open_stored(folder: Path, precision: Precision) -> StoredPredictor | None:
    """Return a model folder with its review decisions applied; None if torch is needed to open it.

    That is so before the model was used for the first time. A folder with any fault is opened by torch as well, which
    says what is wrong with it.

    Raises:
        ModelError: The folder is missing, or its description is damaged.
    """
    if not is_available():
        return None
    about = read_about(folder)
    intents = read_intents(folder, about)
    described, weights = about.get("encoder"), _read_weights(folder)
    if weights is None or not isinstance(described, dict) or type(described.get("max_length")) is not int:
        return None
    weight = weights.pop(CLASSIFIER_WEIGHTS, None)
    if weight is None or weight.ndim != 2 or len(weight) != len(intents) or not np.isfinite(weight).all():
        return None
    from newfound.encoders.onnx.quantize import has_wide_products

    key = GraphKey(
        str(described.get("weights")),
        described["max_length"],
        precision,
        seven_bits=precision == "int8" and not has_wide_products(),
        trained=hash_of_arrays(weights),
    )
    stored = find_graph(key)
    if stored is None or not stored.has_tokenizer:
        return None
    try:
        session = GraphSession(stored.graph, pad_id=stored.pad_id)
        predictor = StoredPredictor(session, stored, described["max_length"])
        classifier = Classifier(
            weight,
            intents,
            temperature=float(about["temperature"]),
            reliability=float(about.get("reliability", 1.0)),
            typical=sorted(float(value) for value in about.get("typical", ())),
        )
    except Exception:  # of ONNX Runtime, of the tokenizer, or of a value; torch's way says what it is
        return None
    if session.width != weight.shape[1] or not _is_sound(classifier):
        return None
    predictor.columns = ReviewedColumns(classifier, ReviewStore(folder).review(), predictor.transform)
    return predictor


def _read_weights(folder: Path) -> dict[str, Any] | None:
    from safetensors.numpy import load_file

    try:
        weights: dict[str, Any] = load_file(inside(folder, WEIGHTS_FILE))
    except Exception:  # safetensors raises several types for a damaged file
        return None
    return weights


def _is_sound(classifier: Classifier) -> bool:
    """Return whether the values of a description are those that `newfound.model.folder` accepts."""
    from newfound.model.about import MAX_QUANTILES, MAX_TEMPERATURE, MIN_TEMPERATURE

    return (
        MIN_TEMPERATURE <= classifier.temperature <= MAX_TEMPERATURE
        and 0 < classifier.reliability <= 1
        and len(classifier.typical) <= MAX_QUANTILES
        and bool(np.isfinite(classifier.typical).all())
    )
