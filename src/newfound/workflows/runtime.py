"""What every workflow computes with: the device, the encoder, and who is told the progress."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from newfound.data.rows import ReadReport
from newfound.defaults import DEVICE
from newfound.errors import SettingsError
from newfound.model.about import loading
from newfound.paths import feature_cache_dir
from newfound.training.devices import check_device, pick_device
from newfound.training.progress import LoggingReporter, Reporter

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder
    from newfound.methods.base import Discoverer
    from newfound.model.classifier import IntentModel
    from newfound.review.reviewed import ReviewedModel
    from newfound.workflows.discovery import OfModel

ModelSource: TypeAlias = "str | Path | ReviewedModel | IntentModel | Discoverer | OfModel"
"""A model folder, a model that is loaded already, a fitted method, or the result of a workflow."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """What a workflow computes with.

    Attributes:
        reporter: Is told the progress and what is unusual.
        encoder: A short name, a folder, owner/name on the hub, or a loaded encoder; None is the one of the model.
        device: auto, cpu or cuda.
    """

    reporter: Reporter
    encoder: str | Encoder | None = None
    device: str = DEVICE

    @classmethod
    def of(
        cls,
        reporter: Reporter | None,
        encoder: str | Encoder | None = None,
        device: str = DEVICE,
    ) -> Runtime:
        """Return what a workflow computes with, or refuse what cannot work on this machine.

        Without a reporter, the logger `newfound` is told.
        """
        check_device(device)
        return cls(reporter or LoggingReporter(), encoder, device)

    def report_warnings(self, report: ReadReport) -> None:
        """Report what was unusual in a file."""
        for note in report.notes:
            self.reporter.note(note)
        for warning in report.warnings():
            self.reporter.warn(warning)

    def load_encoder(self) -> Encoder:
        """Return the encoder with the user's feature cache, loaded if it is given by its name."""
        from newfound.encoders.cache import FeatureCache
        from newfound.encoders.encoder import load_encoder

        assert self.encoder is not None
        cache = FeatureCache(feature_cache_dir())
        if isinstance(self.encoder, str):
            return load_encoder(self.encoder, cache=cache)
        return self.encoder if self.encoder.cache else self.encoder.with_cache(cache)  # predictions go on without one

    def encoder_to_fit(self) -> str | Encoder:
        """Return the name of the encoder, or the loaded encoder with the user's feature cache."""
        return self.encoder if isinstance(self.encoder, str) else self.load_encoder()

    def open_model(self, model: ModelSource) -> ReviewedModel:
        """Return the model with the review that lies in its folder, on the device."""
        if not isinstance(model, str | Path):
            return as_reviewed(model)
        from newfound.review.reviewed import load_reviewed

        device = pick_device(self.device)
        with loading(model):
            return load_reviewed(model, encoder=self.encoder, device=device)

    def open_predictor(self, model: ModelSource) -> IntentModel:
        """Return what classifies texts with a model; it does without torch where that is possible."""
        if isinstance(model, str | Path):
            from newfound.review.opening import open_predictor

            predictor = open_predictor(model, self.encoder, self.device)
        else:
            predictor = self.open_model(model).classifier
        problem = predictor.graph_problem()
        if problem is not None:
            self.reporter.note(problem)
        return predictor


def as_reviewed(model: object) -> ReviewedModel:
    """Return a loaded model with its review; a fitted method and the result of a workflow have one."""
    from newfound.model.classifier import IntentModel
    from newfound.review.reviewed import ReviewedModel
    from newfound.review.state import Review

    if isinstance(model, ReviewedModel):
        return model
    if not isinstance(model, IntentModel):
        model = getattr(model, "model_", None) or getattr(model, "model", None)
    if isinstance(model, IntentModel):
        return model.reviewed or ReviewedModel(model, Review.of(model.intents))
    raise SettingsError("the model must be a model folder, a loaded model or a fitted method")


def name_of(model: ModelSource) -> str:
    """Return what to call a model where it needs a name: its folder's."""
    return Path(model).resolve().name if isinstance(model, str | Path) else "newfound"
