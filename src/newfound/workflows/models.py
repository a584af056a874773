"""Opening a model for a workflow."""

from __future__ import annotations

from pathlib import Path

from newfound.encoders.encoder import Encoder
from newfound.methods.base import pick_device
from newfound.review.reviewed import ReviewedModel, load

ModelSource = str | Path | ReviewedModel
"""A model folder, or a model that is loaded already."""


def opened(model: ModelSource, encoder: str | Encoder | None, device: str) -> ReviewedModel:
    """Return the model with the review that lies in its folder, on the device."""
    if isinstance(model, ReviewedModel):
        return model
    return load(model, encoder=encoder).to(pick_device(device))


def name_of(model: ModelSource) -> str:
    """Return what to call a model where it needs a name: its folder's."""
    return "newfound" if isinstance(model, ReviewedModel) else Path(model).resolve().name
