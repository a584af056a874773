"""Published splits of the benchmarks, and other partitions into known and new intents."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.harness.datasets import get, read_part
from benchmarks.harness.partitions import dataset_task, facts, fresh_task, load_benchmark, load_partition

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


def test_absent_data_say_how_to_get_them(tmp_path, monkeypatch):
    monkeypatch.setenv("NEWFOUND_DATA", str(tmp_path))
    monkeypatch.setenv("NEWFOUND_CACHE", str(tmp_path / "cache"))
    with pytest.raises(DataError, match="python -m benchmarks get banking77"):
        read_part("banking77", "train")


def test_fetched_data_are_verified_before_they_are_kept(tmp_path, monkeypatch, shared_data):
    monkeypatch.delenv("NEWFOUND_DATA", raising=False)
    monkeypatch.setenv("NEWFOUND_CACHE", str(tmp_path))
    with pytest.raises(DataError, match="not the rows this project expects"):
        get("banking77", fetch=lambda url: b"text\tlabel\nx\ty\n")
    assert not list(tmp_path.rglob("*.csv"))

    def fetch(url: str) -> bytes:
        """The same rows as TSV and in another order, as the web has them."""
        import csv
        import io

        part = url.rsplit("/", 1)[1].removesuffix(".tsv")
        rows = list(csv.reader((shared_data / "banking77" / f"{part}.csv").open(newline="")))
        out = io.StringIO(newline="")
        csv.writer(out, delimiter="\t", lineterminator="\n").writerows([rows[0], *reversed(rows[1:])])
        return out.getvalue().encode()

    paths = get("banking77", fetch=fetch)
    assert set(paths) == {"train", "dev", "test"}
    assert len(read_part("banking77", "train")) == 9003
    paths["dev"].write_text("text,label\nx,y\n")
    with pytest.raises(DataError, match="delete it"):
        read_part("banking77", "dev")
