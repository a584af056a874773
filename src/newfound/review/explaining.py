"""Why a text gets its intent: the nearest utterances, who labelled them, the runner-up, the words that decide."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.neighbours import rank_descending
from newfound.model.head import best_of, round_probability
from newfound.model.types import Prediction, RankedIntent
from newfound.review.reviewed import ReviewedModel
from newfound.review.views import extend

NEAREST = 5  # utterances, and intents
MAX_WORDS_LEFT_OUT = 64
MAX_WORDS_SHOWN = 5
MIN_EFFECT = 0.01  # by which a word raises the probability


@dataclass(frozen=True, slots=True)
class NearUtterance:
    """A training utterance near a text.

    Attributes:
        similarity: The cosine of its vector to that of the text.
        labelled_by: Who says that it has its intent: the file of a label, `review`, or `discovered` by the model.
    """

    text: str
    intent: str | None
    similarity: float
    labelled_by: str


@dataclass(frozen=True, slots=True)
class WordEffect:
    """What a text is without one of its words.

    Attributes:
        word: The word.
        intent: The intent of the text without it.
        probability: The probability, without it, of the intent that the whole text has.
    """

    word: str
    intent: str | None
    probability: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation(Prediction):
    """A prediction, and why it was made.

    Attributes:
        runner_up: The most probable one besides the predicted one.
        utterances: The most similar training utterances.
        words: The words without which the intent is another or less probable, those that matter most first.
    """

    runner_up: RankedIntent | None
    utterances: tuple[NearUtterance, ...]
    words: tuple[WordEffect, ...]


class Explainer:
    """Classifies texts as a reviewed model does, and says why."""

    def __init__(self, reviewed: ReviewedModel, vectors: Tensor | None = None) -> None:
        """Take the model, and the unit embeddings of its utterances if they are at hand, [n, d]."""
        self.reviewed, self.model = reviewed, reviewed.classifier
        self._utterances = reviewed.assigned  # refuses a model that was saved without them
        self._vectors = F.normalize(reviewed.model.utterance_vectors, dim=-1) if vectors is None else vectors

    def classify(self, texts: Sequence[str], *, top: int = 0) -> list[Explanation]:
        """Return one explanation per text, the best `top` intents in it."""
        return [self._explain(p, top) for p in self.model.classify(texts, top=max(top, NEAREST))]

    def _explain(self, p: Prediction, top: int) -> Explanation:
        vector = F.normalize(torch.from_numpy(self.model.transform([p.text])), dim=-1)[0]
        similarity = self._vectors @ vector
        nearest = [self._near(i, float(similarity[i])) for i in rank_descending(similarity)[:NEAREST].tolist()]
        return extend(
            Explanation,
            p,
            top=p.top[:top],
            runner_up=next((one for one in p.top if one.intent != p.intent), None),
            utterances=tuple(nearest),
            words=self._words(p),
        )

    def _near(self, row: int, similarity: float) -> NearUtterance:
        u, checked = self._utterances[row], self.reviewed.review.checked
        who = "review" if u.text in checked else (u.source or "labelled data") if u.labelled else "discovered"
        return NearUtterance(u.text, u.intent, round(similarity, 3), who)

    def _words(self, p: Prediction) -> tuple[WordEffect, ...]:
        """Leave out one word after the other, and return those that matter most."""
        spans = [m.span() for m in re.finditer(r"\S+", p.text)]
        if len(spans) == 1 and not p.text.isascii():  # a script without spaces between words
            spans = [(i, i + 1) for i in range(*spans[0])]
        spans = spans[:MAX_WORDS_LEFT_OUT] if len(spans) > 1 else []
        if not spans:
            return ()
        variants = [" ".join(f"{p.text[:start]} {p.text[end:]}".split()) for start, end in spans]
        probabilities, names = self.model.predict_proba(variants), [*self.model.names, None]
        best, column = best_of(probabilities)[1], names.index(p.intent)
        without_word = 1 - probabilities.sum(1) if p.intent is None else probabilities[:, column]
        effects = [
            WordEffect(p.text[a:b], names[i], round_probability(float(left)))
            for (a, b), i, left in zip(spans, best.tolist(), without_word, strict=True)
        ]
        changed = [e for e in effects if e.intent != p.intent or p.probability - e.probability >= MIN_EFFECT]
        return tuple(sorted(changed, key=lambda e: (e.intent == p.intent, e.probability))[:MAX_WORDS_SHOWN])
