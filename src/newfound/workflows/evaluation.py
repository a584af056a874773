"""Compare a model's predictions with labels that a person gave."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from newfound import defaults
from newfound.data.corpus import Corpus
from newfound.data.rows import DEFAULT_READ_OPTIONS, ReadOptions
from newfound.data.validation import read_labelled_rows
from newfound.defaults import Precision
from newfound.errors import DataError, TargetExists
from newfound.files import write_atomically
from newfound.text import did_you_mean
from newfound.training.devices import check_device
from newfound.training.progress import LoggingReporter, Reporter
from newfound.workflows.models import ModelSource, open_model
from newfound.workflows.sources import KnownSource, corpus_of, tell

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder
    from newfound.model.types import Prediction

DiscoveredStatus = Literal["new", "accepted"]


@dataclass(frozen=True, slots=True)
class EvaluateRequest:
    """Which model to evaluate, and on which labelled utterances.

    Attributes:
        model: A model folder, or a loaded model.
        labelled: Labelled utterances: a file, a corpus, or texts and labels.
        out: A CSV file to write with the result of each utterance; None writes nothing.
        encoder: Where the model's encoder lies, if it cannot be found.
        device: auto, cpu or cuda.
        read: How the file is read.
        overwrite: Replace a file at `out`.
        precision: fp32, or int8 on a CPU.
        out_of_scope: The label of utterances that belong to no intent: they are right if no intent is predicted.
    """

    model: ModelSource
    labelled: KnownSource
    out: str | Path | None = None
    encoder: str | Encoder | None = None
    device: str = defaults.DEVICE
    read: ReadOptions = DEFAULT_READ_OPTIONS
    overwrite: bool = False
    precision: Precision = defaults.PRECISION
    out_of_scope: str | None = None


@dataclass(frozen=True, slots=True)
class EvaluatedUtterance:
    """The result of one utterance.

    Attributes:
        text: The utterance.
        label: The label that a person gave.
        intent: The predicted intent; None for no intent.
        meaning: The label that the predicted intent stands for: its own name, or the label it is matched to.
        probability: The probability of the predicted intent.
        correct: Whether the meaning is the label.
    """

    text: str
    label: str
    intent: str | None
    meaning: str | None
    probability: float
    correct: bool


@dataclass(frozen=True, slots=True)
class IntentMatch:
    """An intent that was found in logs and the label it is matched to.

    Attributes:
        intent: The name of the intent.
        status: Whether it is new, or accepted, in this round or an earlier one.
        label: The label; None if all labels are matched to other intents.
        shared: The number of utterances that have both.
        of_intent: The number of utterances that are predicted as the intent.
        of_label: The number of utterances that have the label.
    """

    intent: str
    status: DiscoveredStatus
    label: str | None
    shared: int
    of_intent: int
    of_label: int

    @property
    def suggests_rename(self) -> bool:
        """Whether an accepted intent is mostly what the label says, so that it should have the label's name."""
        is_same = 2 * self.shared > self.of_intent and 2 * self.shared > self.of_label
        return self.status == "accepted" and is_same


@dataclass(frozen=True, slots=True)
class Confusion:
    """A label and an intent that its utterances are mistaken for.

    Attributes:
        label: The label that a person gave.
        intent: The predicted intent; None for no intent.
        count: The number of such utterances.
        share: Their share of all utterances that have the label.
    """

    label: str
    intent: str | None
    count: int
    share: float


