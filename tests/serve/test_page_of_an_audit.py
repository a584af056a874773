"""The audit on the page."""

from __future__ import annotations

from browsing import decisions, to_view

from newfound.model.beside import load_answers

pytest_plugins = ["browsing_fixtures"]


def test_answers_by_keys_are_kept_and_change_nothing(page, tmp_path):
    to_view(page, "audit")
    page.wait_for_selector("text=Does it belong to")
    first = page.locator(".big").text_content()
    page.keyboard.press("y")
    page.wait_for_selector("text=from 1 answer")
    second = page.locator(".big").text_content()
    assert second != first
    page.keyboard.press("n")
    page.wait_for_selector("text=from 2 answers")
    page.keyboard.press("s")
    page.wait_for_function("before => document.querySelector('.big')?.textContent !== before", arg=second)
    (folder,) = [path.parent for path in tmp_path.rglob("audit.json")]
    assert {text: belongs for (text, _), belongs in load_answers(folder).items()} == {first: True, second: False}
    assert decisions(page) == []
