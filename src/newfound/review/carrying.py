"""What a person decided, and a training keeps: what a model that is trained from a reviewed one begins with.

Names, assignments, merges and splits become labels. A label cannot say that utterances belong to no intent, so that
these decisions are made again about the trained model: it learns a rejected intent like any other, and its review
begins with the rejection, which can be taken back as before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path
from tempfile import TemporaryDirectory

from newfound.data.corpus import Corpus, Origin
from newfound.files import REVIEW_FILE
from newfound.model.classifier import IntentModel
from newfound.review.decisions import Decision
from newfound.review.entries import Entry
from newfound.review.reviewed import ReviewedModel
from newfound.review.sqlite import add_entries, open_log
from newfound.review.state import WHOLE, Review, Slot


@dataclass(frozen=True, slots=True)
class Carried:
    """The utterances of a reviewed model with what they are to be trained as, and what is to be decided again.

    Attributes:
        corpus: All utterances, and the parts of those that a person divided; the label of those in a rejected intent
            is the name that this had.
        rejected: The names of rejected intents.
        of_no_intent: Utterances that a person put into no intent.
    """

    corpus: Corpus
    rejected: tuple[str, ...]
    of_no_intent: tuple[str, ...]

    @classmethod
    def of(cls, reviewed: ReviewedModel) -> Carried:
        assigned = reviewed.review.assigned
        rejected = _rejected(reviewed)
        slots = _slots_of_utterances(reviewed) if rejected else [None] * len(reviewed.assigned)
        labels = []
        for u, slot in zip(reviewed.assigned, slots, strict=True):
            of_rejected = None if u.text in assigned or slot is None else rejected.get(slot)
            labels.append(of_rejected if u.intent is None else u.intent)
        origins = [
            Origin(u.labelled or u.text in assigned, u.source, u.count, u.days, u.said) for u in reviewed.assigned
        ]
        found = Counter(labels)
        return cls(
            Corpus.of([u.text for u in reviewed.assigned], labels, origins) + _parts_of_divided(reviewed),
            tuple(name for name in rejected.values() if found[name]),
            tuple(text for text, names in assigned.items() if not names),
        )

    def decisions(self) -> list[Decision]:
        moves = [Decision("move", {"texts": list(self.of_no_intent), "to": None})] if self.of_no_intent else []
        return [*moves, *(Decision("reject", {"intent": name}) for name in self.rejected)]

    def files(self, earlier: Sequence[Entry]) -> dict[str, bytes]:
        """Return the review that the trained model begins with: a step for each decision, of those who decided it."""
        authors = {_key(entry.decision): entry.author for entry in earlier if entry.undone_at is None}
        decisions = self.decisions()
        if not decisions:
            return {}
        with TemporaryDirectory(prefix="newfound-review-") as folder:
            path = Path(folder) / REVIEW_FILE
            with open_log(path, write=True) as connection:
                for decision in decisions:
                    author = authors.get(_key(decision)) or (earlier[-1].author if earlier else "newfound")
                    add_entries(connection, [decision], author)
            return {REVIEW_FILE: path.read_bytes()}

    def apply(self, model: IntentModel) -> IntentModel:
        """Return the trained model with the decisions applied, if there are any."""
        decisions = self.decisions()
        if not decisions:
            return model
        review = Review.of(model.intents)
        for decision in decisions:
            review.apply(decision)
        return ReviewedModel(model, review).classifier


def _parts_of_divided(reviewed: ReviewedModel) -> Corpus:
    """Return the parts of utterances that a person divided, with the intents that they were put into."""
    review, whole = reviewed.review, {u.text: u for u in reviewed.assigned}
    origins: dict[str, Origin] = {}
    for text in filter(whole.__contains__, review.divided):
        u = whole[text]
        origin = Origin(True, u.source, u.count, u.days, replace(u.said, message=u.said.message or text))
        origins |= dict.fromkeys([part for part in review.divided[text] if part not in whole], origin)
    labels = reviewed.classifier.predict(list(origins)) if origins else []
    return Corpus.of(origins, labels, origins.values()).labelled()


def _key(decision: Decision) -> tuple[str, str | None]:
    return decision.kind, decision.arguments.get("intent")


def _rejected(reviewed: ReviewedModel) -> dict[Slot, str]:
    """Return the name of each rejected column, or part of one; if another intent has it now, with a number."""
    rejected = reviewed.review.rejected
    free: dict[str, str] = {}
    for wanted in sorted(set(rejected.values())):
        numbered = (f"{wanted} {number}" for number in count(2))
        taken = {*reviewed.names, *free.values()}
        free[wanted] = next(name for name in chain([wanted], numbered) if name not in taken)
    return {slot: free[name] for slot, name in rejected.items()}


def _slots_of_utterances(reviewed: ReviewedModel) -> list[Slot | None]:
    """Return the column, or the part of one, that each utterance is in; None for those that are in none."""
    vectors = reviewed.model.utterance_vectors.numpy()
    parts = {column: reviewed.head.share_of_parts(column, vectors).argmax(1) for column in reviewed.head.parts}
    slots: list[Slot | None] = []
    for row, u in enumerate(reviewed.model.utterances):
        column = -1 if u.intent is None else reviewed.model.head.position[u.intent]
        slots.append(None if column < 0 else (column, int(parts[column][row]) if column in parts else WHOLE))
    return slots
