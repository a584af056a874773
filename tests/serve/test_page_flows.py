"""Whole jobs on the review page, as a person does them: overview, queue, list, phone, two people."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from browsing import answer_dialog, decisions, names, open_intent, press, said, section, to_view

from waiting import until

pytest_plugins = ["browsing_fixtures"]
VIEWS = ("overview", "intents", "queue", "pairs", "map", "try", "audit", "history", "train", "export", "none")
MIN_TARGET = 40  # pixels of what a finger must hit


def utterance(page):
    return page.locator(".stage .big").text_content()


def wait_for_another(page, old):
    page.wait_for_function("old => ![undefined, old].includes(document.querySelector('.big')?.textContent)", arg=old)
    return utterance(page)


def test_the_overview_says_how_much_is_new_and_leads_on(page):
    page.wait_for_selector("h2:has-text('2 new intents cover')")
    state = page.evaluate("() => fetch('/v1/review/state').then((a) => a.json())")
    new = sorted((i for i in state["intents"] if i["status"] != "known"), key=lambda i: -i["share"])
    assert page.locator(".largest .label").all_text_contents() == [i["name"] for i in new]
    progress = state["progress"]
    assert sum(i["share"] for i in new) == pytest.approx(progress["new_share"], abs=1e-4)
    assert progress["new_share"] + progress["known_share"] <= 1 + 1e-4
    assert page.evaluate("document.documentElement.scrollHeight") <= 860, "it fits one screen"
    section(page, "What needs a person").get_by_text("new intents wait for a decision").click()
    page.wait_for_selector("#show")
    assert page.locator("#show").input_value() == "new"
    page.go_back()
    page.click("main a.main:has-text('Review')")
    page.wait_for_selector(".big")


def test_the_overview_warns_where_known_intents_fall(page):
    check = {"labels": 120, "plain": 0.9333, "now": 0.8, "lost": 19, "gained": 3, "falls": True}

    def with_check(route):
        answer = route.fetch()
        state = answer.json()
        state["progress"]["known_check"] = check
        route.fulfill(response=answer, json=state)

    page.route("**/v1/review/state", with_check)
    page.reload()
    quality = section(page, "How good it is expected to be")
    quality.get_by_text("93 % with a plain classifier, 80 % now (on 120 held-out labels)").wait_for()
    assert "Label more utterances of the known intents" in quality.locator(".bad").text_content()
    check |= {"now": 0.9083, "falls": False}
    page.reload()
    quality.get_by_text("93 % with a plain classifier, 91 % now").wait_for()
    assert quality.locator(".bad").count() == 0


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


def hold_back(page, path):
    """Keep requests of the page from the server; the function that is returned lets them go on, in their order."""
    held, may_pass = [], []
    page.route(path, lambda route: route.continue_() if may_pass else held.append(route))

    def go_on():
        may_pass.append(True)
        for route in held:
            route.continue_()

    return go_on


def test_the_queue_is_answered_without_waiting_for_the_server_and_only_by_who_has_read_it(page):
    """The next utterance is shown while answers are under way. A key or click that comes too early is for none."""
    to_view(page, "queue")
    page.wait_for_selector(".big")
    go_on = hold_back(page, "**/v1/review/decisions")
    seen = [utterance(page)]
    for _ in range(6):
        page.evaluate(ANSWER_THE_NEXT_AT_ONCE)
        press(page, "a")
        seen.append(wait_for_another(page, seen[-1]))
    page.wait_for_selector("text=6 of")
    assert len(set(seen)) == 7
    assert decisions(page) == []
    go_on()
    page.wait_for_selector("#progress-text:has-text('6 utterances checked')")
    recorded = decisions(page)
    assert [entry["arguments"]["texts"] for entry in recorded] == [[text] for text in seen[:6]], "in their order"


def test_the_dialog_of_a_new_name_closes_at_once_and_what_was_typed_for_it_answers_nothing(page):
    to_view(page, "queue")
    page.wait_for_selector(".big")
    text = utterance(page)
    go_on = hold_back(page, "**/v1/review/decisions")
    press(page, "n")
    answer_dialog(page, "brand_new")
    page.keyboard.type("as")
    page.wait_for_selector("#ask", state="hidden", timeout=2_000)
    second = wait_for_another(page, text)
    page.wait_for_timeout(400)
    assert utterance(page) == second
    go_on()
    said(page, "Made brand_new")
    (entry,) = decisions(page)
    assert entry["arguments"] == {"texts": [text], "to": "brand_new", "create": True}


def test_the_utterance_that_is_read_is_not_exchanged(page):
    """The queue is another one after somebody's decision, and what is read would not be among its first."""
    first, _ = names(page)
    to_view(page, "queue")
    page.wait_for_selector(".big")
    text, asked = utterance(page), []

    def without_the_shown(route):
        answer = route.fetch()
        queue, shown = answer.json(), parse_qs(urlsplit(route.request.url).query).get("shown")
        asked.append(shown)
        items = [i for i in queue["items"][::-1] if i["text"] != text]
        kept = [{**i, "candidates": []} for i in queue["items"] if shown == [str(i["id"])]]
        route.fulfill(response=answer, json={**queue, "items": kept + items})

    page.route("**/v1/review/queue*", without_the_shown)
    answers = page.locator(".answer").all_inner_texts()
    decide_elsewhere(page, "Bo", {"accept": {"intent": first}})
    said(page, f"Bo accepted {first}")
    until(lambda: asked)
    page.wait_for_timeout(300)
    assert (utterance(page), page.locator(".answer").all_inner_texts()) == (text, answers)
    press(page, "a")
    page.wait_for_selector("#progress-text:has-text('1 utterance checked')")


