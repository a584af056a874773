"""From the vectors of texts to probabilities and predictions, in NumPy. This module does not need torch.

`FittedClassifier` is what all fitted classifiers are: something that makes vectors of texts, and the `Columns` that
make predictions of the vectors.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from newfound.data.corpus import Corpus
from newfound.errors import DataError, SettingsError
from newfound.model.types import Calibration, Intent, Prediction, RankedIntent, Status
from newfound.small_talk import is_small_talk
from newfound.text import is_blank, is_wordless

if TYPE_CHECKING:
    from torch import Tensor

    from newfound.encoders.cache import StoredVectors

Array = npt.NDArray[np.float32]
Names = npt.NDArray[np.object_]
TEXTS_PER_BATCH, TEXTS_PER_BATCH_ON_GPU = 1_024, 8_192
MIN_LEAD_OF_BEST = 1e-6  # by how much the most probable intent stays the most probable one
SMALLEST_NORM = 1e-12  # as in torch's `normalize`
MAX_TEMPERATURE = 0.5  # at which hardly any row is sure
BISECTION_STEPS = 20


class Columns:
    """What makes predictions of the vectors of texts: a fitted classifier, or one with review decisions applied.

    Attributes:
        ids: The id of each intent, by name.
        paths: The groups that each intent is in (see `Prediction.path`), by name.
    """

    ids: dict[str, str]
    paths: dict[str, str | None]

    @property
    @abstractmethod
    def statuses(self) -> dict[str, Status]:
        """The status of each intent, by name, in the order of the columns."""

    @abstractmethod
    def probabilities(self, texts: Sequence[str], vectors: Array) -> Array:
        """Return the probabilities of texts with these vectors [n, d], [n, intents]."""

    @abstractmethod
    def candidates(self, texts: Sequence[str], vectors: Array) -> Array:
        """Return what the probabilities would be if no text were too unlike its intent, [n, intents]."""

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

    @abstractmethod
    def outliers(self, vectors: Array) -> npt.NDArray[np.float64]:
        """Return how unlike all intents each vector is, from 0 to 1, [n]."""


class Classifier(Columns):
    """The classifier of a model over the vectors of texts; its arrays have one entry per intent (see `Intent`)."""

    def __init__(self, weight: Array, intents: Sequence[Intent], calibration: Calibration) -> None:
        """Take the weights, [intents, d], and the description of each intent."""
        self.prototypes = unit(weight.astype(np.float32))  # [intents, d]
        self.calibration = calibration
        self.intents, self.paths = intents, {}
        self.ids = {intent.name: intent.id for intent in intents}
        self._statuses = {intent.name: intent.status for intent in intents}
        self.is_new = np.array([intent.status == "new" for intent in intents], dtype=np.bool_)
        self.min_similarity = np.array([intent.min_similarity for intent in intents], dtype=np.float32)
        self.takes_wordless = np.array([intent.takes_wordless for intent in intents], dtype=np.bool_)
        self.takes_small_talk = np.array([intent.takes_small_talk for intent in intents], dtype=np.bool_)

    @property
    def statuses(self) -> dict[str, Status]:
        """The status of each intent, by name, in the order of the columns."""
        return self._statuses

    def cosines(self, vectors: Array) -> Array:
        """Return the cosines of vectors [n, d] to the intents, [n, intents]."""
        product: Array = unit(vectors.astype(np.float32, copy=False)) @ self.prototypes.T
        return product

    def probabilities(self, texts: Sequence[str], vectors: Array) -> Array:
        """Return the probabilities of texts, [n, intents]; zeros for a text that belongs to no intent."""
        cosines = self.cosines(vectors)
        probabilities = self._probabilities(cosines)
        probabilities[self._has_no_intent(texts, cosines)] = 0
        return probabilities

    def candidates(self, texts: Sequence[str], vectors: Array) -> Array:
        """Return what the probabilities would be if no text were too unlike its intent; zeros for a blank text."""
        probabilities = self._probabilities(self.cosines(vectors))
        probabilities[[is_blank(text) for text in texts]] = 0
        return probabilities

    def _probabilities(self, cosines: Array) -> Array:
        uncorrected = softmax(cosines / np.float32(self.calibration.temperature))
        return with_reliability(uncorrected, self.is_new, self.calibration.reliability)

    def _has_no_intent(self, texts: Sequence[str], cosines: Array) -> npt.NDArray[np.bool_]:
        """Return which texts nothing can be seen of, are too unlike their intent, or lack words it asks for, [n]."""
        blank = np.array([is_blank(text) for text in texts], dtype=np.bool_)
        if not len(texts) or not cosines.shape[1]:
            return blank
        best = cosines.argmax(1)
        outside: npt.NDArray[np.bool_] = cosines.max(1) < self.min_similarity[best]
        for takes, is_such in ((self.takes_wordless, is_wordless), (self.takes_small_talk, is_small_talk)):
            if not takes.all():
                outside |= np.array([is_such(text) for text in texts], dtype=np.bool_) & ~takes[best]
        return blank | outside

    def outliers(self, vectors: Array) -> npt.NDArray[np.float64]:
        """Return how unlike all intents each vector is, from 0 to 1, [n]."""
        closest = self.cosines(vectors).astype(np.float64).max(1)
        typical = self.calibration.typical
        if not typical:
            distances: npt.NDArray[np.float64] = np.clip(1 - closest, 0, 1)
            return distances
        # Below the lowest quantile the score still grows with the distance, so that outliers have different scores.
        shares = [0.0, *np.linspace(0.5 / len(typical), 1.0, len(typical))]
        scores: npt.NDArray[np.float64] = 1 - np.interp(closest, [-1.0, *typical], shares)
        return np.round(scores, 6)


class FittedClassifier:
    """A classifier over texts that is fitted already, with what scikit-learn expects of one."""

    _estimator_type = "classifier"  # scikit-learn before version 1.6
    columns: Columns
    thresholds: Mapping[str, float] = {}  # the least probability that keeps a promise, by name; empty without any

    def __init__(
        self, columns: Columns, encode: Callable[[Sequence[str]], Array], stored_vectors: StoredVectors | None = None
    ) -> None:
        """Take the columns, and a function that returns the embeddings [n, d] of texts that were not encoded before."""
        self.columns, self.stored_vectors, self._encode = columns, stored_vectors, encode

    def transform(self, texts: Sequence[str]) -> Array:
        """Return the embeddings [n, d] of texts."""
        if self.stored_vectors is None:
            return self._encode(texts)
        vectors = self.stored_vectors.find(texts)
        missing = [i for i, vector in enumerate(vectors) if vector is None]
        if len(missing) == len(texts):
            return self._encode(texts)
        for i, vector in zip(missing, self._encode([texts[i] for i in missing]), strict=True):
            vectors[i] = vector
        return np.stack([vector for vector in vectors if vector is not None])

    def predict_proba(self, texts: Sequence[str]) -> Array:
        """Return probabilities [n, intents], in the order of `classes_`.

        What a row lacks to 1 is the probability of no intent.
        """
        return self.columns.probabilities(texts, self.transform(texts))

    def outlier_scores(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return how unlike all intents each text is, from 0 to 1 (see `Prediction.outlier`)."""
        return self.columns.outliers(self.transform(texts))

    def predict(self, texts: Sequence[str]) -> list[str | None]:
        """Return the name of the most probable intent of each text; None for no intent."""
        return [prediction.intent for prediction in self.classify(texts)]

    def classify(self, texts: Sequence[str], *, top: int = 0) -> list[Prediction]:
        """Return one prediction per text. All that classifies texts goes through here, so that answers agree.

        Args:
            texts: The texts to classify.
            top: How many of the most probable intents each prediction holds.
        """
        vectors, statuses = self.transform(texts), self.columns.statuses
        names, ids, paths = list(statuses), self.columns.ids, self.columns.paths
        (value, best, probabilities), outliers = self.columns.answers(texts, vectors), self.columns.outliers(vectors)
        ranked = _ranked_intents(probabilities, names, top)
        predictions = []
        for text, i, p, o, r in zip(texts, best.tolist(), value.tolist(), outliers.tolist(), ranked, strict=True):
            name = names[i] if i < len(names) else None
            status = None if name is None else statuses[name]
            outlier = 1.0 if is_blank(text) else o
            known, p = status == "known", round_probability(p)
            id, path = (None, None) if name is None else (ids[name], paths.get(name))
            above = name is not None and p >= self.thresholds.get(name, np.inf) if self.thresholds else None
            predictions.append(Prediction(text, name, known, p, outlier, status, r, id, path, above))
        return predictions

    def score(self, texts: Sequence[str], labels: Sequence[str | None]) -> float:
        """Return the share of texts, from 0 to 1, whose label is predicted by name; texts without a label do not count.

        `newfound.evaluate` says more, and compares new intents whatever they are called.
        """
        corpus = Corpus.of(texts, labels).labelled()
        if not len(corpus):
            raise DataError("no labelled utterance to compare with; give each text its label")
        pairs = zip(self.predict(corpus.texts), corpus.labels, strict=True)
        return sum(predicted == label for predicted, label in pairs) / len(corpus)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags

        return text_classifier_tags(Tags(estimator_type=None, target_tags=TargetTags(required=True)))


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


def _ranked_intents(probabilities: Array, names: Sequence[str], top: int) -> list[tuple[RankedIntent, ...]]:
    """Return the most probable intents of each row, `top` at most, the best first; none of a row of zeros."""
    count = min(top, len(names))
    if not count:
        return [()] * len(probabilities)
    index = np.argsort(-probabilities, axis=1, kind="stable")[:, :count]
    value = np.take_along_axis(probabilities, index, axis=1)
    return [
        tuple(RankedIntent(names[i], round_probability(p)) for i, p in zip(row, values, strict=True) if values[0] > 0)
        for row, values in zip(index.tolist(), value.tolist(), strict=True)
    ]


def round_probability(probability: float) -> float:
    """Return a probability as answers show it."""
    return round(min(max(probability, 0.0), 1.0), 6)
