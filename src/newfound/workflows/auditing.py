"""How good is a model, without labels? Yes/no questions about a sample of its logs, and the accuracy that follows.

An answer is not a decision of the review: it changes nothing but the estimate, and the thresholds that are made of it.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from newfound.algorithms.audit import Estimate
from newfound.errors import DataError, SettingsError
from newfound.files import csv_bytes, write_atomically
from newfound.model.about import model_signature, stream_utterances
from newfound.model.beside import Answers, NewAnswers, add_answers, load_answers
from newfound.model.types import Utterance
from newfound.review.state import described_without_network
from newfound.text import shorten
from newfound.training.progress import LoggingReporter
from newfound.workflows.assigned import read_assigned
from newfound.workflows.runtime import Runtime

if TYPE_CHECKING:
    from newfound.algorithms.audit import Floats
    from newfound.encoders.encoder import Encoder

DEFAULT_QUESTIONS = 60
WANTED_HALF_WIDTH = 0.03
EXAMPLES = 3  # typical utterances that a question shows
COLUMNS = ("text", "intent", "typical", "belongs", "id")  # of a file of questions
SAID = {"y": True, "yes": True, "true": True, "1": True, "n": False, "no": False, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class AuditRequest:
    """Which model to audit.

    Attributes:
        model: The model folder.
        questions: How many questions are to be answered in all, those that were answered earlier included.
        answers: A file of questions in which the column `belongs` is filled in, or answers by text and intent id; None
            takes one back.
        encoder: Where the model's encoder lies, if it cannot be found.
    """

    model: str | Path
    questions: int = DEFAULT_QUESTIONS
    answers: str | Path | NewAnswers | None = None
    encoder: str | Encoder | None = None


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
    """The share of an intent's utterances that belong there, with its 90 % interval, and the answers about it."""

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


def audit(request: AuditRequest) -> AuditResult:
    """Record answers, if there are any, and return the estimate and the questions that are left.

    Args:
        request: Which model to audit.

    Raises:
        ModelError: The model was saved without its utterances.
        DataError: There is nothing to ask about, or an answer is about something else.
    """
    opened = open_audit(request.model, request.encoder)
    if isinstance(request.answers, str | Path):
        opened.record(opened.read(Path(request.answers)))
    elif request.answers:
        opened.record(request.answers)
    return opened.result(request.questions)


def open_audit(model: str | Path, encoder: str | Encoder | None = None) -> LogAudit:
    """Return the audit of a model folder; the network is loaded only if the review needs it."""
    runtime, signature = Runtime(LoggingReporter(), encoder, "cpu"), model_signature(Path(model))
    read = read_assigned(model, runtime)
    intents = described_without_network(read.review, read.intents) or runtime.open_model(model).classifier.intents
    examples = {intent.name: intent.exemplars for intent in intents}
    assigned, checked = list(read.utterances), read.review.checked
    decided = {u.text: u.probability for u in stream_utterances(model, read.intents) if u.text in checked}
    return LogAudit(Path(model), signature, assigned, read.ids, decided, lambda name: examples.get(name, ()))


