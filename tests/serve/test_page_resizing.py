"""Coarser and finer on the page, with a slider, by keyboard and by a typed number."""

from __future__ import annotations

import json

import pytest
from browsing import decide_elsewhere, decisions, hear_nothing, said, section, to_view

from newfound.methods.kmeans import KMeans

pytest_plugins = ["browsing_fixtures"]


@pytest.fixture(scope="module")
def saved(tiny_encoder, themed, tmp_path_factory):
    """A model folder with five new intents and an unsure estimate of their number; not to be changed."""
    folder = tmp_path_factory.mktemp("many") / "model"
    method = KMeans(n_new=5, encoder=tiny_encoder, tune="heads", epochs=20, device="cpu")
    method.fit(themed.texts, themed.labels).save(folder)
    about = json.loads((folder / "model.json").read_text())
    about["provenance"]["estimate"] = {"n_new": 5, "low": 2, "high": 9}
    (folder / "model.json").write_text(json.dumps(about))
    return folder


def new_intents(page):
    return page.locator(".new-intents a.name").all_text_contents()


def wait_for_chosen(page, words):
    page.wait_for_selector(f".chosen:has-text('{words}')")


def test_by_keyboard_and_by_number_on_the_page(page):
    page.set_viewport_size({"width": 390, "height": 860})
    to_view(page, "intents")
    page.click("summary:has-text('Coarser or finer')")
    page.wait_for_selector("#resize:not([disabled])")
    before = new_intents(page)
    assert len(before) == 5
    card = section(page, "Coarser or finer")
    assert "about 5, between 2 and 9 in nine of ten cases" in card.inner_text()
    page.focus("#resize")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    wait_for_chosen(page, "3 new intents, 2 fewer than now")
    page.wait_for_selector("button:has-text('Apply'):enabled")
    assert card.locator("li .headline:has-text('Merge into')").count() >= 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert decisions(page) == [], "a preview records nothing"
    page.focus("button:has-text('Apply')")
    page.keyboard.press("Enter")
    said(page, "3 new intents now")
    wait_for_chosen(page, "3 new intents now")
    assert len(new_intents(page)) == 3
    page.click("#undo")
    said(page, "Undone")
    page.wait_for_function("() => document.querySelectorAll('.new-intents a.name').length === 5")
    assert sorted(new_intents(page)) == sorted(before)
    page.wait_for_selector("#resize:not([disabled])")
    page.press("#resize-number", "ArrowUp")
    card.locator("li .headline:has-text('Split')").first.wait_for()
    page.click("text=Leave it as it is")
    card.locator("li .headline").first.wait_for(state="detached")
    assert all(entry["undone_by"] for entry in decisions(page))

    most = page.evaluate("document.querySelector('#resize-number').max")
    for typed, words in (
        ("10", "10 new intents, 5 more than now"),
        ("999", f"{most} new intents"),  # also beyond the end of the slider
        ("", "5 new intents now"),
    ):
        page.fill("#resize-number", typed)
        page.press("#resize-number", "Enter")
        wait_for_chosen(page, words)

    page.press("#resize-number", "ArrowDown")
    page.wait_for_selector("button:has-text('Apply'):enabled")
    hear_nothing(page)
    decide_elsewhere(page, "Bo", {"accept": new_intents(page)[0]})
    page.click("button:has-text('Apply')")
    said(page, "Bo accepted")
    to_view(page, "history")
    page.wait_for_selector("td:has-text('accepted')")
    assert [entry["kind"] for entry in decisions(page) if not entry["undone_by"]] == ["accept"]
