"""Compare a model's predictions with labels that a person gave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from newfound import defaults
from newfound.data.corpus import Corpus
from newfound.data.rows import DEFAULT_READ_OPTIONS, ReadOptions
from newfound.errors import DataError
from newfound.files import check_file_target, csv_bytes, write_atomically
from newfound.review.state import accepted_intents, discovered_intents
from newfound.text import did_you_mean
from newfound.training.progress import Reporter
from newfound.workflows.runtime import ModelSource, Runtime
from newfound.workflows.sources import KnownSource, read_labelled

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder
    from newfound.model.types import Prediction

DiscoveredStatus = Literal["new", "accepted"]


class EvaluatedUtterance(NamedTuple):
    """A row of the file: an utterance, what its predicted intent stands for, and whether that is its label."""

    text: str
    label: str
    intent: str | None  # as predicted
    meaning: str | None  # its own name, or the label that it is matched to
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
        accuracy_of_intents: The share of correct predictions among those of an intent; None if there are none.
        mean_confidence: The mean probability of these, and
        calibration_error: their expected calibration error.
        matches: The new and accepted intents that no label names, with the labels they are matched to.
        confusions: The pairs of a label and a wrong intent, the most frequent first.
        no_intent: How well utterances of no intent are found; None if no label stands for them.
    """

    utterances: int
    labels: int
    labels_by_name: int
    accuracy: float
    macro_f1: float
    accuracy_by_name: float | None
    accuracy_matched: float | None
    accuracy_of_intents: float | None
    mean_confidence: float | None
    calibration_error: float | None
    matches: tuple[IntentMatch, ...]
    confusions: tuple[Confusion, ...]
    no_intent: NoIntentScores | None


def evaluate(
    model: ModelSource,
    labelled: KnownSource,
    out: str | Path | None = None,
    *,
    out_of_scope: str | None = None,
    encoder: str | Encoder | None = None,
    device: str = defaults.DEVICE,
    read: ReadOptions = DEFAULT_READ_OPTIONS,
    overwrite: bool = False,
    reporter: Reporter | None = None,
) -> Evaluation:
    """Classify labelled utterances and compare the predictions with the labels.

    A label that is the name of an intent of the model must be predicted by this name. The labels that the model does
    not know are matched one to one to the intents that were found in logs, new or accepted, so that as many utterances
    as possible agree; intents whose name is one of the labels are not matched.

    The parameters that several functions have are described in `newfound.workflows`.

    Args:
        model: A model folder, or a loaded model.
        labelled: Labelled utterances: a file, a corpus, or texts and labels.
        out: A CSV file to write with the result of each utterance; None writes nothing.
        out_of_scope: The label of utterances that belong to no intent: they are right if no intent is predicted.

    Raises:
        TargetExists: There is a file at `out`, and it is not to be replaced.
    """
    runtime = Runtime.of(reporter, encoder, device)
    path = None if out is None else Path(out)
    if path is not None:
        check_file_target(path, overwrite)
    given, outside = read_labelled(labelled, read, runtime), out_of_scope
    if not given:
        raise DataError("no labelled utterance to compare with; give each text its label")
    corpus = Corpus.of([row.text for row in given], [row.label for row in given])
    if outside is not None and outside not in corpus.sizes:
        meant = did_you_mean(outside, corpus.sizes)
        raise DataError(f"no utterance has the label {outside!r}{meant}, which is to stand for no intent")
    reviewed = runtime.open_model(model)
    predictions = reviewed.classifier.classify(corpus.texts)
    about = reviewed.review, reviewed.model.intents
    discovered, accepted = discovered_intents(*about), accepted_intents(*about)
    statuses: dict[str, DiscoveredStatus] = {
        name: "accepted" if name in accepted else "new" for name in reviewed.names if name in discovered
    }
    unmatched = reviewed.names if outside is None else (*reviewed.names, outside)
    matches = match_intents(corpus, predictions, names=unmatched, statuses=statuses)
    label_of = {match.intent: match.label for match in matches}
    rows = []
    for label, p in zip(corpus.labels, predictions, strict=True):
        meaning = outside if p.intent is None else label_of.get(p.intent, p.intent)
        rows.append(EvaluatedUtterance(p.text, str(label), p.intent, meaning, p.probability, meaning == label))
    if path is not None:
        table = [(*row[:-2], f"{row.probability:.6f}", str(row.correct).lower()) for row in rows]
        write_atomically(path, csv_bytes([EvaluatedUtterance._fields, *table]))
    scores = _scores(rows, frozenset(reviewed.names))
    none = None if outside is None else _no_intent(rows, outside)
    return Evaluation(**scores, matches=matches, no_intent=none)


