"""One predictor for all engines: the same answers as the model's, repeats are encoded once."""

from __future__ import annotations

import pytest

from newfound.engines import predictor as module
from newfound.engines.predictor import PredictionLimits, Predictor, PredictorSettings
from newfound.errors import SettingsError
from newfound.review.reviewed import load


@pytest.fixture
def counting(saved, tiny_encoder, monkeypatch):
    """A predictor, and the texts that were really encoded."""
    model = load(saved, encoder=tiny_encoder)
    encoded = []
    classify = model.classify
    monkeypatch.setattr(model, "classify", lambda texts, top=0: encoded.extend(texts) or classify(texts, top=top))
    return Predictor(model, PredictorSettings(top=2)), encoded


def test_repeats_are_encoded_once_within_a_batch_and_across_batches(counting):
    predictor, encoded = counting
    first = predictor.predictions(["pay bill", "water leak", "pay bill"])
    assert [p.text for p in first] == ["pay bill", "water leak", "pay bill"]
    assert first[0] == first[2]
    assert predictor.predictions(["water leak", "new meter"])[0] == first[1]
    assert encoded == ["pay bill", "water leak", "new meter"]


def test_what_is_remembered_is_bounded_and_forgets_the_oldest(counting, monkeypatch):
    predictor, encoded = counting
    monkeypatch.setattr(module, "MAX_REMEMBERED", 2)
    for text in ("pay", "leak", "pay", "move", "pay", "leak"):
        predictor.predictions([text])
    assert encoded == ["pay", "leak", "move", "leak"]  # `pay` was used again before `leak` had to go
    long = "pay " * 100
    predictor.predictions([long])
    predictor.predictions([long])
    assert encoded.count(long) == 2


def test_columns_hold_the_answers_of_the_model_and_nothing_for_empty_texts(counting, saved, tiny_encoder):
    predictor, _ = counting
    columns = predictor(["  pay bill ", None, "water leak", " "])
    wanted = load(saved, encoder=tiny_encoder).classify(["pay bill", "water leak"], top=2)
    assert columns["intent"] == [wanted[0].intent, None, wanted[1].intent, None]
    assert columns["probability"][1] is None
    assert columns["known"] == [wanted[0].known, None, wanted[1].known, None]
    assert [one["intent"] for one in columns["top"][2]] == [one.intent for one in wanted[1].top]


def test_limits_and_wrong_settings(saved, tiny_folder):
    limits = PredictionLimits(threshold=1.0, fallback="other")
    predictor = Predictor(saved, PredictorSettings(encoder=str(tiny_folder), device="cpu", limits=limits))
    assert predictor(["pay bill"])["intent"] == ["other"]
    with pytest.raises(SettingsError, match="top=-1"):
        Predictor(saved, PredictorSettings(top=-1))
    with pytest.raises(SettingsError, match="give a list of texts"):
        predictor.predictions([["pay"]])
