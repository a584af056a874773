"""`Head`: from the vectors of texts to probabilities of intents, and the arithmetic of both, in NumPy without torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from newfound.errors import SettingsError
from newfound.model.types import Calibration, Intent, Status
from newfound.small_talk import is_small_talk
from newfound.text import is_blank, is_wordless

if TYPE_CHECKING:
    from torch import Tensor

Array = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]
Names = npt.NDArray[np.object_]
TEXTS_PER_BATCH, TEXTS_PER_BATCH_ON_GPU = 1_024, 8_192
MIN_LEAD_OF_BEST = 1e-6  # by how much the most probable intent stays the most probable one
SMALLEST_NORM = 1e-12  # as in torch's `normalize`
MAX_TEMPERATURE = 0.5  # at which hardly any row is sure
BISECTION_STEPS = 20


def text_classifier_tags(tags: Any) -> Any:
    """Return scikit-learn's tags of an estimator, changed to those of a classifier of texts."""
    from sklearn.utils import ClassifierTags

    tags.estimator_type = "classifier"
    tags.classifier_tags = ClassifierTags()
    tags.input_tags.string = True
    tags.input_tags.two_d_array = False
    tags.input_tags.one_d_array = True
    return tags


def in_batches(
    encode: Callable[[Sequence[str]], Array], texts: Sequence[str], width: int, size: int = TEXTS_PER_BATCH
) -> Array:
    """Return the vectors of texts, [n, width], which are encoded in batches; refuse what is not a list of texts."""
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise SettingsError("give a list of texts: strings, and not one string alone")
    pieces = [encode(texts[i : i + size]) for i in range(0, len(texts), size)]
    return np.concatenate(pieces) if pieces else np.empty((0, width), np.float32)


def unit(vectors: Array) -> Array:
    """Return vectors [n, d] at unit length."""
    scaled: Array = vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), SMALLEST_NORM)
    return scaled


def softmax(logits: Array) -> Array:
    """Return the softmax over the last axis."""
    exponents = np.exp(logits - logits.max(-1, keepdims=True))
    shares: Array = exponents / exponents.sum(-1, keepdims=True)
    return shares


def with_reliability(probabilities: Array, is_new: npt.NDArray[np.bool_], reliability: float) -> Array:
    """Return probabilities [n, intents] of which the new intents [intents] give up what their labels are not worth.

    The labels of new intents come from clusters, of which only a part is right. A share of the probability of a new
    intent stays with it; the rest is divided among all new intents. The most probable intent stays the most probable.
    """
    count = int(is_new.sum())
    if reliability >= 1 or count < 2 or not len(probabilities):
        return probabilities
    new = np.where(is_new, probabilities, np.float32(0))
    even = new.sum(1, keepdims=True) / np.float32(count)  # [n, 1]
    best = new.max(1, keepdims=True)
    rival = np.where(is_new, np.float32(0), probabilities).max(1, keepdims=True)
    # Where a new intent leads by little, it gives up no more than its lead over the known ones.
    needed = (rival + np.float32(MIN_LEAD_OF_BEST) - even) / np.maximum(best - even, np.float32(1e-12))
    kept = np.where(best > rival, needed.clip(reliability, 1.0), np.float32(reliability)).astype(np.float32)
    changed: Array = np.where(is_new, kept * probabilities + (1 - kept) * even, probabilities)
    return changed


def reliability_of(probabilities: Tensor, is_new: Tensor, accuracy: float) -> float:
    """Return the share of the probability of new intents that is to stay with them, so that its mean is right.

    A classifier that was taught clusters is sure of them (`probabilities`, [n, intents]); the accuracy is the share of
    the rows in new intents that are estimated to be right.
    """
    best, predicted = probabilities.max(1)
    confidences = best[is_new[predicted]]
    if not len(confidences):
        return 1.0
    return min(1.0, accuracy / float(confidences.mean()))


def temperature_of(cosines: Tensor, accuracy: float, temperature: float) -> float:
    """Return a temperature of the softmax at which rows are as confident on average as they are right.

    The accuracy is the share of the rows whose most similar intent, by their cosines [n, intents], is estimated to be
    theirs. The result is not below the temperature that the classifier was taught with.
    """
    low, high = temperature, MAX_TEMPERATURE
    if not len(cosines) or float((cosines / low).softmax(1).amax(1).mean()) <= accuracy:
        return temperature
    for _ in range(BISECTION_STEPS):
        middle = (low * high) ** 0.5
        is_too_sure = float((cosines / middle).softmax(1).amax(1).mean()) > accuracy
        low, high = (middle, high) if is_too_sure else (low, middle)
    return round(low, 6)


