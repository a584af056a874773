"""A cell is one run of one method on one split with one seed. Its result is one small JSON file."""

from __future__ import annotations

import json
import tarfile
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from newfound.algorithms.metrics import compactness
from newfound.bench.baselines import BASELINES, run_baseline
from newfound.bench.provenance import commit, hardware, shares_gpu
from newfound.bench.scoring import Predictor, round_values, score_predictor
from newfound.bench.timing import measure
from newfound.bench.variants import VARIANTS, Record
from newfound.data.benchmarks import dataset_task, fresh_domain_task, fresh_task, load_benchmark, out_of_scope
from newfound.data.conditions import Condition, apply_condition
from newfound.data.task import DiscoveryTask
from newfound.encoders.encoder import Encoder
from newfound.errors import DataError, SettingsError
from newfound.files import to_json, write_atomically
from newfound.methods.base import Discoverer
from newfound.methods.context import Recording, Snapshot
from newfound.methods.encoding import resolve_tune
from newfound.methods.registry import method_entry, method_named
from newfound.model.classifier import versions
from newfound.training.devices import pick_device
from newfound.training.run import Run

MAP_DIMENSIONS = 12  # of the points in a result file, before they are projected to two
EPOCHS_TO_TIME = 100  # in a speed experiment
WHOLE_DATASETS = ("BANKING77", "CLINC150")
"""Benchmarks of whole data sets, divided at random into known and new intents; the split is the seed of that."""
FRESH_PARTITIONS = ("FRESH-BANKING77", "FRESH-CLINC150", "FRESH-DOMAINS")
"""Benchmarks of class partitions that nobody published: settings are chosen on these and not on splits 1 to 3."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One run.

    Attributes:
        method: One of `newfound.methods.registry.METHODS` or of `newfound.bench.baselines.BASELINES`; a study may name
            a baseline of its own.
        benchmark: GID-SD, GID-CD or GID-MD, one of `WHOLE_DATASETS`, or one of `FRESH_PARTITIONS`.
        ratio: The share of OOD intents in percent; for `FRESH-DOMAINS`, the share of domains.
        split: The number of a published split; for a fresh partition, its seed.
        seed: The seed of the method and of the changes to the logs.
        encoder: The name of the encoder in result files.
        tune: How much of the encoder trains.
        variant: One of `VARIANTS`.
    """

    method: str
    benchmark: str
    ratio: int
    split: int
    seed: int
    encoder: str
    tune: str
    variant: str = "default"

    def file(self, root: Path) -> Path:
        """Return the result file in the folder `root`."""
        name = f"{self.method}-{self.tune}-{self.variant}-split{self.split}-seed{self.seed}.json"
        return root / self.encoder / f"{self.benchmark}-{self.ratio}" / name.replace(":", "")


def task_of(cell: Cell) -> DiscoveryTask:
    """Return the data of a cell: a partition, with the logs changed as its variant says."""
    task = load_partition(cell.benchmark, ratio=cell.ratio, split=cell.split)
    return with_condition(task, VARIANTS[cell.variant].condition, seed=cell.seed)


