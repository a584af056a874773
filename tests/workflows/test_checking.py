"""`newfound check` in Python and on the command line, on the tiny encoder."""

from __future__ import annotations

import csv

import pytest

import newfound
from commands import newfound as command
from conftest import themed_corpus
from newfound.data.validation import misspelt_labels
from newfound.errors import DataError, TargetExists

PLANTED = {0: "pay", 5: "pay", 60: "meter", 100: "leak"}  # the right labels of what is labelled wrongly


@pytest.fixture(scope="module")
def faulty():
    """Three themes with four wrong labels, one text with two labels, a repeat and an intent of one example."""
    corpus = themed_corpus(per_theme=40).labelled()
    texts, labels = list(corpus.texts), list(corpus.labels)
    assert {i: labels[i] for i in PLANTED} == PLANTED
    for i in PLANTED:
        labels[i] = "pay" if labels[i] == "leak" else "leak"
    texts += [texts[10], texts[20], "open the house"]
    labels += ["meter", labels[20], "house"]
    return texts, labels


@pytest.fixture(scope="module")
def known(faulty, tmp_path_factory):
    path = tmp_path_factory.mktemp("check") / "known.csv"
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=";").writerows([("utterance", "intent"), *zip(*faulty, strict=True), ("more", "")])
    return path


def test_what_is_planted_is_found(faulty, tiny_encoder):
    result = newfound.check(faulty, encoder=tiny_encoder)
    texts, _ = faulty
    by_line = {error.line: error for error in result.label_errors}
    found = PLANTED.keys() & {line - 1 for line in by_line}
    assert len(found) >= 2
    assert len(by_line) <= 6
    for i in found:
        assert (by_line[i + 1].text, by_line[i + 1].likely) == (texts[i], PLANTED[i])
    ranked = [error.margin for error in result.label_errors]
    assert ranked == sorted(ranked, reverse=True)
    assert [conflict.text for conflict in result.conflicts] == [texts[10]]
    assert texts[10] not in {error.text for error in result.label_errors}
    assert result.few_examples == (("house", 1),)
    assert (result.utterances, result.intents) == (123, 4)
    assert result.near_duplicates == ()


def test_a_divided_intent_is_shown_as_a_pair(tiny_encoder):
    corpus = themed_corpus(per_theme=40).labelled()
    labels = [f"{y} {i % 2}" if y == "leak" else y for i, y in enumerate(corpus.labels)]
    (pair,) = newfound.check((corpus.texts, labels), encoder=tiny_encoder).near_duplicates
    assert (pair.first, pair.second) == ("leak 0", "leak 1")


def test_a_misspelt_label_is_named_with_the_one_that_is_meant(tiny_encoder, tmp_path):
    corpus = themed_corpus(per_theme=20).labelled()
    names = {"pay": "CALL_CENTER", "leak": "leak 1", "meter": "time"}
    labels = [names.get(y, y) for y in corpus.labels]
    labels[0] = "CALL_CENTRE"
    labels[labels.index("leak 1")] = "leak 2"
    result = newfound.check((corpus.texts, labels), tmp_path / "check.csv", encoder=tiny_encoder)
    assert result.misspelt == (("CALL_CENTRE", "CALL_CENTER"),)
    assert "misspelt label,,,CALL_CENTRE,CALL_CENTER," in (tmp_path / "check.csv").read_text()


@pytest.mark.parametrize(
    ("sizes", "found"),
    [
        ({"CALL_CENTER": 40, "CALL_CENTRE": 8}, {"CALL_CENTRE": "CALL_CENTER"}),
        ({"CALL_CENTER": 40, "CALL_CENTRE": 9}, {}),
        ({"call center": 40, "Call_Center": 39}, {"Call_Center": "call center"}),
        ({"time": 100, "timer": 100}, {}),
        ({"plan 1": 9, "plan 2": 1}, {}),
        ({"+": 9, "-": 8}, {}),
        ({"refunds": 2, "refund": 3}, {"refunds": "refund"}),
    ],
)
def test_labels_that_are_spelt_alike(sizes, found):
    assert misspelt_labels(sizes) == found


def test_the_command_prints_narrow_tables_and_writes_a_file(known, tiny_folder, tiny_encoder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plain = command("check", known, "--encoder", tiny_folder, COLUMNS="80")
    assert list(tmp_path.iterdir()) == [], "nothing is written unless it is asked for"
    done = command("check", known, "--encoder", tiny_folder, "--out", "check.csv", COLUMNS="80")
    assert done.returncode == 0, done.stderr
    assert done.stdout.removesuffix("\nWrote all of it to check.csv\n") == plain.stdout
    assert "1 row without a label, skipped" in done.stderr
    assert "likely label errors, the clearest first" in done.stdout
    assert "1 texts with several labels" not in done.stdout
    assert "1 text with several labels" in done.stdout
    tables = [line for line in done.stdout.splitlines() if "│" in line or "━" in line]
    assert tables
    assert max(map(len, tables)) <= 80
    rows = list(csv.DictReader((tmp_path / "check.csv").open()))
    expected = newfound.check(known, encoder=tiny_encoder)
    assert [(int(r["line"]), r["text"], r["label"], r["likely"]) for r in rows if r["problem"] == "label error"] == [
        (e.line, e.text, e.label, e.likely) for e in expected.label_errors
    ]
    assert {row["problem"] for row in rows} == {"label error", "several labels", "few examples"}


def test_what_cannot_be_checked_is_one_line(tiny_encoder, tmp_path):
    with pytest.raises(DataError, match="only one intent"):
        newfound.check((["a", "b"], ["x", "x"]), encoder=tiny_encoder)
    with pytest.raises(DataError, match="no labelled utterance; labels can be checked"):
        newfound.check((["a", "b"], [None, None]), encoder=tiny_encoder)
    single = newfound.check((["pay", "leak"], ["x", "y"]), encoder=tiny_encoder)
    assert single.label_errors == ()
    assert single.few_examples == (("x", 1), ("y", 1))
    (tmp_path / "there.csv").write_text("mine")
    with pytest.raises(TargetExists):
        newfound.check((["a", "b"], ["x", "y"]), tmp_path / "there.csv", encoder=tiny_encoder)
