"""Opens a saved model that is only asked for predictions. Its graph in the cache answers, and torch is not imported.

Importing torch and reading the encoder takes most of the time of a short command.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from newfound.encoders.cache import StoredVectors
from newfound.encoders.onnx import is_available
from newfound.encoders.onnx.session import GraphSession, StoredGraph, find_graph, graph_folder
from newfound.encoders.registry import hash_of
from newfound.model.about import WEIGHTS_FILE, Description, inside, loading, read_calibration
from newfound.model.classifier import IntentModel
from newfound.model.head import Array, Head, in_batches
from newfound.model.sidecars import read_groups, thresholds_by_name
from newfound.paths import feature_cache_dir
from newfound.review.head import reviewed_head
from newfound.review.store import ReviewStore
from newfound.training.devices import is_surely_cpu, pick_device

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder

CLASSIFIER_WEIGHTS = "classifier.weight"


def open_predictor(folder: str | Path, encoder: str | Encoder | None, device: str) -> IntentModel:
    """Return a model folder with its review decisions applied, which does without torch where that is possible."""
    with loading(folder):
        description = Description.read(folder)
        stored = open_stored(description) if encoder is None and is_surely_cpu(device) else None
        if stored is not None:
            return stored
        from newfound.review.reviewed import load_reviewed

        there = pick_device(device)
        model = load_reviewed(description, encoder=encoder, device=there).classifier
    if not model.embedder.tune.layers and model.embedder.network.dense is None:
        model.stored_vectors = StoredVectors(feature_cache_dir() / model.encoder.vectors_folder())
    return model


def open_stored(folder: str | Path | Description) -> IntentModel | None:
    """Return a model folder with its review decisions applied; None if torch is needed to open it.

    That is so before the model was used for the first time. A folder with any fault is opened by torch as well, which
    says what is wrong with it.

    Raises:
        ModelError: The folder is missing, or its description is damaged.
    """
    if not is_available():
        return None
    description = Description.read(folder)
    folder, about, intents = description.folder, description.about, description.intents
    try:
        from safetensors.numpy import load_file

        described, weights = about["encoder"], load_file(inside(folder, WEIGHTS_FILE))
        weight, max_length = weights.pop(CLASSIFIER_WEIGHTS), described["max_length"]
        stored = find_graph(graph_folder(str(described.get("weights")), max_length, hash_of(weights)))
        if stored is None or not stored.has_tokenizer or type(max_length) is not int:
            return None
        session = GraphSession(stored.graph, pad_id=stored.pad_id)
        if weight.shape != (len(intents), session.width) or not np.isfinite(weight).all():
            return None
        head = Head.of(weight, intents, read_calibration(folder, about))
        vectors = StoredVectors(feature_cache_dir() / stored.features) if stored.features else None
        fitted = IntentModel(head, _encoding(session, stored, max_length), intents, stored_vectors=vectors)
    except Exception:  # of a value, of safetensors, of ONNX Runtime or of the tokenizer; torch's way says what it is
        return None
    reviewed = reviewed_head(head, ReviewStore(description).review(), fitted.transform, read_groups(folder))
    return replace(fitted, head=reviewed, thresholds=thresholds_by_name(folder, reviewed.ids))


def _encoding(session: GraphSession, stored: StoredGraph, max_length: int) -> Callable[[Sequence[str]], Array]:
    """Return the function that makes vectors of texts with a graph and the tokenizer beside it."""
    tokenizer, padding = stored.tokenizer(), "max_length" if stored.padded else False

    def encode(texts: Sequence[str]) -> Array:
        tokens = tokenizer(texts, truncation=True, max_length=max_length, padding=padding)
        lengths = [sum(mask) for mask in tokens["attention_mask"]] if padding else None
        return session.vectors(tokens["input_ids"], lengths)

    return lambda texts: in_batches(encode, texts, session.width)
