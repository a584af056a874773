"""Utterances on the review page: searched, selected, moved, compared, audited."""

from __future__ import annotations

from browsing import accept, answer_dialog, change_answers, decisions, fetched, names, open_intent, press, said, to_view

from conftest import HOSTILE
from newfound.model.sidecars import load_answers

pytest_plugins = ["browsing_fixtures"]
BOXES = "ul.utterances li input"


def search(page, words):
    page.fill("#search", words)
    page.wait_for_selector(f"h2:has-text('with “{words}”')")
    return fetched(page, f"/v1/review/search?q={words}&logs_only=true")


def selected(page):
    return int(page.locator(".selection strong").text_content().split()[0].replace(",", ""))


def test_utterances_are_searched_selected_and_moved_with_one_decision(page):
    before = search(page, "a")["utterances"]
    hits = page.locator("ul.utterances li .text").all_text_contents()
    page.locator(BOXES).nth(1).click()
    page.locator(BOXES).nth(10).click(modifiers=["Shift"])
    assert selected(page) == 10
    page.click(".selection button:has-text('Move …')")
    assert page.locator("#ask-quotes li").all_text_contents()[:8] == hits[1:9], "the dialog shows utterances"
    page.wait_for_selector("#ask-note .losses .name")
    taken = [u["intent"] for u in before[1:11]]
    shown = page.locator("#ask-note .losses li").all_text_contents()
    for name in set(taken):
        assert any(line.startswith(f"{taken.count(name)} of ") and line.endswith(name) for line in shown), shown
    answer_dialog(page, "pay")
    said(page, f"Moved {10 - taken.count('pay')} utterances to pay")  # the others are there already
    (entry,) = decisions(page)
    assert entry["arguments"]["texts"] == [u["text"] for u in before[1:11]]
    assert page.locator(".selection").is_hidden()
    assert page.locator("ul.utterances li .text").all_text_contents() == hits, "a search survives a move"
    assert page.locator("ul.utterances li .facts").all_text_contents()[1:11] == [" pay checked"] * 10
    page.click("#undo-said")
    said(page, "Undone")
    assert fetched(page, "/v1/review/search?q=a&logs_only=true")["utterances"] == before

    page.locator(BOXES).nth(2).focus()
    for key in ("ArrowDown", "Shift+ArrowDown", "Shift+ArrowDown"):
        page.keyboard.press(key)
    assert [k for k in range(8) if page.locator(BOXES).nth(k).is_checked()] == [3, 4, 5]
    page.keyboard.press("Space")
    assert selected(page) == 2
    page.click(".selection button:has-text('Clear')")
    assert page.locator(".selection").is_hidden()
    page.locator("ul.utterances .text").nth(0).click()
    page.locator("ul.utterances .text").nth(2).click(modifiers=["Shift"])
    page.click(".selection button:has-text('No intent')")
    page.wait_for_selector("#ask-note .losses .name")
    assert len(decisions(page)) == 1, "several are put into no intent after a question"
    page.click("#ask-ok")
    said(page, "3 utterances of no intent now")

    search(page, "water")
    assert page.locator("ul.utterances .facts:has-text('labelled')").count() == 0, "the logs are searched by default"
    page.get_by_label("Logs only").uncheck()
    search(page, "a")
    found = fetched(page, "/v1/review/search?q=a")
    page.wait_for_selector(f"h2:has-text('{found['total']} utterances with')")
    assert found["total"] > page.locator(BOXES).count() == 100
    page.get_by_label(f"Select all {found['total']}").check()
    assert selected(page) == found["total"], "beyond those that are shown"
    page.click("button:has-text('Show more')")
    page.wait_for_function("(n) => document.querySelectorAll('ul.utterances li').length > n", arg=100)
    assert page.locator(f"{BOXES}:checked").count() == page.locator(BOXES).count(), "what is read later is selected too"
    page.wait_for_selector("ul.utterances .facts:has-text('labelled')")
    open_intent(page, "pay")
    assert page.locator("ul.utterances .facts:has-text('labelled')").count() > 0
    page.get_by_label("Logs only").check()
    page.wait_for_selector("ul.utterances .facts:has-text('labelled')", state="detached")
    search(page, "water")
    assert not page.get_by_label("Logs only").is_checked(), "the choice stays"
    text = page.locator("ul.utterances .text").first.text_content()
    page.locator("ul.utterances a:has-text('Similar')").first.click()
    page.wait_for_selector("h2:has-text('Utterances like')")
    assert page.locator("ul.utterances .text").first.text_content() == text, "nothing is more like it"
    search(page, "a")
    page.get_by_label(f"Select all {found['total']}").check()
    page.click(".selection button:has-text('New intent …')")
    assert page.locator("#ask-title").text_content() == f"A new intent of {found['total']} utterances"
    answer_dialog(page, "everything")
    said(page, "Made everything")
    assert len(decisions(page)[-1]["arguments"]["texts"]) == found["total"]


