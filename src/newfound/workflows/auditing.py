"""How good is a model, without labels? Yes/no questions about a sample of its logs, and the accuracy that follows.

An answer is not a decision of the review: it changes nothing but the estimate, and the thresholds that are made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from newfound.algorithms.audit import (
    N_DRAWS_OF_INTENT,
    Estimate,
    Flags,
    Floats,
    Ids,
    accuracy_of_sample,
    choose_questions,
    more_questions,
)
from newfound.algorithms.thresholds import correction
from newfound.errors import DataError, SettingsError
from newfound.model.about import model_signature, stream_utterances
from newfound.model.hub import model_folder
from newfound.model.sidecars import NewAnswers, add_answers, load_answers
from newfound.model.types import Utterance
from newfound.review.state import described_without_network
from newfound.text import shorten
from newfound.training.progress import LoggingReporter
from newfound.workflows.assigned import read_assigned
from newfound.workflows.runtime import Runtime

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder

DEFAULT_QUESTIONS = 60
WANTED_HALF_WIDTH = 0.03
EXAMPLES = 3  # typical utterances that a question shows


@dataclass(frozen=True, slots=True)
class AuditQuestion:
    """Does an utterance of the logs belong to its intent?

    Attributes:
        text: The utterance.
        intent: The name of its intent.
        id: The id of the intent.
        examples: The most typical utterances of the intent.
    """

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
        outdated: Answers about intents that were merged, divided or rejected since; they do not count.
        accuracy: The share of the logs' distinct utterances whose intent is right, with its 90 % interval; None without
            an answer. What a person assigned counts as right.
        more_questions: How many more questions make the interval as narrow as ±3 points.
        intents: The intents that were asked about, the worst first.
        wrong: The utterances that do not belong to their intent, with its name, and that nobody has moved yet.
        questions: The questions that are left.
    """

    answered: int
    outdated: int
    accuracy: Estimate | None
    more_questions: int
    intents: tuple[AuditedIntent, ...]
    wrong: tuple[tuple[str, str], ...]
    questions: tuple[AuditQuestion, ...]


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


def open_audit(model: str | Path, encoder: str | Encoder | None = None) -> LogAudit:
    """Return the audit of a model folder; the network is loaded only if the review needs it."""
    folder = model_folder(model)
    runtime, signature = Runtime(LoggingReporter(), encoder, "cpu"), model_signature(folder)
    read = read_assigned(folder, runtime)
    intents = described_without_network(read.review, read.intents) or runtime.open_model(folder).classifier.intents
    examples = {intent.name: intent.exemplars for intent in intents}
    assigned, checked = list(read.utterances), read.review.checked
    decided = {u.text: u.probability for u in stream_utterances(folder, read.intents) if u.text in checked}
    return LogAudit(folder, signature, assigned, read.ids, decided, lambda name: examples.get(name, ()))


class Evidence(NamedTuple):
    """The answers that count. An answer tells about all utterances that the model is as sure of as of this one.

    It still counts when its own utterance was moved afterwards: otherwise only the good ones would be left.
    """

    certainty: Floats  # of the utterances that can be asked about, then of those that were asked about and moved, [n]
    rows: Ids  # of the utterances that were asked about, [answers]
    right: Flags  # [answers]
    intents: list[str]  # the ids of the intents that were asked about, [answers]
    outdated: int  # how many answers do not count