@dataclass(frozen=True, slots=True)
class NoIntentScores:
    """How well utterances of no intent are told from the others. Scores are in percent.

    Attributes:
        utterances: The number of utterances that belong to no intent.
        predicted: The number of utterances for which no intent is predicted.
        precision: The share of the latter that belong to no intent; None if there are none.
        recall: The share of the former for which no intent is predicted.
        f1: The harmonic mean of both.
    """

    utterances: int
    predicted: int
    precision: float | None
    recall: float | None
    f1: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How well a model does on labelled utterances. Scores are in percent.

    Attributes:
        utterances: The number of utterances.
        labels: The number of different labels.
        labels_by_name: The number of labels that are the name of an intent of the model.
        accuracy: The share of correct predictions.
        macro_f1: The mean of the labels' F1 scores.
        accuracy_by_name: The accuracy on utterances whose label is the name of an intent; None if there are none.
        accuracy_matched: The accuracy on the others; None if there are none.
        mean_confidence: The mean probability of the predicted intents.
        calibration_error: The expected calibration error.
        matches: The new and accepted intents that no label names, with the labels they are matched to.
        confusions: The pairs of a label and a wrong intent, the most frequent first.
        rows: The result of each utterance.
        path: The file that was written; None if none was.
        no_intent: How well utterances of no intent are found; None if no label stands for them.
    """

    utterances: int
    labels: int
    labels_by_name: int
    accuracy: float
    macro_f1: float
    accuracy_by_name: float | None
    accuracy_matched: float | None
    mean_confidence: float
    calibration_error: float
    matches: tuple[IntentMatch, ...]
    confusions: tuple[Confusion, ...]
    rows: tuple[EvaluatedUtterance, ...]
    path: Path | None = None
    no_intent: NoIntentScores | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the evaluation as JSON values, without the single utterances."""
        values = asdict(self)
        del values["rows"], values["path"]
        values["matches"] = [{**asdict(m), "suggests_rename": m.suggests_rename} for m in self.matches]
        return values


def evaluate(request: EvaluateRequest, *, reporter: Reporter | None = None) -> Evaluation:
    """Classify labelled utterances and compare the predictions with the labels.

    A label that is the name of an intent of the model must be predicted by this name. The labels that the model does
    not know are matched one to one to the intents that were found in logs, new or accepted, so that as many utterances
    as possible agree; intents whose name is one of the labels are not matched.

    Args:
        request: Which model to evaluate, and on which utterances.
        reporter: Is told what was odd in the file; by default nobody is.

    Raises:
        TargetExists: There is a file at `out`, and it is not to be replaced.
    """
    check_device(request.device)
    out = None if request.out is None else Path(request.out)
    if out is not None and (out.is_dir() or (out.exists() and not request.overwrite)):
        raise TargetExists(out, replaceable=not out.is_dir())
    corpus = _labelled_corpus(request, reporter or LoggingReporter())
    model = open_model(request.model, request.encoder, request.device, request.precision)
    predictions = model.classify(corpus.texts)
    discovered, accepted = model.discovered, model.accepted
    statuses: dict[str, DiscoveredStatus] = {
        name: "accepted" if name in accepted else "new" for name in model.names if name in discovered
    }
    outside = request.out_of_scope
    inside = [i for i, label in enumerate(corpus.labels) if label != outside]
    matches = match_intents(corpus.take(inside), [predictions[i] for i in inside], names=model.names, statuses=statuses)
    rows = _rows(corpus, predictions, {match.intent: match.label for match in matches}, outside)
    if out is not None:
        write_atomically(out, _as_csv(rows))
    return replace(_evaluation(rows, frozenset(model.names), matches, out), no_intent=_no_intent(rows, outside))


def _no_intent(rows: Sequence[EvaluatedUtterance], outside: str | None) -> NoIntentScores | None:
    if outside is None:
        return None
    of_none = [row.label == outside for row in rows]
    predicted = [row.intent is None for row in rows]
    both = sum(a and b for a, b in zip(of_none, predicted, strict=True))
    return NoIntentScores(
        sum(of_none),
        sum(predicted),
        round(100 * both / sum(predicted), 4) if any(predicted) else None,
        round(100 * both / sum(of_none), 4) if any(of_none) else None,
        round(200 * both / (sum(of_none) + sum(predicted)), 4) if any(of_none) or any(predicted) else 0.0,
    )


def _labelled_corpus(request: EvaluateRequest, reporter: Reporter) -> Corpus:
    """Return the labelled utterances; unlike training data, they may all have one label."""
    given = request.labelled
    if isinstance(given, str | Path):
        rows, report = read_labelled_rows(given, request.read)
        tell(report, reporter)
        corpus = Corpus.of([row.text for row in rows], [row.label for row in rows])
    else:
        corpus = corpus_of(given).labelled()
    if not len(corpus):
        raise DataError("no labelled utterance to compare with; give each text its label")
    if request.out_of_scope is not None and request.out_of_scope not in corpus.sizes:
        meant = did_you_mean(request.out_of_scope, corpus.sizes)
        raise DataError(f"no utterance has the label {request.out_of_scope!r}{meant}, which is to stand for no intent")
    return corpus


