"""A cell is one run of one method on one split with one seed; its result is one small JSON file."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from newfound.bench.speed import hardware, measure
from newfound.bench.variants import VARIANTS, Record
from newfound.data.benchmarks import load_benchmark, out_of_scope
from newfound.data.conditions import under
from newfound.data.task import DiscoveryTask
from newfound.encoders.encoder import Encoder
from newfound.errors import DataError
from newfound.files import to_json, write_atomically
from newfound.methods import method_named
from newfound.methods.base import Discoverer, pick_device, resolve_tune
from newfound.methods.job import Snapshot, Watch
from newfound.metrics import auroc, both_protocols, clustering_scores, compactness
from newfound.model import versions
from newfound.training.run import Run

MAP_DIMENSIONS = 12


@dataclass(frozen=True, slots=True)
class Cell:
    """`ratio` is the share of OOD intents in percent; `variant` is one of `VARIANTS`."""

    method: str
    benchmark: str
    ratio: int
    split: int
    seed: int
    encoder: str
    tune: str
    variant: str = "default"

    def file(self, root: Path) -> Path:
        name = f"{self.method}-{self.tune}-{self.variant}-split{self.split}-seed{self.seed}.json"
        return root / self.encoder / f"{self.benchmark}-{self.ratio}" / name.replace(":", "")


def task_of(cell: Cell) -> DiscoveryTask:
    """The cell's data: a published split, with the logs changed where its variant says so."""
    task = load_benchmark(cell.benchmark, ratio=cell.ratio, split=cell.split)
    condition = VARIANTS[cell.variant].condition
    if condition.changes_nothing:
        return task
    stray = out_of_scope() if condition.noise is not None else ()
    return under(task, condition, out_of_scope=stray, seed=cell.seed)


