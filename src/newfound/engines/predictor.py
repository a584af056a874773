"""`Predictor`: a loaded model that classifies texts within limits. Every engine calls the same one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from newfound.engines.parts import divide, texts_of_spans
from newfound.errors import SettingsError
from newfound.model.types import Prediction

if TYPE_CHECKING:
    from newfound.model.classifier import IntentModel


@dataclass(frozen=True, slots=True)
class PredictionLimits:
    """Which predictions are not to be trusted, so that their texts get no intent, and how much a prediction holds."""

    threshold: float | None = None  # for texts whose most probable intent is less probable than this
    top: int = 0  # how many of the most probable intents each prediction holds
    several: bool = False  # whether each prediction holds the parts of its message that have an intent of their own

    def __post_init__(self) -> None:
        """Refuse what is no limit."""
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise SettingsError(f"threshold={self.threshold} must lie between 0 and 1")
        if type(self.top) is not int or self.top < 0:
            raise SettingsError(f"top={self.top!r} must be a whole number from 0")

    def apply(self, prediction: Prediction) -> Prediction:
        is_unsure = self.threshold is not None and prediction.probability < self.threshold
        if prediction.intent is None or not is_unsure:
            return prediction
        above = None if prediction.above_threshold is None else False
        empty = Prediction(prediction.text, None, False, prediction.probability, prediction.outlier)
        return replace(empty, top=prediction.top, above_threshold=above)

    def texts_to_classify(self, messages: Sequence[str]) -> list[str]:
        """Return the texts whose predictions are needed, each once: the messages, or all that may be parts of them."""
        return texts_of_spans(messages) if self.several else list(dict.fromkeys(messages))

    def of_messages(self, messages: Sequence[str], answers: Mapping[str, Prediction]) -> list[Prediction]:
        """Return the predictions of messages; `answers` are those of all `texts_to_classify`, without any limit."""
        allowed = {text: self.apply(answer) for text, answer in answers.items()}
        predictions = [allowed[text] for text in messages]
        return [replace(p, intents=divide(p.text, allowed)) for p in predictions] if self.several else predictions


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
        self.model, self.limits, self._classify = model, limits, classify or model.classify

    def predictions(self, texts: Sequence[str]) -> list[Prediction]:
        """Return one prediction for each text; what is repeated is encoded once."""
        if not all(isinstance(text, str) for text in texts):
            raise SettingsError("give a list of texts: strings, and not one string alone")
        wanted = self.limits.texts_to_classify(texts)
        answers = self._classify(wanted, top=self.limits.top) if wanted else []
        return self.limits.of_messages(texts, {answer.text: answer for answer in answers})
