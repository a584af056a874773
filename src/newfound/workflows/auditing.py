"""How good is a model, without labels? Yes/no questions about a sample of its logs, and what follows from the answers.

An answer is not a decision of the review: it changes nothing but the estimate of the accuracy, and the thresholds: the
least probability of each intent at which enough of its predictions are right.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import nlargest
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from newfound.algorithms.audit import (
    N_DRAWS_OF_INTENT,
    Estimate,
    Flags,
    Floats,
    Ids,
    accuracy_of_sample,
    choose_questions,
    correction,
    more_questions,
    sure_probability,
    threshold,
    weights_of_sample,
)
from newfound.errors import DataError, SettingsError
from newfound.model.about import model_signature, stream_utterances
from newfound.model.hub import model_folder
from newfound.model.sidecars import NewAnswers, add_answers, load_answers, save_thresholds
from newfound.model.types import Utterance
from newfound.text import shorten
from newfound.workflows.assigned import AssignedModel, read_assigned
from newfound.workflows.runtime import Runtime

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder

DEFAULT_QUESTIONS = 60
WANTED_HALF_WIDTH = 0.03
EXAMPLES = 3  # typical utterances that a question shows


@dataclass(frozen=True, slots=True)
class AuditQuestion:
    """Does an utterance of the logs belong to its intent? The examples surely do."""

    text: str
    intent: str
    id: str
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AuditedIntent:
    """The share of an intent's utterances that belong there, with its interval, and the answers about it.

    What a person has moved elsewhere since it was asked about counts as right.
    """

    name: str
    id: str
    accuracy: Estimate
    answered: int
    yes: int


@dataclass(frozen=True, slots=True)
class AuditResult:
    """What the answers so far say.

    Attributes:
        answered: How many answers count.
        accuracy: The share of the logs' distinct utterances whose intent is right, with its 90 % interval; None without
            an answer. What a person assigned counts as right.
        more_questions: How many more questions make the interval as narrow as ±3 points.
        intents: The intents that were asked about, the worst first.
        wrong: The utterances that do not belong to their intent, with its name, and that nobody has moved yet.
        questions: The questions that are left.
    """

    answered: int
    accuracy: Estimate | None
    more_questions: int
    intents: tuple[AuditedIntent, ...]
    wrong: tuple[tuple[str, str], ...]
    questions: tuple[AuditQuestion, ...]


@dataclass(frozen=True, slots=True)
class IntentThreshold:
    """What one intent promises.

    Attributes:
        name: The name of the intent.
        id: Its id.
        utterances: How many utterances of the logs it is computed from; an intent without any has the threshold of all.
        threshold: The least probability; None if none keeps the promise.
        precision: The expected precision above it; None if no utterance of its logs is.
        coverage: The share of its utterances above it; None if no utterance of its logs is.
    """

    name: str
    id: str
    utterances: int
    threshold: float | None
    precision: float | None
    coverage: float | None


@dataclass(frozen=True, slots=True)
class ThresholdsResult:
    """The thresholds that were written.

    Attributes:
        precision: What was promised.
        expected: The expected precision of all that is above its threshold; None if nothing is.
        coverage: The share of the logs' utterances that is.
        intents: The threshold of each intent.
    """

    precision: float
    expected: float | None
    coverage: float
    intents: tuple[IntentThreshold, ...]


def audit(
    model: str | Path,
    questions: int = DEFAULT_QUESTIONS,
    answers: NewAnswers | None = None,
    *,
    encoder: str | Encoder | None = None,
) -> AuditResult:
    """Record answers, if there are any, and return the estimate and the questions that are left.

    Args:
        model: The model folder.
        questions: How many questions are to be answered in all, those that were answered earlier included.
        answers: Whether utterances belong to their intents, by text and intent id; None takes an answer back.
        encoder: Where the model's encoder lies, if it cannot be found.

    Raises:
        ModelError: The model was saved without its utterances.
        DataError: There is nothing to ask about, or an answer is about something else.
    """
    opened = open_audit(model, encoder)
    if answers:
        opened.record(answers)
    return opened.result(questions)


def thresholds(model: str | Path, precision: float, *, encoder: str | Encoder | None = None) -> ThresholdsResult:
    """Write one threshold per intent beside the model; its predictions then say whether they are above it.

    Answers of an audit correct the probabilities first.

    Args:
        model: The model folder.
        precision: The share of predictions above the thresholds to be right, between 0 and 1.
        encoder: Where the model's encoder lies, if it cannot be found.

    Raises:
        SettingsError: The precision does not lie between 0 and 1.
    """
    return open_audit(model, encoder).write_thresholds(precision)


def open_audit(model: str | Path, encoder: str | Encoder | None = None) -> LogAudit:
    """Return the audit of a model folder; the network is loaded only if the review needs it."""
    folder = model_folder(model)
    signature = model_signature(folder)
    read = read_assigned(folder, Runtime.of(None, encoder, "cpu"))
    fitted = stream_utterances(folder, read.intents)
    return LogAudit(folder, signature, read, fitted)


class Evidence(NamedTuple):
    """The answers that count. An answer tells about all utterances that the model is as sure of as of this one.

    It still counts when its own utterance was moved afterwards: otherwise only the good ones would be left.
    """

    certainty: Floats  # of the utterances that can be asked about, then of those that were asked about and moved, [n]
    intent: npt.NDArray[np.str_]  # the id of the intent of each that is or was asked about, [n]
    rows: Ids  # of the utterances that were asked about, [answers]
    right: Flags  # [answers]
    is_moved: Flags  # [answers]


class LogAudit:
    """The audit of one version of a reviewed model: what nobody has labelled or assigned is asked about."""

    def __init__(self, folder: Path, signature: object, read: AssignedModel, fitted: Iterable[Utterance]) -> None:
        """Take the model after the review, and its utterances as they were fitted."""
        self._folder, self._signature, self._ids = folder, signature, read.ids
        ids, checked = read.ids, read.review.checked
        self._decided = {u.text: u.probability for u in fitted if u.text in checked}
        self._assigned = list(read.utterances)
        asked = (u for u in self._assigned if not u.labelled and u.text not in self._decided)
        self._logs = [(u, ids[u.intent]) for u in asked if u.intent is not None]  # with the ids of their intents
        if not self._logs:
            raise DataError("nothing to ask about: a person labelled or assigned every utterance that has an intent")

    def record(self, answers: NewAnswers) -> None:
        """Keep answers; an earlier one about the same utterance and intent is replaced, or taken back by None."""
        texts = {u.text for u in self._assigned}
        for text, id in answers:
            if text not in texts:
                raise DataError(f"“{shorten(text, 60)}” is no utterance of this model; nothing was recorded")
            if id not in self._ids.values():
                raise DataError(f"the model has no intent with the id {id!r}; nothing was recorded")
        add_answers(self._folder, answers, self._signature)

    def _evidence(self) -> Evidence:
        answers, ids = load_answers(self._folder), self._ids.values()
        moved = [(text, id) for text, id in answers if text in self._decided and id in ids]
        certainty = [*(u.probability for u, _ in self._logs), *(self._decided[text] for text, _ in moved)]
        asked = [*((u.text, id) for u, id in self._logs), *moved]
        row_of = {pair: row for row, pair in enumerate(asked)}
        counted = [pair for pair in answers if pair in row_of]
        rows = np.array([row_of[pair] for pair in counted], dtype=np.int64)
        right = np.array([answers[pair] for pair in counted], dtype=np.bool_)
        intent, is_moved = np.array([id for _, id in asked]), rows >= len(self._logs)
        return Evidence(np.array(certainty), intent, rows, right, is_moved)

    def questions(self, count: int) -> tuple[AuditQuestion, ...]:
        """Return the questions that are left of so many in all."""
        if type(count) is not int or count < 0:
            raise SettingsError(f"questions={count!r} must be a whole number from 0")
        known, members = self._evidence(), defaultdict[str | None, list[Utterance]](list)
        rows = choose_questions(known.certainty, count, asked=known.rows.tolist()) if count else []
        for u in self._assigned:
            members[u.intent].append(u)
        questions = []
        for u, id in (self._logs[row] for row in rows):
            others = (other for other in members[u.intent] if other is not u)
            surest = nlargest(EXAMPLES, others, key=lambda other: other.probability)
            questions.append(AuditQuestion(u.text, str(u.intent), id, tuple(other.text for other in surest)))
        return tuple(questions)

    def result(self, count: int = 0) -> AuditResult:
        """Return what the answers so far say, and the questions that are left of so many."""
        known, left = self._evidence(), self.questions(count)
        n, total, more = len(known.rows), None, 0
        if n:
            total = accuracy_of_sample(known.certainty, known.rows, known.right, settled=known.is_moved)
            more = min(more_questions(total, n, WANTED_HALF_WIDTH), len(known.certainty) - n)
        wrong = [self._logs[row][0] for row in known.rows[~known.right & ~known.is_moved]]
        listed = tuple((u.text, str(u.intent)) for u in wrong)
        return AuditResult(n, total, more, self._audited_intents(known), listed, left)

    def _audited_intents(self, known: Evidence) -> tuple[AuditedIntent, ...]:
        """Return what the answers say about each intent; those about all others correct its certainties first."""
        certainty = correction(known.certainty[known.rows], known.right)(known.certainty)
        audited = []
        for name, id in self._ids.items():
            members, asked = np.flatnonzero(known.intent == id), known.intent[known.rows] == id
            if asked.any() and members[0] < len(self._logs):  # otherwise there is nothing left of it to ask about
                rows, right = np.searchsorted(members, known.rows[asked]), known.right[asked]
                settled, draws = known.is_moved[asked], N_DRAWS_OF_INTENT
                estimate = accuracy_of_sample(certainty[members], rows, right, settled=settled, n_draws=draws)
                audited.append(AuditedIntent(name, id, estimate, len(rows), int(right.sum())))
        return tuple(sorted(audited, key=lambda i: (i.accuracy.value, i.name)))

    def write_thresholds(self, wanted: float) -> ThresholdsResult:
        """Write the thresholds that keep a precision beside the model."""
        if not 0 < wanted < 1:
            raise SettingsError(f"precision={wanted}: give a share between 0 and 1, such as 0.95")
        known, n = self._evidence(), len(self._logs)
        weights = weights_of_sample(known.certainty, known.rows)
        corrected = correction(known.certainty[known.rows], known.right, weights)
        certainty, right = known.certainty[:n], corrected(known.certainty[:n])
        sure, intents = sure_probability(corrected, wanted), list[IntentThreshold]()
        for name, id in self._ids.items():
            own = known.intent[:n] == id
            found = threshold(certainty[own], right[own], wanted) or (sure, None, None)
            intents.append(IntentThreshold(name, id, int(own.sum()), *found))
        save_thresholds(self._folder, wanted, {i.id: i.threshold for i in intents})
        above = [(i.utterances * i.coverage, i.precision) for i in intents if i.coverage and i.precision]
        n_above, n_right = sum(count for count, _ in above), sum(count * precision for count, precision in above)
        expected = n_right / n_above if n_above else None
        return ThresholdsResult(wanted, expected, n_above / n, tuple(intents))
