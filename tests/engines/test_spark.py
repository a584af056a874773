"""The function for Spark's `mapInPandas`, called as Spark calls it: with an iterator of data frames."""

from __future__ import annotations

import pickle

import pytest

from newfound.engines import spark
from newfound.engines.spark import predict_in_pandas
from newfound.errors import ModelMissing, SettingsError
from newfound.review.reviewed import load

pandas = pytest.importorskip("pandas", reason="pandas is not installed (extra `ray` brings it)")


@pytest.fixture
def frames():
    first = pandas.DataFrame({"id": [1, 2], "text": ["pay bill", None], "intent": ["a", "b"]}, index=[7, 8])
    return [first, pandas.DataFrame({"id": [3], "text": ["water leak"], "intent": ["c"]})]


def test_rows_keep_their_columns_and_gain_predictions(saved, tiny_folder, tiny_encoder, frames):
    kept = [("id", "bigint"), ("text", "string"), ("intent", "string")]
    function, schema = predict_in_pandas(saved, keep=kept, encoder=str(tiny_folder), top=1)
    assert schema == (
        "`id` bigint, `text` string, `input_intent` string, `intent` string, `known` boolean, `probability` double, "
        "`outlier` double, `status` string, `top` array<struct<intent:string,probability:double>>"
    )
    first, second = function(iter(frames))
    names = [part.split("`")[1] for part in schema.split(", ")]
    assert list(first.columns) == names
    assert list(first["id"]) == [1, 2]
    assert list(first["input_intent"]) == ["a", "b"]
    wanted = load(saved, encoder=tiny_encoder).classify(["pay bill", "water leak"], top=1)
    assert first["intent"].tolist() == [wanted[0].intent, None]
    assert first["probability"].tolist() == [pytest.approx(wanted[0].probability, abs=1e-5), None]
    assert second["intent"].tolist() == [wanted[1].intent]
    assert second["top"][0][0]["intent"] == wanted[1].top[0].intent


def test_a_worker_loads_the_model_once(saved, tiny_folder, frames, monkeypatch):
    loaded = []
    real = spark.Predictor
    monkeypatch.setattr(spark, "Predictor", lambda *args: loaded.append(args) or real(*args))
    spark._predictor.cache_clear()
    function, _ = predict_in_pandas(saved, encoder=str(tiny_folder))
    for _ in range(2):
        assert len(list(function(iter(frames)))) == 2
    assert len(loaded) == 1


def test_spark_can_send_it(saved, tiny_folder, frames):
    cloudpickle = pytest.importorskip("cloudpickle", reason="cloudpickle is not installed")
    function, _ = predict_in_pandas(saved, encoder=str(tiny_folder))
    sent = pickle.loads(cloudpickle.dumps(function))  # noqa: S301 - our own bytes, as Spark sends them
    assert len(next(sent(iter(frames)))) == 2


def test_wrong_settings_are_refused_before_spark_starts(saved, tmp_path, tiny_folder):
    with pytest.raises(ModelMissing):
        predict_in_pandas(tmp_path / "none")
    with pytest.raises(SettingsError, match="threshold"):
        predict_in_pandas(saved, threshold=2)
    with pytest.raises(SettingsError, match="twice"):
        predict_in_pandas(saved, keep=[("id", "int"), ("id", "int")])
    function, _ = predict_in_pandas(saved, text_column="message", encoder=str(tiny_folder))
    with pytest.raises(Exception, match="no column 'message'"):
        list(function(iter([pandas.DataFrame({"text": ["pay"]})])))