def match_intents(
    corpus: Corpus, predictions: Sequence[Prediction], *, names: Sequence[str], statuses: Mapping[str, DiscoveredStatus]
) -> tuple[IntentMatch, ...]:
    """Match intents one to one to the labels that the model does not know; matched ones first, the largest first.

    `names` has what is not matched: all intents of the model, and the label of no intent. `statuses` has the intents
    that were found in logs.
    """
    from newfound.algorithms.metrics import match_clusters

    sizes, predicted = corpus.sizes, Counter(p.intent for p in predictions)
    labels = sorted(set(sizes) - set(names))
    intents = [name for name in statuses if name not in sizes]
    position: dict[str | None, int] = {intent: i for i, intent in enumerate(intents)}
    found = [position.get(p.intent, -1) for p in predictions]
    pairs = [pair for pair in zip(corpus.ids(labels), found, strict=True) if min(pair) >= 0]
    shared = Counter(pairs)
    matched = match_clusters(*np.array(pairs, dtype=np.int64).reshape(-1, 2).T)
    matches = []
    for i, intent in enumerate(intents):
        n_shared = shared[matched.get(i, -1), i]
        label = labels[matched[i]] if n_shared else None
        of_label = 0 if label is None else sizes[label]
        matches.append(IntentMatch(intent, statuses[intent], label, n_shared, predicted[intent], of_label))
    return tuple(sorted(matches, key=lambda m: (m.label is None, -m.shared, m.intent)))


def _scores(rows: Sequence[EvaluatedUtterance], names: frozenset[str]) -> dict[str, Any]:
    """Return the fields of an `Evaluation` that are computed from the rows alone."""
    from newfound.algorithms.metrics import calibration_error, mean_f1

    sizes = Counter(row.label for row in rows)
    ids = {label: i for i, label in enumerate(sorted(sizes))}
    true = np.array([ids[row.label] for row in rows], dtype=np.int64)
    predicted = np.array([-1 if row.meaning is None else ids.get(row.meaning, -1) for row in rows], dtype=np.int64)
    named = [row for row in rows if row.intent is not None]
    probability, correct = np.array([(row.probability, row.correct) for row in named]).reshape(-1, 2).T
    wrong = Counter((row.label, row.intent) for row in rows if not row.correct)
    confusions = [
        Confusion(label, intent, count, round(count / sizes[label], 4)) for (label, intent), count in wrong.items()
    ]
    return {
        "utterances": len(rows),
        "labels": len(sizes),
        "labels_by_name": len(set(sizes) & names),
        "accuracy": _percent([row.correct for row in rows]) or 0.0,
        "macro_f1": round(mean_f1(true, predicted, "macro"), 4),
        "accuracy_by_name": _percent([row.correct for row in rows if row.label in names]),
        "accuracy_matched": _percent([row.correct for row in rows if row.label not in names]),
        "accuracy_of_intents": _percent([row.correct for row in named]),
        "mean_confidence": round(100 * float(probability.mean()), 4) if named else None,
        "calibration_error": round(calibration_error(probability, correct), 4) if named else None,
        "confusions": tuple(
            sorted(confusions, key=lambda c: (-c.count, -c.count / sizes[c.label], c.label, str(c.intent)))
        ),
    }


def _no_intent(rows: Sequence[EvaluatedUtterance], outside: str) -> NoIntentScores:
    of_none = [row.intent is None for row in rows if row.label == outside]
    predicted = [row.label == outside for row in rows if row.intent is None]
    total = len(of_none) + len(predicted)
    f1 = round(200 * sum(of_none) / total, 4) if total else 0.0
    return NoIntentScores(len(of_none), len(predicted), _percent(predicted), _percent(of_none), f1)


def _percent(correct: Sequence[bool]) -> float | None:
    return round(100 * sum(correct) / len(correct), 4) if correct else None
