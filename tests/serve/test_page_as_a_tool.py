"""The review page as a tool: finding one's way, no accidents, many intents at once, two people at once."""

from __future__ import annotations

import shutil

from browsing import answer_dialog, decisions, names, open_intent, press, row_of, said, section, to_view
from serving import server_of

pytest_plugins = ["browsing_fixtures"]


def scrolled(page):
    return page.evaluate("scrollY")


def test_an_intent_opens_at_its_top_and_leads_to_the_next(page):
    page.set_viewport_size({"width": 1000, "height": 420})
    names(page)
    page.click("summary:has-text('Known intents')")
    order = page.locator("a.name").all_text_contents()
    page.locator("a.name").last.click()
    page.wait_for_selector(f"h2:has-text('{order[-1]}')")
    assert scrolled(page) == 0
    page.go_back()
    page.wait_for_selector("h2:has-text('Intents')")
    page.wait_for_function("() => scrollY > 0")  # the list is where it was left
    open_intent(page, order[0])
    page.evaluate("scrollTo(0, 9999)")
    page.locator("a:has-text('Next ›')").last.click()
    page.wait_for_selector(f"h2:has-text('{order[1]}')")
    assert scrolled(page) == 0
    page.keyboard.press("k")
    page.wait_for_selector(f"h2:has-text('{order[0]}')")


def test_messages_stay_in_sight_and_go_away_when_they_are_stale(page):
    page.set_viewport_size({"width": 1000, "height": 420})
    first, second = names(page)
    open_intent(page, first)
    page.evaluate("scrollTo(0, 9999)")
    page.locator("ul.utterances li button").last.click()
    answer_dialog(page, second)
    said(page, f"Moved to {second}")
    box = page.locator("#toast").bounding_box()
    assert scrolled(page) > 0
    assert 0 <= box["y"] <= 420 - box["height"], "in sight where the page is scrolled to"
    page.click("#undo-said")
    said(page, "Undone: Ana put")
    to_view(page, "queue")
    page.wait_for_selector(".big")
    assert not page.locator("#toast").is_visible()


def test_a_search_survives_a_move(page):
    page.fill("#search", "water")
    page.wait_for_selector("h2:has-text('with “water”')")
    hits = page.locator("ul.utterances li .text").all_text_contents()
    assert len(hits) > 4
    page.locator("ul.utterances li button").nth(0).click()
    assert page.locator("#ask-quotes").inner_text() == hits[0], "the dialog shows the utterance"
    answer_dialog(page, "pay")
    said(page, "Moved to pay")
    assert page.locator("ul.utterances li .text").all_text_contents() == hits
    for row in (1, 2):
        page.locator("ul.utterances li input").nth(row).check()
    page.click(".selection button:has-text('Move …')")
    assert page.locator("#ask-quotes li").all_text_contents() == hits[1:3]
    answer_dialog(page, "pay")
    page.wait_for_selector("ul.utterances li:nth-child(3) .facts:has-text('pay checked')")
    assert page.locator("#search").input_value() == "water"
    assert page.locator("ul.utterances li .facts").all_text_contents()[:3] == [" pay checked"] * 3


def test_rejected_intents_and_utterances_of_no_intent_have_a_place(page):
    first, _ = names(page)
    open_intent(page, first)
    page.locator("ul.utterances li input").first.check()
    page.click(".selection button:has-text('No intent')")
    said(page, "1 utterance of no intent now")
    page.click("button:has-text('Reject')")
    said(page, f"Rejected {first}")
    to_view(page, "intents")
    page.click("main a:has-text('of no intent')")
    page.wait_for_selector("h3:has-text('Rejected intents (1)')")
    assert page.locator("ul.utterances li").count() > 5
    page.click(f"button[aria-label='Bring back {first}']")
    page.wait_for_selector("h3:has-text('Rejected intents (0)')")
    assert page.locator("ul.utterances li").count() == 1, "what was put there by hand stays"
    page.locator("ul.utterances li button").click()
    answer_dialog(page, "leak")
    page.wait_for_selector("text=Every utterance belongs to an intent.")


def test_any_step_of_the_history_can_be_undone(page):
    first, second = names(page)
    for name in (first, second):
        page.click(f"button[aria-label='Accept {name}']")
        said(page, f"Accepted {name}")
    open_intent(page, second)
    page.click("button:has-text('Rename')")
    answer_dialog(page, "other")
    said(page, "Renamed to other")
    to_view(page, "history")
    page.click(f"button[aria-label='Undo: Ana accepted {first}']")
    said(page, f"Undone: Ana accepted {first}")
    assert [entry["undone_by"] for entry in decisions(page)] == ["Ana", None, None]
    assert page.locator("tr.undone .words").all_text_contents() == [f"accepted {first}"]


def test_terms_are_explained_in_place(page):
    names(page)
    for word, where in (("expected error", "header"), ("Certainty", "main")):
        page.hover(f"{where} .word:has-text('{word}')")
        assert page.locator(f"{where} .tip:visible").count() == 1
    to_view(page, "queue")
    page.focus("main .word:has-text('expected error')")
    assert "probably wrong" in page.locator("main .tip:visible").first.inner_text()


