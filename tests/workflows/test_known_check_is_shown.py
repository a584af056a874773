"""The command line, the report, Python and HTTP show how known intents do on held-out labels."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from commands import newfound
from newfound.cli.discover import _print_result
from newfound.data.corpus import Corpus
from newfound.model.folder import load
from newfound.model.types import KnownCheck
from newfound.report.page import write_page
from newfound.review.reviewed import load_reviewed
from newfound.workflows import refitting
from newfound.workflows.discovery import DiscoverResult

CHECKS = {
    "steady": KnownCheck(labels=120, plain=0.9333, now=0.9083, lost=5, gained=2),
    "fallen": KnownCheck(labels=120, plain=0.9333, now=0.8, lost=19, gained=3),
}


@pytest.fixture(params=[None, *CHECKS])
def check(request):
    return CHECKS.get(request.param)


@pytest.fixture
def folder(check, saved, tmp_path):
    """A model whose provenance has a check, or none."""
    copy = shutil.copytree(saved, tmp_path / "model")
    about = json.loads((copy / "model.json").read_bytes())
    about["provenance"].pop("known_check", None)
    if check is not None:
        about["provenance"]["known_check"] = check.as_dict()
    (copy / "model.json").write_text(json.dumps(about), "utf-8")
    return copy


def says(text: str, check: KnownCheck | None) -> bool:
    """Whether a text says what a check found, and gives advice only where known intents fall."""
    flat = " ".join(re.sub("<[^>]+>", "", text).split())
    said = "held-out labels" not in flat if check is None else check.sentence in flat
    return said and (KnownCheck.advice in flat) is (check is not None and check.falls)


def test_summaries_and_inspect_say_it(check, folder, tiny_encoder, capsys):
    result = DiscoverResult(load(folder, encoder=tiny_encoder), folder, Corpus.of(["pay"]))
    assert result.known_check == check
    _print_result(result, folder)
    printed = capsys.readouterr().out
    assert says(printed, check)
    assert ("--n-new" in printed) is (check is not None and check.falls)
    assert says(newfound("inspect", folder).stdout, check)


def test_a_refit_says_it(check, folder, tiny_encoder, tmp_path, monkeypatch):
    model = load(folder, encoder=tiny_encoder)
    result = refitting.RefitResult(model, None, refitting.compare(load_reviewed(folder, encoder=tiny_encoder), model))
    assert result.known_check == check
    monkeypatch.setattr(refitting, "refit", lambda request, reporter: result)
    new = next(intent.name for intent in model.intents if not intent.known)
    (tmp_path / "decisions.yaml").write_text(f"- accept: {new}")
    done = newfound("review", "apply", folder, tmp_path / "decisions.yaml", "--refit", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert says(done.stdout, check)


def test_the_report_says_it(check, folder, tiny_encoder, tmp_path):
    write_page(load_reviewed(folder, encoder=tiny_encoder), tmp_path / "page.html", title="bot")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert says(page[page.index("<h1>") : page.index("Map of the logs")], check)


def test_answers_over_http_have_it(check, folder, tiny_encoder):
    pytest.importorskip("fastapi", reason="extra `serve` not installed")
    from starlette.testclient import TestClient

    from newfound.serve.app import create_app
    from newfound.serve.background.work import _discovered

    with TestClient(create_app(folder, encoder=tiny_encoder), base_url="http://127.0.0.1") as client:
        sent = client.get("/v1/review/state").json()["progress"]["known_check"]
    assert sent == (None if check is None else check.as_dict())
    found = DiscoverResult(load(folder, encoder=tiny_encoder), None, Corpus.of(["pay"]))
    assert _discovered(found).known_check == check
