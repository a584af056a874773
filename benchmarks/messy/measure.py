"""Compare methods on logs that hold known intents (30 %) or utterances of no intent (10 %).

python -m benchmarks.messy.measure [--seeds 0,1,2]     appends to messy.jsonl beside this file, skips what is there
python -m benchmarks.messy.measure --table             prints the means; --logs and --methods select some of them

The encoder is frozen MiniLM for all. `kmeans` takes all logs for new. `threshold` is a logistic regression on the known
intents that calls new what it is less sure of than of all but 5 % of the known validation utterances, and k-means of
that. `bertopic` (skipped where it is not installed) is BERTopic with its defaults on the same vectors, given the known
labels; a topic counts as the known intent of most of its labelled utterances, if they are at least half of it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from benchmarks.harness.baselines import fit_bertopic
from benchmarks.harness.cells import Cell, task_of
from benchmarks.harness.experiments import Column
from benchmarks.harness.running import fit_cell
from benchmarks.harness.scoring import Predictor, score_predictor
from benchmarks.harness.studies import (
    Row,
    append_row,
    frozen_vectors,
    read_rows,
    study_encoder,
    whole_numbers,
)
from benchmarks.harness.tables import as_markdown, table_of_rows
from sklearn.linear_model import LogisticRegression

from newfound.algorithms.clustering import kmeans
from newfound.algorithms.metrics import Ids
from newfound.data.task import DiscoveryTask
from newfound.encoders.encoder import Encoder

HERE = Path(__file__).parent
FILE_NAME = "messy.jsonl"
BENCHMARKS, SPLITS = ("GID-SD", "GID-MD"), (1, 2, 3)
VARIANT_OF_LOGS = {
    "mixed 0 %": "mixed-0",
    "mixed 30 %": "mixed-30",
    "noise 0 %": "noise-0",
    "noise 10 %": "noise-10",
}
KEY = ("benchmark", "logs", "method", "split", "seed")
COLUMNS = (
    Column("IND ACC", ("ind_acc",)),
    Column("OOD ACC", ("ood_acc",)),
    Column("OOD F1", ("ood_f1",)),
    Column("known F1", ("known_f1",)),
    Column("AUROC", ("auroc",)),
)
MAX_UNSURE_SHARE = 0.05  # of the known validation utterances, which may fall below the threshold
REGRESSION_C, REGRESSION_ITERATIONS = 20.0, 300
Vectors = npt.NDArray[np.float32]
Fit = Callable[[Cell, DiscoveryTask, Encoder], Predictor]


def package_method(**settings: Any) -> Fit:
    """Return how a method of the package is fitted, with settings of its own."""

    def fit(cell: Cell, task: DiscoveryTask, encoder: Encoder) -> Predictor:
        return fit_cell(cell, encoder, "cpu", task, settings).model_.with_cache(encoder.cache)

    return fit


def unit_vectors(encoder: Encoder, texts: Sequence[str]) -> Vectors:
    """Return the frozen encoder's vectors [n, d], of unit length."""
    x: Vectors = frozen_vectors(encoder, texts).numpy()
    unit: Vectors = x / np.linalg.norm(x, axis=1, keepdims=True)
    return unit