def test_a_name_that_does_not_exist_is_asked_about(page):
    first, second = names(page)
    open_intent(page, first)
    page.locator("ul.utterances li button").first.click()
    answer_dialog(page, second[:-1])  # a slip of the finger
    page.wait_for_selector("#ask-problem:has-text('There is no intent')")
    assert decisions(page) == [], "Enter alone makes no intent"
    nearest = page.locator("#ask-choices button").first
    assert nearest.inner_text().split()[0] == second, "the nearest comes first"
    nearest.click()
    said(page, f"Moved to {second}")
    page.locator("ul.utterances li button").first.click()
    answer_dialog(page, "entirely_new")
    page.click("button:has-text('Make the new intent')")
    said(page, "Made entirely_new")
    assert [entry["arguments"].get("create") for entry in decisions(page)] == [None, True]
    to_view(page, "queue")
    page.wait_for_selector(".big")
    press(page, "n")
    answer_dialog(page, second)
    page.wait_for_selector("#ask-problem:has-text('already')")
    page.keyboard.press("Escape")
    assert len(decisions(page)) == 2


def test_the_list_filters_sorts_and_handles_several(page):
    first, second = names(page)
    page.fill("#filter", second)
    assert page.locator(".new-intents a.name").all_text_contents() == [second]
    page.fill("#filter", "")
    page.select_option("#sort", "name")
    assert page.locator(".new-intents a.name").all_text_contents() == sorted([first, second])
    page.select_option("#sort", "size")
    cells = page.locator(".new-intents td.traffic")
    sizes = cells.evaluate_all("(cells) => cells.map((cell) => parseInt(cell.title))")
    assert sizes == sorted(sizes, reverse=True)

    page.click("#accept-above")
    page.fill("#ask-value", "0")
    page.wait_for_selector("#ask-choices:has-text('2 new intents')")
    page.fill("#ask-value", "101")
    page.keyboard.press("Enter")
    page.wait_for_selector("#ask-problem:has-text('No new intent is that certain')")
    answer_dialog(page, "0")
    said(page, "Accepted 2 intents")
    page.select_option("#show", "new")
    page.wait_for_selector(".new-intents:has-text('None.')")
    page.select_option("#show", "accepted")
    for name in (first, second):
        page.check(f"input[aria-label='Select {name}']")
    page.click(".selection button:has-text('Merge …')")
    answer_dialog(page, second)
    said(page, f"Merged 1 intent into {second}")
    assert page.locator(".new-intents a.name").all_text_contents() == [second]
    page.reload()


def test_pairs_stand_side_by_side_and_one_key_moves_an_utterance(page):
    to_view(page, "pairs")
    page.wait_for_selector("h2:has-text('Mixed-up pairs')")
    first, second = names(page)
    to_view(page, f"pair/{first}/{second}")
    page.wait_for_selector("li.marked")
    left, right = (page.locator(".side-by-side h3 a").nth(i).text_content() for i in (0, 1))
    texts = page.locator(".side-by-side").nth(0).locator(".text").all_text_contents()
    page.keyboard.press("m")
    page.wait_for_selector("#progress-text:has-text('1 utterance checked')")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("a")
    page.wait_for_selector("#progress-text:has-text('2 utterances checked')")
    moved, kept = (entry["arguments"] for entry in decisions(page))
    assert moved == {"texts": [texts[0]], "to": right}
    assert kept == {"texts": [texts[2]], "to": left}
    page.keyboard.press("u")
    page.wait_for_selector("#progress-text:has-text('1 utterance checked')")


def test_comments_are_kept_with_an_intent(page):
    first, _ = names(page)
    open_intent(page, first)
    page.click("summary:has-text('Comment')")
    page.fill("#comment", "Is this <b>one</b> intent?\nAsk Bo.")
    page.click("button:has-text('Add the comment')")
    said(page, "Comment added")
    assert page.locator(".comment .lines").inner_text() == "Is this <b>one</b> intent?\nAsk Bo."
    assert page.locator("#comment").input_value() == ""
    to_view(page, "intents")
    row_of(page, first).get_by_text("1 comment").wait_for()


def test_several_sentences_at_once(page):
    to_view(page, "try")
    page.fill("#try-text", "pay the bill\n\nbrown water leak\nsolar power back")
    page.click("button:has-text('Classify')")
    page.wait_for_selector("h3:has-text('3 sentences')")
    rows = page.locator("tbody tr:visible")
    assert rows.count() == 3
    intents = [row.locator("a.name").text_content() for row in rows.all()]
    page.click("button[aria-label='Why “pay the bill”?']")
    page.wait_for_selector("h3:has-text('Nearest utterances')")
    assert page.locator(".big a.name").text_content() == intents[0]


def test_two_reviewers_see_each_other_and_keep_what_they_typed(page, browser):
    first, second = names(page)
    other = browser.new_context().new_page()
    other.goto(page.url.split("#")[0] + "#intents")
    other.fill("#author", "Bo")

    other.click(f"button[aria-label='Accept {first}']")
    said(other, f"Accepted {first}")
    page.click(f"button[aria-label='Accept {second}']")
    said(page, f"Accepted {second}")  # it is about another intent, so it is no conflict
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
    section(page, "A possible split").locator("input").first.fill("my part")
    open_intent(other, second)
    other.click("button.main:has-text('Accept')")
    said(other, f"Accepted {second}")
    page.wait_for_selector(f"#said:has-text('Bo accepted {second}')")
    assert section(page, "A possible split").locator("input").first.input_value() == "my part", (
        "news do not take away what was typed"
    )
    other.context.close()


def test_a_restarted_server_is_found_again(browser, saved, tmp_path, tiny_encoder):
    """Without a token: the page says that the server is away, and decides again once it is back."""
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
    with server_of(folder, tiny_encoder, port=int(address.rpartition(":")[2])):
        page.wait_for_selector("#notice", state="hidden")
        page.wait_for_selector("#toast", state="hidden")
        to_view(page, "intents")
        page.click(f"button[aria-label='Accept {first}']")
        said(page, f"Accepted {first}")
    context.close()
