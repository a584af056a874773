"""Known and new intents of the benchmarks: the published splits of GID-SD, GID-CD and GID-MD, and other partitions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.harness.datasets import PARTS, read_part

from newfound.data.task import DiscoveryTask, make_task, partition
from newfound.errors import DataError, SettingsError

FACTS = Path(__file__).parents[1] / "facts"
WHOLE_DATASETS = ("BANKING77", "CLINC150")
"""Benchmarks of whole data sets, divided at random into known and new intents; the split is the seed of that."""
FRESH_PARTITIONS = ("FRESH-BANKING77", "FRESH-CLINC150", "FRESH-DOMAINS")
"""Benchmarks of class partitions that nobody published: settings are chosen on these and not on splits 1 to 3."""


@cache
def facts(name: str) -> Any:
    """Return the facts called `splits` (the class lists) or `published` (the scores)."""
    return json.loads((FACTS / f"{name}.json").read_bytes())


def load_partition(benchmark: str, *, ratio: int = 40, split: int = 1) -> DiscoveryTask:
    """Return a published split of a benchmark, or another partition, for which `split` is the seed."""
    if benchmark in WHOLE_DATASETS:
        return dataset_task(benchmark.lower(), ood_ratio=ratio / 100, seed=split)
    if benchmark not in FRESH_PARTITIONS:
        return load_benchmark(benchmark, ratio=ratio, split=split)
    if benchmark != "FRESH-DOMAINS":
        return fresh_task(benchmark.removeprefix("FRESH-").lower(), ood_ratio=ratio / 100, seed=split)
    if ratio % 10:
        raise SettingsError(f"ratio={ratio}: CLINC150 has ten domains; give a multiple of 10")
    return fresh_domain_task(hidden=ratio // 10, seed=split)


def load_benchmark(name: str, *, ratio: int = 40, split: int = 1) -> DiscoveryTask:
    """Load a published split of a benchmark.

    Args:
        name: GID-SD, GID-CD or GID-MD.
        ratio: Share of new (OOD) intents in percent: 20, 40 or 60.
        split: Number of the split: 1, 2 or 3.
    """
    splits = facts("splits")
    name = name.upper()
    if name not in splits["datasets"]:
        raise DataError(f"no benchmark {name!r}; one of {', '.join(sorted(splits['datasets']))}")
    try:
        new = splits["ood_classes"][name][str(ratio)][str(split)]
    except KeyError:
        by_ratio = splits["ood_classes"][name]
        published = "; ".join(f"ratio {key}: {', '.join(sorted(by_ratio[key]))}" for key in sorted(by_ratio))
        raise DataError(f"{name} has no split {split} at ratio {ratio}; published are {published}") from None
    return _task(f"{name}/{ratio}/{split}", splits["datasets"][name], new)


def dataset_task(dataset: str, *, ood_ratio: float, seed: int) -> DiscoveryTask:
    """Divide a data set at random into known and new intents, with its own test rows, as new intent discovery does.

    With an `ood_ratio` of 1 all intents are new.
    """
    train = read_part(dataset, "train")
    new = train.intents if ood_ratio == 1 else partition(train, ood_ratio, seed)[1]
    return _task(f"{dataset}/{ood_ratio:g}/{seed}", dataset, new)


def fresh_task(dataset: str, *, ood_ratio: float, seed: int) -> DiscoveryTask:
    """Divide a data set anew into known and new intents. Settings are chosen on such tasks, not on published splits.

    Its test part holds the data set's dev rows, so that no choice of a setting ever sees a test row.
    """
    _, new = partition(read_part(dataset, "train"), ood_ratio, seed)
    task = _task(f"{dataset}/fresh/{ood_ratio:g}/{seed}", dataset, new)
    return replace(task, test=task.dev)


def fresh_domain_task(*, hidden: int, seed: int) -> DiscoveryTask:
    """Declare all intents of so many (`hidden`) of CLINC150's ten domains new; see `fresh_task`."""
    domains = facts("splits")["clinc150_domains"]
    chosen = np.random.default_rng(seed).permutation(sorted(domains))[:hidden]
    new = [intent for domain in chosen for intent in domains[domain]]
    task = _task(f"clinc150/domains/{hidden}/{seed}", "clinc150", new)
    return replace(task, test=task.dev)


def _task(name: str, dataset: str, new: Sequence[str]) -> DiscoveryTask:
    parts = {part: read_part(dataset, part) for part in PARTS}
    known = set(parts["train"].intents) - set(new)
    return make_task(name, sorted(known), new, **parts)
