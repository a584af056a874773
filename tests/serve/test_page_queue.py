"""The queue of the review page: one question after the other, while answers are sent and others decide."""

from __future__ import annotations

from browsing import (
    answer_dialog,
    change_answers,
    decide_elsewhere,
    decisions,
    fetched,
    hear_nothing,
    names,
    press,
    said,
    to_view,
)

from waiting import until

pytest_plugins = ["browsing_fixtures"]

# As soon as another utterance is there, press a key and click, before anybody can have read it.
ANSWER_THE_NEXT_AT_ONCE = """() => {
  const old = document.querySelector('.big').textContent;
  new MutationObserver((_, observer) => {
    if ([undefined, old].includes(document.querySelector('.big')?.textContent)) return;
    observer.disconnect();
    document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'a', bubbles: true }));
    document.querySelector('.answer').click();
  }).observe(document.body, { childList: true, subtree: true });
}"""


def open_queue(page):
    """Open the queue and return the utterance that is asked about."""
    to_view(page, "queue")
    page.wait_for_selector(".stage .big")
    return utterance(page)


def utterance(page):
    return page.locator(".stage .big").text_content()


def wait_for_another(page, old):
    page.wait_for_function("old => ![undefined, old].includes(document.querySelector('.big')?.textContent)", arg=old)
    return utterance(page)


def wait_for_utterance(page, text):
    page.wait_for_function("text => document.querySelector('.big')?.textContent === text", arg=text)


def wait_for_checked(page, words):
    page.wait_for_selector(f"#progress-text:has-text('{words} checked')")


def hold_back(page, path):
    """Keep requests of the page from the server; the function that is returned lets them go on, in their order."""
    held, may_pass = [], []
    page.route(path, lambda route: route.continue_() if may_pass else held.append(route))

    def go_on():
        until(lambda: held)
        may_pass.append(True)
        for route in held:
            route.continue_()

    return go_on


def test_answers_do_not_wait_for_the_server_and_only_who_has_read_a_question_answers_it(page):
    """The next utterance is shown while answers are under way. A key or click that comes too early is for none."""
    seen = [open_queue(page)]
    (item, *_) = fetched(page, "/v1/review/queue")["items"]
    answers = page.locator(".answer")
    assert item["intent"] in answers.first.inner_text()
    assert "as it is now" in answers.first.inner_text()
    assert "of the logs" in answers.first.inner_text()
    assert sum(item["intent"] in text for text in answers.locator(".label").all_inner_texts()) == 1, "offered once"
    titles = answers.locator(".facts .sure").evaluate_all("(all) => all.map((one) => one.title)")
    shares = [float(title.split(" %")[0]) for title in titles[1:]]
    assert page.evaluate("document.activeElement.className") == "big", "a reader says the question"
    assert shares == sorted(shares, reverse=True)
    assert all(answer.locator(".examples li").count() for answer in answers.all())

    go_on = hold_back(page, "**/v1/review/decisions")
    for _ in range(6):
        page.evaluate(ANSWER_THE_NEXT_AT_ONCE)
        press(page, "a")
        seen.append(wait_for_another(page, seen[-1]))
    page.wait_for_selector("text=6 of")
    assert len(set(seen)) == 7
    assert decisions(page) == []
    go_on()
    wait_for_checked(page, "6 utterances")
    assert [entry["arguments"]["texts"] for entry in decisions(page)] == [[text] for text in seen[:6]], "in order"

    page.unroute("**/v1/review/decisions")
    page.reload()
    page.wait_for_selector("text=6 of")  # the goal survives
    page.wait_for_timeout(400)
    go_on = hold_back(page, "**/v1/review/decisions")
    text = utterance(page)
    press(page, "n")
    answer_dialog(page, "brand_new")
    page.keyboard.type("as")
    page.wait_for_selector("#ask", state="hidden", timeout=2_000)
    second = wait_for_another(page, text)
    page.wait_for_timeout(400)
    assert utterance(page) == second, "what was typed for a dialog answers no question"
    go_on()
    said(page, "Made brand_new")
    assert decisions(page)[-1]["arguments"] == {"texts": [text], "to": "brand_new", "create": True}