def run_cell(
    cell: Cell,
    encoder: Encoder,
    device: str = "auto",
    task: DiscoveryTask | None = None,
    settings: dict[str, Any] | None = None,
    memory: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Fit on what may be seen, score on the test part, and record everything that could move the number.

    The number of new intents is given, as in the paper, unless the variant says otherwise. Gold labels of new intents
    are used here, after the fit; in the fit at most to log against. Cells that are handed the same `memory` share
    features on the device and pre-training.
    """
    variant = VARIANTS[cell.variant]
    task = task or task_of(cell)
    settings = {"n_new": len(task.new), **_told(cell), **variant.settings, **(settings or {})}
    if variant.record == "speed":
        timed = measure(cell.method, task, encoder, tune=cell.tune, device=device, **{"epochs": 100, **settings})
        return {**timed, **asdict(cell)}
    method = method_named(cell.method)(encoder=encoder, tune=cell.tune, device=device, seed=cell.seed, **settings)
    observed = task.observed_train
    started = time.perf_counter()
    method.fit(
        observed.texts,
        observed.labels,
        validation=task.observed_dev,
        run=Run(memory=memory),
        watch=_watch(variant.record, task, method.epochs),
    )
    fitted = time.perf_counter()
    return {
        **asdict(cell),
        **scored(method, task),
        **_recorded(variant.record, method, task),
        "timings": _rounded({"fit": fitted - started, "predict": time.perf_counter() - fitted, **method.timings_}),
        "settings": {k: v for k, v in method.get_params(deep=False).items() if k != "encoder"},
        "n_new": method.n_new_,
        "versions": versions(),
        "data": {"train": task.train.fingerprint(), "test": task.test.fingerprint()},
        "encoder_weights": encoder.weights_hash(),
        "hardware": hardware(device),
    }


def _told(cell: Cell) -> dict[str, Any]:
    """A method that can be told that the logs hold known intents is told so, where the experiment is about that."""
    condition = VARIANTS[cell.variant].condition
    takes = "logs" in {f.name for f in fields(method_named(cell.method))}
    return {"logs": "mixed"} if takes and condition.mixed is not None else {}


def scored(method: Discoverer, task: DiscoveryTask) -> dict[str, Any]:
    """Scores on the test part; where the logs hold more than new intents, how well that was recognised."""
    predicted = method.model_.predict_ids(task.test.texts)
    gold = task.gold_ids(task.test)
    ood = gold >= len(task.known)
    result: dict[str, Any] = {
        "scores": {
            protocol: _rounded(score.as_dict())
            for protocol, score in both_protocols(gold, predicted, len(task.known)).items()
        },
        "clustering": _rounded(clustering_scores(gold[ood], predicted[ood])),
    }
    if task.out_of_scope:
        inside, outside = (method.model_.outlier_scores(texts) for texts in (task.test.texts, task.out_of_scope))
        result["out_of_scope"] = _rounded({"auroc": 100 * auroc(outside, inside)})
    if task.unlabelled:
        logs = [i for i, label in enumerate(task.observed_train.labels) if label is None]
        is_known = np.isin(logs, list(task.unlabelled))
        said_known = method.model_.predict_ids([task.train.texts[i] for i in logs]) < len(task.known)
        hits = int((is_known & said_known).sum())
        result["logs"] = _rounded({"known_f1": 200 * hits / max(1, int(is_known.sum() + said_known.sum()))})
    return result


def _watch(record: Record, task: DiscoveryTask, epochs: int) -> Watch:
    if record == "scores":
        return Watch()
    marks = sorted({0, epochs // 10, epochs // 3, epochs - 1}) if record == "maps" else ()
    return Watch(gold=task.gold_ids(task.train), snapshots=marks)


def _recorded(record: Record, method: Discoverer, task: DiscoveryTask) -> dict[str, Any]:
    """What an analysis reads: pseudo-label accuracy by epoch and compactness, or points for a map."""
    if record == "scores":
        return {}
    if record == "maps":
        return {"maps": {str(epoch): map_points(shot, task) for epoch, shot in method.snapshots_.items()}}
    gold = task.gold_ids(task.test)
    vectors = method.transform(task.test.texts)
    known = gold < len(task.known)
    parts = {"IND": known, "OOD": ~known, "ALL": np.ones_like(known)}
    history = method.history_["discovery"]
    return {
        "pseudo_labels": {str(int(r["epoch"])): round(r["pseudo_label_acc"], 2) for r in history},
        "compactness": _rounded({name: compactness(vectors[rows], gold[rows]) for name, rows in parts.items()}),
    }


def map_points(shot: Snapshot, task: DiscoveryTask, intents: int = 12, per_intent: int = 30) -> dict[str, Any]:
    """A few intents of each kind with their prototypes, in few dimensions: enough to draw, small enough to keep."""
    from sklearn.decomposition import PCA

    gold = task.gold_ids(task.train)
    rng = np.random.default_rng(0)
    chosen = rng.permutation(np.unique(gold[gold >= len(task.known)]))[:intents]
    rows = np.concatenate([rng.permutation(np.flatnonzero(gold == c))[:per_intent] for c in chosen])
    x = shot.vectors / np.linalg.norm(shot.vectors, axis=1, keepdims=True)
    mu = shot.prototypes[len(task.known) :]
    mu = mu / np.maximum(np.linalg.norm(mu, axis=1, keepdims=True), 1e-12)
    nearest = mu[(x[rows] @ mu.T).argmax(1)]
    near = np.unique(nearest, axis=0)
    both = np.concatenate([x[rows], near])
    low = PCA(min(MAP_DIMENSIONS, *both.shape), random_state=0).fit_transform(both)
    return {
        "points": np.round(low[: len(rows)], 3).tolist(),
        "intents": [task.train.labels[i] for i in rows],
        "prototypes": np.round(low[len(rows) :], 3).tolist(),
    }


def missing(cells: Iterable[Cell], root: Path) -> list[Cell]:
    return [cell for cell in cells if not cell.file(root).is_file()]


def write_result(cell: Cell, result: dict[str, Any], root: Path) -> Path:
    path = cell.file(root)
    write_atomically(path, to_json(result))
    return path


def read_results(cells: Iterable[Cell], root: Path) -> dict[Cell, dict[str, Any]]:
    """The results that are there."""
    found = {}
    for cell in cells:
        path = cell.file(root)
        if path.is_file():
            try:
                found[cell] = json.loads(path.read_bytes())
            except ValueError:
                raise DataError(f"{path}: damaged; delete it and run the experiment again") from None
    return found


def resolved(cell: Cell, device: str) -> Cell:
    """The cell with `tune="auto"` made definite, so that its file name says what ran."""
    return replace(cell, tune=resolve_tune(cell.tune, pick_device(device)))


def _rounded(values: dict[str, float]) -> dict[str, float | None]:
    """JSON has no NaN: a score that does not exist is null."""
    return {name: None if value != value else round(value, 4) for name, value in values.items()}
