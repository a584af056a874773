"""Opening a model for a workflow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from newfound import defaults
from newfound.defaults import Precision
from newfound.encoders.precision import check_precision
from newfound.errors import SettingsError
from newfound.model.about import loading
from newfound.paths import feature_cache_dir
from newfound.training.devices import check_device, is_surely_cpu, pick_device
from newfound.training.progress import Reporter

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder
    from newfound.methods.base import Discoverer
    from newfound.model.arrays import FittedClassifier
    from newfound.model.classifier import IntentModel
    from newfound.review.reviewed import ReviewedModel

ModelSource: TypeAlias = "str | Path | ReviewedModel | IntentModel | Discoverer | HasModel"
"""A model folder, a model that is loaded already, a fitted method, or the result of a workflow."""


class HasModel(Protocol):
    """The result of a workflow that made a model."""

    @property
    def model(self) -> IntentModel:
        """The model."""


def open_model(
    model: ModelSource,
    encoder: str | Encoder | None,
    device: str,
    precision: Precision = defaults.PRECISION,
) -> ReviewedModel:
    """Return the model with the review that lies in its folder, on the device."""
    check_precision(precision, device)
    if not isinstance(model, str | Path):
        reviewed = _as_reviewed(model)
        return reviewed if precision == defaults.PRECISION else reviewed.with_precision(precision)
    check_device(device)
    from newfound.review.reviewed import load

    chosen = pick_device("cpu" if precision == "int8" and device == "auto" else device)
    with loading(model):
        return load(model, encoder=encoder).with_precision(precision).to(chosen)


def open_predictor(
    model: ModelSource, encoder: str | Encoder | None, device: str, precision: Precision, reporter: Reporter
) -> FittedClassifier:
    """Return what classifies texts with a model; it does without torch where that is possible.

    Args:
        model: A model folder, or a loaded model.
        encoder: Where the model's encoder lies, if it cannot be found.
        device: auto, cpu or cuda.
        precision: fp32 or int8.
        reporter: Is told if torch has to do what ONNX Runtime would do faster.
    """
    check_device(device)
    check_precision(precision, device)
    is_cpu = precision == "int8" or is_surely_cpu(device)
    if isinstance(model, str | Path) and encoder is None and is_cpu:
        from newfound.review.predictor import open_stored

        stored = open_stored(Path(model), precision)
        if stored is not None:
            return stored
    reviewed = open_model(model, encoder, device, precision)
    problem = reviewed.model.graph_problem()
    if problem is not None:
        reporter.note(problem)
    is_frozen = not reviewed.model.tune.layers and reviewed.model.network.dense is None
    if is_frozen and isinstance(model, str | Path):  # a loaded model answers at once
        from newfound.encoders.cache import StoredVectors

        reviewed.stored_vectors = StoredVectors(feature_cache_dir() / reviewed.encoder.vectors_folder())
    return reviewed


def _as_reviewed(model: object) -> ReviewedModel:
    """Return a loaded model as a reviewed one; a fitted method and the result of a workflow have one."""
    from newfound.model.classifier import IntentModel
    from newfound.review.reviewed import ReviewedModel
    from newfound.review.state import Review

    if isinstance(model, ReviewedModel):
        return model
    if not isinstance(model, IntentModel):
        model = getattr(model, "model_", None) or getattr(model, "model", None)
    if isinstance(model, IntentModel):
        known = [intent.name for intent in model.intents if intent.known]
        return ReviewedModel(model, Review.begin([intent.name for intent in model.intents], known))
    raise SettingsError("the model must be a model folder, a loaded model or a fitted method")


def name_of(model: ModelSource) -> str:
    """Return what to call a model where it needs a name: its folder's."""
    return Path(model).resolve().name if isinstance(model, str | Path) else "newfound"