def test_markup_in_the_logs_is_text(page):
    page.fill("#search", "document.title")
    page.wait_for_selector(f'li:has-text("{HOSTILE}")')
    page.click("nav a:has-text('Try it')")
    page.fill("#try-text", "<img src=x onerror=\"document.title='owned'\">")
    page.click("button:has-text('Classify')")
    page.wait_for_selector(".big")
    assert "owned" not in page.title()


def test_rejected_intents_and_utterances_of_no_intent_have_a_place(page):
    first, _ = names(page)
    open_intent(page, first)
    page.locator(BOXES).first.check()
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
    page.locator("ul.utterances li button[aria-label^=Move]").click()
    answer_dialog(page, "leak")
    page.wait_for_selector("text=Every utterance belongs to an intent.")


def test_pairs_stand_side_by_side_and_one_key_moves_an_utterance(page):
    to_view(page, "pairs", "Mixed-up pairs")
    assert page.locator("tbody tr").count() == len(fetched(page, "/v1/review/pairs"))
    first, second = names(page)
    to_view(page, f"pair/{first}/{second}")
    page.wait_for_selector("li.marked")
    left, right = (page.locator(".side-by-side h3 a").nth(i).text_content() for i in (0, 1))
    texts = page.locator(".side-by-side").nth(0).locator(".text").all_text_contents()
    press(page, "m")
    said(page, f"is {right}")
    press(page, "ArrowDown")
    page.keyboard.press("a")
    said(page, f"is {left}")
    moved, kept = (entry["arguments"] for entry in decisions(page))
    assert moved == {"texts": [texts[0]], "to": right}
    assert kept == {"texts": [texts[2]], "to": left}
    press(page, "u")
    page.wait_for_selector("#progress-text:has-text('1 utterance checked')")


def test_answers_of_an_audit_are_kept_change_nothing_and_can_be_undone(page, tmp_path):
    accept(page, names(page)[0])
    to_view(page, "audit")
    page.wait_for_selector("text=Does it belong to")
    first = page.locator(".big").text_content()
    press(page, "y")
    page.wait_for_selector("text=from 1 answer")
    second = page.locator(".big").text_content()
    assert second != first
    press(page, "n")
    page.wait_for_selector("text=from 2 answers")
    assert page.locator("tbody tr").count() == len(fetched(page, "/v1/audit")["intents"]) > 0
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


def test_an_utterance_that_states_two_wishes_is_divided_where_a_person_says(page):
    def add_context(found):
        for u in found["utterances"]:
            u["said"] |= {"before": ["agent: how can I help?"], "message": f"Hi. {u['text']} Bye."}

    change_answers(page, "**/v1/review/search*", add_context)
    utterances = search(page, "house")["utterances"]
    k, text = next((k, u["text"]) for k, u in enumerate(utterances) if len(u["text"].split()) > 3)
    shown = page.locator("ul.utterances li").nth(k)
    assert not shown.get_by_text(f"Hi. {text} Bye.").is_visible()
    shown.locator("summary:has-text('In its conversation')").click()
    assert shown.get_by_text(f"Hi. {text} Bye.").is_visible()
    assert shown.get_by_text("agent: how can I help?").is_visible()
    shown.locator("button:has-text('Divide')").click()
    page.click("#ask-ok")
    page.wait_for_selector("#ask-problem:has-text('Choose the word')")
    page.locator("#ask .words button").nth(1).click()
    first, second = " ".join(text.split()[:2]), " ".join(text.split()[2:])
    page.wait_for_selector(f"#ask q:has-text('{second}')")
    assert page.locator("#ask q").all_text_contents() == [first, second]
    for name, label in (("leak", "Intent of the first part"), ("pay", "Intent of the second part")):
        page.wait_for_timeout(300)  # the model's proposals
        page.get_by_label(label).select_option(name)
    page.click("#ask-ok")
    said(page, "Divided; the parts are learned")
    assert decisions(page)[-1]["arguments"] == {"text": text, "parts": {first: "leak", second: "pay"}}
