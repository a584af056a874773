"""Evaluation: known labels by name, new intents through the best matching, in every interface."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict

import numpy as np
import pytest

import newfound
from commands import newfound as command
from conftest import themed_corpus
from newfound.algorithms.metrics import mean_f1
from newfound.data.corpus import Corpus
from newfound.errors import DataError, TargetExists
from newfound.model.types import Prediction
from newfound.review.decisions import Decision
from newfound.review.store import ReviewStore
from newfound.workflows.evaluation import match_intents


def test_macro_f1_counts_every_class_alike():
    """Class 0: precision 3/4, recall 1; class 1: precision 1, recall 1/2. F1 6/7 and 2/3."""
    true, predicted = np.array([0, 0, 0, 1, 1]), np.array([0, 0, 0, 0, 1])
    assert mean_f1(true, predicted, "macro") == pytest.approx(100 * (6 / 7 + 2 / 3) / 2)
    assert mean_f1(true, np.array([-1] * 5), "macro") == 0


def test_matching_is_one_to_one_and_leaves_out_what_has_a_name():
    labels = ["x", "x", "x", "y", "y", "pay", "named"]
    intents = ["n1", "n1", "n2", "n1", "n2", "pay", "n3"]
    predictions = [Prediction(str(i), intent, False, 1.0, 0.0) for i, intent in enumerate(intents)]
    corpus = Corpus.of([p.text for p in predictions], labels)
    new = ["n1", "n2", "n3", "named"]
    statuses = {name: "accepted" if name == "n1" else "new" for name in new}
    matches = match_intents(corpus, predictions, names=["pay", *new], statuses=statuses)
    assert [(m.intent, m.label, m.shared, m.of_intent, m.of_label) for m in matches] == [
        ("n1", "x", 2, 3, 3),
        ("n2", "y", 1, 2, 2),
        ("n3", None, 0, 1, 0),
    ]
    assert [m.status for m in matches] == ["accepted", "new", "new"]


@pytest.fixture(scope="module")
def labelled():
    known = themed_corpus(per_theme=12, unlabelled=(), seed=1)
    return list(known.texts), list(known.labels)


def file_of(labelled, folder):
    with (folder / "labelled.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([("text", "label"), *zip(*labelled, strict=True)])
    return folder / "labelled.csv"


@pytest.fixture
def file(labelled, tmp_path):
    return file_of(labelled, tmp_path)


def test_scores_are_those_of_the_rows(saved, labelled, tmp_path, tiny_encoder):
    result = newfound.evaluate(saved, labelled, tmp_path / "rows.csv", encoder=tiny_encoder)
    assert (result.utterances, result.labels, result.labels_by_name) == (60, 5, 3)
    assert {match.label for match in result.matches} <= {"move", "solar"}
    meaning = {match.intent: match.label for match in result.matches}
    with (tmp_path / "rows.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["text"], row["label"]) for row in rows] == list(zip(*labelled, strict=True))
    for row in rows:
        expected = meaning.get(row["intent"], row["intent"]) or ""
        assert row["meaning"] == expected
        assert row["correct"] == str(row["label"] == expected).lower()
    right = [row["correct"] == "true" for row in rows]
    assert result.accuracy == pytest.approx(100 * np.mean(right), abs=1e-3)
    by_name = [r for r, row in zip(right, rows, strict=True) if row["label"] not in ("move", "solar")]
    assert result.accuracy_by_name == pytest.approx(100 * np.mean(by_name), abs=1e-3)
    assert result.mean_confidence == pytest.approx(
        100 * np.mean([float(row["probability"]) for row in rows if row["intent"]]), abs=1e-3
    )
    assert sum(confusion.count for confusion in result.confusions) == right.count(False)
    counts = [confusion.count for confusion in result.confusions]
    assert counts == sorted(counts, reverse=True)
    assert 20 < result.accuracy < 100, "the tiny encoder finds the themes, not perfectly"


@pytest.mark.parametrize("next_round", ["update", "refit"])
def test_an_accepted_intent_is_matched_like_a_new_one_also_when_it_is_known(
    next_round, folder, labelled, tmp_path, tiny_encoder
):
    """Accepting changes no answer; before, the next round compared accepted intents by their made-up names only."""
    store = ReviewStore(folder)
    new = [name for name in store.names if name not in store.known]
    store.decide([Decision("accept", {"intent": name}) for name in new], author="ana")
    settings = {"encoder": tiny_encoder, "device": "cpu"}
    if next_round == "update":
        newer = ["cancel book today", "cancel book now", "stop book"]
        model = newfound.update(folder, newer, n_new=1, no_intent="none", **settings)
    else:
        model = newfound.refit(folder, **settings)
    assert all(intent.known for intent in model.model.intents if intent.name in new)
    model.model.save(tmp_path / "next")
    result = newfound.evaluate(tmp_path / "next", labelled, encoder=tiny_encoder)
    matches = {match.intent: match for match in result.matches}
    assert {matches[name].status for name in new} == {"accepted"}
    assert {matches[name].label for name in new} == {"move", "solar"}
    assert result.accuracy_matched > 20, "compared by name, none of them would be right"


def test_the_command_prints_tables_of_80_columns_also_of_long_names(saved, file, tmp_path):
    with file.open("a") as stream:
        stream.write(f"pay bill,{'a_label_of_a_very_long_name_' * 4}\nsolar car,{'b' * 90}\n")
    done = command("evaluate", saved, file, "--out", tmp_path / "rows.csv", COLUMNS="80")
    assert done.returncode == 0, done.stderr
    expected = newfound.evaluate(saved, file)
    accuracy = f"accuracy     {expected.accuracy:.1f} %"
    for phrase in ("62 utterances of 7 labels", accuracy, "macro-F1", "mean confidence", "one to one"):
        assert phrase in done.stdout
    assert max(len(line) for line in done.stdout.splitlines() if "Wrote" not in line) <= 80
    assert f"{expected.confusions[0].label} " in done.stdout
    again = command("evaluate", saved, file, "--out", tmp_path / "rows.csv")
    assert again.returncode == 2
    assert "add --force" in again.stderr


def test_python_and_the_command_say_the_same(saved, file, tiny_encoder):
    expected = json.loads(json.dumps(asdict(newfound.evaluate(saved, file, encoder=tiny_encoder))))
    assert json.loads(command("evaluate", saved, file, "--json").stdout) == expected


def test_what_cannot_be_evaluated(saved, tmp_path, tiny_encoder):
    with pytest.raises(DataError, match="no labelled utterance"):
        newfound.evaluate(saved, (["a"], [None]), encoder=tiny_encoder)
    with pytest.raises(TargetExists):
        newfound.evaluate(saved, (["a"], ["b"]), tmp_path, encoder=tiny_encoder)
