from __future__ import annotations

import pytest

from newfound import Corpus, partition
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
