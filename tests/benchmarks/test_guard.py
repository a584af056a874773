"""The guard of everyday logs: scores and flags of hand-made rows, and the division of a small corpus."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.guard import cells
from benchmarks.guard.cells import Cell, data_of
from benchmarks.guard.flags import flags
from benchmarks.guard.scoring import scores
from benchmarks.guard.table import in_words, lines, summary


def row(**values):
    """A row without a flag, with some of its values changed."""
    good = {"corpus": "shop", "seed": 1901, "case": "ten", "effort": "quick", "n_new": 10, "true_new": 10}
    good |= {
        "IND": 90.0,
        "OOD": 70.0,
        "ALL": 80.0,
        "match": 80.0,
        "lost": 0.0,
        "sure": 80.0,
        "empty": 0,
        "seconds": 1.0,
    }
    return {**good, **values}


def test_the_readmes_table_has_the_default_effort_of_each_case():
    rows = [row(lr=91.0), row(effort="standard", ALL=82.0), row(case="none", IND=None, ALL=60.0)]
    by_case, by_corpus = (in_words(rows, by).splitlines()[2:] for by in ("case", "corpus"))
    assert by_case == [
        "| ten | standard | 82.0 | 70.0 | 90.0 | 91.0 | 1.00 |",
        "| none | quick | 60.0 | 70.0 | – | – | 1.00 |",
    ]
    assert by_corpus == ["| shop | standard | 82.0 | 70.0 | 90.0 | 91.0 | 1.00 |"]


NO_LABELS = row(case="none", IND=None, match=84.0)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([row(lost=5.0, lr=95.0, sure=95.0, n_new=15)], []),  # at every limit
        ([row(lost=5.1)], ["LOST    shop 1901 ten quick: 5.1 % of the rows with an intent get none"]),
        ([row(lr=95.1)], ["KNOWN   shop 1901 ten quick: 90.0 against 95.1 by logistic regression"]),
        ([row(empty=2)], ["EMPTY   shop 1901 ten quick: 2 intents without utterances"]),
        ([row(sure=95.1)], ["SURE    shop 1901 ten quick: confidence 95.1, accuracy 80.0"]),
        ([row(n_new=16)], ["NUMBER  shop 1901 ten quick: 16 for 10"]),
        ([row(n_new=6)], ["NUMBER  shop 1901 ten quick: 6 for 10"]),
        ([row(), NO_LABELS], ["LABELS  shop 1901 ten quick: 80.0 with labels, 84.0 without"]),
        ([row(match=82.0), NO_LABELS], []),
        ([row(corpus="bank"), NO_LABELS], []),  # another corpus
    ],
)
def test_a_flag_is_raised_beyond_its_limit_only(rows, expected):
    assert flags(rows) == expected


def test_efforts_are_compared_with_all_cheaper_ones_and_with_the_regression_of_the_quick_row():
    rows = [row(effort="best", ALL=81.0, IND=80.0), row(effort="standard", ALL=84.0), row(lr=91.0, ALL=83.1)]
    assert flags(rows) == [
        "KNOWN   shop 1901 ten best: 80.0 against 91.0 by logistic regression",
        "EFFORT  shop 1901 ten best: 81.0, quick 83.1",
        "EFFORT  shop 1901 ten best: 81.0, standard 84.0",
    ]


def test_scores_of_six_rows():
    """Two rows of the known intent `pay`, one of them right; three of four rows of new intents in a new intent.

    Discovered `x` holds two rows of `lost card` and one of `refund`, so that two of the four are right. Without heed of
    names `x` is `lost card` and `pay` is `pay`: three of six. One row gets no intent.
    """
    gold = ["pay", "pay", "lost card", "lost card", "refund", "refund"]
    predicted = ["pay", "x", "x", "x", "x", None]
    found = scores(gold, predicted, new={"lost card", "refund"}, known={"pay"})
    assert found == {"IND": 50.0, "OOD": 50.0, "ALL": 50.0, "match": 50.0, "lost": 16.7}
    as_known = scores(["lost card", "refund"], ["pay", None], new={"lost card", "refund"}, known={"pay"})
    assert as_known == {"IND": None, "OOD": 0.0, "ALL": 0.0, "match": 50.0, "lost": 50.0}


def test_the_table_has_means_deficits_and_the_number_of_flags():
    rows = [
        row(lr=92.0, sure=70.0, n_new=5, seconds=2.0),
        row(corpus="bank", lr=100.0, IND=88.0, ALL=70.0, sure=90.0),
        row(effort="best", seconds=8.0),
        row(case="none", IND=None, match=70.0),
    ]
    assert lines(rows) == [
        ("ten", "quick", "75.0", "70.0", "89.0", "96.0", "12.0", "0.0", "80.0", "15.0", "1.41", "2"),
        ("ten", "best", "80.0", "70.0", "90.0", "92.0", "2.0", "0.0", "80.0", "0.0", "1.00", "8"),
        ("none", "quick", "80.0", "70.0", "–", "–", "–", "0.0", "80.0", "0.0", "1.00", "1"),
    ]
    assert summary(rows).splitlines()[-1] == "3 flags in 4 cells"
    assert summary([row()]).splitlines()[-2:] == ["", "0 flags in 1 cells"]


@pytest.mark.parametrize(("case", "labels"), [("mixed", 20), ("ten", 10), ("three", 3)])
def test_known_intents_get_as_many_labels_as_the_case_says(case, labels, monkeypatch):
    train = [(f"text {i} of {intent}", intent) for intent in "abcde" for i in range(40)]
    monkeypatch.setattr(cells, "read_corpus", lambda name: ([*train, (" TEXT 0 of a", "b")], train[:5], ["hello"]))
    data = data_of(Cell("toy", 1901, case, "quick"))
    assert len(data.new) == 2
    names, counts = np.unique([intent for _, intent in data.known], return_counts=True)
    assert set(names) == set("abcde") - data.new
    assert set(counts) == {labels}
    assert sorted([*data.logs, *(text for text, _ in data.known)]) == sorted([*(text for text, _ in train), "hello"])


def test_without_labels_all_intents_are_new(monkeypatch):
    monkeypatch.setattr(cells, "read_corpus", lambda name: ([("one", "a"), ("two", "b")], [], []))
    data = data_of(Cell("toy", 1901, "none", "quick"))
    assert (data.known, sorted(data.logs), data.new) == ([], ["one", "two"], {"a", "b"})
