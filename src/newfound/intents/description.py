"""The description of intents, which the report, the review page, `inspect` and the HTTP API all show."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.neighbours import nearest, rank_descending
from newfound.data.duplicates import same_words
from newfound.data.said import gather
from newfound.intents.languages import LanguageWords, spoken_texts
from newfound.intents.volume import weekly_volumes
from newfound.model.types import Intent, Mean, Overlap, Status, Utterance, Volume, certainty_of

NEIGHBOURS = 10  # per utterance, for overlaps
MAX_ROWS_FOR_OVERLAPS = 10_000  # of more rows a sample is taken, because every row is compared with every other
MAX_ROWS_FOR_KEYWORDS = 1_000  # of one intent; every decision of a review computes them again
MAX_KEYWORDS = 6
MIN_OVERLAP_SHOWN = 0.1
MIN_OVERLAP_TO_SUGGEST = 0.25  # two intents with so many common neighbours may be the same
MAX_OVERLAPS_SHOWN = 3
MAX_SIMILARITY_OF_EXEMPLARS = 0.95  # cosine; more similar utterances would show the same
ANY_SIMILARITY = 2.0  # above every cosine


def keywords(texts: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the keywords of each intent, best first, by class-based TF-IDF (Grootendorst 2022, BERTopic).

    Keywords are words that are frequent in the texts of an intent and rare in those of the others. They are in the
    language of most of the intent's utterances.
    """
    spoken = spoken_texts(texts)
    by_language: dict[str, list[str]] = {}
    for intent in spoken:
        by_language.setdefault(intent.language, []).extend(intent.texts)
    words = {language: LanguageWords(language, own) for language, own in by_language.items()}
    counts = [Counter(word for text in own.texts for word in set(words[own.language].content(text))) for own in spoken]
    total: Counter[str] = Counter()
    for counts_of_intent in counts:
        total.update(counts_of_intent)
    mean = sum(total.values()) / max(1, len(counts))

    best = []
    for own in counts:
        size = own.total()
        score = {word: n / size * math.log1p(mean / total[word]) for word, n in own.items()}
        best.append(tuple(sorted(own, key=lambda word: (-score[word], word))[:MAX_KEYWORDS]))
    return best


def exemplars(x: Tensor, prototype: Tensor, texts: Sequence[str], count: int = 5) -> list[int]:
    """Return positions of utterances that are close to a prototype [d] and not to one another, from vectors [n, d].

    No text is chosen twice.
    """
    x = F.normalize(x, dim=-1)
    order = rank_descending(x @ F.normalize(prototype, dim=-1)).tolist()
    chosen: list[int] = []
    seen: set[str] = set()
    # The second pass fills up with similar utterances, if the first did not choose enough.
    for max_similarity in (MAX_SIMILARITY_OF_EXEMPLARS, ANY_SIMILARITY):
        for i in order:
            if len(chosen) == count:
                return chosen
            text = same_words(texts[i])
            if text in seen or any(float(x[i] @ x[j]) > max_similarity for j in chosen):
                continue
            chosen.append(i)
            seen.add(text)
    return chosen


def border_cases(scores: Tensor, column: int, texts: Sequence[str], count: int = 3) -> list[int]:
    """Return positions of the utterances of an intent that are closest to belonging to another intent.

    The scores are logits or probabilities of all intents for these utterances, [n, intents]; the column is that of the
    intent. No text is chosen twice.
    """
    others = scores.clone()
    others[:, column] = -torch.inf
    margin = scores[:, column] - others.max(1).values
    chosen: dict[str, int] = {}
    for i in rank_descending(-margin).tolist():
        chosen.setdefault(texts[i], i)
        if len(chosen) == count:
            break
    return list(chosen.values())


def expected_error_of(utterances: Iterable[Utterance]) -> float:
    """Return the expected share of the logs whose intent is wrong, by the probabilities of a model; 0 without logs."""
    certainty = certainty_of(utterances)
    return 0.0 if certainty is None else round(1 - certainty, 4)


def overlaps(neighbours: Tensor, label: Tensor, intents: int) -> Tensor:
    """Return the share of the neighbours of each intent's utterances that belongs to each intent, [intents, intents].

    Of each row there are the row numbers of its nearest neighbours, [n, k], and its intent, [n]; -1 does not count.
    """
    label_of_row, label_of_neighbour = label[:, None].expand_as(neighbours), label[neighbours]
    counted = (label_of_row >= 0) & (label_of_neighbour >= 0)
    counts = torch.zeros(intents, intents)
    pairs = (label_of_row[counted], label_of_neighbour[counted])
    counts.index_put_(pairs, torch.tensor(1.0), accumulate=True)
    return counts / counts.sum(1, keepdim=True).clamp(min=1)


