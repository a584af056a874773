"""A model as a person has reviewed it: the same network, other answers, at once and without training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.data.corpus import Corpus, Origin
from newfound.encoders.encoder import Encoder
from newfound.errors import ModelError
from newfound.intents.description import AssignedUtterance, IntentDescriber
from newfound.model.classifier import IntentModel
from newfound.model.folder import load as load_model
from newfound.model.types import Intent, Prediction
from newfound.review.decisions import WHOLE, Review
from newfound.review.store import ReviewStore

VectorsOf = Callable[[Sequence[str]], Tensor]


class ReviewedModel:
    """A model that heeds review decisions, with the interface of `IntentModel`.

    Columns' probabilities add up where they were merged, and divide where they were split.
    """

    def __init__(self, model: IntentModel, review: Review, *, vectors_of: VectorsOf | None = None) -> None:
        """Put decisions over a model.

        Args:
            model: The model as it was fitted.
            review: The state of the decisions.
            vectors_of: Gives embeddings of texts that describe the parts of a split; by default each is encoded.
        """
        self.model = model
        self.review = review
        self.names: tuple[str, ...] = tuple(review.names)
        self._position = {name: i for i, name in enumerate(self.names)}
        self._vectors_of = vectors_of or (lambda texts: torch.from_numpy(model.transform(texts)))
        self._prototypes = {column: self._part_prototypes(texts) for column, texts in review.parts.items()}

    def __repr__(self) -> str:
        return f"ReviewedModel({len(self.review.known)} known of {len(self.names)} intents, of {self.model!r})"

    @property
    def encoder(self) -> Encoder:
        return self.model.encoder

    @property
    def provenance(self) -> dict[str, Any]:
        return self.model.provenance

    def to(self, device: torch.device | str) -> ReviewedModel:
        """Move the model to a device, in place, as torch does."""
        self.model.to(device)
        return self

    def transform(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the embeddings [n, d] of texts."""
        return self.model.transform(texts)

    def outlier_scores(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return how unlike all intents each text is, from 0 to 1."""
        return self.model.outlier_scores(texts)

    def predict_proba(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return probabilities [n, intents], in the order of `names`; what is missing from 1 belongs to no intent."""
        return self.probabilities_of(texts, torch.from_numpy(self.model.transform(texts))).numpy()

    def predict(self, texts: Sequence[str]) -> list[str | None]:
        """Return the name of the most probable intent of each text; None for no intent."""
        return [prediction.intent for prediction in self.classify(texts)]

    def classify(self, texts: Sequence[str]) -> list[Prediction]:
        """Return one prediction per text, with its probability and its outlier score."""
        vectors = torch.from_numpy(self.model.transform(texts))
        named, outlier = self.probabilities_of(texts, vectors), self.model.outliers_of(vectors)
        value, best = self._best(named)
        predictions = []
        for text, i, p, o in zip(texts, best.tolist(), value.tolist(), outlier.tolist(), strict=True):
            name = self.names[i] if i < len(self.names) else None
            predictions.append(Prediction(text, name, name in self.review.known, _probability(p), o))
        return predictions

    @staticmethod
    def _best(named: Tensor) -> tuple[Tensor, Tensor]:
        """Probability and number of the best intent, [n] each; the number after the last is no intent."""
        nothing = 1 - named.sum(1, keepdim=True)  # rejected columns
        value, best = torch.cat([named, nothing], dim=1).max(1)
        return value, best

    @cached_property
    def assigned(self) -> list[AssignedUtterance]:
        """The training utterances under their reviewed intents; what a person labelled keeps its label."""
        utterances = self.model.utterances
        if not utterances:
            raise ModelError("the model was saved without its utterances; discover again to review it")
        named = self.utterance_probabilities
        value, best = self._best(named)
        parts = {column: self._names_of_parts(column) for column in self._prototypes}
        result = []
        for row, (u, p, i) in enumerate(zip(utterances, value.tolist(), best.tolist(), strict=True)):
            name = self.names[i] if i < len(self.names) else None
            decided = u.text in self.review.moved or u.text in self.review.among
            if u.labelled and not decided:
                name = self._name_of_labelled(u.intent, parts.get(u.intent), named[row])
            certain = u.labelled or decided
            result.append(
                AssignedUtterance(u.text, name, u.labelled, 1.0 if certain else _probability(p), u.count, u.source)
            )
        return result

    def _name_of_labelled(self, column: int, parts: Sequence[str] | None, named: Tensor) -> str | None:
        """The name of a column, or of the likeliest of its parts where it was split."""
        if parts is None:
            return self.review.slots[column, WHOLE]
        if not parts:
            return None
        return max(parts, key=lambda name: float(named[self._position[name]]))

    def _names_of_parts(self, column: int) -> list[str]:
        return [name for slot, name in self.review.slots.items() if slot[0] == column and name is not None]

    @cached_property
    def utterance_probabilities(self) -> Tensor:
        """Probabilities [n, intents] of the training utterances."""
        return self.probabilities_of([u.text for u in self.model.utterances], self.model.utterance_vectors)

    def describer(self, **more: Any) -> IntentDescriber:
        """Return what describes the intents after the review; `more` goes to `IntentDescriber`."""
        statuses = {name: self.review.status(name) for name in self.names}
        vectors = self.model.utterance_vectors
        return IntentDescriber(statuses, self.assigned, vectors, lambda: self.utterance_probabilities, **more)

    @cached_property
    def intents(self) -> tuple[Intent, ...]:
        """The intents after the review; without any decision, as the model describes them."""
        untouched = self.review.names == [intent.name for intent in self.model.intents] and not (
            self.review.checked or self.review.accepted or self.review.parts
        )
        return self.model.intents if untouched else tuple(self.describer().describe_all())

    def corpus(self) -> Corpus:
        """Return the training utterances with their reviewed intents; those of no intent are left out.

        What a person assigned by hand counts as labelled from here on.
        """
        kept = [u for u in self.assigned if u.intent is not None]
        checked = self.review.checked
        origins = [Origin(u.labelled or u.text in checked, u.source, u.count) for u in kept]
        return Corpus.of([u.text for u in kept], [u.intent for u in kept], origins)

    def probabilities_of(self, texts: Sequence[str], vectors: Tensor) -> Tensor:
        """Return probabilities [n, intents] for texts whose embeddings [n, d] are there already."""
        columns = self.model.probabilities_of(vectors).cpu()  # [n, columns]
        named = torch.zeros(len(texts), len(self.names))
        shares: dict[int, Tensor] = {c: self._share(c, vectors) for c in self._prototypes}
        for (column, part), name in self.review.slots.items():
            if name is not None:
                p = columns[:, column] if part == WHOLE else columns[:, column] * shares[column][:, part]
                named[:, self._position[name]] += p
        for row, text in enumerate(texts):
            if text in self.review.moved:
                self._assign(named[row], self.review.moved[text])
            elif text in self.review.among:
                self._assign(named[row], self._likeliest(named[row], self.review.among[text]))
        return named

    def _assign(self, row: Tensor, name: str | None) -> None:
        row.zero_()
        if name is not None:
            row[self._position[name]] = 1.0

    def _likeliest(self, row: Tensor, names: Sequence[str]) -> str:
        return max(names, key=lambda name: float(row[self._position[name]]))

    def _part_prototypes(self, parts: Sequence[Sequence[str]]) -> Tensor:
        """Prototype of each part [parts, d]: the mean of its utterances; zero for one that was split further."""
        rows = []
        for texts in parts:
            if texts:
                rows.append(F.normalize(self._vectors_of(texts), dim=-1).mean(0))
            else:
                rows.append(torch.zeros(self.model.encoder.width))
        return F.normalize(torch.stack(rows), dim=-1)

    def _share(self, column: int, vectors: Tensor) -> Tensor:
        prototypes = self._prototypes[column]
        logits = F.normalize(vectors, dim=-1) @ prototypes.T / self.model.temperature
        gone = prototypes.norm(dim=-1) == 0
        return logits.masked_fill(gone, -torch.inf).softmax(1)


class UtteranceVectors:
    """Embeddings of texts; those of training utterances are looked up, and others encoded once."""

    def __init__(self, model: IntentModel) -> None:
        self._model = model
        self._others: dict[str, Tensor] = {}

    @cached_property
    def _row(self) -> dict[str, int]:
        return {u.text: i for i, u in enumerate(self._model.utterances)}

    def __call__(self, texts: Sequence[str]) -> Tensor:
        fresh = [text for text in dict.fromkeys(texts) if text not in self._row and text not in self._others]
        if fresh:
            encoded = torch.from_numpy(self._model.transform(fresh))
            self._others |= dict(zip(fresh, encoded, strict=True))
        vectors = self._model.utterance_vectors
        return torch.stack([vectors[self._row[t]] if t in self._row else self._others[t] for t in texts])


def _probability(value: float) -> float:
    return round(min(max(value, 0.0), 1.0), 6)


def load(folder: str | Path, *, encoder: str | Encoder | None = None) -> ReviewedModel:
    """Read a saved model with the review decisions that lie beside it.

    Args:
        folder: The model folder.
        encoder: Where the pretrained encoder lies, if it is neither a short name nor in the folder.
    """
    model = load_model(folder, encoder=encoder)
    return ReviewedModel(model, ReviewStore(folder).review())
