"""The bodies of answers about coarser and finer intents."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, Field

from newfound.review.views import Change, Resizing
from newfound.serve.schemas.responses import fields_of
from newfound.serve.schemas.reviews import PartOut


class ChangeOut(BaseModel):
    """Intents that would be merged, or one that would be split."""

    kind: Literal["merge", "split"]
    before: list[PartOut] = Field(description="The intents as they are; the one that keeps its name is first")
    after: list[PartOut] = Field(description="What becomes of them, with the sizes that they will have")

    @classmethod
    def of(cls, change: Change) -> Self:
        """Return the body for a change."""
        before, after = ([PartOut(**fields_of(part)) for part in side] for side in (change.before, change.after))
        return cls(kind=change.kind, before=before, after=after)


class EstimatedNumberOut(BaseModel):
    """The number of new intents that was estimated before the fit."""

    n_new: int
    low: int = Field(description="The true number is from low to high in nine of ten cases")
    high: int
    is_unsure: bool = Field(description="Whether the interval is wide")


class ResizingOut(BaseModel):
    """What leads to a number of new intents."""

    version: int
    present: int = Field(description="The present number of new intents, accepted ones included")
    n_new: int = Field(description="The number that was asked for")
    fewest: int
    most: int
    estimate: EstimatedNumberOut | None
    changes: list[ChangeOut]

    @classmethod
    def of(cls, resizing: Resizing) -> Self:
        """Return the body for a preview."""
        estimate = resizing.estimate
        return cls(
            version=resizing.version,
            present=resizing.present,
            n_new=resizing.n_new,
            fewest=resizing.fewest,
            most=resizing.most,
            estimate=None if estimate is None else EstimatedNumberOut(**fields_of(estimate)),
            changes=[ChangeOut.of(change) for change in resizing.changes],
        )
