"""The head of a model after a review. This module does not need torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from newfound.model.head import Array, Head, Parts, unit
from newfound.model.sidecars import Groups, path_of
from newfound.review.state import WHOLE, Review


def reviewed_head(
    head: Head, review: Review, vectors_of: Callable[[Sequence[str]], Array], groups: Groups | None = None
) -> Head:
    """Return the head that a review makes of a fitted one.

    `vectors_of` returns the vectors of texts that describe the parts of a split. The prototype of a part is the mean of
    its utterances; that of a part that was split again is zero.
    """
    ids = review.ids(head.columns)
    names = {name: position for position, name in enumerate(review.names)}
    width = head.prototypes.shape[1]
    parts = {}
    for column, described in review.parts.items():
        means = [unit(vectors_of(texts)).mean(0) if texts else np.zeros(width, np.float32) for texts in described]
        prototypes = unit(np.stack(means).astype(np.float32))  # [parts, d]
        parts[column] = Parts(prototypes, _matrix(review.names_of_parts(column), names, len(means)))
    whole = {column: name for (column, part), name in review.slots.items() if part == WHOLE}
    return replace(
        head,
        statuses={name: review.status(name) for name in names},
        ids=ids,
        paths={name: path_of(id, groups or {}) for name, id in ids.items()},
        intents_of_columns=_matrix(whole, names, len(head.prototypes)),
        parts=parts,
        assigned=review.assigned,
    )


def _matrix(names: Mapping[int, str | None], position: Mapping[str, int], rows: int) -> Array:
    """Return a matrix with a one where a row is an intent, [rows, intents]."""
    matrix = np.zeros((rows, len(position)), dtype=np.float32)
    for row, name in names.items():
        if name is not None:
            matrix[row, position[name]] = 1.0
    return matrix