def match_intents(
    corpus: Corpus,
    predictions: Sequence[Prediction],
    *,
    names: Sequence[str],
    statuses: Mapping[str, DiscoveredStatus],
) -> tuple[IntentMatch, ...]:
    """Match intents one to one to the labels that the model does not know; matched ones first, the largest first.

    Args:
        corpus: The utterances with their labels.
        predictions: One per utterance, in the same order.
        names: All intents of the model.
        statuses: The intents that were found in logs, with the status of each.
    """
    import numpy as np

    from newfound.algorithms.metrics import match_clusters

    sizes = corpus.sizes
    labels = sorted(set(sizes) - set(names))
    intents = [name for name in statuses if name not in sizes]
    number_of_label = {label: i for i, label in enumerate(labels)}
    number_of_intent = {intent: i for i, intent in enumerate(intents)}
    pairs = [
        (number_of_label[str(label)], number_of_intent[str(p.intent)])
        for label, p in zip(corpus.labels, predictions, strict=True)
        if label in number_of_label and p.intent in number_of_intent
    ]
    shared = Counter(pairs)
    predicted = Counter(p.intent for p in predictions)
    true, clusters = (np.array([pair[side] for pair in pairs], dtype=np.int64) for side in (0, 1))
    matched = {cluster: label for cluster, label in match_clusters(true, clusters).items() if shared[label, cluster]}
    matches = []
    for number, intent in enumerate(intents):
        match = matched.get(number)
        label = None if match is None else labels[match]
        both = 0 if match is None else shared[match, number]
        of_label = 0 if label is None else sizes[label]
        matches.append(IntentMatch(intent, statuses[intent], label, both, predicted[intent], of_label))
    return tuple(sorted(matches, key=lambda m: (m.label is None, -m.shared, m.intent)))


def _rows(
    corpus: Corpus, predictions: Sequence[Prediction], label_of: dict[str, str | None], outside: str | None
) -> tuple[EvaluatedUtterance, ...]:
    rows = []
    for label, p in zip(corpus.labels, predictions, strict=True):
        meaning = outside if p.intent is None else label_of.get(p.intent, p.intent)
        rows.append(EvaluatedUtterance(p.text, str(label), p.intent, meaning, p.probability, meaning == label))
    return tuple(rows)


def _evaluation(
    rows: tuple[EvaluatedUtterance, ...], names: frozenset[str], matches: tuple[IntentMatch, ...], path: Path | None
) -> Evaluation:
    import numpy as np

    from newfound.algorithms.metrics import calibration_error, macro_f1

    sizes = Counter(row.label for row in rows)
    ids = {label: i for i, label in enumerate(sorted(sizes))}
    true = np.array([ids[row.label] for row in rows], dtype=np.int64)
    meanings = [-1 if row.meaning is None else ids.get(row.meaning, -1) for row in rows]
    predicted = np.array(meanings, dtype=np.int64)
    correct = np.array([row.correct for row in rows])
    probability = np.array([row.probability for row in rows])
    wrong = Counter((row.label, row.intent) for row in rows if not row.correct)
    return Evaluation(
        utterances=len(rows),
        labels=len(sizes),
        labels_by_name=len(set(sizes) & names),
        accuracy=_percent([row.correct for row in rows]) or 0.0,
        macro_f1=round(macro_f1(true, predicted), 4),
        accuracy_by_name=_percent([row.correct for row in rows if row.label in names]),
        accuracy_matched=_percent([row.correct for row in rows if row.label not in names]),
        mean_confidence=round(100 * float(probability.mean()), 4),
        calibration_error=round(calibration_error(probability, correct), 4),
        matches=matches,
        confusions=tuple(
            Confusion(label, intent, count, round(count / sizes[label], 4))
            for (label, intent), count in sorted(
                wrong.items(), key=lambda item: (-item[1], -item[1] / sizes[item[0][0]], item[0][0], str(item[0][1]))
            )
        ),
        rows=rows,
        path=path,
    )


def _percent(correct: Sequence[bool]) -> float | None:
    return round(100 * sum(correct) / len(correct), 4) if correct else None


def _as_csv(rows: Sequence[EvaluatedUtterance]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("text", "label", "intent", "meaning", "probability", "correct"))
    for row in rows:
        writer.writerow(
            (row.text, row.label, row.intent, row.meaning, f"{row.probability:.6f}", str(row.correct).lower())
        )
    return text.getvalue().encode()
