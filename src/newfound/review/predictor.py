"""A saved model that is only asked for predictions: its graph in the cache answers, and torch is not imported.

Importing torch and reading the encoder takes most of the time of a short command.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from newfound.defaults import Precision
from newfound.encoders.cache import StoredVectors
from newfound.encoders.onnx.session import GraphKey, GraphSession, StoredGraph, find_graph, hash_of_arrays
from newfound.encoders.precision import is_available, needs_seven_bits
from newfound.model.about import WEIGHTS_FILE, inside, read_about, read_calibration, read_intents
from newfound.model.arrays import Array, Classifier, FittedClassifier, in_batches
from newfound.model.sidecars import read_groups, thresholds_by_name
from newfound.paths import feature_cache_dir
from newfound.review.columns import ReviewedColumns
from newfound.review.store import ReviewStore

CLASSIFIER_WEIGHTS = "classifier.weight"


def open_stored(folder: Path, precision: Precision) -> FittedClassifier | None:
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
    try:
        described, weights = about["encoder"], _read_weights(folder)
        weight, max_length = weights.pop(CLASSIFIER_WEIGHTS), described["max_length"]
        key = GraphKey(
            str(described.get("weights")),
            max_length,
            precision,
            seven_bits=needs_seven_bits(precision),
            trained=hash_of_arrays(weights),
        )
        stored = find_graph(key)
        if stored is None or not stored.has_tokenizer or type(max_length) is not int:
            return None
        session = GraphSession(stored.graph, pad_id=stored.pad_id)
        if weight.shape != (len(intents), session.width) or not np.isfinite(weight).all():
            return None
        classifier = Classifier(weight, intents, read_calibration(folder, about))
        vectors = StoredVectors(feature_cache_dir() / stored.features) if stored.features else None
        fitted = FittedClassifier(classifier, _encoding(session, stored, max_length), vectors)
    except Exception:  # of a value, of safetensors, of ONNX Runtime or of the tokenizer; torch's way says what it is
        return None
    review = ReviewStore(folder).review()
    columns = ReviewedColumns(classifier, review, fitted.transform, read_groups(folder))
    predictor = FittedClassifier(columns, fitted.transform)
    predictor.thresholds = thresholds_by_name(folder, review.ids(intents))
    return predictor


def _read_weights(folder: Path) -> dict[str, Any]:
    from safetensors.numpy import load_file

    weights: dict[str, Any] = load_file(inside(folder, WEIGHTS_FILE))
    return weights


def _encoding(session: GraphSession, stored: StoredGraph, max_length: int) -> Callable[[Sequence[str]], Array]:
    """Return the function that makes vectors of texts with a graph and the tokenizer beside it."""
    tokenizer, padding = stored.tokenizer(), "max_length" if stored.padded else False

    def encode(texts: Sequence[str]) -> Array:
        tokens = tokenizer(texts, truncation=True, max_length=max_length, padding=padding)
        lengths = [sum(mask) for mask in tokens["attention_mask"]] if padding else None
        return session.vectors(tokens["input_ids"], lengths)

    return lambda texts: in_batches(encode, texts, session.width)
