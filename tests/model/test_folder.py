"""A model folder is input: made-up damage gets one clear line, and folders of older versions load."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import newfound
from newfound.errors import NewfoundError
from newfound.model.about import describe
from newfound.model.folder import load as load_unreviewed

OLD = Path(__file__).parent / "folder-of-version-0.1.0"


@pytest.fixture
def old(tmp_path):
    return shutil.copytree(OLD / "model", tmp_path / "model")


def test_a_folder_of_version_0_1_0_loads_with_its_review(old):
    expected = json.loads((OLD / "expected.json").read_text())
    model = load_unreviewed(old)
    assert [intent.name for intent in model.intents] == expected["intents"]
    np.testing.assert_allclose(model.predict_proba(expected["texts"]), expected["proba"], atol=1e-4)
    assert max(u.count for u in model.utterances) == 7
    assert newfound.load(old).predict(expected["texts"]) == expected["reviewed"]
    assert all(intent.certainty is None and intent.expected_error is None for intent in model.intents)


def test_it_can_be_reviewed_refitted_updated_and_exported(old, tmp_path):
    refitted = newfound.refit(old, tmp_path / "r", device="cpu").model
    assert {i.name for i in refitted.intents if i.known} >= {"leak", "meter", "pay", "solar_panels"}
    assert max(u.count for u in refitted.utterances) == 7
    newfound.update(old, ["cancel book today", "cancel book now", "book cancel"], tmp_path / "u", n_new=1, device="cpu")
    assert newfound.export(old, "rasa", tmp_path / "nlu.yml", with_guesses=True).intents == 5


def _damaged(value, path, new):
    if not path:
        return new
    copy = list(value) if isinstance(value, list) else dict(value)
    copy[path[0]] = _damaged(copy[path[0]], path[1:], new)
    return copy


def _paths(value, depth=4):
    if depth and isinstance(value, dict):
        return [[k, *rest] for k, v in value.items() for rest in [[], *_paths(v, depth - 1)]]
    if depth and isinstance(value, list) and value:
        return [[0, *rest] for rest in [[], *_paths(value[0], depth - 1)]]
    return []


ABOUT = json.loads((OLD / "model" / "model.json").read_text())
UTTERANCE = json.loads((OLD / "model" / "utterances.jsonl").read_text().splitlines()[0])
ODD = st.sampled_from(
    [None, True, -1, 0, 10**400, 1e-300, 1e308, -0.5, "", "x", "\ud800", "../..", [], {}, [[]], [1], {"a": 1}]
) | st.text(max_size=5)


def _refusal(attempt, value):
    """What a refusal says; empty if there is none. Anything but a refusal is raised."""
    try:
        attempt(value)
    except NewfoundError as error:
        return str(error)
    return ""


@pytest.fixture(scope="module")
def encoder():
    from newfound.encoders.encoder import load_encoder

    return load_encoder(str(OLD / "model" / "encoder"))


@pytest.mark.slow
@settings(max_examples=250, suppress_health_check=list(HealthCheck))
@given(path=st.sampled_from(_paths(ABOUT)), value=ODD)
def test_any_damage_to_the_description_gets_one_line(tmp_path_factory, encoder, path, value):
    folder = tmp_path_factory.mktemp("any") / "m"
    shutil.copytree(OLD / "model", folder, ignore=shutil.ignore_patterns("encoder", "review*"))
    about = _damaged(ABOUT, path, value)
    if path[0] == "encoder":
        about["encoder"] = {**ABOUT["encoder"], **about["encoder"]} if isinstance(about["encoder"], dict) else value
    (folder / "model.json").write_text(json.dumps(about), "utf-8", "surrogatepass")
    for attempt in (describe, lambda f: load_unreviewed(f, encoder=encoder).predict(["pay my bill"])):
        assert len(_refusal(attempt, folder).splitlines()) <= 1


@pytest.mark.slow
@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(
    line=st.builds(lambda key, value: {**UTTERANCE, key: value}, st.sampled_from([*UTTERANCE, "odd"]), ODD).map(
        lambda entry: json.dumps(entry).encode()
    )
    | st.binary(max_size=30)
    | st.just(b"[" * 50_000)
)
def test_any_damage_to_the_utterances_gets_one_line(tmp_path_factory, encoder, line):
    folder = tmp_path_factory.mktemp("any") / "m"
    shutil.copytree(OLD / "model", folder, ignore=shutil.ignore_patterns("encoder", "review*"))
    (folder / "utterances.jsonl").write_bytes(line.replace(b"\n", b" ") + b"\n")
    model = load_unreviewed(folder, encoder=encoder)
    refusal = _refusal(lambda model: model.utterances, model)
    if refusal:
        assert "line 1: damaged" in refusal
    else:
        assert all(u.intent in {None, *model.names} and u.count >= 1 for u in model.utterances)
