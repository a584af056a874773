"""What all fitted classifiers share, and what scikit-learn expects of them. This module needs neither it nor torch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from newfound.data.corpus import Corpus
from newfound.encoders.shards import StoredVectors
from newfound.errors import DataError
from newfound.model.arrays import Array, Columns
from newfound.model.types import Prediction

Names = npt.NDArray[np.object_]


class FittedClassifier:
    """A classifier over texts that is fitted already, with what scikit-learn expects of one.

    A model makes vectors of texts (`_encode`), and its columns make predictions of the vectors.

    Attributes:
        columns: What lies between vectors and predictions.
        stored_vectors: Vectors of texts that were encoded before, which are not encoded again; None if none are.
    """

    _estimator_type = "classifier"  # scikit-learn before version 1.6
    columns: Columns
    stored_vectors: StoredVectors | None = None

    @abstractmethod
    def _encode(self, texts: Sequence[str]) -> Array:
        """Return the embeddings [n, d] of texts."""

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
        """Return one prediction per text, with its probability and its outlier score.

        Args:
            texts: The texts to classify.
            top: How many of the most probable intents each prediction holds.
        """
        return self.columns.classify(texts, self.transform(texts), top=top)

    def score(self, texts: Sequence[str], labels: Sequence[str | None]) -> float:
        """Return the share of texts, from 0 to 1, whose label is predicted by name; texts without a label do not count.

        `newfound.evaluate` says more, and compares new intents whatever they are called.

        Args:
            texts: The texts to classify.
            labels: Their intents; None for a text that does not count.
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


def array_of_names(names: Sequence[str | None]) -> Names:
    """Return names as an array of objects, [n]."""
    array = np.empty(len(names), dtype=object)
    array[:] = names
    return array
