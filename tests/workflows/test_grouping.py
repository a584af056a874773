"""Intents in groups: stored by id, and shown wherever intents are."""

from __future__ import annotations

import csv
import json
import shutil

import numpy as np
import pytest

import newfound
from commands import newfound as command
from newfound.errors import ModelError, SettingsError
from newfound.files import GROUPS_FILE
from newfound.model.sidecars import path_of, read_groups, write_groups
from newfound.review.decisions import Decision
from newfound.review.store import ReviewStore
from waiting import until

serving = pytest.importorskip("serving", reason="extra `serve` not installed")

KNOWN = {"pay": "bill money late", "card": "bill money account", "meter": "read write visit", "book": "read write call"}
NEW = {"leak": "water gas smell", "stop": "water gas brown", "solar": "power light car", "move": "house open when"}


@pytest.fixture(scope="module")
def fitted(tiny_encoder, tmp_path_factory):
    """A model of four known intents and four new ones, in four topics or so."""
    from newfound.methods.kmeans import KMeans

    rng, texts, labels = np.random.default_rng(0), [], []
    for name, words in {**KNOWN, **NEW}.items():
        for _ in range(12):
            texts.append(" ".join([name, *rng.choice(words.split(), size=4)]))
            labels.append(name if name in KNOWN else None)
    method = KMeans(n_new=4, encoder=tiny_encoder, tune="heads", epochs=20, device="cpu")
    folder = tmp_path_factory.mktemp("groups") / "model"
    method.fit(texts, labels).save(folder)
    return folder


@pytest.fixture
def folder(fitted, tmp_path):
    return shutil.copytree(fitted, tmp_path / "model")


def test_every_intent_has_a_path_of_named_groups(folder, tiny_encoder):
    result = newfound.group(folder, [2, 4], encoder=tiny_encoder)
    assert result.levels[0] == 2
    assert 2 <= result.levels[1] <= 4
    assert len(result.intents) == 8
    groups = read_groups(folder)
    paths = set(groups.values())
    assert all(len(path) == 2 for path in paths)
    assert len({path[0] for path in paths}) == 2
    assert len({path[1] for path in paths}) == len(paths), "a name belongs to one group"
    assert {i.path for i in result.intents} == {"/".join(path) for path in paths}
    newfound.group(folder, [2, 4], encoder=tiny_encoder)
    assert read_groups(folder) == groups, "the same each time"


def test_paths_ids_and_thresholds_are_the_same_in_every_interface(folder, tiny_folder, tiny_encoder, tmp_path):
    done = command("group", folder, "--encoder", tiny_folder)
    assert done.returncode == 0, done.stderr
    described = json.loads(command("inspect", folder, "--json").stdout)["intents"]
    by_name = {one["name"]: (one["id"], one["path"]) for one in described}
    newfound.thresholds(folder, 0.9)
    texts = ["pay bill money", "water gas leak", "solar power light", "when"]
    predictions = newfound.predict(folder, texts, encoder=tiny_encoder, device="cpu")
    assert all((p.intent_id, p.path) == by_name[p.intent] for p in predictions)
    assert {p.above_threshold for p in predictions} == {True, False}
    expected = [[p.intent_id, p.path, str(p.above_threshold).lower()] for p in predictions]

    def shown(rows):
        return [[row["intent_id"], row["path"], str(row["above_threshold"]).lower()] for row in rows]

    (tmp_path / "texts.txt").write_text("\n".join(texts))
    readers = {
        "jsonl": lambda out: map(json.loads, out.read_text().splitlines()),
        "csv": lambda out: csv.DictReader(out.open()),
        "parquet": lambda out: pytest.importorskip("pyarrow.parquet").read_table(out).to_pylist(),
    }
    for ending, read in readers.items():
        out = tmp_path / f"out.{ending}"
        done = command("predict", folder, tmp_path / "texts.txt", "--encoder", tiny_folder, "--out", out, "--top", 2)
        assert done.returncode == 0, done.stderr
        assert shown(read(out)) == expected
    none = newfound.predict(folder, texts, encoder=tiny_encoder, device="cpu", threshold=1.0)
    assert {(p.intent, p.intent_id, p.path, p.above_threshold) for p in none} == {(None, None, None, False)}
    with serving.client_of(folder, tiny_encoder) as client:
        assert shown(client.post("/v1/predict", json={"texts": texts}).json()["predictions"]) == expected
        listed = client.get("/v1/intents").json(), client.get("/v1/review/state").json()["intents"]
        newfound.group(folder, [2, 4], encoder=tiny_encoder)

        def has_two_levels():
            after = client.post("/v1/predict", json={"texts": texts}).json()["predictions"]
            return all(a["path"].count("/") == 1 for a in after)

        assert until(has_two_levels), "what is served has the new groups within a second"
    for intents in (described, *listed):
        assert {i["name"]: (i["id"], i["path"]) for i in intents} == by_name


