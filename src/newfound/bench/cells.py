"""A cell is one run of one method on one split with one seed; its result is one small JSON file."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from newfound.data.benchmarks import load_benchmark
from newfound.data.task import DiscoveryTask
from newfound.encoders.encoder import Encoder
from newfound.errors import DataError
from newfound.files import to_json, write_atomically
from newfound.methods import method_named
from newfound.methods.base import pick_device, resolve_tune
from newfound.metrics import both_protocols, clustering_scores
from newfound.model import versions
from newfound.training.run import Run


@dataclass(frozen=True, slots=True)
class Cell:
    """`ratio` is the share of OOD intents in percent; `variant` names settings other than the defaults."""

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


def plan(
    *,
    methods: Sequence[str],
    benchmarks: Sequence[str],
    ratios: Sequence[int] = (40,),
    splits: Sequence[int] = (1, 2, 3),
    seeds: Sequence[int] = (0, 1, 2),
    encoder: str,
    tune: str,
) -> list[Cell]:
    """Cells in an order that lets neighbours share a task and its cached features."""
    for method in methods:
        method_named(method)
    return [
        Cell(method, benchmark, ratio, split, seed, encoder, tune)
        for benchmark, ratio, split, method, seed in product(benchmarks, ratios, splits, methods, seeds)
    ]


def run_cell(
    cell: Cell,
    encoder: Encoder,
    device: str = "auto",
    task: DiscoveryTask | None = None,
    settings: dict[str, Any] | None = None,
    memory: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Fit on what may be seen, score on the test part, and record everything that could move the number.

    The number of new intents is given, as in the paper. Gold labels of new intents are used here, after the fit.
    Cells that are handed the same `memory` share features on the device and pre-training.
    """
    task = task or load_benchmark(cell.benchmark, ratio=cell.ratio, split=cell.split)
    method = method_named(cell.method)(
        n_new=len(task.new),
        encoder=encoder,
        tune=cell.tune,
        device=device,
        seed=cell.seed,
        **(settings or {}),
    )
    observed = task.observed_train
    started = time.perf_counter()
    method.fit(observed.texts, observed.labels, validation=task.observed_dev, run=Run(memory=memory))
    fitted = time.perf_counter()
    predicted = method.model_.predict_ids(task.test.texts)
    gold = task.gold_ids(task.test)
    scores = both_protocols(gold, predicted, len(task.known))
    ood = gold >= len(task.known)
    return {
        **asdict(cell),
        "scores": {protocol: _rounded(score.as_dict()) for protocol, score in scores.items()},
        "clustering": _rounded(clustering_scores(gold[ood], predicted[ood])),
        "timings": _rounded({"fit": fitted - started, "predict": time.perf_counter() - fitted, **method.timings_}),
        "settings": {k: v for k, v in method.get_params(deep=False).items() if k != "encoder"},
        "versions": versions(),
        "data": {"train": task.train.fingerprint(), "test": task.test.fingerprint()},
        "encoder_weights": encoder.weights_hash(),
        "hardware": hardware(device),
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


def hardware(device: str) -> str:
    import torch

    if pick_device(device).type == "cuda":
        return torch.cuda.get_device_name()
    return f"{platform.machine()}, {os.cpu_count()} cores"


def _rounded(values: dict[str, float]) -> dict[str, float | None]:
    """JSON has no NaN: a score that does not exist is null."""
    return {name: None if value != value else round(value, 4) for name, value in values.items()}
