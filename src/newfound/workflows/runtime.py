"""What every workflow computes with: the device, the precision, the encoder, and who is told the progress."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from newfound.data.rows import ReadReport
from newfound.defaults import DEVICE, PRECISION, Precision
from newfound.encoders.precision import check_precision
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
        precision: fp32, or int8 for a frozen encoder on a CPU.
    """

    reporter: Reporter
    encoder: str | Encoder | None = None
    device: str = DEVICE
    precision: Precision = PRECISION

    @classmethod
    def of(cls, request: Any, reporter: Reporter | None) -> Runtime:
        """Return what a request is computed with, or refuse what cannot work on this machine.

        Those fields of the request are taken that are called as attributes of this class. Without a reporter, the
        logger `newfound` is told.
        """
        chosen = {name: getattr(request, name) for name in ("encoder", "device", "precision") if hasattr(request, name)}
        runtime = cls(reporter or LoggingReporter(), **chosen)
        check_device(runtime.device)
        check_precision(runtime.precision, runtime.device)
        if runtime.device == "auto" and runtime.precision == "int8":  # which runs on the CPU, also beside a GPU
            return replace(runtime, device="cpu")
        return runtime

    def on_cpu(self) -> Runtime:
        """Return the same on the CPU and in fp32, for a model that classifies nothing."""
        return replace(self, device="cpu", precision=PRECISION)

    def tell(self, report: ReadReport) -> None:
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
        if self.encoder.cache is not None:
            return self.encoder
        encoder = copy(self.encoder)  # the weights are shared; predictions go on without a cache
        encoder.cache = cache
        return encoder

    def encoder_to_fit(self, tune: str = "auto") -> str | Encoder:
        """Return the encoder with the user's feature cache and in the precision; only a frozen one can be int8."""
        if self.precision == "fp32":
            return self.encoder if isinstance(self.encoder, str) else self.load_encoder()
        if tune not in ("auto", "heads"):
            raise SettingsError(
                "precision='int8' is for a frozen encoder, and this one is to be trained", "heads", "fp32"
            )
        return self.load_encoder().with_precision(self.precision)

    def open_model(self, model: ModelSource) -> ReviewedModel:
        """Return the model with the review that lies in its folder, on the device and in the precision."""
        if not isinstance(model, str | Path):
            reviewed = as_reviewed(model)
            return reviewed if self.precision == PRECISION else reviewed.with_precision(self.precision)
        from newfound.review.reviewed import load_reviewed

        device = pick_device(self.device)
        with loading(model):
            return load_reviewed(model, encoder=self.encoder, device=device, precision=self.precision)

    def open_predictor(self, model: ModelSource) -> IntentModel:
        """Return what classifies texts with a model; it does without torch where that is possible."""
        if isinstance(model, str | Path):
            from newfound.review.opening import open_predictor

            predictor = open_predictor(model, self.encoder, self.device, self.precision)
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