def test_undo_waits_for_the_answer_under_way_and_the_queue_has_an_end(page):
    """All but four utterances are decided: undo brings what it took back, and in the end nothing is left."""
    texts = [item["text"] for item in fetched(page, "/v1/review/queue?most=200")["items"]]
    decide_elsewhere(page, "Ana", {"move": {"texts": texts[4:], "to": "pay"}})
    first = open_queue(page)
    press(page, "a")
    second = wait_for_another(page, first)
    wait_for_checked(page, f"{len(texts) - 3} utterances")
    go_on = hold_back(page, "**/v1/review/decisions")
    press(page, "a")
    wait_for_another(page, second)
    page.click("#undo")
    go_on()
    said(page, "Undone: Ana put")
    assert [entry["undone_by"] for entry in decisions(page)] == [None, None, "Ana"]
    wait_for_utterance(page, second)
    page.click(".stage button:has-text('Undo')")
    wait_for_utterance(page, first)

    page.fill("#search", first)  # what is decided in another view is asked about no more
    page.wait_for_selector("ul.utterances li")
    page.locator("ul.utterances li button").first.click()
    answer_dialog(page, "leak")
    said(page, "Moved to leak")
    to_view(page, "queue")
    last = wait_for_another(page, first)
    for _ in range(2):
        press(page, "a")
        last = wait_for_another(page, last)
    press(page, "a")
    page.wait_for_selector("h2:has-text('Nothing is left to check')")
    wait_for_checked(page, f"{len(texts)} utterances")
    press(page, "u")
    wait_for_utterance(page, last)


def test_whole_intents_are_merged_by_another_card_and_another_key(page):
    new, other = names(page)
    sizes = {i["name"]: i["size"] for i in fetched(page, "/v1/review/state")["intents"]}

    def ask_about_an_intent(queue):
        queue["items"] = [i for i in queue["items"] if i["intent"] == new]
        for item in queue["items"][:1]:
            item |= {"asks_about": new, "candidates": [[other, 0.4], ["leak", 0.2]]}

    change_answers(page, "**/v1/review/queue*", ask_about_an_intent)
    to_view(page, "queue")
    page.wait_for_selector(f"h3:has-text('Is {new} ({sizes[new]} utterances) the same intent')")
    press(page, "1")
    press(page, "m")
    assert decisions(page) == []
    assert not page.locator("dialog[open]").count()
    press(page, "j")
    sentence = f"{new} ({sizes[new]} utterances) becomes a part of {other} ({sizes[other]} utterances)"
    page.wait_for_selector(f"#ask[open]:has-text('{sentence}')")
    page.keyboard.press("Enter")
    said(page, f"Merged {new} into {other}")
    assert [entry["kind"] for entry in decisions(page)] == ["merge"]


def test_a_stale_question_overwrites_nothing_and_a_refused_answer_can_be_brought_back(page):
    """What is undone is the decision that was in the way, not a later one of the same person."""
    first, _ = names(page)
    text = open_queue(page)
    second = fetched(page, "/v1/review/queue")["items"][1]["text"]
    hear_nothing(page)
    decide_elsewhere(page, "Bo", {"move": {"texts": [second], "to": None}})
    decide_elsewhere(page, "Bo", {"move": {"texts": [text], "to": None}})
    decide_elsewhere(page, "Bo", {"accept": {"intent": first}})
    press(page, "a")
    said(page, "Bo put")
    assert page.locator("#said").get_attribute("class") == "bad"
    page.click("#said-actions button:has-text('Bring back')")
    said(page, "Undone: Bo put")
    assert [entry["undone_by"] for entry in decisions(page)] == [None, "Ana", None]
    assert text in [item["text"] for item in fetched(page, "/v1/review/queue")["items"]]
    for _ in range(2):
        press(page, "a")
    until(lambda: len(decisions(page)) >= 4)
    moves = {entry["arguments"]["texts"][0]: entry["author"] for entry in decisions(page) if entry["kind"] == "move"}
    assert moves[second] == "Bo", "the second question was fetched before Bo answered it"
