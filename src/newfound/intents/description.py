"""The description of intents, which the report, the review page, `inspect` and the HTTP API all show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.neighbours import nearest
from newfound.algorithms.ranking import rank_descending
from newfound.intents.examples import border_cases, exemplars
from newfound.intents.keywords import keywords
from newfound.model.types import AssignedUtterance, Intent, Overlap, Status, Utterance, certainty_of

NEIGHBOURS = 10  # per utterance, for overlaps
MAX_ROWS_FOR_OVERLAPS = 10_000  # of more rows a sample is taken, because every row is compared with every other
MIN_OVERLAP_SHOWN = 0.1
MIN_OVERLAP_TO_SUGGEST = 0.25  # two intents with so many common neighbours may be the same
MAX_OVERLAPS_SHOWN = 3


def expected_error_of(utterances: Iterable[AssignedUtterance | Utterance]) -> float:
    """Return the expected share of the logs whose intent is wrong, by the probabilities of a model.

    Args:
        utterances: The training utterances; labelled ones do not count.
    """
    return round(1 - certainty_of(utterances), 4)


def overlaps(neighbours: Tensor, label: Tensor, intents: int) -> Tensor:
    """Return the share of the neighbours of each intent's utterances that belongs to each intent, [intents, intents].

    Args:
        neighbours: Row numbers of the nearest neighbours of each row, [n, k].
        label: The intent of each row, [n]; rows of no intent (-1) do not count.
        intents: The number of intents.
    """
    label_of_row, label_of_neighbour = label[:, None].expand_as(neighbours), label[neighbours]
    counted = (label_of_row >= 0) & (label_of_neighbour >= 0)
    counts = torch.zeros(intents, intents)
    pairs = (label_of_row[counted], label_of_neighbour[counted])
    counts.index_put_(pairs, torch.tensor(1.0), accumulate=True)
    return counts / counts.sum(1, keepdim=True).clamp(min=1)


class IntentDescriber:
    """Describes intents by their utterances. Each part is computed when it is first used."""

    def __init__(
        self,
        statuses: dict[str, Status],
        utterances: Sequence[AssignedUtterance],
        vectors: Tensor,
        probabilities: Callable[[], Tensor],
        *,
        neighbours: Callable[[], Tensor] | None = None,
        layout: Sequence[Sequence[float]] | None = None,
    ) -> None:
        """Take the data that the descriptions are computed from.

        Args:
            statuses: The status of each intent, by name, in the order of the intents.
            utterances: All training utterances with their intents.
            vectors: Their embeddings, [n, d].
            probabilities: Function that returns the probabilities of the intents for each utterance, [n, intents].
            neighbours: Function that returns row numbers of the nearest utterances, [n, k]; computed by default.
            layout: The position of every utterance on the map, [n, 2].
        """
        self.names = list(statuses)
        self.statuses = statuses
        self.utterances = utterances
        self.vectors = vectors
        self._probabilities, self._neighbours, self._layout = probabilities, neighbours, layout

    @cached_property
    def label(self) -> Tensor:
        """The number of each utterance's intent, [n]; -1 for none."""
        number = {name: i for i, name in enumerate(self.names)}
        return torch.tensor([-1 if u.intent is None else number[u.intent] for u in self.utterances], dtype=torch.int64)

    @cached_property
    def probabilities(self) -> Tensor:
        """The probabilities of the intents for each utterance, [n, intents]."""
        return self._probabilities()

    @cached_property
    def _rows(self) -> list[list[int]]:
        rows: list[list[int]] = [[] for _ in self.names]
        for row, intent in enumerate(self.label.tolist()):
            if intent >= 0:
                rows[intent].append(row)
        return rows

    def rows(self, intent: int) -> list[int]:
        """Return the row numbers of an intent's utterances."""
        return self._rows[intent]

    @cached_property
    def keywords(self) -> list[tuple[str, ...]]:
        """The keywords of each intent."""
        return keywords([[self.utterances[i].text for i in rows] for rows in self._rows])

    @cached_property
    def overlap(self) -> Tensor:
        """The shares of neighbours (`overlaps`), [intents, intents], on a sample if there are many utterances."""
        if self._neighbours is not None:
            return overlaps(self._neighbours(), self.label, len(self.names))
        rows = torch.arange(len(self.vectors))
        if len(rows) > MAX_ROWS_FOR_OVERLAPS:
            generator = torch.Generator().manual_seed(0)
            rows = torch.randperm(len(rows), generator=generator)[:MAX_ROWS_FOR_OVERLAPS]
        neighbours = nearest(F.normalize(self.vectors[rows].float(), dim=-1), NEIGHBOURS)[1]
        return overlaps(neighbours, self.label[rows], len(self.names))

    def certainty(self, intent: int) -> float:
        """Return the mean probability of an intent's utterances from the logs, weighted by their count; 1 if none."""
        return certainty_of(self.utterances[i] for i in self.rows(intent))

    @cached_property
    def expected_error(self) -> float:
        """The expected share of the logs whose intent is wrong, by the model's probabilities."""
        return expected_error_of(self.utterances)

    def summary(self, intent: int) -> Intent:
        """Describe an intent without examples and overlaps, which take longer to compute."""
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

    def exemplars(self, intent: int) -> tuple[str, ...]:
        """Return central utterances of an intent that differ from one another."""
        rows = self.rows(intent)
        if not rows:
            return ()
        texts, x = [self.utterances[i].text for i in rows], self.vectors[rows]
        return tuple(texts[i] for i in exemplars(x, F.normalize(x, dim=-1).mean(0), texts))

    def describe(self, intent: int) -> Intent:
        """Describe an intent in full."""
        rows, short = self.rows(intent), self.summary(intent)
        if not rows:
            return short
        texts = [self.utterances[i].text for i in rows]
        return Intent(
            short.name,
            short.known,
            short.size,
            self.exemplars(intent),
            short.keywords,
            tuple(texts[i] for i in border_cases(self.probabilities[rows], intent, texts)),
            short.accepted,
            short.labelled,
            short.certainty,
            self.overlaps_of(intent),
            self._position(rows),
        )

    def describe_all(self) -> list[Intent]:
        """Describe all intents in full."""
        return [self.describe(intent) for intent in range(len(self.names))]

    def overlaps_of(self, intent: int) -> tuple[Overlap, ...]:
        """Return the intents that overlap with this one most, the largest overlap first."""
        shares = self.overlap[intent]
        order = [c for c in rank_descending(shares).tolist() if c != intent]
        largest = [Overlap(self.names[c], round(float(shares[c]), 3)) for c in order[:MAX_OVERLAPS_SHOWN]]
        return tuple(overlap for overlap in largest if overlap.share >= MIN_OVERLAP_SHOWN)

    def _position(self, rows: Sequence[int]) -> tuple[float, float] | None:
        """Return the median position of an intent's utterances on the map; None without a map."""
        if self._layout is None:
            return None
        positions = torch.tensor([list(self._layout[i]) for i in rows], dtype=torch.float64)
        x, y = positions.median(0).values.tolist()
        return round(x, 4), round(y, 4)
