"""The one description of an intent: everything that the report, the page, `inspect` and the API show is made here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.neighbours import nearest
from newfound.intents.examples import border_cases, exemplars
from newfound.intents.keywords import keywords
from newfound.model.types import Intent, Overlap, Status

NEIGHBOURS = 10
MAX_ROWS_FOR_OVERLAPS = 10_000  # more are sampled: every row is compared with every other
MIN_OVERLAP_SHOWN = 0.1
MAX_OVERLAPS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class AssignedUtterance:
    """A training utterance with the intent it has now.

    Attributes:
        text: The utterance.
        intent: The name of its intent; None if it belongs to no intent.
        labelled: Whether a person labelled it.
        probability: Of its intent; 1 for what a person labelled.
        count: How often it occurred.
        source: Where it came from.
    """

    text: str
    intent: str | None
    labelled: bool
    probability: float
    count: int = 1
    source: str = ""


def overlaps(near: Tensor, label: Tensor, intents: int) -> Tensor:
    """Return [intents, intents]: of the neighbours of an intent's utterances, the share that is of each other one.

    Args:
        near: Row numbers of the nearest neighbours of each row, [n, k].
        label: The intent of each row, [n]; rows of no intent (-1) do not count.
        intents: How many intents there are.
    """
    of, other = label[:, None].expand_as(near), label[near]
    both = (of >= 0) & (other >= 0)
    counts = torch.zeros(intents, intents)
    counts.index_put_((of[both], other[both]), torch.tensor(1.0), accumulate=True)
    return counts / counts.sum(1, keepdim=True).clamp(min=1)


class IntentDescriber:
    """Describes intents from the utterances they have. Each part is computed when it is first asked for."""

    def __init__(
        self,
        statuses: dict[str, Status],
        utterances: Sequence[AssignedUtterance],
        vectors: Tensor,
        probabilities: Callable[[], Tensor],
        *,
        near: Callable[[], Tensor] | None = None,
        layout: Sequence[Sequence[float]] | None = None,
    ) -> None:
        """Take what the descriptions are made from.

        Args:
            statuses: The intents by name, in order, with their status.
            utterances: All training utterances with their intents.
            vectors: Their embeddings, [n, d].
            probabilities: Gives the probabilities of the intents for each utterance, [n, intents].
            near: Gives row numbers of the nearest utterances, [n, k], where they are there already.
            layout: A place on the map for every utterance, [n, 2].
        """
        self.names = list(statuses)
        self.statuses = statuses
        self.utterances = utterances
        self.vectors = vectors
        self._probabilities, self._near, self._layout = probabilities, near, layout

    @cached_property
    def label(self) -> Tensor:
        """Number of each utterance's intent [n], -1 for none."""
        place = {name: i for i, name in enumerate(self.names)}
        return torch.tensor([-1 if u.intent is None else place[u.intent] for u in self.utterances], dtype=torch.int64)

    @cached_property
    def probabilities(self) -> Tensor:
        return self._probabilities()

    @cached_property
    def _rows(self) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in self.names]
        for i, c in enumerate(self.label.tolist()):
            if c >= 0:
                found[c].append(i)
        return found

    def rows(self, intent: int) -> list[int]:
        """Return the row numbers of an intent's utterances."""
        return self._rows[intent]

    @cached_property
    def keywords(self) -> list[tuple[str, ...]]:
        return keywords([[self.utterances[i].text for i in rows] for rows in self._rows])

    @cached_property
    def overlap(self) -> Tensor:
        """[intents, intents] shares of neighbours, on a sample of the utterances where there are many."""
        if self._near is not None:
            return overlaps(self._near(), self.label, len(self.names))
        rows = torch.arange(len(self.vectors))
        if len(rows) > MAX_ROWS_FOR_OVERLAPS:
            generator = torch.Generator().manual_seed(0)
            rows = torch.randperm(len(rows), generator=generator)[:MAX_ROWS_FOR_OVERLAPS]
        near = nearest(F.normalize(self.vectors[rows].float(), dim=-1), NEIGHBOURS)[1]
        return overlaps(near, self.label[rows], len(self.names))

    def certainty(self, intent: int) -> float:
        """Return the mean probability of the utterances from the logs, by how often they occurred; 1 without any."""
        logs = [self.utterances[i] for i in self.rows(intent) if not self.utterances[i].labelled]
        total = sum(u.count for u in logs)
        return round(sum(u.count * u.probability for u in logs) / total, 4) if total else 1.0

    @cached_property
    def expected_error(self) -> float:
        """Share of the logs whose intent is wrong, by the model's own probabilities; what a person said is right."""
        logs = [u for u in self.utterances if not u.labelled]
        total = sum(u.count for u in logs)
        return round(sum(u.count * (1 - u.probability) for u in logs) / total, 4) if total else 0.0

    def summary(self, intent: int) -> Intent:
        """Describe an intent without examples and overlaps: what a list of intents needs, at once."""
        rows, name = self.rows(intent), self.names[intent]
        return Intent(
            name,
            self.statuses[name] == "known",
            sum(self.utterances[i].count for i in rows),
            (),
            self.keywords[intent],
            accepted=self.statuses[name] == "accepted",
            labelled=sum(self.utterances[i].labelled for i in rows),
            certainty=self.certainty(intent),
        )

    def describe(self, intent: int) -> Intent:
        """Describe an intent in full."""
        rows, short = self.rows(intent), self.summary(intent)
        if not rows:
            return short
        texts = [self.utterances[i].text for i in rows]
        x = self.vectors[rows]
        return Intent(
            short.name,
            short.known,
            short.size,
            tuple(texts[i] for i in exemplars(x, F.normalize(x, dim=-1).mean(0), texts)),
            short.keywords,
            tuple(texts[i] for i in border_cases(self.probabilities[rows], intent, texts)),
            short.accepted,
            short.labelled,
            short.certainty,
            self.overlaps_of(intent),
            self._position(rows),
        )

    def describe_all(self) -> list[Intent]:
        return [self.describe(intent) for intent in range(len(self.names))]

    def overlaps_of(self, intent: int) -> tuple[Overlap, ...]:
        """Return the intents that share a border with this one, the closest first."""
        shares = self.overlap[intent]
        order = [c for c in shares.argsort(descending=True, stable=True).tolist() if c != intent]
        near = [Overlap(self.names[c], round(float(shares[c]), 3)) for c in order[:MAX_OVERLAPS_SHOWN]]
        return tuple(overlap for overlap in near if overlap.share >= MIN_OVERLAP_SHOWN)

    def _position(self, rows: Sequence[int]) -> tuple[float, float] | None:
        """The median place of an intent's utterances on the map."""
        if self._layout is None:
            return None
        places = torch.tensor([list(self._layout[i]) for i in rows], dtype=torch.float64)
        x, y = places.median(0).values.tolist()
        return round(x, 4), round(y, 4)
