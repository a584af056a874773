"""Utterances of no intent in a model: the limits are kept, every prediction obeys them, and people are told."""

from __future__ import annotations

import csv
from dataclasses import replace

import pytest

import newfound
from commands import newfound as command
from conftest import themed_corpus
from newfound.methods.consensus import Consensus
from newfound.model.folder import load
from newfound.model.types import certainty_of
from newfound.report.page import write_page

STRANGE = ["12", "😀😀", "zzz qqq xxx", "vvv", "www kkk jjj ppp"]


@pytest.fixture(scope="module")
def method(tiny_encoder):
    """A model with about a tenth of the logs put aside."""
    corpus = themed_corpus()
    texts, labels = [*corpus.texts, *STRANGE], [*corpus.labels, *(None for _ in STRANGE)]
    return Consensus(n_new=2, no_intent=0.1, encoder=tiny_encoder, tune="heads", device="cpu").fit(texts, labels)


@pytest.fixture(scope="module")
def folder(method, tmp_path_factory):
    place = tmp_path_factory.mktemp("no-intent") / "model"
    method.save(place)
    return place


def test_the_share_is_put_aside_and_nothing_that_is_labelled(method):
    logs = [u for u in method.model_.utterances if not u.labelled]
    without = [u for u in logs if u.intent is None]
    assert len(without) == round(0.1 * len(logs))
    assert {"12", "😀😀"} <= {u.text for u in without}, "what has no words comes first"
    assert all(u.intent is not None for u in method.model_.utterances if u.labelled)
    assert method.model_.provenance["no_intent"]["utterances"] == len(without)


def test_predictions_of_the_logs_are_what_is_stored(method):
    model = method.model_
    logs = [u for u in model.utterances if not u.labelled]
    names = [u.intent for u in logs]
    texts = [u.text for u in logs]
    assert model.predict(texts) == names
    assert [p.intent for p in model.classify(texts)] == names
    assert [p.probability for p in model.classify(texts)] == pytest.approx([u.probability for u in logs], abs=2e-4)
    assert [None if i < 0 else model.intents[i].name for i in model.predict_ids(texts)] == names
    assert [name for name, u in zip(model.labels_, model.utterances, strict=True) if not u.labelled] == names
    outside = [text for text, name in zip(texts, names, strict=True) if name is None]
    assert model.predict_proba(outside).max() == 0
    refused, kept = (
        model.classify(outside, top=2),
        model.with_intents([replace(i, min_similarity=-1.0, takes_wordless=True) for i in model.intents]),
    )
    assert [(p.probability, p.top) for p in refused] == [(p.probability, p.top) for p in kept.classify(outside, top=2)]
    assert all(0 < p.probability < 1 and p.top[0].probability == p.probability for p in refused), "of its candidates"
    assert certainty_of(model.utterances) == certainty_of(u for u in model.utterances if u.intent is not None)


def test_a_folder_keeps_the_limits(method, folder, tiny_encoder):
    limits = [(intent.min_similarity, intent.takes_wordless) for intent in method.model_.intents]
    assert any(least > -1 for least, _ in limits)
    assert not any(wordless for _, wordless in limits)
    loaded = load(folder, encoder=tiny_encoder)
    assert [(intent.min_similarity, intent.takes_wordless) for intent in loaded.intents] == limits
    assert loaded.utterances == method.model_.utterances
    texts = [u.text for u in loaded.utterances]
    assert newfound.load(folder, encoder=tiny_encoder).predict(texts) == method.model_.predict(texts)


def test_small_talk_belongs_to_no_intent_that_does_not_take_it(method, tmp_path, tiny_encoder):
    model = method.model_
    texts = ["pay the bill", "thank you, bye", "hallo und danke"]
    strict = model.with_intents([replace(intent, takes_small_talk=False) for intent in model.intents])
    assert strict.predict(texts) == [model.predict(texts)[0], None, None]
    strict.save(tmp_path / "strict")
    loaded = load(tmp_path / "strict", encoder=tiny_encoder)
    assert not any(intent.takes_small_talk for intent in loaded.intents)
    assert loaded.predict(texts) == strict.predict(texts)


def test_without_limits_nothing_is_put_aside(tiny_encoder, themed):
    for settings in ({"no_intent": "none"}, {"logs": "novel"}):
        model = Consensus(n_new=2, encoder=tiny_encoder, tune="heads", device="cpu", **settings)
        model = model.fit([*themed.texts, "12"], [*themed.labels, None]).model_
        assert all(u.intent is not None for u in model.utterances)
        assert "no_intent" not in model.provenance
        assert None not in model.predict(STRANGE)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, "some"])