def ids_of(probabilities: Array) -> npt.NDArray[np.int64]:
    """Return the number of the most probable of the intents [n, intents], [n]; -1 for a text of no intent."""
    best: npt.NDArray[np.int64] = np.where(probabilities.any(1), probabilities.argmax(1), -1)
    return best


def best_of(probabilities: Array) -> tuple[Array, npt.NDArray[np.int64]]:
    """Return probability and number of the best of the intents [n, intents], [n] each.

    What a row lacks to 1 is the probability of no intent, whose number is the one after the last.
    """
    no_intent = 1 - probabilities.sum(1, keepdims=True)
    every = np.concatenate([probabilities, no_intent], axis=1)
    best = every.argmax(1)
    return np.take_along_axis(every, best[:, None], axis=1)[:, 0], best


def round_probability(probability: float) -> float:
    """Return a probability as answers show it."""
    return round(min(max(probability, 0.0), 1.0), 6)


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of a column that a review has split.

    Attributes:
        prototypes: The mean of the utterances that describe each part, [parts, d]; zero if it was split again.
        intents: A one where a part is an intent, [parts, intents]; a rejected part is none.
    """

    prototypes: Array
    intents: Array

    @cached_property
    def were_split_again(self) -> Flags:
        """Which parts nothing is left of, [parts]."""
        empty: Flags = np.linalg.norm(self.prototypes, axis=-1) == 0
        return empty


@dataclass(frozen=True, eq=False)
class Head:
    """The weights, the calibration and the limits of a fitted classifier, and what a review makes of its columns.

    The probabilities of merged columns are added, and the probability of a split column is divided among its parts.

    Attributes:
        prototypes: Unit vectors, one for each column of the classifier, [columns, d].
        columns: The intent that each column was fitted as, with its limits.
        calibration: How cosines become probabilities and outlier scores.
        statuses: The status of each intent, by name, in the order of the probabilities.
        ids: The id of each intent, by name.
        paths: The groups that each intent is in (see `Prediction.path`), by name.
        intents_of_columns: A one where a column is an intent, [columns, intents]; None if each is the one it was.
        parts: The columns that were split.
        assigned: The texts that a person assigned, with the intents that each may belong to; none is no intent.
    """

    prototypes: Array
    columns: Sequence[Intent]
    calibration: Calibration
    statuses: Mapping[str, Status]
    ids: Mapping[str, str]
    paths: Mapping[str, str | None] = field(default_factory=dict)
    intents_of_columns: Array | None = None
    parts: Mapping[int, Parts] = field(default_factory=dict)
    assigned: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, weight: Array, intents: Sequence[Intent], calibration: Calibration) -> Head:
        """Return the head of a classifier as it was fitted, with these weights, [intents, d]."""
        statuses = {intent.name: intent.status for intent in intents}
        ids = {intent.name: intent.id for intent in intents}
        return cls(unit(weight.astype(np.float32)), intents, calibration, statuses, ids)

    @cached_property
    def position(self) -> dict[str, int]:
        """The position of each intent among the probabilities, by name."""
        return {name: i for i, name in enumerate(self.statuses)}

    @cached_property
    def is_new(self) -> Flags:
        """Which columns were new when they were fitted, [columns]."""
        return np.array([intent.status == "new" for intent in self.columns], dtype=np.bool_)

    @cached_property
    def min_similarity(self) -> Array:
        """The least cosine of a text of each column, [columns]."""
        return np.array([intent.min_similarity for intent in self.columns], dtype=np.float32)

    @cached_property
    def _takes(self) -> list[tuple[Callable[[str], bool], Flags]]:
        """What texts may lack, how to tell, and which columns take such texts, [columns]."""
        wordless = np.array([intent.takes_wordless for intent in self.columns], dtype=np.bool_)
        small_talk = np.array([intent.takes_small_talk for intent in self.columns], dtype=np.bool_)
        return [(is_wordless, wordless), (is_small_talk, small_talk)]

    def probabilities(self, texts: Sequence[str], vectors: Array) -> Array:
        """Return the probabilities of texts with these vectors [n, d], [n, intents].

        They are zeros for a text that belongs to no intent. A text that a person assigned has the probability 1 for
        that intent, whatever its vector.
        """
        return self.named(self.of_columns(texts, vectors), texts, vectors)

    def candidates(self, texts: Sequence[str], vectors: Array) -> Array:
        """Return what the probabilities would be if no text were too unlike its intent; zeros for a blank text."""
        probabilities = self._calibrated(self._cosines(vectors))
        probabilities[[is_blank(text) for text in texts]] = 0
        return self.named(probabilities, texts, vectors)

    def answers(
        self, texts: Sequence[str], vectors: Array, probabilities: Array | None = None
    ) -> tuple[Array, npt.NDArray[np.int64], Array]:
        """Return what is answered: `best_of` the probabilities, and the probabilities that are shown, [n, intents].

        A text that is too unlike its intent has none, but its candidates are shown, and the probability of the best.
        """
        shown = self.probabilities(texts, vectors) if probabilities is None else probabilities.copy()
        value, best = best_of(shown)
        none = np.flatnonzero(~shown.any(1))
        if len(none):
            shown[none] = self.candidates([texts[i] for i in none.tolist()], vectors[none])
            value[none] = best_of(shown[none])[0]
        return value, best, shown

    def outliers(self, vectors: Array) -> npt.NDArray[np.float64]:
        """Return how unlike all intents each vector is, from 0 to 1, [n]."""
        closest = self._cosines(vectors).astype(np.float64).max(1)
        typical = self.calibration.typical
        if not typical:
            distances: npt.NDArray[np.float64] = np.clip(1 - closest, 0, 1)
            return distances
        # Below the lowest quantile the score still grows with the distance, so that outliers have different scores.
        shares = [0.0, *np.linspace(0.5 / len(typical), 1.0, len(typical))]
        scores: npt.NDArray[np.float64] = 1 - np.interp(closest, [-1.0, *typical], shares)
        return np.round(scores, 6)

    def of_columns(self, texts: Sequence[str], vectors: Array) -> Array:
        """Return the probabilities of the columns as they were fitted, [n, columns]; no review changes them."""
        cosines = self._cosines(vectors)
        probabilities = self._calibrated(cosines)
        probabilities[self._has_no_intent(texts, cosines)] = 0
        return probabilities

    def named(self, columns: Array, texts: Sequence[str], vectors: Array) -> Array:
        """Return the probabilities of the intents, [n, intents], of those of the columns, [n, columns]."""
        if self.intents_of_columns is None:
            return columns
        named: Array = columns @ self.intents_of_columns
        for column, parts in self.parts.items():
            named += (columns[:, [column]] * self.share_of_parts(column, vectors)) @ parts.intents
        self.assign(named, texts)
        return named

    def assign(self, named: Array, texts: Sequence[str]) -> None:
        """Set the probabilities [n, intents] of texts that a person assigned, in place."""
        for row, text in enumerate(texts):
            if text in self.assigned:
                positions = [self.position[name] for name in self.assigned[text]]
                best = max(positions, key=lambda i: float(named[row, i]), default=None)
                named[row] = 0.0
                if best is not None:
                    named[row, best] = 1.0

    def share_of_parts(self, column: int, vectors: Array) -> Array:
        """Return the share of a column's probability that each of its parts gets, [n, parts]."""
        parts = self.parts[column]
        logits = unit(vectors) @ parts.prototypes.T / np.float32(self.calibration.temperature)
        return softmax(np.where(parts.were_split_again, np.float32(-np.inf), logits))

    def _cosines(self, vectors: Array) -> Array:
        """Return the cosines of vectors [n, d] to the columns, [n, columns]."""
        product: Array = unit(vectors.astype(np.float32, copy=False)) @ self.prototypes.T
        return product

    def _calibrated(self, cosines: Array) -> Array:
        uncorrected = softmax(cosines / np.float32(self.calibration.temperature))
        return with_reliability(uncorrected, self.is_new, self.calibration.reliability)

    def _has_no_intent(self, texts: Sequence[str], cosines: Array) -> Flags:
        """Return which texts nothing can be seen of, are too unlike their intent, or lack words it asks for, [n]."""
        blank = np.array([is_blank(text) for text in texts], dtype=np.bool_)
        if not len(texts) or not cosines.shape[1]:
            return blank
        best = cosines.argmax(1)
        outside: Flags = cosines.max(1) < self.min_similarity[best]
        for is_such, takes in self._takes:
            if not takes.all():
                outside |= np.array([is_such(text) for text in texts], dtype=np.bool_) & ~takes[best]
        return blank | outside
