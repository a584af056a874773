"""Opening a model for a workflow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from newfound.training.devices import check_device, pick_device

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder
    from newfound.review.reviewed import ReviewedModel

ModelSource: TypeAlias = "str | Path | ReviewedModel"
"""A model folder, or a model that is loaded already."""


def opened(model: ModelSource, encoder: str | Encoder | None, device: str) -> ReviewedModel:
    """Return the model with the review that lies in its folder, on the device."""
    if not isinstance(model, str | Path):
        return model
    check_device(device)
    from newfound.review.reviewed import load

    return load(model, encoder=encoder).to(pick_device(device))


def name_of(model: ModelSource) -> str:
    """Return what to call a model where it needs a name: its folder's."""
    return Path(model).resolve().name if isinstance(model, str | Path) else "newfound"
