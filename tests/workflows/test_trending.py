"""Days stay with utterances through a model's folder and updates; volumes by week; what newer logs say."""

from __future__ import annotations

import csv
import json

import pytest

import newfound
from commands import newfound as command
from newfound.errors import ModelError
from newfound.intents.volume import weekly_volumes
from newfound.report.page import write_page

FRESH = ["solar car charge", "car charge solar today", "charge my solar car", "solar charge late", "car solar bad"]


def _write(path, rows, header=("text", "date")):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory, themed, tiny_encoder):
    base = tmp_path_factory.mktemp("trends")
    days = [f"2024-03-{day:02}" for day in (4, 11, 18, 25)]
    logs = _write(base / "logs.csv", [(t, days[i % 4]) for i, t in enumerate(themed.unlabelled().texts)])
    known = (list(themed.labelled().texts), list(themed.labelled().labels))
    newfound.discover(known, logs, base / "model", encoder=tiny_encoder, n_new=2, device="cpu")
    return base


def test_days_are_kept_and_volumes_are_described(folder, tiny_encoder, tmp_path, tiny_folder):
    model = newfound.load(folder / "model", encoder=tiny_encoder)
    dated = [u for u in model.utterances if u.days]
    assert dated
    assert all(u.days[0][0].startswith("2024-03-") for u in dated)
    assert sum(n for u in dated for _, n in u.days) == sum(u.count for u in dated)
    volumes = [intent.volume for intent in model.intents]
    assert {v.first_week for v in volumes} == {"2024-03-04"}
    assert {len(v.counts) for v in volumes} == {4}
    assert {v.partial for v in volumes} == {()}, "all days are Mondays, so each week is whole"
    assert all(v.change == v.counts[3] - v.counts[2] for v in volumes)
    weeks = weekly_volumes([[("2024-03-06", 1), ("2024-03-17", 4), ("2024-03-24", 2), ("2024-03-26", 1)], []])
    assert (weeks[0].counts, weeks[0].partial, weeks[0].change) == ((1, 4, 2, 1), (0, 3), -2), "of whole weeks"
    assert {v.trend for v in volumes} <= {"steady", "rising", "fading", "new"}
    shown = command("inspect", folder / "model", "--encoder", tiny_folder).stdout
    assert "by week" in shown
    assert "steady" in shown
    write_page(model.reviewed, tmp_path / "report.html", title="model")
    assert "change in the last whole week" in (tmp_path / "report.html").read_text()
    newer = _write(tmp_path / "newer.csv", [*((u.text, "2024-04-01") for u in dated[:3]), *((t, "") for t in FRESH)])
    updated = newfound.update(folder / "model", newer, encoder=tiny_encoder, accept_all=True, n_new=1, device="cpu")
    again = {u.text: u.days for u in updated.model.utterances}
    assert all(("2024-04-01", 1) in again[u.text] for u in dated[:3])


def test_trends_by_python_and_command(folder, themed, tiny_encoder, tiny_folder, tmp_path):
    texts = themed.unlabelled().texts
    same = _write(tmp_path / "same.csv", [(t, "2024-04-01") for t in texts])
    nothing = newfound.trends(folder / "model", same, encoder=tiny_encoder)
    assert nothing.utterances == len(texts)
    assert not nothing.shifts
    one = _write(tmp_path / "one.csv", [(texts[0], "2024-04-01")] * 200)
    options = ("--encoder", tiny_folder, "--device", "cpu")
    done = command("trends", folder / "model", one, "--json", *options)
    assert done.returncode == 3, done.stderr
    result = json.loads(done.stdout)
    assert result["changed"]
    assert 200 in [shift["after"] for shift in result["shifts"]]
    fresh = [f"{a} {b} {c}" for a in "solar car charge".split() for b in FRESH for c in ("now", "soon", "cheap")]
    found = newfound.trends(folder / "model", [*texts, *fresh * 3], encoder=tiny_encoder)
    assert found.emerging, "every text of the model's logs came again, and these were never there"
    assert len(set(found.emerging[0].exemplars) & set(fresh)) >= 2
    assert found.emerging[0].size < 2 * len(fresh), "a repeat is no further utterance"
    quiet = command("trends", folder / "model", same, *options)
    assert quiet.returncode == (3 if nothing.changed else 0), quiet.stderr


def test_a_model_without_utterances(folder, tiny_encoder, tmp_path):
    model = newfound.load(folder / "model", encoder=tiny_encoder).reviewed.model
    model.save(tmp_path / "bare", with_utterances=False)
    with pytest.raises(ModelError, match="saved without its utterances"):
        newfound.trends(tmp_path / "bare", ["pay my bill"], encoder=tiny_encoder)