def test_decisions_do_not_break_groups(folder, tiny_encoder):
    newfound.group(folder, encoder=tiny_encoder)
    before = {i.name: i for i in newfound.load(folder, encoder=tiny_encoder).intents}
    first, second, third, fourth = (i for i in before.values() if not i.known)
    decisions = [
        Decision("rename", {"intent": first.name, "to": "renamed"}),
        Decision("merge", {"intents": [second.name], "into": third.name}),
        Decision(
            "split",
            {"intent": fourth.name, "into": {"a": list(fourth.exemplars[:2]), "b": list(fourth.exemplars[2:4])}},
        ),
        Decision("move", {"texts": list(before["card"].exemplars[:2]), "to": first.name, "create": True}),
    ]
    ReviewStore(folder).decide(decisions, author="ana")
    reviewed = newfound.load(folder, encoder=tiny_encoder)
    after = {i.name: i for i in reviewed.intents}
    assert (after["renamed"].id, after["renamed"].path) == (first.id, first.path)
    assert (after[third.name].id, after[third.name].path) in [(second.id, second.path), (third.id, third.path)]
    assert after["a"].path == after["b"].path == fourth.path, "parts are where the whole was"
    assert after[first.name].path is None, "an intent that was made later is in no group, whatever it is called"
    assert len({i.id for i in after.values()}) == len(after)
    newfound.group(folder, encoder=tiny_encoder)
    assert read_groups(folder).keys() == {i.id for i in after.values()}


def test_exports_have_the_path_after_the_columns_that_were_there(folder, tiny_encoder, tmp_path):
    export = ("export", folder, "--with-guesses", "--force", "--to")
    assert command(*export, "csv", "--out", tmp_path / "a.csv").returncode == 0
    assert next(csv.reader((tmp_path / "a.csv").open())) == ["text", "label"], "as it was without groups"
    result = newfound.group(folder, encoder=tiny_encoder)
    paths = {intent.name: intent.path for intent in result.intents}
    assert command(*export, "csv", "--out", tmp_path / "a.csv").returncode == 0
    rows = list(csv.DictReader((tmp_path / "a.csv").open()))
    assert list(rows[0]) == ["text", "label", "path"]
    assert all(row["path"] == paths[row["label"]] for row in rows)
    assert command(*export, "jsonl", "--out", tmp_path / "a.jsonl").returncode == 0
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert lines == rows
    assert command(*export, "parquet", "--out", tmp_path / "a.parquet").returncode == 0
    assert pytest.importorskip("pyarrow.parquet").read_table(tmp_path / "a.parquet").to_pylist() == rows
    with serving.client_of(folder, tiny_encoder) as client:
        answer = client.get("/v1/export/csv", params={"with_guesses": True})
    assert answer.content == (tmp_path / "a.csv").read_bytes()


def test_bad_input_is_one_line(folder, saved, tiny_encoder, tiny_folder, tmp_path):
    for levels, said in (("1", "from 2 to 4"), ("9", "from 2 to 4"), ("two", "whole numbers"), ("2,", "whole numbers")):
        done = command("group", folder, "--levels", levels, "--encoder", tiny_folder)
        assert done.returncode == 2
        assert said in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
    with pytest.raises(SettingsError, match="5 intents; at least 6"):
        newfound.group(saved, encoder=tiny_encoder)
    assert not (folder / GROUPS_FILE).exists()
    newfound.load(folder, encoder=tiny_encoder).reviewed.model.save(tmp_path / "bare", with_utterances=False)
    with pytest.raises(ModelError, match="saved without its utterances"):
        newfound.group(tmp_path / "bare", encoder=tiny_encoder)
    for content in ("{", "[]", '{"paths": {"a": "b"}}', '{"paths": {"a": [""]}}', '{"paths": 3}'):
        (folder / GROUPS_FILE).write_text(content)
        done = command("predict", folder, "--encoder", tiny_folder, stdin="pay\n")
        assert done.returncode == 2
        assert "groups.json: damaged" in done.stderr
        assert "remove it, and make it again" in done.stderr


def test_a_model_in_the_place_of_another_has_no_groups(folder, tiny_encoder):
    write_groups(folder, {"a": ("b",)})
    newfound.load(folder, encoder=tiny_encoder).reviewed.model.save(folder, overwrite=True)
    assert read_groups(folder) == {}


@pytest.mark.parametrize(("id", "path"), [("a", "x/y"), ("a.0", "x/y"), ("a.0.1", "z"), ("a.1.2", "x/y"), ("b", None)])
def test_a_part_is_in_the_groups_of_the_whole(id, path):
    assert path_of(id, {"a": ("x", "y"), "a.0.1": ("z",)}) == path
