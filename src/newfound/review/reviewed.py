"""A model under review: the same network with another head, and the intents of its utterances, without any training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.encoders.encoder import Encoder
from newfound.errors import ModelError
from newfound.intents.description import IntentDescriber
from newfound.intents.map import distinct_colours
from newfound.model.about import Description
from newfound.model.classifier import IntentModel
from newfound.model.folder import load as load_fitted
from newfound.model.head import Array, round_probability
from newfound.model.sidecars import Groups, read_groups, thresholds_by_name
from newfound.model.types import Intent, Utterance
from newfound.review.head import reviewed_head
from newfound.review.state import WHOLE, Review, described_without_network
from newfound.review.store import ReviewStore


class ReviewedModel:
    """A model as it was fitted (`model`), the decisions about it, and what they make of it (`classifier`)."""

    def __init__(
        self,
        model: IntentModel,
        review: Review,
        *,
        vectors_of: Callable[[Sequence[str]], Array] | None = None,
        groups: Groups | None = None,
        earlier: ReviewedModel | None = None,
    ) -> None:
        """Apply decisions to a model.

        Args:
            vectors_of: Returns the vectors of texts that describe the parts of a split; by default they are encoded.
            earlier: The same model at an earlier state of the review. What the decisions since leave as it is, is not
                computed again.
        """
        self.model, self.review, self.vectors_of = model, review, vectors_of
        self.groups = groups or {}
        self.head = reviewed_head(model.head, review, vectors_of or model.transform, groups)
        self.names, self.ids = tuple(self.head.statuses), self.head.ids
        self.classifier = replace(
            model,
            head=self.head,
            intent_source=self._describe_intents,
            utterance_source=lambda: self.assigned,
            reviewed=self,
        )
        if earlier is not None and (earlier.review.slots, earlier.review.parts) == (review.slots, review.parts):
            self.unmoved = earlier.unmoved

    @cached_property
    def colours(self) -> dict[str, int]:
        """The number of each intent's colour, which stays: near intents that were found together differ."""
        numbers, prototypes = self.review.numbers, self.model.head.prototypes
        colours = distinct_colours(prototypes, set(range(len(prototypes))) - {numbers[n] for n in self.review.known})
        return {name: colours.get(n, n) for name, n in numbers.items()}

    @cached_property
    def unmoved(self) -> ReviewedModel:
        """The model with its columns named as here, but without what a person said of single utterances."""
        if not (self.review.checked or self.review.created):
            return self
        review = replace(self.review, assigned={}, created=set())
        return ReviewedModel(self.model, review, vectors_of=self.vectors_of)

    @cached_property
    def assigned(self) -> Sequence[Utterance]:
        """The training utterances with their intents after the review; labelled utterances keep their label."""
        if not self.model.utterances:
            raise ModelError("the model was saved without its utterances; discover again and keep them")
        if self.unmoved is self:
            return self._assign(range(len(self.model.utterances)))
        assigned = list(self.unmoved.assigned)
        for row, utterance in zip(self.decided_rows, self._assign(self.decided_rows), strict=True):
            assigned[row] = utterance
        return assigned

    @cached_property
    def decided_rows(self) -> list[int]:
        """The utterances that a person assigned in the review."""
        checked = self.review.checked
        return [row for row, u in enumerate(self.model.utterances) if u.text in checked]

    def _assign(self, rows: Sequence[int]) -> list[Utterance]:
        named = self.utterance_probabilities[list(rows)]
        texts = [self.model.utterances[row].text for row in rows]
        vectors = self.model.utterance_vectors[list(rows)].numpy()
        value, best, _ = self.head.answers(texts, vectors, named.numpy())
        column_of, checked, assigned = self.model.head.position, self.review.checked, []
        for row, p, i, of_row in zip(rows, value.tolist(), best.tolist(), named, strict=True):
            u = self.model.utterances[row]
            name = self.names[i] if i < len(self.names) else None
            if u.labelled and u.intent is not None and u.text not in checked:
                name = self._name_of_labelled(column_of[u.intent], of_row)
            probability = 1.0 if u.labelled or u.text in checked else round_probability(p)
            assigned.append(Utterance(u.text, name, u.labelled, probability, u.count, u.source, u.days, u.said))
        return assigned

    def _name_of_labelled(self, column: int, named: Tensor) -> str | None:
        """Return the name of a column, or of its most probable part if it was split."""
        if column not in self.head.parts:
            return self.review.slots[column, WHOLE]
        parts = [name for name in self.review.names_of_parts(column).values() if name is not None]
        return max(parts, key=lambda name: float(named[self.head.position[name]]), default=None)

    @cached_property
    def utterance_entropy(self) -> Tensor:
        """How evenly the probabilities of each training utterance are spread over the intents, [n]."""
        p = self.utterance_probabilities.clamp(min=1e-9)
        return -(p * p.log()).sum(1)

    @cached_property
    def utterance_probabilities(self) -> Tensor:
        """Probabilities [n, intents] of the training utterances."""
        model = self.model
        if self.unmoved is self:
            texts = [u.text for u in model.utterances]
            return torch.from_numpy(self.head.named(model.utterance_columns, texts, model.utterance_vectors.numpy()))
        unmoved = self.unmoved.utterance_probabilities  # intents that were made by hand come after the others
        named = F.pad(unmoved, (0, len(self.names) - unmoved.shape[1])).clone()
        decided = named[self.decided_rows].numpy()
        self.head.assign(decided, [model.utterances[row].text for row in self.decided_rows])
        named[self.decided_rows] = torch.from_numpy(decided)
        return named

    def describer(self, **more: Any) -> IntentDescriber:
        """Return an `IntentDescriber`, with these further arguments, for the intents after the review."""
        vectors, probabilities = self.model.utterance_vectors, lambda: self.utterance_probabilities
        return IntentDescriber(dict(self.head.statuses), self.assigned, vectors, probabilities, **more)

    def _describe_intents(self) -> list[Intent]:
        """Describe the intents after the review, with the model's own words where their utterances are the same."""
        same = described_without_network(self.review, self.model.intents)
        return list(map(self.identified, self.describer().describe_all() if same is None else same))

    def identified(self, intent: Intent) -> Intent:
        """Return the description of an intent after the review with its id and its path."""
        return replace(intent, id=self.head.ids[intent.name], path=self.head.paths[intent.name])


def load(folder: str | Path, *, encoder: str | Encoder | None = None) -> IntentModel:
    """Load a saved model with its review decisions applied.

    Args:
        folder: The model folder.
        encoder: The pretrained encoder or its path, if it is neither a short name nor in the folder.

    Raises:
        ModelError: The folder is missing, damaged, or of another version.
    """
    return load_reviewed(folder, encoder=encoder).classifier


def load_reviewed(
    folder: str | Path | Description, *, encoder: str | Encoder | None = None, device: torch.device | str | None = None
) -> ReviewedModel:
    """Load a saved model and its review decisions, onto a device."""
    description = Description.read(folder)
    model = load_fitted(description, encoder=encoder)
    groups = read_groups(description.folder)
    reviewed = ReviewedModel(model, ReviewStore(description).review(), groups=groups)
    reviewed.classifier.thresholds = thresholds_by_name(description.folder, reviewed.head.ids)
    if device is not None:
        model.to(device)
    return reviewed
