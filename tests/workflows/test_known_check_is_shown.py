"""The command line, the report, Python and HTTP show how known intents do on held-out labels."""

from __future__ import annotations

import json
import re
from dataclasses import asdict

import pytest

from commands import newfound
from newfound.data.corpus import Corpus
from newfound.model.folder import load
from newfound.model.types import KnownCheck
from newfound.review.reviewed import load_reviewed
from newfound.workflows import discovery, updating

CHECKS = {
    "none": None,
    "steady": KnownCheck(labels=120, plain=0.9333, now=0.9083, lost=5, gained=2),
    "fallen": KnownCheck(labels=120, plain=0.9333, now=0.8, lost=19, gained=3),
}


@pytest.fixture(params=CHECKS)
def check(request):
    return CHECKS[request.param]


@pytest.fixture
def folder(check, folder):
    """A model whose provenance has a check, or none."""
    about = json.loads((folder / "model.json").read_bytes())
    about["provenance"]["known_check"] = None if check is None else asdict(check)
    (folder / "model.json").write_text(json.dumps(about), "utf-8")
    return folder


def says(text: str, check: KnownCheck | None) -> bool:
    """Whether a text says what a check found, and gives advice only where known intents fall."""
    flat = " ".join(re.sub("<[^>]+>", "", text).split())
    said = "held-out labels" not in flat if check is None else check.sentence in flat
    return said and (KnownCheck.advice in flat) is (check is not None and check.falls)


def test_commands_and_the_report_say_it(check, folder, tiny_encoder, tmp_path, monkeypatch):
    model, reviewed = load(folder, encoder=tiny_encoder), load_reviewed(folder, encoder=tiny_encoder)
    found = discovery.DiscoverResult(model, folder, Corpus.of(["pay"]))
    trained = updating.RefitResult(model, None, updating.changes_of_refit(reviewed, model))
    assert found.known_check == trained.known_check == check
    monkeypatch.setattr(discovery, "discover", lambda *arguments, **keywords: found)
    monkeypatch.setattr(updating, "refit", lambda *arguments, **keywords: trained)
    (tmp_path / "decisions.yaml").write_text(f"- accept: {next(i.name for i in model.intents if not i.known)}")
    page = tmp_path / "page.html"
    for command in (
        ("discover", "known.csv", "--out", folder),
        ("inspect", folder),
        ("report", folder, "--out", page, "--encoder", tiny_encoder.name),
        ("review", "apply", folder, tmp_path / "decisions.yaml", "--refit", "--out", tmp_path / "out"),
    ):
        done = newfound(*command)
        assert done.returncode == 0, done.stderr
        assert command[0] == "report" or says(done.stdout, check)
    report = page.read_text("utf-8")
    assert says(report[report.index("<h1>") : report.index("Map of the logs")], check)


def test_answers_over_http_have_it(check, folder, tiny_encoder):
    serving = pytest.importorskip("serving", reason="extra `serve` not installed")
    with serving.client_of(folder, tiny_encoder) as client:
        sent = client.get("/v1/review/state").json()["progress"]["known_check"]
    assert sent == (None if check is None else asdict(check))
