"""Samples of distinct texts: uniform, exact in their counts, and the same for any order of the stream."""

from __future__ import annotations

import csv
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newfound.data.corpus import FROM_LOGS, Origin
from newfound.data.duplicates import DistinctSample
from newfound.data.validation import read_corpus
from newfound.errors import SettingsError
from newfound.training.progress import LoggingReporter
from newfound.workflows.discovery import discover
from newfound.workflows.runtime import Runtime
from newfound.workflows.sources import InputReader


def sample_of(texts, size, seed=0):
    sample = DistinctSample(size, seed=seed)
    sample.add_all(texts, [FROM_LOGS] * len(texts))
    return sample


@settings(deadline=None)
@given(
    texts=st.lists(st.sampled_from([f"text {i}" for i in range(12)]), max_size=60),
    size=st.integers(1, 15),
    seed=st.integers(0, 5),
)
def test_what_is_kept_is_counted_exactly_in_any_order(texts, size, seed):
    sample = sample_of(texts, size, seed)
    corpus = sample.corpus()
    assert len(corpus) == min(size, len(set(texts)))
    assert {t: o.count for t, o in zip(corpus.texts, corpus.origins, strict=True)} == {
        t: texts.count(t) for t in corpus.texts
    }
    other_way = sample_of(texts[::-1], size, seed).corpus()
    assert set(other_way.texts) == set(corpus.texts)
    assert sample.seen == len(texts)
    assert sample.is_everything == (len(set(texts)) <= size)


def test_every_text_is_kept_equally_often_however_often_it_is_said():
    texts = [f"text {i}" for i in range(50) for _ in range(1 + 9 * (i < 5))]
    kept = np.zeros(50)
    for seed in range(300):
        for text in sample_of(texts, 10, seed).corpus().texts:
            kept[int(text.split()[1])] += 1
    assert np.abs(kept / 300 - 0.2).max() < 0.1  # four standard deviations of a share of 0.2 in 300 draws


def test_texts_with_the_same_words_are_one():
    sample = DistinctSample(5)
    sample.add("Cancel it!", Origin(False, "a.csv", 2))
    sample.add("cancel it", Origin(False, "b.csv"))
    assert [(t, o.source, o.count) for t, o in zip(sample.corpus().texts, sample.corpus().origins, strict=True)] == [
        ("Cancel it!", "a.csv", 3)
    ]


def _write(path, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def test_a_larger_file_goes_into_the_sample(tmp_path):
    path = _write(tmp_path / "logs.csv", [["text"], *([f"utterance number {i % 500}"] for i in range(2_000))])
    corpus, report = read_corpus(path, max_logs=100, labels="ignored")
    assert (len(corpus), report.rows) == (100, 2_000)
    assert "a random sample of 100 distinct utterances" in report.notes[0]
    assert {origin.count for origin in corpus.origins} == {4}
    whole, report = read_corpus(path, max_logs=5_000, labels="ignored")
    assert len(whole) == 2_000  # a smaller file is read as ever, repeats included
    assert not report.notes


def test_labelled_rows_of_a_larger_file_all_stay(tmp_path):
    rows = [[f"utterance number {i}", "pay" if i % 10 == 0 else ""] for i in range(1_000)]
    path = _write(tmp_path / "all.csv", [["text", "label"], *rows])
    corpus, report = read_corpus(path, max_logs=50, labels="optional")
    assert (len(corpus.labelled()), len(corpus.unlabelled()), report.rows) == (100, 50, 1_000)
    assert "a random sample of 50 distinct utterances" in report.notes[0]
    assert len(read_corpus(path, max_logs=900, labels="optional")[0]) == 1_000


@pytest.mark.slow
@pytest.mark.parametrize("read", ["logs", "combined", "without known intents"])
def test_memory_does_not_grow_with_the_file(read, tmp_path):
    def peak(rows):
        path = _write(
            tmp_path / f"{rows}.csv", [["text"], *([f"utterance {'of words ' * 20}{i}"] for i in range(rows))]
        )
        tracemalloc.start()
        if read == "logs":
            read_corpus(path, max_logs=100, labels="ignored")
        elif read == "combined":
            read_corpus(path, max_logs=100, labels="optional")
        else:
            InputReader(runtime=Runtime(LoggingReporter()), max_logs=100).known_and_logs(None, path)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(10)  # what is imported when it is first used does not count
    assert peak(8_000) < 1.3 * peak(800) + 200_000


class Notes(LoggingReporter):
    def __init__(self):
        self.notes = []

    def note(self, message):
        self.notes.append(message)


def test_larger_logs_are_sampled_with_a_note_and_smaller_ones_are_not(tiny_encoder, themed):
    labelled, logs = themed.labelled(), themed.unlabelled()
    told = Notes()
    settings = {"n_new": 2, "encoder": tiny_encoder, "tune": "heads", "settings": {"epochs": 1}}
    result = discover(labelled, logs, max_logs=20, **settings, reporter=told)
    assert len(result.logs) == 20
    assert set(result.logs.texts) < set(logs.texts)
    assert any("random sample of 20" in note for note in told.notes)
    whole = InputReader(runtime=Runtime(told), max_logs=len(logs)).logs(logs)
    assert whole.texts == logs.texts
    with pytest.raises(SettingsError, match="max_logs"):
        discover(labelled, logs, max_logs=0, **settings)