class LogAudit:
    """The audit of one version of a reviewed model: what nobody has labelled or assigned is asked about."""

    def __init__(
        self,
        folder: Path,
        signature: object,
        assigned: Sequence[Utterance],
        ids: Mapping[str, str],
        decided: Mapping[str, float],
        examples: Callable[[str], Sequence[str]],
    ) -> None:
        """Take the utterances; `decided` has the probability that the model gave to those that a person assigned."""
        self.folder, self._signature, self.ids, self.examples = folder, signature, ids, examples
        self.logs = [u for u in assigned if not u.labelled and u.intent is not None and u.text not in decided]
        if not self.logs:
            raise DataError("nothing to ask about: a person labelled or assigned every utterance that has an intent")
        self.intents = [ids[str(u.intent)] for u in self.logs]
        self._row = {u.text: row for row, u in enumerate(self.logs)}
        self._texts, self._decided = {u.text for u in assigned}, decided
        self.learned = {u.text for u in assigned if u.labelled or u.text in decided}

    def evidence(self) -> Evidence:
        """Return the answers that count."""
        answers, ids = load_answers(self.folder), set(self.ids.values())
        certainty = [u.probability for u in self.logs]
        rows, right, intents = list[int](), list[bool](), list[str]()
        for (text, id), belongs in answers.items():
            row = self._row.get(text)
            if row is None and text in self._decided and id in ids:
                row = len(certainty)
                certainty.append(self._decided[text])
            elif row is None or self.intents[row] != id:
                continue
            rows.append(row)
            right.append(belongs)
            intents.append(id)
        arrays = np.array(certainty), np.array(rows, dtype=np.int64), np.array(right, dtype=np.bool_)
        return Evidence(*arrays, intents, len(answers) - len(rows))

    def record(self, answers: NewAnswers) -> None:
        """Keep answers; an earlier one about the same utterance and intent is replaced, or taken back by None."""
        for text, id in answers:
            if text not in self._texts:
                raise DataError(f"“{shorten(text, 60)}” is no utterance of this model; nothing was recorded")
            if id not in self.ids.values():
                raise DataError(f"the model has no intent with the id {id!r}; nothing was recorded")
        add_answers(self.folder, answers, self._signature)

    def questions(self, count: int) -> tuple[AuditQuestion, ...]:
        """Return the questions that are left of so many in all."""
        if type(count) is not int or count < 0:
            raise SettingsError(f"questions={count!r} must be a whole number from 0")
        known = self.evidence()
        rows = choose_questions(known.certainty, count, asked=known.rows.tolist()) if count else []
        return tuple(self._question(row) for row in rows)

    def _question(self, row: int) -> AuditQuestion:
        text, name = self.logs[row].text, str(self.logs[row].intent)
        examples = tuple(e for e in self.examples(name) if e != text)[:EXAMPLES]
        return AuditQuestion(text, name, self.intents[row], examples)

    def result(self, count: int = 0) -> AuditResult:
        """Return what the answers so far say, and the questions that are left of so many."""
        known, left = self.evidence(), self.questions(count)
        if not len(known.rows):
            return AuditResult(0, known.outdated, None, 0, (), (), left)
        is_moved = known.rows >= len(self.logs)
        total = accuracy_of_sample(known.certainty, known.rows, known.right, settled=is_moved)
        more = min(more_questions(total, len(known.rows), WANTED_HALF_WIDTH), len(known.certainty) - len(known.rows))
        wrong = [self.logs[row] for row in known.rows[~known.right & ~is_moved]]
        return AuditResult(
            answered=len(known.rows),
            outdated=known.outdated,
            accuracy=total,
            more_questions=more,
            intents=self._audited_intents(known, is_moved),
            wrong=tuple((u.text, str(u.intent)) for u in wrong),
            questions=left,
        )

    def _audited_intents(self, known: Evidence, is_moved: Flags) -> tuple[AuditedIntent, ...]:
        """Return what the answers say about each intent; those about all others correct its certainties first."""
        certainty = correction(known.certainty[known.rows], known.right)(known.certainty)
        intent, about = np.array(self.intents), np.array(known.intents)
        audited = []
        for name, id in self.ids.items():
            asked = about == id
            if asked.any() and (intent == id).any():
                members = np.append(np.flatnonzero(intent == id), known.rows[asked & is_moved])
                rows, right = np.searchsorted(members, known.rows[asked]), known.right[asked]
                estimate = accuracy_of_sample(
                    certainty[members], rows, right, settled=is_moved[asked], n_draws=N_DRAWS_OF_INTENT
                )
                audited.append(AuditedIntent(name, id, estimate, len(rows), int(right.sum())))
        return tuple(sorted(audited, key=lambda i: (i.accuracy.value, i.name)))
