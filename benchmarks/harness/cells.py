"""A cell is one run of one method on one split with one seed. Its result is one small JSON file.

A variant is a named difference from the default cell, in the method's settings, in the logs or in what is recorded.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from benchmarks.harness.conditions import Condition, apply_condition
from benchmarks.harness.datasets import out_of_scope
from benchmarks.harness.partitions import load_partition
from benchmarks.harness.provenance import with_code_hash

from newfound.data.task import DiscoveryTask
from newfound.errors import DataError
from newfound.files import to_json, write_atomically

Record = Literal["scores", "history", "maps", "speed"]
"""What a result file has: scores; `history` adds values by epoch, `maps` points to draw; `speed` has times instead."""
UNCHANGED = Condition()


@dataclass(frozen=True, slots=True)
class Variant:
    """How a cell differs from the default."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    condition: Condition = UNCHANGED  # how the logs are changed
    record: Record = "scores"
    level: float | None = None  # where the variant is on the horizontal axis of a figure over levels
    label: str = ""  # what tables and figures call it
    preset: str = ""  # of the method; its settings come before `settings`


GAMMAS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
IMBALANCES = (1, 2, 3, 6, 12, 24)  # size of the largest new intent over that of the smallest
NOISE_PERCENTAGES = (0, 10, 30)
KNOWN_PERCENTAGES = (0, 30, 60)  # utterances of known intents in the logs

VARIANTS: dict[str, Variant] = {
    "default": Variant(),
    "standard": Variant(),
    "paper": Variant(preset="paper", label="settings of the paper"),
    "released": Variant(preset="released", label="settings of the released code"),
    "start-random": Variant({"start": "random"}, label="random start"),
    "start-balanced": Variant({"start": "balanced"}, label="balanced k-means start"),
    "watched": Variant(record="history"),
    "maps": Variant(record="maps"),
    "speed": Variant(record="speed", label="cached trunk"),
    "speed-trunk-dropout": Variant({"trunk_dropout": True}, record="speed", label="dropout in the trunk"),
    "trunk-dropout": Variant({"trunk_dropout": True}, label="dropout in the trunk"),
    "without-ins": Variant({"objectives": "pcl"}, label="without L_ins"),
    "without-pcl": Variant({"objectives": "ins"}, label="without L_PCL"),
    "scl": Variant({"objectives": "scl"}, label="L_SCL alone"),
    "pcl+scl": Variant({"objectives": "pcl+scl"}, label="L_PCL + L_SCL"),
    "k-26": Variant({"n_new": 26}, label="26 (the paper's estimate)"),
    "k-auto": Variant({"n_new": "auto"}, label="estimated by newfound"),
    "labels-10": Variant(condition=Condition(labelled=0.1), label="number given"),
    "labels-10-auto": Variant({"n_new": "auto"}, Condition(labelled=0.1), label="number estimated"),
    "k-given": Variant(label="number given"),
    "k-estimated": Variant({"n_new": "auto"}, label="number estimated"),
    **{f"gamma-{g}": Variant({"gamma": g}, level=g, label=f"γ = {g}") for g in GAMMAS},
    **{f"imbalance-{f}": Variant(condition=Condition(imbalance=f), level=f, label=f"factor {f}") for f in IMBALANCES},
    **{
        f"noise-{p}": Variant(condition=Condition(noise=p / 100), level=p, label=f"{p} % of no intent")
        for p in NOISE_PERCENTAGES
    },
    **{
        f"mixed-{p}": Variant(condition=Condition(mixed=p / 100), level=p, label=f"{p} % known")
        for p in KNOWN_PERCENTAGES
    },
    "imbalance-12-estimated": Variant(
        {"start": "kmeans", "sizes": "estimated"}, Condition(imbalance=12), label="factor 12, sizes estimated"
    ),
    "imbalance-12-equal": Variant(
        {"sizes": "equal"}, Condition(imbalance=12), label="factor 12, sizes taken to be equal"
    ),
}
VARIANTS |= {
    f"random-{name}": replace(
        v, settings={"start": "random", **v.settings}, label=f"random start, {v.label}".rstrip(", ")
    )
    for name, v in VARIANTS.items()
    if not v.preset and "start" not in v.settings and v.record != "speed" and name not in ("default", "standard")
}


def at_random_start(variant: str) -> str:
    """Return the variant of DPL that starts as in the paper, at random; the same one if it says where to start."""
    name = "start-random" if variant == "default" else f"random-{variant}"
    return name if name in VARIANTS else variant


@dataclass(frozen=True, slots=True)
class Cell:
    """One run."""

    method: str  # one of `METHODS` or of `BASELINES`; a study may name a baseline of its own
    benchmark: str  # GID-SD, GID-CD or GID-MD, one of `WHOLE_DATASETS`, or one of `FRESH_PARTITIONS`
    ratio: int  # share of OOD intents in percent; for `FRESH-DOMAINS`, the share of domains
    split: int  # number of a published split; for a fresh partition, its seed
    seed: int  # of the method and of the changes to the logs
    encoder: str  # its name in result files
    tune: str  # how much of the encoder trains
    variant: str = "default"  # one of `VARIANTS`

    def file(self, root: Path) -> Path:
        """Return the result file in the folder `root`."""
        name = f"{self.method}-{self.tune}-{self.variant}-split{self.split}-seed{self.seed}.json"
        return root / self.encoder / f"{self.benchmark}-{self.ratio}" / name.replace(":", "")


def task_of(cell: Cell) -> DiscoveryTask:
    """Return the data of a cell: a partition, with the logs changed as its variant says."""
    task = load_partition(cell.benchmark, ratio=cell.ratio, split=cell.split)
    return with_condition(task, VARIANTS[cell.variant].condition, seed=cell.seed)


def with_condition(task: DiscoveryTask, condition: Condition, *, seed: int) -> DiscoveryTask:
    """Return the task with its logs changed; noise is drawn from CLINC150's out-of-scope utterances."""
    if condition.changes_nothing:
        return task
    stray = out_of_scope() if condition.noise is not None else ()
    return apply_condition(task, condition, out_of_scope=stray, seed=seed)


def missing_cells(cells: Iterable[Cell], root: Path) -> list[Cell]:
    """Return the cells that have no result file in the folder `root`."""
    return [cell for cell in cells if not cell.file(root).is_file()]


def write_result(cell: Cell, result: dict[str, Any], root: Path) -> Path:
    """Write the result file of a cell, with the hash of the code, and return its path."""
    path = cell.file(root)
    write_atomically(path, to_json(with_code_hash(result)))
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
