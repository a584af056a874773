"""A model with review decisions: the same network, with other predictions, without any training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.defaults import Precision
from newfound.encoders.encoder import Encoder
from newfound.errors import ModelError
from newfound.intents.description import IntentDescriber
from newfound.model.arrays import FittedClassifier, Names, round_probability
from newfound.model.classifier import IntentModel
from newfound.model.folder import load as load_model
from newfound.model.sidecars import Groups, read_groups, thresholds_by_name
from newfound.model.types import AssignedUtterance, Intent
from newfound.review.columns import ReviewedColumns
from newfound.review.state import WHOLE, Review, accepted_intents, described_without_network, discovered_intents
from newfound.review.store import ReviewStore

VectorsOf = Callable[[Sequence[str]], Tensor]


class ReviewedModel(FittedClassifier):
    """A model with its review decisions applied. It has the interface of `IntentModel`.

    The probabilities of merged intents are added, and the probability of a split intent is divided among its parts.
    """

    columns: ReviewedColumns

    def __init__(
        self,
        model: IntentModel,
        review: Review,
        *,
        vectors_of: VectorsOf | None = None,
        groups: Groups | None = None,
        earlier: ReviewedModel | None = None,
    ) -> None:
        """Apply decisions to a model.

        Args:
            model: The model as it was fitted.
            review: The state of the review.
            vectors_of: Function that returns the embeddings of texts that describe the parts of a split; by default
                they are encoded.
            groups: The groups that the intents are in, by their ids.
            earlier: The same model at an earlier state of the review. What the decisions since leave as it is, is not
                computed again.
        """
        self.groups: Groups = groups or {}
        self.model = model
        self.review = review
        self.vectors_of = vectors_of
        encode = model.transform if vectors_of is None else lambda texts: vectors_of(texts).numpy()
        super().__init__(ReviewedColumns(model.columns, review, encode, groups), model.transform)
        self.names: tuple[str, ...] = self.columns.names
        if earlier is not None and (earlier.review.slots, earlier.review.parts) == (review.slots, review.parts):
            self.unmoved = earlier.unmoved

    def __repr__(self) -> str:
        return f"ReviewedModel({len(self.review.known)} known of {len(self.names)} intents, of {self.model!r})"

    @property
    def classes_(self) -> Names:
        """The names of the intents after the review, in the order of the columns of `predict_proba`, [intents]."""
        return np.array(self.names, dtype=object)

    @property
    def labels_(self) -> Names:
        """The intent of each training utterance after the review, [n]; None for no intent."""
        return np.array([u.intent for u in self.assigned], dtype=object)

    @property
    def discovered(self) -> set[str]:
        """The intents that were found in logs, in this round or an earlier one, whether or not they are known now."""
        return discovered_intents(self.review, self.model.intents)

    @property
    def accepted(self) -> set[str]:
        """The discovered intents that a person accepted, in this round or an earlier one."""
        return accepted_intents(self.review, self.model.intents)

    @property
    def encoder(self) -> Encoder:
        """The pretrained encoder."""
        return self.model.encoder

    @property
    def provenance(self) -> dict[str, Any]:
        """What the model was made from, and how."""
        return self.model.provenance

    def to(self, device: torch.device | str) -> ReviewedModel:
        """Move the model to a device, in place, as torch does."""
        self.model.to(device)
        return self

    def with_precision(self, precision: Precision) -> ReviewedModel:
        """Return the same model with an encoder of another precision: fp32, or int8 on a CPU."""
        model = self.model.with_precision(precision)
        if model is self.model:
            return self
        changed = ReviewedModel(model, self.review, groups=self.groups)
        changed.thresholds = self.thresholds
        return changed

    @cached_property
    def unmoved(self) -> ReviewedModel:
        """The model with its columns named as here, but without what a person said of single utterances."""
        if not (self.review.checked or self.review.created):
            return self
        review = replace(self.review, moved={}, possible_parts={}, created=set())
        return ReviewedModel(self.model, review, vectors_of=self.vectors_of)

    @cached_property
    def assigned(self) -> list[AssignedUtterance]:
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

    def _assign(self, rows: Sequence[int]) -> list[AssignedUtterance]:
        named = self.utterance_probabilities[list(rows)]
        texts = [self.model.utterances[row].text for row in rows]
        vectors = self.model.utterance_vectors[list(rows)].numpy()
        value, best, _ = self.columns.answers(texts, vectors, named.numpy())
        parts = {column: self._names_of_parts(column) for column in self.columns.prototypes}
        checked, assigned = self.review.checked, []
        for row, p, i, of_row in zip(rows, value.tolist(), best.tolist(), named, strict=True):
            u = self.model.utterances[row]
            name = self.names[i] if i < len(self.names) else None
            if u.labelled and u.intent is not None and u.text not in checked:
                name = self._name_of_labelled(u.intent, parts.get(u.intent), of_row)
            probability = 1.0 if u.labelled or u.text in checked else round_probability(p)
            assigned.append(AssignedUtterance(u.text, name, u.labelled, probability, u.count, u.source, u.days))
        return assigned

    @property
    def utterances(self) -> list[AssignedUtterance]:
        """The training utterances with their intents after the review."""
        return self.assigned

    def _name_of_labelled(self, column: int, parts: Sequence[str] | None, named: Tensor) -> str | None:
        """Return the name of a column, or of its most probable part if it was split."""
        if parts is None:
            return self.review.slots[column, WHOLE]
        if not parts:
            return None
        return max(parts, key=lambda name: float(named[self.columns.position[name]]))

    def _names_of_parts(self, column: int) -> list[str]:
        return [name for slot, name in self.review.slots.items() if slot[0] == column and name is not None]

    @cached_property
    def utterance_entropy(self) -> Tensor:
        """How evenly the probabilities of each training utterance are spread over the intents, [n]."""
        p = self.utterance_probabilities.clamp(min=1e-9)
        return -(p * p.log()).sum(1)

    @cached_property
    def utterance_probabilities(self) -> Tensor:
        """Probabilities [n, intents] of the training utterances."""
        utterances = self.model.utterances
        if self.unmoved is self:
            texts = [u.text for u in utterances]
            return torch.from_numpy(
                self.columns.named(self.model.utterance_columns, texts, self.model.utterance_vectors.numpy())
            )
        unmoved = self.unmoved.utterance_probabilities  # intents that were made by hand come after the others
        named = F.pad(unmoved, (0, len(self.names) - unmoved.shape[1])).clone()
        decided = named[self.decided_rows].numpy()
        self.columns.assign(decided, [utterances[row].text for row in self.decided_rows])
        named[self.decided_rows] = torch.from_numpy(decided)
        return named

    def describer(self, **more: Any) -> IntentDescriber:
        """Return an `IntentDescriber` for the intents after the review.

        Args:
            **more: Further arguments of `IntentDescriber`.
        """
        vectors = self.model.utterance_vectors
        return IntentDescriber(
            self.columns.statuses, self.assigned, vectors, lambda: self.utterance_probabilities, **more
        )

    @cached_property
    def intents(self) -> tuple[Intent, ...]:
        """The intents after the review; the model's own description where their utterances are the same."""
        same = described_without_network(self.review, self.model.intents)
        return tuple(map(self.identified, self.describer().describe_all() if same is None else same))

    @property
    def ids(self) -> dict[str, str]:
        """The id of each intent after the review, by name."""
        return self.columns.ids

    def identified(self, intent: Intent) -> Intent:
        """Return the description of an intent after the review with its id and its path."""
        return replace(intent, id=self.ids[intent.name], path=self.columns.paths[intent.name])


