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
        nothing = 1 - named.sum(1, keepdim=True)  # rejected columns
        value, best = torch.cat([named, nothing], dim=1).max(1)
        found = []
        for text, i, p, o in zip(texts, best.tolist(), value.tolist(), outlier.tolist(), strict=True):
            name = self.names[i] if i < len(self.names) else None
            found.append(Prediction(text, name, name in self.review.known, round(min(p, 1.0), 6), o))
        return found

    def assigned(self) -> list[Assigned]:
        """The training utterances under their reviewed intents; what a user had labelled keeps its label."""
        utterances = self.model.utterances
        if not utterances:
            raise ModelError("the model was saved without its utterances; discover again to review it")
        logs = [u for u in utterances if not u.labelled]
        found = iter(self.classify([u.text for u in logs]))
        divided = [u.text for u in utterances if u.labelled and (u.intent, WHOLE) not in self.review.slots]
        parts = dict(zip(divided, self.predict(divided), strict=True))  # labelled ones whose column was split
        result = []
        for u in utterances:
            if not u.labelled:
                prediction = next(found)
                result.append(Assigned(u.text, prediction.intent, False, prediction.probability))
                continue
            own = parts[u.text] if u.text in parts else self.review.slots[u.intent, WHOLE]
            own = self.review.moved.get(u.text, own)
            result.append(Assigned(u.text, own, True, 1.0))
        return result

    def intents(self) -> list[Intent]:
        """The intents after the review: size, exemplars and keywords from the utterances they now have."""
        by_name: dict[str, list[str]] = {name: [] for name in self.names}
        for utterance in self.assigned():
            if utterance.intent is not None:
                by_name[utterance.intent].append(utterance.text)
        words = keywords(list(by_name.values()))
        result = []
        for (name, texts), own in zip(by_name.items(), words, strict=True):
            shown: tuple[str, ...] = ()
            if texts:
                x = torch.from_numpy(self.model.transform(texts))
                shown = tuple(texts[i] for i in exemplars(x, x.mean(0), texts))
            result.append(Intent(name, name in self.review.known, len(texts), shown, own))
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


def open_model(folder: str | Path, *, encoder: str | Encoder | None = None) -> ReviewedModel:
    """A saved model with the decisions that lie beside it."""
    model = load(folder, encoder=encoder)
    return ReviewedModel(model, ReviewStore(folder).review())
