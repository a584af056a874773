"""Opening a model for a workflow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from newfound.errors import SettingsError
from newfound.training.devices import check_device, pick_device

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder
    from newfound.methods.base import Discoverer
    from newfound.model.classifier import IntentModel
    from newfound.review.reviewed import ReviewedModel

ModelSource: TypeAlias = "str | Path | ReviewedModel | IntentModel | Discoverer | HasModel"
"""A model folder, a model that is loaded already, a fitted method, or the result of a workflow."""


class HasModel(Protocol):
    """The result of a workflow that made a model."""

    @property
    def model(self) -> IntentModel:
        """The model."""


def opened(model: ModelSource, encoder: str | Encoder | None, device: str) -> ReviewedModel:
    """Return the model with the review that lies in its folder, on the device."""
    if not isinstance(model, str | Path):
        return _reviewed(model)
    check_device(device)
    from newfound.review.reviewed import load

    return load(model, encoder=encoder).to(pick_device(device))


def _reviewed(model: object) -> ReviewedModel:
    """Return a loaded model as a reviewed one; a fitted method and the result of a workflow have one."""
    from newfound.model.classifier import IntentModel
    from newfound.review.decisions import Review
    from newfound.review.reviewed import ReviewedModel

    if isinstance(model, ReviewedModel):
        return model
    found = model if isinstance(model, IntentModel) else getattr(model, "model_", None) or getattr(model, "model", None)
    if isinstance(found, IntentModel):
        known = [intent.name for intent in found.intents if intent.known]
        return ReviewedModel(found, Review.begin([intent.name for intent in found.intents], known))
    raise SettingsError("the model must be a model folder, a loaded model or a fitted method")


def name_of(model: ModelSource) -> str:
    """Return what to call a model where it needs a name: its folder's."""
    return Path(model).resolve().name if isinstance(model, str | Path) else "newfound"
