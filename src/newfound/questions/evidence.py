"""What clusterings and vectors say about sets of rows: where a set falls apart, and whether two sets are one intent.

Vectors are [n, d] of unit length, votes [votes, n] are clusterings of the same rows. Nothing here changes
but the memory of cuts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.clustering import kmeans

MIN_ROWS_TO_CUT = 4
CUT_RESTARTS = 3
MAX_KEPT_CUTS = 4_096
# Logistic regressions on 1,000 cuts and 300 pairs of clusters on four fresh partitions.
LOG_ODDS_DIFFERENT = (4.07, -6.72)  # two parts are two intents: constant, and factor of their co-association
LOG_ODDS_SAME = (-4.37, 6.83)  # two clusters are one intent


@dataclass(slots=True, eq=False)
class Piece:
    """Rows that are taken for one intent, the row that stands for them, and where they would be cut next."""

    rows: Tensor
    anchor: int  # the row that stands for them
    intent: int
    counts: Tensor  # how votes divide the rows, [votes, clusters]
    part: Tensor | None = None  # the rows away from the anchor; None if the piece is not cut
    medoid: int = -1  # the row that stands for the part
    doubt: float = 0.0  # the probability that the part is another intent

    @property
    def gain(self) -> float:
        """The expected number of rows that a question about the part puts right."""
        return 0.0 if self.part is None else self.doubt * len(self.part)


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Vectors and votes."""

    x: Tensor  # [n, d]
    votes: Tensor  # [votes, n]
    clusters: int  # the largest number of clusters of a vote
    cuts: dict[bytes, Tensor] = field(default_factory=dict)  # those that were made, by their rows

    def piece(self, rows: Tensor, anchor: int, intent: int) -> Piece:
        """Return rows as one piece, with the part that a question would be about."""
        piece = Piece(rows, anchor, intent, self.counts(rows))
        if len(rows) >= MIN_ROWS_TO_CUT:
            half = self.cut(rows)
            part = rows[half != half[(rows == anchor).nonzero()[0, 0]]]
            if len(part):
                piece.part, piece.medoid, piece.doubt = part, self.medoid(part), self.doubt(part, rows)
        return piece

    def around(self, rows: Tensor, row: int, others: Tensor) -> Tensor:
        """Return the rows around a row that are left when cuts have taken away all `others`."""
        while bool(torch.isin(rows, others).any()):
            if len(rows) < MIN_ROWS_TO_CUT:
                return torch.tensor([row], device=rows.device)
            half = self.cut(rows)
            with_row = half == half[(rows == row).nonzero()[0, 0]]
            if bool(with_row.all()):
                return torch.tensor([row], device=rows.device)
            rows = rows[with_row]
        return rows

    def doubt(self, part: Tensor, rows: Tensor) -> float:
        """Return the probability that a part of some rows is another intent than the rest."""
        counts = self.counts(part)
        return float(probability(LOG_ODDS_DIFFERENT, co_association(counts, self.counts(rows) - counts)))

    def confusion(self, pieces: list[Piece]) -> tuple[list[int], Tensor, Tensor]:
        """Return the intents of pieces, how far votes put each two together [intents, intents], and their sizes."""
        intents = sorted({p.intent for p in pieces})
        place = {intent: i for i, intent in enumerate(intents)}
        of_piece = torch.tensor([place[p.intent] for p in pieces], device=self.x.device)
        every = torch.stack([p.counts for p in pieces])  # [pieces, votes, clusters]
        counts = torch.zeros(len(intents), *every.shape[1:], device=self.x.device).index_add_(0, of_piece, every)
        unit = F.normalize(counts, dim=-1).flatten(1)
        return intents, unit @ unit.T / len(self.votes), counts[:, 0].sum(1)

    def counts(self, rows: Tensor) -> Tensor:
        """Return how votes divide some rows, [votes, clusters]."""
        votes = self.votes[:, rows]
        counts = torch.zeros(len(votes), self.clusters, device=votes.device)
        return counts.scatter_add_(1, votes, torch.ones_like(votes, dtype=counts.dtype))

    def cut(self, rows: Tensor) -> Tensor:
        """Return which of two halves each row is in; the same rows are cut once."""
        key = rows.cpu().numpy().tobytes()
        half = self.cuts.get(key)
        if half is None:
            if len(self.cuts) >= MAX_KEPT_CUTS:
                self.cuts.clear()
            half = self.cuts[key] = kmeans(self.x[rows], 2, restarts=CUT_RESTARTS, seed=0).labels
        return half

    def medoid(self, rows: Tensor) -> int:
        """Return the row that is nearest to the mean of some rows."""
        return int(rows[(self.x[rows] @ self.x[rows].mean(0)).argmax()])


def co_association(one: Tensor, other: Tensor) -> Tensor:
    """Return how far votes put two sets of rows together, 0 to 1: the mean cosine of counts [..., votes, clusters]."""
    return (F.normalize(one, dim=-1) * F.normalize(other, dim=-1)).sum(-1).mean(-1)


def probability(odds: tuple[float, float], co_association: Tensor) -> Tensor:
    """Return the probability that follows from a co-association by a logistic regression."""
    return torch.sigmoid(odds[0] + odds[1] * co_association)
