"""A model folder is input: made-up damage gets one clear line."""

from __future__ import annotations

import json
import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from newfound.errors import NewfoundError
from newfound.model.about import Description
from newfound.model.folder import load as load_unreviewed


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


UTTERANCE = {"text": "pay", "intent": 0, "labelled": True, "probability": 1.0, "count": 7, "source": "a.csv, line 2"}
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


@pytest.mark.slow
@settings(max_examples=250, suppress_health_check=list(HealthCheck))
@given(data=st.data(), value=ODD)
def test_any_damage_to_the_description_gets_one_line(tmp_path_factory, saved, tiny_encoder, data, value):
    folder = shutil.copytree(saved, tmp_path_factory.mktemp("any") / "m")
    about = json.loads((folder / "model.json").read_text())
    about = _damaged(about, data.draw(st.sampled_from(_paths(about))), value)
    (folder / "model.json").write_text(json.dumps(about), "utf-8", "surrogatepass")
    for attempt in (Description.read, lambda f: load_unreviewed(f, encoder=tiny_encoder).predict(["pay my bill"])):
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
def test_any_damage_to_the_utterances_gets_one_line(tmp_path_factory, saved, tiny_encoder, line):
    folder = shutil.copytree(saved, tmp_path_factory.mktemp("any") / "m")
    (folder / "utterances.jsonl").write_bytes(line.replace(b"\n", b" ") + b"\n")
    model = load_unreviewed(folder, encoder=tiny_encoder)
    refusal = _refusal(lambda model: model.utterances, model)
    if refusal:
        assert "line 1: damaged" in refusal
    else:
        assert all(u.intent in {None, *model.names} and u.count >= 1 for u in model.utterances)