def test_whole_intents_are_merged_by_another_card_and_another_key(page):
    new, other = names(page)
    sizes = {
        i["name"]: i["size"] for i in page.evaluate("() => fetch('/v1/review/state').then(a => a.json())")["intents"]
    }

    def ask_about_an_intent(route):
        answer = route.fetch()
        queue = answer.json()
        items = [i for i in queue["items"] if i["intent"] == new]
        for item in items[:1]:
            item |= {"asks_about": new, "candidates": [[other, 0.4], ["leak", 0.2]]}
        route.fulfill(response=answer, json={**queue, "items": items})

    page.route("**/v1/review/queue*", ask_about_an_intent)
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


def test_each_answer_shows_what_it_means(page):
    """The assigned intent comes first and is not offered twice; the others follow by their probability."""
    to_view(page, "queue")
    page.wait_for_selector(".answer")
    (item, *_) = page.evaluate("() => fetch('/v1/review/queue').then((a) => a.json())")["items"]
    answers = page.locator(".answer")
    assert item["intent"] in answers.first.inner_text()
    assert "assigned now" in answers.first.inner_text()
    offered = answers.locator(".label").all_inner_texts()
    assert sum(item["intent"] in text for text in offered) == 1
    shares = [float(text.rstrip(" %")) for text in answers.locator(".facts strong").all_inner_texts()[1:]]
    assert shares == sorted(shares, reverse=True)
    assert all(answer.locator(".examples li").count() for answer in answers.all())
    assert "of the logs" in answers.first.inner_text()


def decide_elsewhere(page, author, *decisions):
    """Record decisions of somebody whose page is another one."""
    state = page.evaluate("() => fetch('/v1/review/state').then((a) => a.json())")
    body = {"author": author, "version": state["version"], "model": state["model"], "decisions": decisions}
    status = page.evaluate(
        """(body) => fetch('/v1/review/decisions', { method: 'POST', body: JSON.stringify(body), headers: {
          'content-type': 'application/json', 'x-csrf-token': document.querySelector('meta[name=csrf]').content } })
          .then((answer) => answer.status)""",
        body,
    )
    assert status == 200


def hear_nothing(page):
    """From now on the page hears nothing of what others decide."""
    news = page.evaluate("() => fetch('/v1/review/news').then((a) => a.json())")
    page.route("**/v1/review/news*", lambda route: route.fulfill(json=news))


def test_an_answer_that_is_refused_can_be_brought_back(page):
    """What is undone is the decision that was in the way, not a later one of the same person."""
    first, _ = names(page)
    to_view(page, "queue")
    page.wait_for_selector(".big")
    text = utterance(page)
    hear_nothing(page)
    decide_elsewhere(page, "Bo", {"move": {"texts": [text], "to": None}})
    decide_elsewhere(page, "Bo", {"accept": {"intent": first}})
    press(page, "a")
    said(page, "Bo put")
    assert page.locator("#said").get_attribute("class") == "bad"
    page.click("#said-actions button:has-text('Bring back')")
    said(page, "Undone: Bo put")
    assert [entry["undone_by"] for entry in decisions(page)] == ["Ana", None]
    assert text in [u["text"] for u in page.evaluate("() => fetch('/v1/review/queue').then((a) => a.json())")["items"]]


