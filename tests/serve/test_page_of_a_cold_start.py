"""The review page of a model that began without any known intent."""

from __future__ import annotations

import pytest
from browsing import accept, names, to_view

import newfound
from conftest import themed_corpus

pytest_plugins = ["browsing_fixtures"]
VIEWS = {
    "queue": "Review",
    "pairs": "Mixed-up",
    "none": "Rejected",
    "map": "Map",
    "history": "History",
    "train": "Train",
}


@pytest.fixture(scope="module")
def saved(tiny_encoder, tmp_path_factory):
    """A model of logs alone, in the place of the one with known intents."""
    folder = tmp_path_factory.mktemp("cold") / "model"
    texts = themed_corpus(per_theme=24).texts
    newfound.discover(logs=texts, out=folder, n_new=5, encoder=tiny_encoder, device="cpu")
    return folder


def test_every_view_works_and_accepted_intents_are_known_after_a_refit(page):
    found = names(page)
    assert len(found) == 5
    accept(page, found[0])
    for view, heading in VIEWS.items():
        to_view(page, view, heading)
    page.click("#refit")
    page.click("button:has-text('Use model-2')", timeout=300_000)
    page.wait_for_selector("h3:has-text('model-2 is in use')")
    to_view(page, "intents")
    page.wait_for_selector("details.known:has-text('Known intents (1)')")
