"""The audit on the page."""

from __future__ import annotations

from browsing import decisions, names, press, said, to_view

from newfound.model.sidecars import load_answers

pytest_plugins = ["browsing_fixtures"]


def test_answers_by_keys_are_kept_change_nothing_and_can_be_undone(page, tmp_path):
    first_intent = names(page)[0]
    page.click(f"button[aria-label='Accept {first_intent}']")
    said(page, f"Accepted {first_intent}")
    to_view(page, "audit")
    page.wait_for_selector("text=Does it belong to")
    first = page.locator(".big").text_content()
    press(page, "y")
    page.wait_for_selector("text=from 1 answer")
    second = page.locator(".big").text_content()
    assert second != first
    press(page, "n")
    page.wait_for_selector("text=from 2 answers")
    (folder,) = [path.parent for path in tmp_path.rglob("audit.json")]
    assert {text: belongs for (text, _), belongs in load_answers(folder).items()} == {first: True, second: False}
    press(page, "u")
    said(page, f"Your answer about “{second}” is undone")
    assert page.locator(".big").text_content() == second
    page.wait_for_timeout(300)
    page.click("#undo")
    said(page, f"Your answer about “{first}” is undone")
    page.click("#undo")
    said(page, "There is no answer of yours")
    assert load_answers(folder) == {}
    press(page, "s")
    page.wait_for_function("before => document.querySelector('.big')?.textContent !== before", arg=first)
    assert [(entry["kind"], entry["undone_by"]) for entry in decisions(page)] == [("accept", None)]