def test_a_stale_question_does_not_overwrite_what_another_decided(page):
    """The second question was fetched before Bo answered it; an answer to the first brings news of Bo's decision."""
    to_view(page, "queue")
    page.wait_for_selector(".big")
    second = page.evaluate("() => fetch('/v1/review/queue').then((a) => a.json())")["items"][1]
    hear_nothing(page)
    decide_elsewhere(page, "Bo", {"move": {"texts": [second["text"]], "to": None}})
    press(page, "a")
    press(page, "a")
    page.wait_for_selector("#progress-text:has-text('2 utterances checked')")
    until(lambda: page.evaluate("() => fetch('/v1/review/log').then((a) => a.json())")["total"] >= 2)
    moves = {entry["arguments"]["texts"][0]: entry["author"] for entry in decisions(page)}
    assert moves[second["text"]] == "Bo"


def test_the_queue_follows_what_is_decided_in_another_view(page):
    to_view(page, "queue")
    page.wait_for_selector(".big")
    text = utterance(page)
    page.fill("#search", text)
    page.wait_for_selector("ul.utterances li")
    page.locator("ul.utterances li button").first.click()
    answer_dialog(page, "leak")
    said(page, "Moved to leak")
    to_view(page, "queue")
    wait_for_another(page, text)


def test_the_end_of_the_queue(page):
    """All but three utterances are skipped or decided: the page says that nothing is left, and undo brings one back."""
    items = page.evaluate("() => fetch('/v1/review/queue?most=200').then((a) => a.json())")["items"]
    texts = [item["text"] for item in items]
    decide_elsewhere(page, "Ana", {"move": {"texts": texts[3:], "to": "pay"}})
    to_view(page, "queue")
    page.wait_for_selector(".big")
    rest = page.evaluate("() => fetch('/v1/review/queue?most=200').then((a) => a.json())")["items"]
    assert len(rest) == 3
    last = None
    for _ in rest:
        last = utterance(page) if last is None else wait_for_another(page, last)
        press(page, "a")
    page.wait_for_selector("h2:has-text('Nothing is left to check')")
    page.wait_for_selector(f"#progress-text:has-text('{len(texts)} utterances checked')")
    press(page, "u")
    page.wait_for_function("text => document.querySelector('.big')?.textContent === text", arg=last)


def test_undo_by_its_buttons_waits_for_the_answer_that_is_under_way(page):
    held = []
    to_view(page, "queue")
    page.wait_for_selector(".big")
    first = utterance(page)
    press(page, "a")
    second = wait_for_another(page, first)
    page.wait_for_selector("#progress-text:has-text('1 utterance checked')")
    page.route("**/v1/review/decisions", lambda route: held.append(route))
    press(page, "a")
    wait_for_another(page, second)
    page.click("#undo")
    until(lambda: held)
    held[0].continue_()
    said(page, "Undone: Ana put")
    assert [entry["undone_by"] for entry in decisions(page)] == [None, "Ana"]
    page.wait_for_function("text => document.querySelector('.big')?.textContent === text", arg=second)
    page.unroute("**/v1/review/decisions")
    page.click(".stage button:has-text('Undo')")
    page.wait_for_function("text => document.querySelector('.big')?.textContent === text", arg=first)
    assert [entry["undone_by"] for entry in decisions(page)] == ["Ana", "Ana"]


def test_who_is_reviewing_is_asked_once_and_the_click_is_not_lost(page):
    first, second = names(page)
    page.fill("#author", "")
    page.click(f"button[aria-label='Accept {first}']")
    page.wait_for_selector("#name-dialog[open]")
    page.keyboard.type("Cleo")
    page.keyboard.press("Enter")
    said(page, f"Accepted {first}")
    page.click(f"button[aria-label='Accept {second}']")
    said(page, f"Accepted {second}")
    assert [entry["author"] for entry in decisions(page)] == ["Cleo", "Cleo"]
    page.fill("#author", "")
    to_view(page, "queue")
    page.wait_for_selector(".big")
    press(page, "a")
    page.wait_for_selector("#name-dialog[open]")
    page.click("#name-cancel")
    assert len(decisions(page)) == 2