def known_ids(task: DiscoveryTask) -> Ids:
    """Return the known intent [n] of every training utterance; -1 for those of the logs."""
    ids = {intent: i for i, intent in enumerate(task.known)}
    labels = task.observed_train.labels
    return np.array([-1 if label is None else ids[label] for label in labels], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class RegressionPredictor:
    """A logistic regression over known and new intents; a text is an outlier as far as the best one is improbable."""

    encoder: Encoder
    regression: Any

    def predict_ids(self, texts: Sequence[str]) -> Ids:
        """Return the most probable intent of each text."""
        best: Ids = self.regression.predict(unit_vectors(self.encoder, texts))
        return best

    def outlier_scores(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return one minus the highest probability of each text."""
        scores: npt.NDArray[np.float64] = 1 - self.regression.predict_proba(unit_vectors(self.encoder, texts)).max(1)
        return scores


def threshold(cell: Cell, task: DiscoveryTask, encoder: Encoder) -> Predictor:
    """Call new what a classifier of the known intents is unsure of, cluster that, and classify into both."""
    y, x = known_ids(task), unit_vectors(encoder, task.observed_train.texts)
    validation = unit_vectors(encoder, task.dev.hiding(task.new).labelled().texts)
    known = _regression().fit(x[y >= 0], y[y >= 0])
    min_probability = np.quantile(known.predict_proba(validation).max(1), MAX_UNSURE_SHARE)
    is_sure = known.predict_proba(x).max(1) >= min_probability
    label = np.where(y >= 0, y, np.where(is_sure, known.predict(x), -1))
    clusters = kmeans(torch.from_numpy(x[label < 0]), len(task.new), seed=cell.seed).labels.numpy()
    label[label < 0] = len(task.known) + clusters
    return RegressionPredictor(encoder, _regression().fit(x, label))


def _regression() -> Any:
    return LogisticRegression(C=REGRESSION_C, max_iter=REGRESSION_ITERATIONS)


@dataclass(frozen=True, slots=True)
class TopicPredictor:
    """BERTopic as a classifier: every topic stands for a known intent or for a new one."""

    encoder: Encoder
    model: Any
    intent_of_topic: dict[int, int]

    def predict_ids(self, texts: Sequence[str]) -> Ids:
        """Return the intent of the topic of each text."""
        topics, _ = self._transform(texts)
        return np.array([self.intent_of_topic[int(topic)] for topic in topics], dtype=np.int64)

    def outlier_scores(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return one minus the probability of the topic of each text."""
        _, probability = self._transform(texts)
        return 1 - np.asarray(probability, dtype=np.float64)

    def _transform(self, texts: Sequence[str]) -> tuple[Any, Any]:
        topics, probability = self.model.transform(list(texts), unit_vectors(self.encoder, texts))
        return topics, probability


def bertopic(cell: Cell, task: DiscoveryTask, encoder: Encoder) -> Predictor:
    """Fit BERTopic with its defaults, given the known labels."""
    observed, y = task.observed_train, known_ids(task)
    x = unit_vectors(encoder, observed.texts)
    model, topics = fit_bertopic(observed.texts, x, observed.labels, seed=cell.seed)
    intent_of_topic = {-1: len(task.known)}  # an utterance of no topic is at least not of a known intent
    for topic in sorted(set(topics.tolist()) - {-1}):
        members = y[topics == topic]
        labelled = members[members >= 0]
        is_known = 2 * len(labelled) >= len(members)
        intent_of_topic[topic] = int(np.bincount(labelled).argmax()) if is_known else len(task.known) + 1 + topic
    return TopicPredictor(encoder, model, intent_of_topic)


METHODS: dict[str, Fit] = {
    "consensus": package_method(logs="mixed"),
    "kmeans": package_method(),
    "threshold": threshold,
    "bertopic": bertopic,
}


def score_row(predictor: Predictor, task: DiscoveryTask) -> Row:
    """Return the strict scores and, where the logs hold more than new intents, how well that was recognised."""
    result = score_predictor(predictor, task)
    strict = result["scores"]["strict"]
    chosen = {name: strict[name] for name in ("ind_acc", "ood_acc", "ood_f1")}
    chosen |= {**result.get("logs", {}), **result.get("out_of_scope", {})}
    return {name: round(value, 2) for name, value in chosen.items()}


def planned(methods: Sequence[str], seeds: Sequence[int]) -> Iterator[tuple[str, Cell]]:
    """Yield the cells of the study, each with what its logs are called; cells on the same logs follow one another."""
    for seed, benchmark, split, (logs, variant), method in product(
        seeds, BENCHMARKS, SPLITS, VARIANT_OF_LOGS.items(), methods
    ):
        yield logs, Cell(method, benchmark, 40, split, seed, "minilm", "heads", variant)


def measure(methods: Sequence[str], seeds: Sequence[int], path: Path) -> None:
    """Run the cells that the result file does not have yet."""
    encoder = study_encoder()
    finished = {tuple(row[name] for name in KEY) for row in read_rows(path)}
    for logs, cell in planned(methods, seeds):
        key = (cell.benchmark, logs, cell.method, cell.split, cell.seed)
        if key in finished:
            continue
        task = task_of(cell)
        started = time.perf_counter()
        try:
            scores = score_row(METHODS[cell.method](cell, task, encoder), task)
        except ImportError as error:
            print(f"{cell.method} skipped: {error}", flush=True)
            continue
        seconds = round(time.perf_counter() - started, 1)
        row = {**dict(zip(KEY, key, strict=True)), **scores, "seconds": seconds}
        append_row(path, row)
        print(row, flush=True)


def main() -> None:
    """Run the study, or print its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=whole_numbers, default=[0, 1, 2])
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--logs", choices=VARIANT_OF_LOGS, help="the rows of the table; all of them by default")
    parser.add_argument("--out", type=Path, default=HERE, help="the folder of the result file")
    options = parser.parse_args()
    path = options.out / FILE_NAME
    if options.table:
        methods = options.methods.split(",")
        rows = [row for row in read_rows(path) if options.logs in (None, row["logs"]) and row["method"] in methods]
        print(as_markdown(*table_of_rows(rows, KEY[:3], COLUMNS)))
    else:
        measure(options.methods.split(","), options.seeds, path)


if __name__ == "__main__":
    main()
