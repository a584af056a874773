"""The review page of a model that began without any known intent."""

from __future__ import annotations

import pytest
from browsing import decisions, names, press, said, to_view

import newfound
from conftest import themed_corpus

pytest_plugins = ["browsing_fixtures"]
VIEWS = {
    "intents": "Intents",
    "queue": "Review queue",
    "pairs": "Mixed-up pairs",
    "none": "No intent",
    "map": "Map",
    "try": "Try",
    "history": "History",
    "train": "Train",
    "export": "Export",
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
    for view, heading in VIEWS.items():
        to_view(page, view)
        page.wait_for_selector(f"h2:has-text('{heading}')")
    to_view(page, "queue")
    page.wait_for_selector(".card.stage .big")
    press(page, "a")
    said(page, " is ")
    first = names(page)[0]
    page.click(f"button[aria-label='Accept {first}']")
    said(page, f"Accepted {first}")
    assert len(decisions(page)) == 2
    to_view(page, "train")
    page.click("#refit")
    page.click("button:has-text('Use model-2')", timeout=300_000)
    page.wait_for_selector("h3:has-text('model-2 is in use')")
    to_view(page, "intents")
    page.wait_for_selector("details.known:has-text('Known intents (1)')")
