"""Runs cells: fits and scores the method of each; those of an experiment run in one process, to share features."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.harness.baselines import BASELINES, check_baselines, run_baseline
from benchmarks.harness.cells import VARIANTS, Cell, Record, missing_cells, task_of, write_result
from benchmarks.harness.presets import preset_settings
from benchmarks.harness.provenance import commit, hardware, shares_gpu, weights_precision
from benchmarks.harness.recording import Recorder, Snapshot
from benchmarks.harness.scoring import Predictor, compactness, round_values, score_predictor

from newfound.data.task import DiscoveryTask
from newfound.encoders.encoder import Encoder
from newfound.errors import NewfoundError, SettingsError
from newfound.methods.base import Discoverer
from newfound.methods.context import Watch, watch_nothing
from newfound.methods.registry import method_entry
from newfound.model.classifier import versions
from newfound.training.progress import Reporter
from newfound.training.run import Run

MAP_DIMENSIONS = 12  # of the points in a result file, before they are projected to two
EPOCHS_TO_TIME = 100  # in a speed experiment


class ExperimentError(NewfoundError):
    """Some runs of an experiment failed; the finished ones are kept."""


def run_missing(
    cells: Sequence[Cell],
    root: Path,
    encoder: Encoder,
    device: str,
    reporter: Reporter,
    *,
    until: float = math.inf,
    **settings: Any,
) -> None:
    """Run the cells that have no result yet, and write the result of each as soon as it is finished.

    A cell that fails is tried once more at the end. No cell is begun that would end after `until` (a time of
    `time.monotonic`), by the mean time of those before it. `settings` are those of the methods that differ from the
    cells'.

    Raises:
        MissingExtra: A baseline needs what is not installed; nothing was run.
        ExperimentError: Some cells failed twice; all others were run.
    """
    unfinished = missing_cells(cells, root)
    check_baselines(cell.method for cell in unfinished)
    for cell in {(c.benchmark, c.ratio, c.split, c.variant): c for c in unfinished}.values():
        task_of(cell)  # raises an error for missing data before anything runs

    def run(cell: Cell, memory: dict[str, Any]) -> None:
        write_result(cell, run_cell(cell, encoder, device, settings=settings, memory=memory), root)

    failed = _run_all(unfinished, run, reporter, until)
    failed_twice = _run_all(list(failed), run, reporter, until) if failed else {}
    if failed_twice:
        cell, error = next(iter(failed_twice.items()))
        raise ExperimentError(
            f"{len(failed_twice)} of {len(cells)} cells failed twice, the first of them {_description(cell)} with "
            f"{type(error).__name__}: {error}; the others are done, run the command again to retry"
        )


def _run_all(
    cells: list[Cell], run: Callable[[Cell, dict[str, Any]], None], reporter: Reporter, until: float
) -> dict[Cell, Exception]:
    """Run the cells, and return the errors of those that failed."""
    failed: dict[Cell, Exception] = {}
    memory_unchanged: dict[str, Any] = {}  # shared by all cells on unchanged data
    # Shared by consecutive cells with the same changed logs; features of all changed logs would need too much memory.
    memory_changed: dict[str, Any] = {}
    last_data: object = None
    started = time.monotonic()
    with reporter.task("cells", len(cells)) as task:
        for number, cell in enumerate(_group_by_data(cells), 1):
            if time.monotonic() + (time.monotonic() - started) / max(1, number - 1) > until:
                reporter.note(f"stopped by the time limit; {len(cells) - number + 1} of {len(cells)} cells are left")
                break
            if _data_of(cell) != last_data:
                memory_changed, last_data = {}, _data_of(cell)
            is_unchanged = VARIANTS[cell.variant].condition.changes_nothing
            try:
                run(cell, memory_unchanged if is_unchanged else memory_changed)
            except NewfoundError:
                raise  # Bad input would fail in every cell.
            except Exception as error:
                failed[cell] = error
                reporter.note(f"{_description(cell)} failed: {type(error).__name__}: {error}")
            left = (time.monotonic() - started) / number * (len(cells) - number)
            task.advance(f"{_description(cell)}, about {_duration(left)} left")
    return failed


def _group_by_data(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells with those on the same data one after another."""
    order = {data: i for i, data in enumerate(dict.fromkeys(map(_data_of, cells)))}
    return sorted(cells, key=lambda cell: order[_data_of(cell)])


def _data_of(cell: Cell) -> tuple[Any, ...]:
    """Return a key that is equal for cells on the same data."""
    condition = VARIANTS[cell.variant].condition
    unchanged = condition.changes_nothing
    return (cell.benchmark, cell.ratio, cell.split, condition, None if unchanged else cell.seed)


