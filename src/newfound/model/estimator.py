"""What scikit-learn expects of a fitted classifier. This module imports scikit-learn only when it is asked for tags."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from newfound.data.corpus import Corpus
from newfound.errors import DataError

Names = npt.NDArray[np.object_]


class FittedClassifier:
    """A classifier over texts that is fitted already: `is_classifier`, `classes_` and `score` as in scikit-learn."""

    _estimator_type = "classifier"  # scikit-learn before version 1.6

    @abstractmethod
    def predict(self, texts: Sequence[str]) -> Sequence[str | None]:
        """Return the intent of each text."""

    def score(self, texts: Sequence[str], labels: Sequence[str | None]) -> float:
        """Return the share of texts, from 0 to 1, whose label is predicted by name; texts without a label do not count.

        `newfound.evaluate` says more, and compares new intents whatever they are called.

        Args:
            texts: The texts.
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