def load_partition(benchmark: str, *, ratio: int = 40, split: int = 1) -> DiscoveryTask:
    """Return a published split of a benchmark, or a fresh partition.

    Args:
        benchmark: GID-SD, GID-CD or GID-MD, one of `WHOLE_DATASETS`, or one of `FRESH_PARTITIONS`.
        ratio: The share of OOD intents in percent; for `FRESH-DOMAINS`, the share of domains.
        split: The number of the split; for other partitions, their seed.
    """
    if benchmark in WHOLE_DATASETS:
        return dataset_task(benchmark.lower(), ood_ratio=ratio / 100, seed=split)
    if benchmark not in FRESH_PARTITIONS:
        return load_benchmark(benchmark, ratio=ratio, split=split)
    if benchmark != "FRESH-DOMAINS":
        return fresh_task(benchmark.removeprefix("FRESH-").lower(), ood_ratio=ratio / 100, seed=split)
    if ratio % 10:
        raise SettingsError(f"ratio={ratio}: CLINC150 has ten domains; give a multiple of 10")
    return fresh_domain_task(hidden=ratio // 10, seed=split)


def with_condition(task: DiscoveryTask, condition: Condition, *, seed: int) -> DiscoveryTask:
    """Return the task with its logs changed; noise is drawn from CLINC150's out-of-scope utterances."""
    if condition.changes_nothing:
        return task
    stray = out_of_scope() if condition.noise is not None else ()
    return apply_condition(task, condition, out_of_scope=stray, seed=seed)


def run_cell(
    cell: Cell,
    encoder: Encoder,
    device: str = "auto",
    task: DiscoveryTask | None = None,
    settings: dict[str, Any] | None = None,
    memory: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Fit the method on the observed training data, score it on the test data, and return the content of a result file.

    Args:
        cell: Which method to run, on which data, with which seed.
        encoder: The loaded encoder that the cell names.
        device: auto, cpu or cuda.
        task: The data; by default those of the cell (`task_of`).
        settings: Settings of the method that differ from the cell's.
        memory: Cells that get the same dictionary share features on the device and pre-training.
    """
    variant = VARIANTS[cell.variant]
    task = task or task_of(cell)
    if variant.record == "speed":
        timed_settings = {"epochs": EPOCHS_TO_TIME, **cell_settings(cell, task), **(settings or {})}
        timed = measure(cell.method, task, encoder, tune=cell.tune, device=device, **timed_settings)
        return {**timed, **asdict(cell)}
    if cell.method in BASELINES:
        return {
            **asdict(cell),
            **run_baseline(cell.method, variant.settings, task, encoder, cell.seed),
            **_provenance(task, encoder, device),
        }
    started = time.perf_counter()
    method = fit_cell(cell, encoder, device, task, settings, memory)
    fitted = time.perf_counter()
    return {
        **asdict(cell),
        **score_predictor(_predictor(method, encoder), task),
        **_extra_results(variant.record, method, task),
        "timings": round_values({"fit": fitted - started, "predict": time.perf_counter() - fitted, **method.timings_}),
        "settings": {k: v for k, v in method.get_params(deep=False).items() if k != "encoder"},
        "n_new": method.n_new_,
        **_provenance(task, encoder, device),
    }


def _predictor(method: Discoverer, encoder: Encoder) -> Predictor:
    """Return the fitted model; over a frozen encoder, one that reads its cache, since cells share their texts."""
    model = method.model_
    return model if model.tune.layers else model.with_cache(encoder.cache)


def _provenance(task: DiscoveryTask, encoder: Encoder, device: str) -> dict[str, Any]:
    """Return what a result was made from, and where."""
    return {
        "versions": versions(),
        "data": {"train": task.train.fingerprint(), "test": task.test.fingerprint()},
        "encoder_weights": encoder.weights_hash(),
        "encoder_precision": encoder.weights_precision(),
        "commit": commit(),
        "hardware": hardware(device),
        "shares_gpu": shares_gpu(),
    }


def fit_cell(
    cell: Cell,
    encoder: Encoder,
    device: str = "auto",
    task: DiscoveryTask | None = None,
    settings: dict[str, Any] | None = None,
    memory: dict[str, Any] | None = None,
) -> Discoverer:
    """Return the method of a cell, fitted on the observed training data.

    Gold labels of new intents are used only to record the accuracy of pseudo-labels, never to train.

    Args:
        cell: Which method to run, on which data, with which seed.
        encoder: The loaded encoder that the cell names.
        device: auto, cpu or cuda.
        task: The data; by default those of the cell (`task_of`).
        settings: Settings of the method that differ from the cell's.
        memory: Cells that get the same dictionary share features on the device and pre-training.
    """
    task = task or task_of(cell)
    settings = {**cell_settings(cell, task), **(settings or {})}
    method = method_named(cell.method)(encoder=encoder, tune=cell.tune, device=device, seed=cell.seed, **settings)
    observed = task.observed_train
    return method.fit(
        observed.texts,
        observed.labels,
        validation=task.observed_dev,
        run=Run(memory=memory),
        recording=_recording(VARIANTS[cell.variant].record, task, method.epochs),
    )


def cell_settings(cell: Cell, task: DiscoveryTask) -> dict[str, Any]:
    """Return the settings of a cell that differ from its method's defaults.

    The number of new intents is given, as in the paper, unless the variant says otherwise.
    """
    variant = VARIANTS[cell.variant]
    preset = method_named(cell.method).preset_settings(variant.preset, corpus_of(cell)) if variant.preset else {}
    known = task.observed_train.intents  # none, where no label is left
    return {"n_new": len({*task.known, *task.new} - set(known)), **_logs_setting(cell), **preset, **variant.settings}


def corpus_of(cell: Cell) -> str:
    """Return the corpus that a cell's benchmark is made from, by the name that presets know it by."""
    return "banking77" if cell.benchmark in ("GID-SD", "BANKING77", "FRESH-BANKING77") else "clinc150"


def _logs_setting(cell: Cell) -> dict[str, Any]:
    """Return the setting `logs` of a method that has it: `novel`, as in the paper, unless known utterances were added.

    Outside the benchmark the default is `mixed`, and utterances may have no intent.
    """
    if not method_entry(cell.method).takes_mixed_logs:
        return {}
    if not VARIANTS[cell.variant].condition.adds_known:
        return {"logs": "novel"}
    return {"logs": "mixed", "no_intent": "none"}  # every utterance counts, and nearly all have an intent


def _recording(record: Record, task: DiscoveryTask, epochs: int) -> Recording:
    """Return what a fit has to record for this kind of result."""
    if record == "scores":
        return Recording()
    snapshot_epochs = sorted({0, epochs // 10, epochs // 3, epochs - 1}) if record == "maps" else ()
    return Recording(gold=task.gold_ids(task.train), snapshots=snapshot_epochs)


def _extra_results(record: Record, method: Discoverer, task: DiscoveryTask) -> dict[str, Any]:
    """Return what a result has besides scores: accuracy of pseudo-labels and compactness, or the points of maps."""
    if record == "scores":
        return {}
    if record == "maps":
        snapshots = method.snapshots_.items()
        return {"maps": {str(epoch): map_points(snapshot, task) for epoch, snapshot in snapshots}}
    gold = task.gold_ids(task.test)
    vectors = method.transform(task.test.texts)
    known = gold < len(task.known)
    parts = {"IND": known, "OOD": ~known, "ALL": np.ones_like(known)}
    history = method.history_["discovery"]
    return {
        "pseudo_labels": {str(int(r["epoch"])): round(r["pseudo_label_acc"], 2) for r in history},
        "compactness": round_values({name: compactness(vectors[rows], gold[rows]) for name, rows in parts.items()}),
    }


def map_points(snapshot: Snapshot, task: DiscoveryTask, intents: int = 12, per_intent: int = 30) -> dict[str, Any]:
    """Return utterances of some new intents with their prototypes, in few dimensions, as a result file stores them.

    Args:
        snapshot: Vectors and prototypes at one epoch.
        task: Has the gold labels.
        intents: Number of new intents.
        per_intent: Number of utterances of each.
    """
    from sklearn.decomposition import PCA

    gold = task.gold_ids(task.train)
    rng = np.random.default_rng(0)
    chosen = rng.permutation(np.unique(gold[gold >= len(task.known)]))[:intents]
    rows = np.concatenate([rng.permutation(np.flatnonzero(gold == c))[:per_intent] for c in chosen])
    x = snapshot.vectors / np.linalg.norm(snapshot.vectors, axis=1, keepdims=True)
    mu = snapshot.prototypes[len(task.known) :]
    mu = mu / np.maximum(np.linalg.norm(mu, axis=1, keepdims=True), 1e-12)
    nearest_prototypes = np.unique(mu[(x[rows] @ mu.T).argmax(1)], axis=0)
    both = np.concatenate([x[rows], nearest_prototypes])
    low = PCA(min(MAP_DIMENSIONS, *both.shape), random_state=0).fit_transform(both)
    return {
        "points": np.round(low[: len(rows)], 3).tolist(),
        "intents": [task.train.labels[i] for i in rows],
        "prototypes": np.round(low[len(rows) :], 3).tolist(),
    }


def missing_cells(cells: Iterable[Cell], root: Path) -> list[Cell]:
    """Return the cells that have no result file in the folder `root`."""
    return [cell for cell in cells if not cell.file(root).is_file()]


def write_result(cell: Cell, result: dict[str, Any], root: Path) -> Path:
    """Write the result file of a cell, and return its path."""
    path = cell.file(root)
    write_atomically(path, to_json(result))
    return path


def write_archive(cells: Iterable[Cell], root: Path, archive: Path) -> None:
    """Pack the result files of cells into a gzipped tar file, under their paths in the results folder."""
    with tarfile.open(archive, "w:gz") as file:
        for cell in cells:
            path = cell.file(root)
            file.add(path, path.relative_to(root))


def read_results(cells: Iterable[Cell], root: Path) -> dict[Cell, dict[str, Any]]:
    """Return the results of those cells that have a result file in the folder `root`."""
    results = {}
    for cell in cells:
        path = cell.file(root)
        if path.is_file():
            try:
                results[cell] = json.loads(path.read_bytes())
            except ValueError:
                raise DataError(f"{path}: damaged; delete it and run the experiment again") from None
    return results


def resolve_cell(cell: Cell, device: str) -> Cell:
    """Return the cell with `tune="auto"` replaced by its meaning on the device, so that the file name says what ran."""
    return replace(cell, tune=resolve_tune(cell.tune, pick_device(device)))