def _description(cell: Cell) -> str:
    variant = "" if cell.variant == "default" else f" {cell.variant}"
    return f"{cell.method}{variant} {cell.benchmark} {cell.ratio}% split {cell.split} seed {cell.seed}"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def run_cell(
    cell: Cell,
    encoder: Encoder,
    device: str = "auto",
    task: DiscoveryTask | None = None,
    settings: dict[str, Any] | None = None,
    memory: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Fit the method on the observed training data, score it on the test data, and return the content of a result file.

    `task` and `settings` replace what the cell says; cells that get the same `memory` share features and pre-training.
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
    method = _method_of(cell, encoder, device, task, settings)
    recorder = Recorder(task, _epochs_of_maps(method.epochs) if variant.record == "maps" else ())
    _fit(method, task, memory, watch_nothing if variant.record == "scores" else recorder)
    fitted = time.perf_counter()
    return {
        **asdict(cell),
        **score_predictor(_predictor(method, encoder), task),
        **_recorded(variant.record, method, recorder),
        "timings": round_values({"fit": fitted - started, "predict": time.perf_counter() - fitted, **method.timings_}),
        "settings": {k: v for k, v in method.get_params(deep=False).items() if k != "encoder"},
        "n_new": method.n_new_,
        **_provenance(task, encoder, device),
    }


def _predictor(method: Discoverer, encoder: Encoder) -> Predictor:
    """Return the fitted model; over a frozen encoder, one that reads its cache, since cells share their texts."""
    model = method.model_
    return model if model.embedder.tune.layers else model.with_cache(encoder.cache)


def _provenance(task: DiscoveryTask, encoder: Encoder, device: str) -> dict[str, Any]:
    """Return what a result was made from, and where."""
    return {
        "versions": versions(),
        "data": {"train": task.train.fingerprint(), "test": task.test.fingerprint()},
        "encoder_weights": encoder.weights_hash(),
        "encoder_precision": weights_precision(encoder),
        "commit": commit(),
        "hardware": hardware(device),
        "shares_gpu": shares_gpu(),
    }


def fit_cell(
    cell: Cell, encoder: Encoder, device: str, task: DiscoveryTask, settings: dict[str, Any] | None = None
) -> Discoverer:
    """Return the method of a cell, fitted on the observed training data (see `run_cell`)."""
    return _fit(_method_of(cell, encoder, device, task, settings), task)


def _method_of(
    cell: Cell, encoder: Encoder, device: str, task: DiscoveryTask, settings: dict[str, Any] | None
) -> Discoverer:
    settings = {**cell_settings(cell, task), **(settings or {})}
    settings = {"tune": cell.tune, **settings}
    return method_entry(cell.method).load()(encoder=encoder, device=device, seed=cell.seed, **settings)


def _fit(
    method: Discoverer, task: DiscoveryTask, memory: dict[str, Any] | None = None, watch: Watch = watch_nothing
) -> Discoverer:
    observed, dev = task.observed_train, task.dev.hiding(task.new)
    return method.fit(observed.texts, observed.labels, validation=dev, run=Run(memory=memory), watch=watch)


def cell_settings(cell: Cell, task: DiscoveryTask) -> dict[str, Any]:
    """Return the settings of a cell that differ from its method's defaults.

    The number of new intents is given, as in the paper, unless the variant says otherwise.
    """
    variant = VARIANTS[cell.variant]
    preset = preset_settings(cell.method, variant.preset, corpus_of(cell)) if variant.preset else {}
    if preset.get("tune", cell.tune) != cell.tune:
        raise SettingsError(f"the preset {variant.preset!r} trains the layers {preset['tune']!r}, not {cell.tune!r}")
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


def _epochs_of_maps(epochs: int) -> list[int]:
    return sorted({0, epochs // 10, epochs // 3, epochs - 1})


def _recorded(record: Record, method: Discoverer, recorder: Recorder) -> dict[str, Any]:
    """Return what a result has besides scores: accuracy of pseudo-labels and compactness, or the points of maps."""
    task = recorder.task
    if record == "scores":
        return {}
    if record == "maps":
        snapshots = recorder.snapshots.items()
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
    """Return utterances of some new intents with their prototypes, in few dimensions, as a result file stores them."""
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


def measure(
    method: str, task: DiscoveryTask, encoder: Encoder, *, tune: str, device: str, epochs: int = 5, **settings: Any
) -> dict[str, Any]:
    """Measure the seconds of each phase of a fit and the seconds per epoch."""
    corpus = task.observed_train
    common = {"n_new": len(task.new), "encoder": encoder, "tune": tune, "device": device, **settings}
    make = method_entry(method).load()
    # The first fit is not timed: it compiles kernels, fills caches and starts threads.
    make(**{**common, "pretrain_epochs": 1}, epochs=1).fit(corpus.texts, corpus.labels)
    fitted = make(**{"pretrain_epochs": epochs, **common}, epochs=epochs)
    started = time.perf_counter()
    fitted.fit(corpus.texts, corpus.labels)
    fitted_at = time.perf_counter()
    fitted.model_.predict_ids(task.test.texts)
    seconds = {
        "encode": fitted.timings_["encode"],
        "discover": fitted.timings_["discover"],
        "predict": time.perf_counter() - fitted_at,
        "whole fit": fitted_at - started,
    }
    per_epoch = {
        stage: min(record["seconds"] for record in history) for stage, history in fitted.history_.items() if history
    }
    return {
        "method": method,
        "benchmark": task.name,
        "encoder": encoder.name,
        "tune": tune,
        "utterances": len(corpus),
        "seconds": {name: round(value, 4) for name, value in seconds.items()},
        "seconds per epoch": {name: round(value, 5) for name, value in per_epoch.items()},
        "parameters": fitted.parameters_,
        "hardware": hardware(device),
        "versions": versions(),
    }