def test_everything_is_reached_by_a_few_letters(page):
    first, _ = names(page)
    page.keyboard.press("Control+k")
    page.keyboard.type("hist")
    page.keyboard.press("Enter")
    page.wait_for_selector("h2:has-text('History')")
    page.keyboard.press("Control+k")
    page.keyboard.type(first)
    page.keyboard.press("Enter")
    page.wait_for_selector(f"h2:has-text('{first}')")
    page.keyboard.press("Control+k")
    page.keyboard.type("water pipe")
    page.keyboard.press("ArrowUp")  # the last one is the search
    page.keyboard.press("Enter")
    page.wait_for_selector("h2:has-text('with “water pipe”')")


def test_the_list_is_worked_through_by_keys(page):
    first, second = names(page)
    page.wait_for_selector(f"button[aria-label='Accept {first}']:enabled")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.name") == first
    press(page, "a")
    said(page, f"Accepted {first}")
    page.wait_for_function("name => document.activeElement?.dataset.name === name", arg=second)
    page.keyboard.press("Enter")
    page.wait_for_selector(f"h2:has-text('{second}')")
    press(page, "a")
    said(page, f"Accepted {second}")
    assert [entry["kind"] for entry in decisions(page)] == ["accept", "accept"]


def test_an_intent_that_is_gone_says_who_did_what(page):
    first, second = names(page)
    open_intent(page, first)
    page.click("button:has-text('Merge into …')")
    answer_dialog(page, second)
    said(page, f"Merged into {second}")
    to_view(page, f"intent/{first}")
    page.wait_for_selector(f"h2:has-text('{first} is not there any more')")
    assert f"Ana merged {first} into {second}" in page.locator("main").inner_text()
    page.click(f"button:has-text('Bring {first} back')")
    page.wait_for_selector("h2:has-text('Central utterances'), h3:has-text('Central utterances')")
    assert first in names(page)


def test_a_phone(page):
    """One line at the top with a menu, nothing to scroll sideways, no keys, and what a finger hits is large enough."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()
    page.wait_for_selector("h2:has-text('cover')")
    assert page.locator("header").bounding_box()["height"] < 60
    assert not page.locator("nav").is_visible()
    page.click("#menu")
    page.click("nav a:has-text('Queue')")
    page.wait_for_selector(".big")
    assert not page.locator("nav").is_visible(), "the menu closes"
    text = utterance(page)
    page.wait_for_timeout(300)
    page.locator(".answer").first.click()
    wait_for_another(page, text)
    page.wait_for_selector("#progress-text:has-text('1 utterance checked')", state="attached")
    for view in VIEWS:
        to_view(page, view)
        page.wait_for_selector("main h2")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, view
        assert page.locator("kbd:visible").count() == 0, view
        small = page.evaluate(TOO_SMALL, MIN_TARGET)
        assert small == [], (view, small)


TOO_SMALL = """least => [...document.querySelectorAll('main button, main select, main .button, header button')]
  .filter(e => e.checkVisibility() && !e.matches('.word') && e.getBoundingClientRect().height < least)
  .map(e => `${e.outerHTML.slice(0, 80)} ${e.getBoundingClientRect().height}`)"""


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_axe_finds_nothing(page, width, scheme):
    """WCAG 2 A and AA, by axe, on every view and in the dialogs."""
    axe = Axe()
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    options = {"runOnly": ["wcag2a", "wcag2aa", "wcag21aa"]}

    def check(where):
        found = axe.run(page, options=options).response["violations"]
        assert [(v["id"], [n["html"][:160] for n in v["nodes"]]) for v in found] == [], where

    first = names(page)[0]
    for view in (*VIEWS, f"intent/{first}", "search/pay"):
        to_view(page, view)
        page.wait_for_selector("main h2")
        until(lambda: page.locator("main:has-text('Loading …')").count() == 0)
        check(view)
    page.keyboard.press("Control+k")
    page.wait_for_selector("#jump[open]")
    check("the jump")
    page.keyboard.press("Escape")
    open_intent(page, first)
    page.click("button:has-text('Rename')")
    check("a dialog")
