"""What lies between the vector of a text and its probabilities, in NumPy. This module does not need torch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from newfound.errors import SettingsError
from newfound.model.types import Intent, Prediction, RankedIntent, Status
from newfound.text import is_blank, is_wordless

Array = npt.NDArray[np.float32]
TEXTS_PER_BATCH, TEXTS_PER_BATCH_ON_GPU = 1_024, 8_192
MIN_LEAD_OF_BEST = 1e-6  # by how much the most probable intent stays the most probable one
SMALLEST_NORM = 1e-12  # as in torch's `normalize`


def batches_of(texts: Sequence[str], size: int = TEXTS_PER_BATCH) -> list[Sequence[str]]:
    """Return texts in batches; refuse what is not a list of texts."""
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise SettingsError("give a list of texts: strings, and not one string alone")
    return [texts[i : i + size] for i in range(0, len(texts), size)]


def unit(vectors: Array) -> Array:
    """Return vectors [n, d] at unit length."""
    scaled: Array = vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), SMALLEST_NORM)
    return scaled


def softmax(logits: Array) -> Array:
    """Return the softmax over the last axis."""
    exponents = np.exp(logits - logits.max(-1, keepdims=True))
    shares: Array = exponents / exponents.sum(-1, keepdims=True)
    return shares


class Columns:
    """What makes predictions of the vectors of texts: a fitted classifier, or one with review decisions applied."""

    @property
    @abstractmethod
    def statuses(self) -> dict[str, Status]:
        """The status of each intent, by name, in the order of the columns."""

    @abstractmethod
    def probabilities(self, texts: Sequence[str], vectors: Array) -> Array:
        """Return the probabilities of texts with these vectors [n, d], [n, intents]."""

    @abstractmethod
    def outliers(self, vectors: Array) -> npt.NDArray[np.float64]:
        """Return how unlike all intents each vector is, from 0 to 1, [n]."""

    def classify(self, texts: Sequence[str], vectors: Array, *, top: int = 0) -> list[Prediction]:
        """Return one prediction per text. All that classifies texts goes through here, so that answers agree.

        Args:
            texts: The texts to classify.
            vectors: Their embeddings, [n, d].
            top: How many of the most probable intents each prediction holds.
        """
        probabilities, outliers, statuses = self.probabilities(texts, vectors), self.outliers(vectors), self.statuses
        names = list(statuses)
        value, best = best_of(probabilities)
        ranked = ranked_intents(probabilities, names, top)
        predictions = []
        for text, i, p, o, r in zip(texts, best.tolist(), value.tolist(), outliers.tolist(), ranked, strict=True):
            name = names[i] if i < len(names) else None
            status = None if name is None else statuses[name]
            outlier = 1.0 if is_blank(text) else o
            predictions.append(Prediction(text, name, status == "known", round_probability(p), outlier, status, r))
        return predictions


class Classifier(Columns):
    """The classifier of a model over the vectors of texts.

    Attributes:
        prototypes: One unit vector for each intent, [intents, d].
        temperature: Of the softmax over the cosines.
        reliability: The share of the probability of new intents that stays with them.
        typical: Quantiles of the cosine of labelled training utterances to their intent.
        is_new: Which intents are new, and not accepted, [intents].
        min_similarity: The least cosine of a text of each intent, [intents]; below it the text belongs to no intent.
        takes_wordless: Which intents a text without words may belong to, [intents].
    """

    def __init__(
        self,
        weight: Array,
        intents: Sequence[Intent],
        *,
        temperature: float,
        reliability: float,
        typical: Sequence[float],
    ) -> None:
        """Take the weights, [intents, d], and the description of each intent."""
        self.prototypes = unit(weight.astype(np.float32))
        self.temperature, self.reliability, self.typical = temperature, reliability, typical
        self._statuses = {intent.name: intent.status for intent in intents}
        self.is_new = np.array([intent.status == "new" for intent in intents], dtype=np.bool_)
        self.min_similarity = np.array([intent.min_similarity for intent in intents], dtype=np.float32)
        self.takes_wordless = np.array([intent.takes_wordless for intent in intents], dtype=np.bool_)

    @property
    def statuses(self) -> dict[str, Status]:
        """The status of each intent, by name, in the order of the columns."""
        return self._statuses

    def cosines(self, vectors: Array) -> Array:
        """Return the cosines of vectors [n, d] to the intents, [n, intents]."""
        product: Array = unit(vectors.astype(np.float32, copy=False)) @ self.prototypes.T
        return product

    def probabilities(self, texts: Sequence[str], vectors: Array) -> Array:
        """Return the probabilities of texts, [n, intents]; zeros for a text that belongs to no intent.

        Args:
            texts: The texts to classify; a blank one belongs to no intent.
            vectors: Their embeddings, [n, d].
        """
        cosines = self.cosines(vectors)
        uncorrected = softmax(cosines / np.float32(self.temperature))
        probabilities = with_reliability(uncorrected, self.is_new, self.reliability)
        probabilities[self._has_no_intent(texts, cosines)] = 0
        return probabilities

    def _has_no_intent(self, texts: Sequence[str], cosines: Array) -> npt.NDArray[np.bool_]:
        """Return which texts nothing can be seen of, are too unlike their intent, or lack words it asks for, [n]."""
        blank = np.array([is_blank(text) for text in texts], dtype=np.bool_)
        if not len(texts) or not cosines.shape[1]:
            return blank
        best = cosines.argmax(1)
        outside: npt.NDArray[np.bool_] = cosines.max(1) < self.min_similarity[best]
        if not self.takes_wordless.all():
            wordless = np.array([is_wordless(text) for text in texts], dtype=np.bool_)
            outside |= wordless & ~self.takes_wordless[best]
        return blank | outside

    def outliers(self, vectors: Array) -> npt.NDArray[np.float64]:
        """Return how unlike all intents each vector is, from 0 to 1, [n]."""
        closest = self.cosines(vectors).astype(np.float64).max(1)
        if not self.typical:
            distances: npt.NDArray[np.float64] = np.clip(1 - closest, 0, 1)
            return distances
        # Below the lowest quantile the score still grows with the distance, so that outliers have different scores.
        shares = [0.0, *np.linspace(0.5 / len(self.typical), 1.0, len(self.typical))]
        scores: npt.NDArray[np.float64] = 1 - np.interp(closest, [-1.0, *self.typical], shares)
        return np.round(scores, 6)


def with_reliability(probabilities: Array, is_new: npt.NDArray[np.bool_], reliability: float) -> Array:
    """Return probabilities of which the new intents give up what their labels are not worth.

    The labels of new intents come from clusters, of which only a part is right. A share of the probability of a new
    intent stays with it; the rest is divided among all new intents. The most probable intent stays the most probable.

    Args:
        probabilities: Of every intent, [n, intents]; they sum to one.
        is_new: Which intents are new, [intents].
        reliability: The share that stays.
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


