"""`Predictor`: a loaded model that makes columns of texts. Every engine calls the same one."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from newfound import defaults
from newfound.data.rows import MAX_TEXT_LENGTH
from newfound.errors import SettingsError
from newfound.exports.predictions import PREDICTION_COLUMNS, THRESHOLD_COLUMN
from newfound.model.types import Prediction
from newfound.text import is_blank

if TYPE_CHECKING:
    from newfound.model.classifier import IntentModel

MAX_REMEMBERED = 10_000  # predictions of earlier batches, so that texts that come again are not encoded again
MAX_REMEMBERED_LENGTH = 200  # characters; longer texts seldom come again, and the memory is to stay small


@dataclass(frozen=True, slots=True)
class PredictionLimits:
    """Which predictions are not to be trusted: their texts get no intent."""

    max_outliers: float | None = None  # for texts that are less typical than all but this share of the labelled data
    threshold: float | None = None  # for texts whose most probable intent is less probable than this
    fallback: str | None = None  # the label of texts of no intent

    def check(self) -> None:
        for name, value in (("max_outliers", self.max_outliers), ("threshold", self.threshold)):
            if value is not None and not 0 <= value <= 1:
                raise SettingsError(f"{name}={value} must lie between 0 and 1")
        if self.fallback is not None and not self.fallback.strip():
            raise SettingsError("the fallback label is empty; give it a name, or leave it out")

    def apply(self, prediction: Prediction) -> Prediction:
        is_outlier = self.max_outliers is not None and prediction.outlier > 1 - self.max_outliers
        is_unsure = self.threshold is not None and prediction.probability < self.threshold
        if prediction.intent is not None and not is_outlier and not is_unsure:
            return prediction
        above = None if prediction.above_threshold is None else False
        empty = Prediction(prediction.text, self.fallback, False, prediction.probability, prediction.outlier)
        return replace(empty, top=prediction.top, above_threshold=above)


@dataclass(frozen=True, slots=True)
class PredictorSettings:
    """How texts are classified; every value can be sent to another machine."""

    encoder: str | None = None  # where the model's encoder lies, if it cannot be found
    device: str = defaults.DEVICE
    top: int = 0  # how many of the most probable intents each prediction holds
    limits: PredictionLimits = PredictionLimits()

    def check(self) -> None:
        self.limits.check()
        if type(self.top) is not int or self.top < 0:
            raise SettingsError(f"top={self.top!r} must be a whole number from 0")


class Predictor:
    """Classifies texts with a model, its review decisions and the limits of the caller.

    A text that was there before, in the same call or not long ago, is not encoded again.
    """

    def __init__(
        self,
        model: str | Path | IntentModel,
        settings: PredictorSettings | None = None,
        classify: Callable[..., Sequence[Prediction]] | None = None,
    ) -> None:
        """Use a loaded model, or a model folder, which is loaded when the first texts are classified.

        `classify` is called in place of the model's own function, as by an `Explainer`.
        """
        self.settings = settings or PredictorSettings()
        self.settings.check()
        self._source, self._classify = model, classify
        self._cache: OrderedDict[str, Prediction] = OrderedDict()

    @cached_property
    def model(self) -> IntentModel:
        """The loaded model."""
        if not isinstance(self._source, str | Path):
            return self._source
        from newfound.review.opening import open_predictor

        return open_predictor(self._source, self.settings.encoder, self.settings.device)

    @property
    def top(self) -> int:
        """How many intents a prediction holds: those that were asked for, or all if there are fewer."""
        return min(self.settings.top, len(self.model.names))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of predictions, apart from `top`."""
        return (*PREDICTION_COLUMNS, THRESHOLD_COLUMN) if self.model.thresholds else PREDICTION_COLUMNS

    def __call__(self, texts: Sequence[str | None]) -> dict[str, list[Any]]:
        """Return one value for each text in `columns`, and in `top` if it was asked for.

        A text that is None or blank belongs to no intent and has no probability.
        """
        cleaned = ["" if text is None or is_blank(text) else text.strip()[:MAX_TEXT_LENGTH] for text in texts]
        answers = iter(self.predictions([text for text in cleaned if text]))
        rows = [next(answers) if text else None for text in cleaned]
        columns: dict[str, list[Any]] = {
            name: [None if row is None else getattr(row, name) for row in rows] for name in self.columns
        }
        columns["intent"] = [self.settings.limits.fallback if row is None else row.intent for row in rows]
        if self.settings.top:
            columns["top"] = [None if row is None else [asdict(one) for one in row.top] for row in rows]
        return columns

    def predictions(self, texts: Sequence[str]) -> list[Prediction]:
        """Return one prediction for each text."""
        if not all(isinstance(text, str) for text in texts):
            raise SettingsError("give a list of texts: strings, and not one string alone")
        predictions = {text: self._cache[text] for text in texts if text in self._cache}
        missing = [text for text in dict.fromkeys(texts) if text not in predictions]
        if missing:
            answers = (self._classify or self.model.classify)(missing, top=self.settings.top)
            predictions |= {p.text: self.settings.limits.apply(p) for p in answers}
        for text, prediction in predictions.items():
            if len(text) <= MAX_REMEMBERED_LENGTH:
                self._cache[text] = prediction
                self._cache.move_to_end(text)
        while len(self._cache) > MAX_REMEMBERED:
            self._cache.popitem(last=False)
        return [predictions[text] for text in texts]
