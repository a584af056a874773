"""`Predictor`: a loaded model that classifies texts within limits. Every engine calls the same one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from newfound.errors import SettingsError
from newfound.model.types import Prediction

if TYPE_CHECKING:
    from newfound.model.classifier import IntentModel


@dataclass(frozen=True, slots=True)
class PredictionLimits:
    """Which predictions are not to be trusted, so that their texts get no intent, and how much a prediction holds."""

    max_outliers: float | None = None  # for texts that are less typical than all but this share of the labelled data
    threshold: float | None = None  # for texts whose most probable intent is less probable than this
    fallback: str | None = None  # the label of texts of no intent
    top: int = 0  # how many of the most probable intents each prediction holds

    def check(self) -> None:
        for name, value in (("max_outliers", self.max_outliers), ("threshold", self.threshold)):
            if value is not None and not 0 <= value <= 1:
                raise SettingsError(f"{name}={value} must lie between 0 and 1")
        if self.fallback is not None and not self.fallback.strip():
            raise SettingsError("the fallback label is empty; give it a name, or leave it out")
        if type(self.top) is not int or self.top < 0:
            raise SettingsError(f"top={self.top!r} must be a whole number from 0")

    def apply(self, prediction: Prediction) -> Prediction:
        is_outlier = self.max_outliers is not None and prediction.outlier > 1 - self.max_outliers
        is_unsure = self.threshold is not None and prediction.probability < self.threshold
        if prediction.intent is not None and not is_outlier and not is_unsure:
            return prediction
        above = None if prediction.above_threshold is None else False
        empty = Prediction(prediction.text, self.fallback, False, prediction.probability, prediction.outlier)
        return replace(empty, top=prediction.top, above_threshold=above)


DEFAULT_LIMITS = PredictionLimits()


class Predictor:
    """Classifies texts with a model, its review decisions and the limits of the caller."""

    def __init__(
        self,
        model: IntentModel,
        limits: PredictionLimits = DEFAULT_LIMITS,
        classify: Callable[..., Sequence[Prediction]] | None = None,
    ) -> None:
        """Use a loaded model. `classify` is called in place of its own function, as by an `Explainer`."""
        limits.check()
        self.model, self.limits, self._classify = model, limits, classify or model.classify

    def predictions(self, texts: Sequence[str]) -> list[Prediction]:
        """Return one prediction for each text; texts that are repeated are encoded once."""
        if not all(isinstance(text, str) for text in texts):
            raise SettingsError("give a list of texts: strings, and not one string alone")
        distinct = list(dict.fromkeys(texts))
        answers = self._classify(distinct, top=self.limits.top) if distinct else []
        predictions = {p.text: self.limits.apply(p) for p in answers}
        return [predictions[text] for text in texts]
