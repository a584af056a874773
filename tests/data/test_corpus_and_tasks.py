from __future__ import annotations

import numpy as np
import pytest

from newfound import Corpus, partition
from newfound.data import benchmarks
from newfound.data.benchmarks import benchmark_names, facts, fresh_task, load_benchmark
from newfound.data.demo_corpus import load_demo, off_topic
from newfound.data.task import make_task
from newfound.errors import DataError


def test_a_corpus_is_immutable_and_checks_its_lengths():
    corpus = Corpus.of(["a", "b"], ["x", None])
    with pytest.raises(AttributeError):
        corpus.texts = ()
    with pytest.raises(DataError, match="2 texts but 1 labels"):
        Corpus(("a", "b"), ("x",))
    with pytest.raises(DataError, match="a text is not a string but int"):
        Corpus.of([1])
    for label in ("", True, 1.5, ["x"]):
        with pytest.raises(DataError, match="a label is"):
            Corpus.of(["a"], [label])
    assert Corpus.of(["a"], [float("nan")]).labels == (None,), "pandas writes a missing label as NaN"


def test_whole_numbers_are_labels():
    import numpy as np

    assert Corpus.of("abc", [0, 1, None]).labels == ("0", "1", None)
    assert Corpus.of("abc", np.array([0, 10, 2])).labels == ("0", "10", "2")
    assert Corpus.of("abc", np.array([0, np.nan, 2])).labels == ("0", None, "2"), "a pandas column with a gap is floats"
    with pytest.raises(DataError, match="a label is"):
        Corpus.of("ab", np.array([True, False]))


def test_labelled_and_hidden_views():
    corpus = Corpus.of("abcd", ["x", None, "y", "x"])
    assert corpus.intents == ("x", "y")
    assert corpus.sizes == {"x": 2, "y": 1}
    assert corpus.labelled().texts == ("a", "c", "d")
    assert corpus.unlabelled().texts == ("b",)
    assert corpus.hiding(["x"]).labels == (None, None, "y", None)


def test_fingerprint_sees_every_change():
    variants = [
        Corpus.of(["ab", "c"], ["x", None]),
        Corpus.of(["a", "bc"], ["x", None]),
        Corpus.of(["ab", "c"], [None, "x"]),
        Corpus.of(["ab", "c"], ["x", "None"]),
        Corpus.of(["c", "ab"], [None, "x"]),
    ]
    assert len({corpus.fingerprint() for corpus in variants}) == len(variants)


def test_partition_is_by_seed_and_covers_all_intents():
    corpus = Corpus.of(map(str, range(50)), [f"i{n % 10}" for n in range(50)])
    known, new = partition(corpus, 0.4, seed=1000)
    assert (len(known), len(new)) == (6, 4)
    assert set(known) | set(new) == set(corpus.intents)
    assert partition(corpus, 0.4, seed=1000) == (known, new)
    assert partition(corpus, 0.4, seed=1001) != (known, new)
    for ratio in (0.0, 1.0, 0.95):
        with pytest.raises(DataError):
            partition(corpus, ratio, seed=0)


def test_observed_data_hold_no_label_of_a_new_intent():
    corpus = Corpus.of("abc", ["k1", "k2", "n1"])
    task = make_task("t", ["k2", "k1"], ["n1"], train=corpus, dev=corpus, test=corpus)
    assert task.observed_train.labels == ("k1", "k2", None)
    assert task.observed_dev.labels == ("k1", "k2", None)
    assert task.gold_ids(corpus).tolist() == [0, 1, 2]
    with pytest.raises(DataError, match="neither known nor new"):
        make_task("t", ["k1"], ["n1"], train=corpus, dev=corpus, test=corpus)


def test_demo_corpus_is_what_the_readme_says():
    task = load_demo()
    everything = task.train + task.test
    assert (len(task.known), len(task.new), len(everything)) == (15, 12, 2_279)
    assert len({text.lower() for text in everything.texts}) == len(everything)
    assert not set(off_topic().texts) & set(everything.texts)
    assert min((task.train.sizes | {}).values()) >= 20


def test_class_lists_of_all_published_splits():
    splits = facts("splits")["ood_classes"]
    sizes = {"GID-SD": {"20": 15, "40": 31, "60": 46}, "GID-CD": {"20": 30, "40": 60, "60": 90}}
    sizes["GID-MD"] = sizes["GID-CD"]
    assert benchmark_names() == ("GID-CD", "GID-MD", "GID-SD")
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


def test_absent_data_say_how_to_get_them(tmp_path, monkeypatch):
    monkeypatch.setenv("NEWFOUND_DATA", str(tmp_path))
    monkeypatch.setenv("NEWFOUND_CACHE", str(tmp_path / "cache"))
    with pytest.raises(DataError, match="newfound data get banking77"):
        load_benchmark("GID-SD")
    with pytest.raises(DataError, match="no split 9 at ratio 40"):
        load_benchmark("GID-SD", split=9)
    with pytest.raises(DataError, match="no benchmark 'GID-XX'"):
        load_benchmark("GID-XX")


def test_fetched_data_are_verified_before_they_are_kept(tmp_path, monkeypatch, shared_data):
    monkeypatch.delenv("NEWFOUND_DATA", raising=False)
    monkeypatch.setenv("NEWFOUND_CACHE", str(tmp_path))
    with pytest.raises(DataError, match="not the rows this project expects"):
        benchmarks.get("banking77", fetch=lambda url: b"text\tlabel\nx\ty\n")
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

    paths = benchmarks.get("banking77", fetch=fetch)
    assert set(paths) == {"train", "dev", "test"}
    assert len(load_benchmark("GID-SD").train) == 9003
    paths["dev"].write_text("text,label\nx,y\n")
    with pytest.raises(DataError, match="delete it"):
        load_benchmark("GID-SD")


def test_a_whole_data_set_may_be_new_or_divided(shared_data, monkeypatch):
    from newfound.data.benchmarks import dataset_task

    monkeypatch.setenv("NEWFOUND_DATA", str(shared_data))
    everything = dataset_task("banking77", ood_ratio=1, seed=0)
    assert (len(everything.known), len(everything.new)) == (0, 77)
    assert set(everything.observed_train.labels) == {None}
    divided, other = (dataset_task("banking77", ood_ratio=0.25, seed=seed) for seed in (1, 2))
    assert (len(divided.known), len(divided.test)) == (58, 3_080)
    assert divided.new != other.new
