"""The probabilities of a model's columns as those of the reviewed intents. This module does not need torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from newfound.model.arrays import Array, Classifier, Columns, softmax, unit
from newfound.model.sidecars import Groups, path_of
from newfound.model.types import Status
from newfound.review.state import WHOLE, Review


class ReviewedColumns(Columns):
    """Applies a review to what a classifier says.

    The probabilities of merged intents are added, and the probability of a split intent is divided among its parts.
    `vectors_of` returns the embeddings of texts that describe these parts; `groups` has the groups of intents, if any.
    """

    def __init__(
        self,
        classifier: Classifier,
        review: Review,
        vectors_of: Callable[[Sequence[str]], Array],
        groups: Groups | None = None,
    ) -> None:
        self.classifier = classifier
        self.review = review
        self.ids = review.ids(classifier.intents)
        self.paths = {name: path_of(id, groups or {}) for name, id in self.ids.items()}
        self.names: tuple[str, ...] = tuple(review.names)
        self.position = {name: i for i, name in enumerate(self.names)}
        self.prototypes = {
            column: _part_prototypes(parts, vectors_of, classifier.prototypes.shape[1])
            for column, parts in review.parts.items()
        }
        whole = {column: name for (column, part), name in review.slots.items() if part == WHOLE}
        self.names_of_columns = self._matrix(whole, len(classifier.prototypes))

    def probabilities(self, texts: Sequence[str], vectors: Array) -> Array:
        """Return the probabilities of texts with embeddings [n, d], [n, intents].

        A text that a person assigned has the probability 1 for that intent, whatever its embedding.
        """
        return self.named(self.classifier.probabilities(texts, vectors), texts, vectors)

    def candidates(self, texts: Sequence[str], vectors: Array) -> Array:
        """Return what the probabilities would be if no text were too unlike its intent, [n, intents]."""
        return self.named(self.classifier.candidates(texts, vectors), texts, vectors)

    def named(self, columns: Array, texts: Sequence[str], vectors: Array) -> Array:
        """Return the same for texts whose probabilities of the model's columns are known, [n, columns]."""
        named: Array = columns @ self.names_of_columns
        for column in self.prototypes:
            named += (columns[:, [column]] * self.share_of_parts(column, vectors)) @ self.names_of_parts(column)
        self.assign(named, texts)
        return named

    def assign(self, named: Array, texts: Sequence[str]) -> None:
        """Set the probabilities [n, intents] of texts that a person assigned, in place."""
        for row, text in enumerate(texts):
            if text in self.review.moved:
                self._assign(named[row], self.review.moved[text])
            elif text in self.review.possible_parts:
                self._assign(named[row], self._most_probable(named[row], self.review.possible_parts[text]))

    @property
    def statuses(self) -> dict[str, Status]:
        """The status of each intent after the review, by name."""
        return {name: self.review.status(name) for name in self.names}

    def outliers(self, vectors: Array) -> npt.NDArray[np.float64]:
        """Return how unlike all intents each vector is, from 0 to 1, [n]."""
        return self.classifier.outliers(vectors)

    def names_of_parts(self, column: int) -> Array:
        """Return which intent each part of a split column is, [parts, intents]; a rejected part is none."""
        parts = {part: name for (of, part), name in self.review.slots.items() if of == column and part != WHOLE}
        return self._matrix(parts, len(self.prototypes[column]))

    def _matrix(self, names: Mapping[int, str | None], rows: int) -> Array:
        """Return a matrix with a one where a row is an intent, [rows, intents]."""
        matrix = np.zeros((rows, len(self.names)), dtype=np.float32)
        for row, name in names.items():
            if name is not None:
                matrix[row, self.position[name]] = 1.0
        return matrix

    def _assign(self, row: Array, name: str | None) -> None:
        row[:] = 0.0
        if name is not None:
            row[self.position[name]] = 1.0

    def _most_probable(self, row: Array, names: Sequence[str]) -> str:
        return max(names, key=lambda name: float(row[self.position[name]]))

    def share_of_parts(self, column: int, vectors: Array) -> Array:
        """Return the share of a column's probability that each of its parts gets, [n, parts]."""
        prototypes = self.prototypes[column]
        logits = unit(vectors) @ prototypes.T / np.float32(self.classifier.calibration.temperature)
        return softmax(np.where(was_split_again(prototypes), np.float32(-np.inf), logits))


def was_split_again(prototypes: Array) -> npt.NDArray[np.bool_]:
    """Return which parts were split again, so that nothing is left of them, [parts]."""
    empty: npt.NDArray[np.bool_] = np.linalg.norm(prototypes, axis=-1) == 0
    return empty


def _part_prototypes(parts: Sequence[Sequence[str]], vectors_of: Callable[[Sequence[str]], Array], width: int) -> Array:
    """Return a prototype per part, [parts, d]: the mean of its utterances; zero for a part that was split again."""
    rows = [unit(vectors_of(texts)).mean(0) if texts else np.zeros(width, np.float32) for texts in parts]
    return unit(np.stack(rows).astype(np.float32))
