"""One predictor for all engines: the same answers as the model's, repeats are encoded once."""

from __future__ import annotations

import pytest

from newfound.engines.predictor import PredictionLimits, Predictor
from newfound.errors import SettingsError
from newfound.review.reviewed import load


def test_repeats_are_encoded_once(saved, tiny_encoder, monkeypatch):
    model = load(saved, encoder=tiny_encoder)
    encoded, classify = [], model.classify
    monkeypatch.setattr(model, "classify", lambda texts, top=0: encoded.extend(texts) or classify(texts, top=top))
    first = Predictor(model, PredictionLimits(top=2)).predictions(["pay bill", "water leak", "pay bill"])
    assert [p.text for p in first] == ["pay bill", "water leak", "pay bill"]
    assert first[0] == first[2]
    assert encoded == ["pay bill", "water leak"]


def test_limits_and_wrong_settings(saved, tiny_encoder):
    model = load(saved, encoder=tiny_encoder)
    predictor = Predictor(model, PredictionLimits(threshold=1.0))
    assert predictor.predictions(["pay bill"])[0].intent is None
    with pytest.raises(SettingsError, match="top=-1"):
        Predictor(model, PredictionLimits(top=-1))
    with pytest.raises(SettingsError, match="give a list of texts"):
        predictor.predictions([["pay"]])
