"""Published splits of the benchmarks, and other partitions into known and new intents."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.harness.partitions import dataset_task, facts, fresh_task, load_benchmark, load_partition

from newfound.data.benchmarks import SETS
from newfound.errors import DataError, SettingsError


def test_class_lists_of_all_published_splits():
    splits = facts("splits")["ood_classes"]
    sizes = {"GID-SD": {"20": 15, "40": 31, "60": 46}, "GID-CD": {"20": 30, "40": 60, "60": 90}}
    sizes["GID-MD"] = sizes["GID-CD"]
    assert sorted(splits) == ["GID-CD", "GID-MD", "GID-SD"]
    for name, by_ratio in splits.items():
        for ratio, by_split in by_ratio.items():
            for new in by_split.values():
                assert len(new) == len(set(new)) == sizes[name][ratio], (name, ratio)


@pytest.mark.parametrize("name", ["GID-SD", "GID-CD", "GID-MD"])
def test_benchmarks_load_from_the_real_data(name, shared_data, monkeypatch):
    monkeypatch.setenv("NEWFOUND_DATA", str(shared_data))
    task = load_benchmark(name, ratio=40, split=2)
    n_known, n_new = (46, 31) if name == "GID-SD" else (90, 60)
    assert (len(task.known), len(task.new)) == (n_known, n_new)
    assert len(task.train) == (9003 if name == "GID-SD" else 18000)
    assert set(np.unique(task.gold_ids(task.test))) == set(range(n_known + n_new))
    assert not set(task.observed_train.intents) & set(task.new)
    if name == "GID-CD":
        domain_of = {i: d for d, intents in facts("splits")["clinc150_domains"].items() for i in intents}
        assert not {domain_of[i] for i in task.known} & {domain_of[i] for i in task.new}


def test_fresh_tasks_differ_from_the_published_splits(shared_data, monkeypatch):
    monkeypatch.setenv("NEWFOUND_DATA", str(shared_data))
    task = fresh_task("banking77", ood_ratio=0.4, seed=1000)
    assert len(task.new) == 31
    assert task.test == task.dev, "settings are chosen without any test row"
    assert all(set(task.new) != set(new) for new in facts("splits")["ood_classes"]["GID-SD"]["40"].values())


def test_the_package_knows_which_benchmarks_are_made_from_a_data_set():
    assert {b: name for name, source in SETS.items() for b in source.benchmarks} == facts("splits")["datasets"]


def test_unpublished_splits_are_refused():
    with pytest.raises(DataError, match="no split 9 at ratio 40"):
        load_benchmark("GID-SD", split=9)
    with pytest.raises(DataError, match="no benchmark 'GID-XX'"):
        load_benchmark("GID-XX")


def test_fresh_partitions_are_benchmarks_whose_split_is_a_seed(shared_data, monkeypatch):
    monkeypatch.setenv("NEWFOUND_DATA", str(shared_data))
    assert load_partition("FRESH-BANKING77", ratio=20, split=1000).name == "banking77/fresh/0.2/1000"
    domains = load_partition("FRESH-DOMAINS", ratio=40, split=1001)
    assert domains.name == "clinc150/domains/4/1001"
    assert len(domains.new) == 60
    assert load_partition("GID-SD", ratio=40, split=2).name == "GID-SD/40/2"
    with pytest.raises(SettingsError, match="multiple of 10"):
        load_partition("FRESH-DOMAINS", ratio=25, split=1000)


def test_a_whole_data_set_may_be_new_or_divided(shared_data, monkeypatch):
    monkeypatch.setenv("NEWFOUND_DATA", str(shared_data))
    everything = dataset_task("banking77", ood_ratio=1, seed=0)
    assert (len(everything.known), len(everything.new)) == (0, 77)
    assert set(everything.observed_train.labels) == {None}
    divided, other = (dataset_task("banking77", ood_ratio=0.25, seed=seed) for seed in (1, 2))
    assert (len(divided.known), len(divided.test)) == (58, 3_080)
    assert divided.new != other.new