def _circumstances(utterances: Sequence[Utterance]) -> dict[str, Any]:
    """Return in how many conversations and by how many people utterances were said, and the means of their columns."""
    said = gather(u.said for u in utterances)
    means = (Mean(name, round(said.sums[name] / n, 4), n) for name, n in sorted(said.counts.items()))
    return {"conversations": len(said.conversations), "users": len(said.users), "means": tuple(means)}


@dataclass(eq=False)
class IntentDescriber:
    """Describes intents by their utterances. Each part is computed when it is first used.

    Attributes:
        statuses: The status of each intent, by name, in the order of the intents.
        utterances: All training utterances with their intents.
        vectors: Their embeddings, [n, d].
        classify: Returns the probabilities of the intents for each utterance, [n, intents].
        neighbours: Returns row numbers of the nearest utterances, [n, k]; computed by default.
    """

    statuses: dict[str, Status]
    utterances: Sequence[Utterance]
    vectors: Tensor
    classify: Callable[[], Tensor]
    neighbours: Callable[[], Tensor] | None = None

    @cached_property
    def names(self) -> list[str]:
        return list(self.statuses)

    @cached_property
    def label(self) -> Tensor:
        """The number of each utterance's intent, [n]; -1 for none."""
        position = {name: i for i, name in enumerate(self.names)}
        return torch.tensor(
            [-1 if u.intent is None else position[u.intent] for u in self.utterances], dtype=torch.int64
        )

    @cached_property
    def probabilities(self) -> Tensor:
        """The probabilities of the intents for each utterance, [n, intents]."""
        return self.classify()

    @cached_property
    def _rows(self) -> list[list[int]]:
        order = self.label.argsort(stable=True)
        sizes = torch.bincount(self.label + 1, minlength=1 + len(self.names)).tolist()  # no intent is first
        return [rows.tolist() for rows in torch.split(order, sizes)[1:]]

    def rows(self, intent: int) -> list[int]:
        return self._rows[intent]

    def occurrences(self, rows: Iterable[int]) -> int:
        """Return how many utterances these rows are: one that was said three times is one row and three utterances."""
        return sum([self.utterances[i].count for i in rows])

    @cached_property
    def keywords(self) -> list[tuple[str, ...]]:
        """The keywords of each intent; of a large one, by a part of its utterances."""
        parts = (rows[:: -(-len(rows) // MAX_ROWS_FOR_KEYWORDS) or 1] for rows in self._rows)
        return keywords([[self.utterances[i].text for i in rows] for rows in parts])

    @cached_property
    def overlap(self) -> Tensor:
        """The shares of neighbours (`overlaps`), [intents, intents], on a sample if there are many utterances."""
        if self.neighbours is not None:
            return overlaps(self.neighbours(), self.label, len(self.names))
        rows = torch.arange(len(self.vectors))
        if len(rows) > MAX_ROWS_FOR_OVERLAPS:
            generator = torch.Generator().manual_seed(0)
            rows = torch.randperm(len(rows), generator=generator)[:MAX_ROWS_FOR_OVERLAPS]
        neighbours = nearest(F.normalize(self.vectors[rows].float(), dim=-1), NEIGHBOURS)[1]
        return overlaps(neighbours, self.label[rows], len(self.names))

    @cached_property
    def volumes(self) -> list[Volume | None]:
        return weekly_volumes([[day for i in rows for day in self.utterances[i].days] for rows in self._rows])

    def summary(self, intent: int) -> Intent:
        """Describe an intent without keywords, examples and overlaps, which take longer to compute."""
        name, utterances = self.names[intent], [self.utterances[i] for i in self.rows(intent)]
        return Intent(
            name,
            self.statuses[name] == "known",
            sum([u.count for u in utterances]),
            (),
            accepted=self.statuses[name] == "accepted",
            labelled=sum([u.count for u in utterances if u.labelled]),
            certainty=certainty_of(utterances),
            volume=self.volumes[intent],
            **_circumstances(utterances),
        )

    def describe(self, intent: int) -> Intent:
        rows, short = self.rows(intent), self.summary(intent)
        if not rows:
            return short
        texts, x = [self.utterances[i].text for i in rows], self.vectors[rows]
        return replace(
            short,
            keywords=self.keywords[intent],
            exemplars=tuple(texts[i] for i in exemplars(x, F.normalize(x, dim=-1).mean(0), texts)),
            border=tuple(texts[i] for i in border_cases(self.probabilities[rows], intent, texts)),
            overlaps=self.overlaps_of(intent),
        )

    def describe_all(self) -> list[Intent]:
        return [self.describe(intent) for intent in range(len(self.names))]

    def overlaps_of(self, intent: int) -> tuple[Overlap, ...]:
        """Return the intents that overlap with this one most, the largest overlap first."""
        shares = self.overlap[intent]
        order = [c for c in rank_descending(shares).tolist() if c != intent]
        largest = [Overlap(self.names[c], round(float(shares[c]), 3)) for c in order[:MAX_OVERLAPS_SHOWN]]
        return tuple(overlap for overlap in largest if overlap.share >= MIN_OVERLAP_SHOWN)