class Evidence(NamedTuple):
    """The answers that count. An answer tells about all utterances that the model is as sure of as of this one.

    It still counts when its own utterance was moved afterwards: otherwise only the good ones would be left.
    """

    certainty: Floats  # of the utterances that can be asked about, then of those that were asked about and moved, [n]
    rows: list[int]  # of the utterances that were asked about, [answers]
    ids: list[str]  # the intents that were asked about
    right: list[bool]
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
        self._row = {u.text: row for row, u in enumerate(self.logs)}
        self._texts, self._decided = {u.text for u in assigned}, decided
        self.learned = {u.text for u in assigned if u.labelled or u.text in decided}

    def key(self, row: int) -> tuple[str, str]:
        """Return text and intent id of an utterance of the logs."""
        return self.logs[row].text, self.ids[str(self.logs[row].intent)]

    def evidence(self) -> Evidence:
        """Return the answers that count."""
        import numpy as np

        answers, ids = load_answers(self.folder), set(self.ids.values())
        certainty, counted = [u.probability for u in self.logs], []
        for (text, id), belongs in answers.items():
            row = self._row.get(text)
            if row is None and text in self._decided and id in ids:
                counted.append((len(certainty), id, belongs))
                certainty.append(self._decided[text])
            elif row is not None and self.key(row)[1] == id:
                counted.append((row, id, belongs))
        return Evidence(
            np.array(certainty),
            [row for row, _, _ in counted],
            [id for _, id, _ in counted],
            [belongs for _, _, belongs in counted],
            len(answers) - len(counted),
        )

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
        from newfound.algorithms.audit import choose_questions

        if type(count) is not int or count < 0:
            raise SettingsError(f"questions={count!r} must be a whole number from 0")
        known = self.evidence()
        rows = choose_questions(known.certainty, count, asked=known.rows) if count else []
        return tuple(self._question(row) for row in rows)

    def _question(self, row: int) -> AuditQuestion:
        (text, id), name = self.key(row), str(self.logs[row].intent)
        return AuditQuestion(text, name, id, tuple(e for e in self.examples(name) if e != text)[:EXAMPLES])

    def result(self, count: int = 0) -> AuditResult:
        """Return what the answers so far say, and the questions that are left of so many."""
        import numpy as np

        from newfound.algorithms.audit import accuracy_of_intent, accuracy_of_sample, more_questions
        from newfound.algorithms.thresholds import correction

        known, left = self.evidence(), self.questions(count)
        if not known.rows:
            return AuditResult(0, known.outdated, None, 0, (), (), left)
        rows, right, about = np.array(known.rows), np.array(known.right), np.array(known.ids)
        total = accuracy_of_sample(known.certainty, known.rows, right, settled=rows >= len(self.logs))
        corrected = correction(known.certainty[rows], right)(known.certainty)
        names, intents = np.array([u.intent for u in self.logs]), []
        for name, id in self.ids.items():
            own, asked = np.flatnonzero(names == name), about == id
            if len(own) and asked.any():
                estimate = accuracy_of_intent(corrected[own], corrected[rows[asked]], right[asked])
                intents.append(AuditedIntent(name, id, estimate, int(asked.sum()), int(right[asked].sum())))
        intents.sort(key=lambda i: (i.accuracy.value, i.name))
        wrong = tuple((self.logs[row].text, str(names[row])) for row in rows[~right & (rows < len(self.logs))])
        more = min(more_questions(total, len(rows), WANTED_HALF_WIDTH), len(known.certainty) - len(rows))
        return AuditResult(len(rows), known.outdated, total, more, tuple(intents), wrong, left)

    def write(self, path: Path, count: int) -> int:
        """Write the questions that are left to a CSV file that a colleague can fill in; return their number."""
        left = self.questions(count)
        rows = [(q.text, q.intent, " | ".join(q.examples), "", q.id) for q in left]
        write_atomically(path, csv_bytes([COLUMNS, *rows]))
        return len(left)

    def read(self, path: Path) -> Answers:
        """Return the answers in a file of questions; rows without an answer are skipped."""
        answers: Answers = {}
        try:
            with path.open(encoding="utf-8-sig", newline="") as file:
                for number, row in enumerate(csv.DictReader(file), 2):
                    said = (row.get("belongs") or "").strip().casefold()
                    if said and (said not in SAID or not row.get("text") or not row.get("id")):
                        raise DataError(f"{path}, line {number}: {said[:40]!r} is no answer; write y or n")
                    if said:
                        answers[str(row["text"]), str(row["id"])] = SAID[said]
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise DataError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
        if not answers:
            raise DataError(f"{path}: no answers yet; write y or n into the column belongs")
        return answers