def test_shares_that_cannot_work_are_refused(share, tiny_encoder, themed):
    with pytest.raises(newfound.errors.SettingsError, match="no_intent"):
        Consensus(n_new=2, no_intent=share, encoder=tiny_encoder, device="cpu").fit(themed.texts, themed.labels)


def test_scores_of_no_intent_by_hand(method, folder, tiny_encoder, tmp_path):
    """Three rows of no intent, of which two are predicted as such, and one known row that is taken for none."""
    model = method.model_
    none = [u.text for u in model.utterances if u.intent is None]
    pay = [u.text for u in model.utterances if u.labelled and u.intent == "pay" and model.predict([u.text]) == ["pay"]]
    texts, labels = [none[0], none[1], pay[0], none[2], pay[1]], ["other", "other", "other", "pay", "pay"]
    out = tmp_path / "rows.csv"
    result = newfound.evaluate(folder, (texts, labels), out, encoder=tiny_encoder, out_of_scope="other")
    scores, rows = result.no_intent, list(csv.DictReader(out.open()))
    assert (scores.utterances, scores.predicted) == (3, 3)
    assert (scores.precision, scores.recall, scores.f1) == pytest.approx((200 / 3, 200 / 3, 200 / 3), abs=1e-3)
    assert result.accuracy == pytest.approx(60), "two of no intent and one of pay are right"
    assert [row["correct"] for row in rows] == ["true", "true", "false", "false", "true"]
    assert "other" not in {match.label for match in result.matches}, "no intent is to match what is out of scope"
    named = [float(row["probability"]) for row in rows if row["intent"]]
    assert result.mean_confidence == pytest.approx(100 * sum(named) / 2, abs=1e-3)
    new = next(intent.name for intent in model.intents if not intent.known)
    junk = [u.text for u in model.utterances if u.intent == new][:4]
    matched = newfound.evaluate(folder, (junk, [*["other"] * 3, "wind"]), encoder=tiny_encoder, out_of_scope="other")
    assert ("wind", 1, 4) in [(m.label, m.shared, m.of_intent) for m in matched.matches], "with what is out of scope"
    assert newfound.evaluate(folder, (texts, labels), encoder=tiny_encoder).no_intent is None


def test_evaluation_prints_the_scores_and_refuses_a_label_that_is_not_there(folder, tmp_path):
    (tmp_path / "labelled.csv").write_text("text,label\n12,other\npay bill,pay\nzzz,other\n")
    done = command("evaluate", folder, tmp_path / "labelled.csv", "--out-of-scope", "other")
    assert done.returncode == 0, done.stderr
    assert "no intent    F1" in done.stdout
    assert "2 of no intent" in done.stdout
    plain = command("evaluate", folder, tmp_path / "labelled.csv")
    assert "no intent    F1" not in plain.stdout
    wrong = command("evaluate", folder, tmp_path / "labelled.csv", "--out-of-scope", "othr")
    assert wrong.returncode == 2
    assert "no utterance has the label 'othr' (did you mean 'other'?)" in " ".join(wrong.stderr.split())


def test_the_summary_and_the_report_name_them(folder, tiny_encoder, tiny_folder, themed, tmp_path):
    reviewed = newfound.load(folder, encoder=tiny_encoder)
    write_page(reviewed.reviewed, tmp_path / "page.html", title="bot")
    page = (tmp_path / "page.html").read_text()
    without = [u.text for u in reviewed.utterances if u.intent is None]
    assert "utterances of no intent" in page
    assert f"for instance {without[0]}; " in page
    (tmp_path / "logs.txt").write_text("\n".join([*themed.unlabelled().texts, "12", "12", "12"]))
    (tmp_path / "known.csv").write_text(
        "text,label\n" + "".join(f"{t},{y}\n" for t, y in zip(*_labelled(themed), strict=True))
    )
    done = command(
        *("discover", tmp_path / "known.csv", tmp_path / "logs.txt", "--out", tmp_path / "m", "--n-new", 2),
        *("--encoder", tiny_folder, "--device", "cpu", "--no-intent", "2%"),
    )
    assert done.returncode == 0, done.stderr
    assert "3 utterances, 4.8 % of the logs, belong to no intent: “12”\n" in done.stdout, "repeats are counted"


def _labelled(corpus):
    known = corpus.labelled()
    return known.texts, known.labels