class UtteranceVectors:
    """Returns embeddings of texts. Those of training utterances are looked up; others are encoded once and stored."""

    def __init__(self, model: IntentModel) -> None:
        self._model = model
        self._encoded: dict[str, Tensor] = {}

    @cached_property
    def _row(self) -> dict[str, int]:
        return {u.text: i for i, u in enumerate(self._model.utterances)}

    def __call__(self, texts: Sequence[str]) -> Tensor:
        """Return the embeddings of texts, [n, d]."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._row and text not in self._encoded]
        if missing:
            encoded = torch.from_numpy(self._model.transform(missing))
            self._encoded |= dict(zip(missing, encoded, strict=True))
        vectors = self._model.utterance_vectors
        return torch.stack([vectors[self._row[t]] if t in self._row else self._encoded[t] for t in texts])


def load(folder: str | Path, *, encoder: str | Encoder | None = None) -> ReviewedModel:
    """Load a saved model with its review decisions applied.

    Args:
        folder: The model folder.
        encoder: The pretrained encoder or its path, if it is neither a short name nor in the folder.

    Raises:
        ModelError: The folder is missing, damaged, or of another version.
    """
    model = load_model(folder, encoder=encoder)
    reviewed = ReviewedModel(model, ReviewStore(folder).review(), groups=read_groups(folder))
    reviewed.thresholds = thresholds_by_name(folder, reviewed.ids)
    return reviewed
