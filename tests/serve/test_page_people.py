"""Several people and several servers: what others decide, restarts, and logins."""

from __future__ import annotations

import dataclasses
import shutil

from browsing import accept, answer_dialog, decisions, names, open_intent, press, row_of, said, section, to_view
from serving import QUIET, server_of

pytest_plugins = ["browsing_fixtures"]
TOKEN = "a-secret-of-24-characters"


def test_two_reviewers_see_each_other_and_keep_what_they_typed(page, browser):
    first, second = names(page)
    other = browser.new_context().new_page()
    other.goto(page.url.split("#")[0] + "#intents")
    other.fill("#author", "Bo")

    accept(other, first)
    accept(page, second)  # it is about another intent, so it is no conflict
    row_of(page, first).get_by_text("accepted", exact=True).wait_for()
    row_of(other, second).get_by_text("accepted", exact=True).wait_for()  # without a reload
    said(other, f"Ana accepted {second}.")

    page.click("#undo")
    said(page, f"Undone: Ana accepted {second}")  # one's own last decision, not the last of all
    open_intent(page, first)
    page.click("button:has-text('Rename')")
    page.fill("#ask-value", "a_long_name_that_took_thought")
    open_intent(other, first)
    other.click("button:has-text('Rename')")
    answer_dialog(other, "bos_name")
    said(other, "Renamed to bos_name")
    page.keyboard.press("Enter")
    page.wait_for_selector("#ask-problem:has-text('Bo renamed')")
    assert page.locator("#ask-value").input_value() == "a_long_name_that_took_thought"
    page.keyboard.press("Escape")
    said(page, "Bo renamed")  # who did what, and what can be done about it
    page.click("#said-actions button:has-text('Bring back')")
    said(page, "Undone: Bo renamed")
    assert first in names(page)

    open_intent(page, second)
    part = section(page, "A possible split").locator("input").first
    part.fill("my part")
    open_intent(other, second)
    other.click("button.main:has-text('Accept')")
    said(other, f"Accepted {second}")
    said(page, f"Bo accepted {second}")
    assert part.input_value() == "my part", "news do not take away what was typed"
    other.context.close()


def test_a_restarted_server_is_found_again_and_may_ask_for_a_login(browser, saved, tmp_path, tiny_encoder):
    """The page says that its server is away, decides again once it is back, and comes back to its view by a login."""
    folder = shutil.copytree(saved, tmp_path / "model")
    context = browser.new_context()
    page = context.new_page()
    with server_of(folder, tiny_encoder) as address:
        page.goto(address)
        page.fill("#author", "Ana")
        first, _ = names(page)
        to_view(page, "queue")
        page.wait_for_selector(".big")
    press(page, "a")
    page.wait_for_selector("#said.bad:has-text('The server does not answer')")
    page.wait_for_selector("#notice:has-text('The server does not answer')")
    port = int(address.rpartition(":")[2])
    with server_of(folder, tiny_encoder, port=port):
        page.wait_for_selector("#notice", state="hidden")
        page.wait_for_selector("#toast", state="hidden")
        to_view(page, "intents")
        accept(page, first)  # although the new server has another secret

    def log_in(token):
        page.fill("#token", token)
        page.keyboard.press("Enter")

    with server_of(folder, tiny_encoder, dataclasses.replace(QUIET, token={"Ana Maria": TOKEN}), port=port):
        page.click("nav a:has-text('Queue')")
        page.wait_for_selector("main [role=alert]:has-text('You are logged out.')")
        page.click("main a:has-text('Log in again')")
        page.wait_for_selector("button:has-text('Log in')")  # its words come from scripts, which need no token
        log_in("wrong")
        page.wait_for_selector("[role=alert]")
        log_in(TOKEN)
        page.wait_for_selector(".big")
        assert page.url.endswith("#queue"), "the login leads back to where the reviewer was"
        assert page.locator("#person").text_content() == "Ana Maria"
        assert page.locator("#author").count() == 0
        press(page, "a")
        page.wait_for_selector("#progress-text:has-text('1 utterance checked')")
        assert [entry["author"] for entry in decisions(page)] == ["Ana", "Ana Maria"]
        page.click("#logout")
        page.wait_for_selector("#token")
        page.goto(address)
        assert page.url.endswith("/login")
    context.close()
