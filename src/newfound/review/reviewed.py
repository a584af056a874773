"""A model as a person has reviewed it: the same network, other answers, at once and without training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.data.corpus import Corpus
from newfound.encoders.encoder import Encoder
from newfound.errors import ModelError
from newfound.model import Intent, IntentModel, Prediction, load
from newfound.naming import exemplars, keywords
from newfound.review.decisions import WHOLE, Review
from newfound.review.store import ReviewStore


@dataclass(frozen=True, slots=True)
class Assigned:
    """A training utterance with the intent it has after the review; None is no intent."""

    text: str
    intent: str | None
    labelled: bool
    probability: float
    count: int = 1  # how often the logs have it


class ReviewedModel:
    """Predicts reviewed intents. Columns' probabilities add up where they were merged, and divide where split."""

    def __init__(self, model: IntentModel, review: Review) -> None:
        self.model = model
        self.review = review
        self.names: tuple[str, ...] = tuple(review.names)
        self._position = {name: i for i, name in enumerate(self.names)}
        self._prototypes = {column: self._describe(texts) for column, texts in review.parts.items()}

    def predict_proba(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Probabilities [n, intents], in the order of `names`; what is missing from one belongs to no intent."""
        return self.probabilities_of(texts, torch.from_numpy(self.model.transform(texts))).numpy()

    def predict(self, texts: Sequence[str]) -> list[str | None]:
        return [prediction.intent for prediction in self.classify(texts)]

    def classify(self, texts: Sequence[str]) -> list[Prediction]:
        vectors = torch.from_numpy(self.model.transform(texts))
        named, outlier = self.probabilities_of(texts, vectors), self.model.outliers_of(vectors)
        value, best = self._best(named)
        found = []
        for text, i, p, o in zip(texts, best.tolist(), value.tolist(), outlier.tolist(), strict=True):
            name = self.names[i] if i < len(self.names) else None
            found.append(Prediction(text, name, name in self.review.known, _probability(p), o))
        return found

    @staticmethod
    def _best(named: Tensor) -> tuple[Tensor, Tensor]:
        """Probability and number of the best intent, [n] each; the number after the last is no intent."""
        nothing = 1 - named.sum(1, keepdim=True)  # rejected columns
        value, best = torch.cat([named, nothing], dim=1).max(1)
        return value, best

    def assigned(self) -> list[Assigned]:
        """The training utterances under their reviewed intents; what a user had labelled keeps its label."""
        utterances = self.model.utterances
        if not utterances:
            raise ModelError("the model was saved without its utterances; discover again to review it")
        named = self.probabilities_of([u.text for u in utterances], self.model.utterance_vectors)
        value, best = self._best(named)
        result = []
        for u, p, i in zip(utterances, value.tolist(), best.tolist(), strict=True):
            name = self.names[i] if i < len(self.names) else None
            if u.labelled and (u.intent, WHOLE) in self.review.slots:  # else its column was split, and parts are found
                name = self.review.moved.get(u.text, self.review.slots[u.intent, WHOLE])
            result.append(Assigned(u.text, name, u.labelled, 1.0 if u.labelled else _probability(p), u.count))
        return result

    def intents(self) -> list[Intent]:
        """The intents after the review: size, exemplars and keywords from the utterances they now have."""
        rows: dict[str, list[int]] = {name: [] for name in self.names}
        assigned = self.assigned()
        for i, utterance in enumerate(assigned):
            if utterance.intent is not None:
                rows[utterance.intent].append(i)
        words = keywords([[assigned[i].text for i in own] for own in rows.values()])
        result = []
        for (name, own), top in zip(rows.items(), words, strict=True):
            texts = [assigned[i].text for i in own]
            x = self.model.utterance_vectors[own]
            shown = tuple(texts[i] for i in exemplars(x, x.mean(0), texts)) if own else ()
            size = sum(assigned[i].count for i in own)
            result.append(Intent(name, name in self.review.known, size, shown, top))
        return result

    def corpus(self) -> Corpus:
        """Training utterances and their reviewed intents, for export and training; those of no intent are left out."""
        kept = [u for u in self.assigned() if u.intent is not None]
        return Corpus.of([u.text for u in kept], [u.intent for u in kept])

    def probabilities_of(self, texts: Sequence[str], vectors: Tensor) -> Tensor:
        """The same for texts whose embeddings [n, d] are there already."""
        columns = self.model.probabilities_of(vectors).cpu()  # [n, columns]
        named = torch.zeros(len(texts), len(self.names))
        shares: dict[int, Tensor] = {c: self._share(c, vectors) for c in self._prototypes}
        for (column, part), name in self.review.slots.items():
            if name is not None:
                p = columns[:, column] if part == WHOLE else columns[:, column] * shares[column][:, part]
                named[:, self._position[name]] += p
        for row, text in enumerate(texts):
            if text in self.review.moved:
                named[row] = 0.0
                to = self.review.moved[text]
                if to is not None:
                    named[row, self._position[to]] = 1.0
        return named

    def _describe(self, parts: Sequence[Sequence[str]]) -> Tensor:
        """Prototype of each part [parts, d]: the mean of its utterances; zero for one that was split further."""
        rows = []
        for texts in parts:
            x = torch.from_numpy(self.model.transform(texts))
            rows.append(F.normalize(x, dim=-1).mean(0) if len(texts) else torch.zeros(self.model.encoder.width))
        return F.normalize(torch.stack(rows), dim=-1)

    def _share(self, column: int, vectors: Tensor) -> Tensor:
        prototypes = self._prototypes[column]
        logits = F.normalize(vectors, dim=-1) @ prototypes.T / self.model.temperature
        gone = prototypes.norm(dim=-1) == 0
        return logits.masked_fill(gone, -torch.inf).softmax(1)


def _probability(value: float) -> float:
    return round(min(max(value, 0.0), 1.0), 6)


def open_model(folder: str | Path, *, encoder: str | Encoder | None = None) -> ReviewedModel:
    """A saved model with the decisions that lie beside it."""
    model = load(folder, encoder=encoder)
    return ReviewedModel(model, ReviewStore(folder).review())