def ids_of(probabilities: Array) -> npt.NDArray[np.int64]:
    """Return the number of the most probable intent, [n]; -1 for a text that belongs to no intent.

    Args:
        probabilities: Of the intents, [n, intents].
    """
    best: npt.NDArray[np.int64] = np.where(probabilities.any(1), probabilities.argmax(1), -1)
    return best


def best_of(probabilities: Array) -> tuple[Array, npt.NDArray[np.int64]]:
    """Return probability and number of the best intent, [n] each; the number after the last means no intent.

    Args:
        probabilities: Of the intents, [n, intents]. What a row lacks to 1 is the probability of no intent.
    """
    no_intent = 1 - probabilities.sum(1, keepdims=True)
    every = np.concatenate([probabilities, no_intent], axis=1)
    best = every.argmax(1)
    return np.take_along_axis(every, best[:, None], axis=1)[:, 0], best


def ranked_intents(probabilities: Array, names: Sequence[str], top: int) -> list[tuple[RankedIntent, ...]]:
    """Return the most probable intents of each row, the best first.

    Args:
        probabilities: Of the intents, [n, intents].
        names: The names of the intents, in the order of the columns.
        top: How many to return at most.
    """
    count = min(top, len(names))
    if not count:
        return [()] * len(probabilities)
    index = np.argsort(-probabilities, axis=1, kind="stable")[:, :count]
    value = np.take_along_axis(probabilities, index, axis=1)
    return [
        tuple(RankedIntent(names[i], round_probability(p)) for i, p in zip(row, values, strict=True))
        for row, values in zip(index.tolist(), value.tolist(), strict=True)
    ]


def round_probability(probability: float) -> float:
    """Return a probability as answers show it."""
    return round(min(max(probability, 0.0), 1.0), 6)
