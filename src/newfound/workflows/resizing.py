"""Coarser and finer: merge or split the new intents of a model until there are as many as wanted, without a fit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from newfound.model.about import loading

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder
    from newfound.review.entries import Entry
    from newfound.review.views import Resizing


@dataclass(frozen=True, slots=True)
class ResizeResult:
    """What leads to the wanted number, and the recorded decisions, if any. One undo takes all of them back."""

    resizing: Resizing
    entries: tuple[Entry, ...]


def resize(
    model: str | Path,
    to: int | None = None,
    author: str = "",
    *,
    preview: bool = False,
    encoder: str | Encoder | None = None,
) -> ResizeResult:
    """Merge or split new intents that nobody has accepted, as decisions of the review.

    Args:
        model: The model folder.
        to: The wanted number of new intents, accepted ones included; None only says what is possible.
        author: Who decides; needed unless it is a preview.
        preview: Record nothing.

    Raises:
        DecisionError: So few or so many new intents are not possible, there are so many already, or nobody decides.
    """
    from newfound.review.session import ReviewSession

    with loading(model):
        session = ReviewSession(model, encoder=encoder)
        view = session.view()
        resizing = view.resizer.preview(to)
    if preview or to is None:
        return ResizeResult(resizing, ())
    return ResizeResult(resizing, tuple(session.resize(to, author=author, expected_version=view.version)))
