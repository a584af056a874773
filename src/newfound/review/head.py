"""The head of a model after a review. This module does not need torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from newfound.model.arrays import Array, unit
from newfound.model.head import Head, Parts
from newfound.model.sidecars import Groups, path_of
from newfound.review.state import WHOLE, Review


def reviewed_head(
    head: Head, review: Review, vectors_of: Callable[[Sequence[str]], Array], groups: Groups | None = None
) -> Head:
    """Return the head that a review makes of a fitted one.

    Args:
        head: The head as it was fitted.
        review: The state of the review.
        vectors_of: Returns the vectors of texts that describe the parts of a split.
        groups: The groups that the intents are in, by their ids.
    """
    ids = review.ids(head.columns)
    names = {name: position for position, name in enumerate(review.names)}
    width = head.prototypes.shape[1]
    parts = {}
    for column, texts_of_parts in review.parts.items():
        prototypes = _part_prototypes(texts_of_parts, vectors_of, width)
        parts[column] = Parts(prototypes, _matrix(review.names_of_parts(column), names, len(prototypes)))
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


def _part_prototypes(parts: Sequence[Sequence[str]], vectors_of: Callable[[Sequence[str]], Array], width: int) -> Array:
    """Return a prototype per part, [parts, d]: the mean of its utterances; zero for a part that was split again."""
    rows = [unit(vectors_of(texts)).mean(0) if texts else np.zeros(width, np.float32) for texts in parts]
    return unit(np.stack(rows).astype(np.float32))
