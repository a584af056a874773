"""A reviewer at work in a real browser, from the overview to the export; what is decided is what is exported."""

from __future__ import annotations

import re

import pytest
import yaml
from browsing import (
    accept,
    answer_dialog,
    change_answers,
    decisions,
    fetched,
    names,
    open_intent,
    press,
    row_of,
    said,
    section,
    to_view,
)

pytest_plugins = ["browsing_fixtures"]


def exported(page, path):
    with page.expect_download() as download:
        page.click("a:has-text('Rasa')")
    download.value.save_as(path)
    blocks = yaml.safe_load(path.read_text("utf-8"))["nlu"]
    return {block["intent"]: [line[2:] for line in block["examples"].splitlines()] for block in blocks}


def test_a_reviewer_turns_clusters_into_intents(page, tmp_path):
    first, second = names(page)
    accept(page, first)
    open_intent(page, first)
    page.click("button:has-text('Rename')")
    answer_dialog(page, "moving_house")
    said(page, "Renamed to moving_house")

    open_intent(page, second)
    parts = page.locator(".card .columns input")
    parts.nth(0).fill("sun_power")
    parts.nth(1).fill("sun_money")
    page.click("button:has-text('Split like this')")
    said(page, "Split into sun_power and sun_money")
    assert set(names(page)) == {"moving_house", "sun_power", "sun_money"}

    open_intent(page, "sun_money")
    page.click("button:has-text('Merge into …')")
    answer_dialog(page, "pay")
    said(page, "Merged into pay")

    open_intent(page, "moving_house")
    moved = page.locator("ul.utterances li").first
    text = (
        moved.locator("button[aria-label^=Move]").get_attribute("aria-label").removeprefix("Move “").removesuffix("”")
    )
    moved.locator("button[aria-label^=Move]").click()
    answer_dialog(page, "sun_power")
    said(page, "Moved to sun_power")

    open_intent(page, "sun_power")
    page.click("button:has-text('Reject')")
    said(page, "Rejected sun_power")
    page.click("#undo")
    said(page, "Undone: Ana rejected sun_power")

    page.click("nav a:has-text('Try it')")
    page.fill("#try-text", text)
    page.click("button:has-text('Classify')")
    assert page.locator(".big a").text_content() == "sun_power"
    page.fill("#try-text", "pay the bill please today and water leak with brown smell")
    page.click("button:has-text('Classify')")
    page.wait_for_selector("h3:has-text('2 wishes in one message')")
    assert page.locator("li:has(q) a.name").all_text_contents() == ["pay", "leak"]
    page.fill("#try-text", "pay the bill\n\nbrown water leak\nsolar power back")
    page.click("button:has-text('Classify')")
    page.wait_for_selector("h3:has-text('3 sentences')")
    rows = page.locator("tbody tr:visible")
    intents = [row.locator("a.name").text_content() for row in rows.all()]
    assert len(intents) == 3
    page.click("button[aria-label='Why “pay the bill”?']")
    page.wait_for_selector("h3:has-text('Nearest utterances')")
    assert page.locator(".big a.name").text_content() == intents[0]

    page.click("nav a:has-text('History')")
    page.wait_for_selector("table.history")
    words = page.locator("tbody tr td:nth-child(3)").all_text_contents()
    beginnings = ["rejected sun_power", f"put “{text}” into sun_power", "merged sun_money into pay"]
    beginnings += [f"split {second} into", f"renamed {first} to moving_house", f"accepted {first}"]
    assert all(line.startswith(begin) for line, begin in zip(words, beginnings, strict=True)), words
    assert page.locator("tbody tr").first.locator("td").nth(3).text_content().startswith("undone by you")
    assert re.fullmatch(r"\w+ \d+, 20\d\d, \d+:\d\d\W[AP]M", page.locator("tbody tr time").first.text_content())

    page.click("nav a:has-text('Export')")
    found = exported(page, tmp_path / "nlu.yml")
    assert set(found) == {"pay", "meter", "leak", "moving_house", "sun_power"}
    assert text in found["sun_power"]
    assert text not in found["moving_house"]


def test_exports_are_named_counted_and_can_be_of_accepted_intents_only(page, tmp_path):
    first, _ = names(page)
    accept(page, first)
    to_view(page, "export")
    page.wait_for_selector("a:has-text('Azure conversational language understanding')")
    about = [f"{f['title']}{f['about']} ({f['suffix']})" for f in fetched(page, "/v1/export")["formats"] if f["about"]]
    assert page.locator(".download").all_text_contents() == about, "every format says what it is"
    counts = page.locator("fieldset label").all_text_contents()
    kinds = r"\d+ utterances: \d+ labelled by people, \d+ in accepted intents"
    assert re.fullmatch(rf"Accepted new intents only 1 intent, {kinds}, 0 guesses", counts[1]), counts
    assert re.fullmatch(rf"With the guesses of the model 5 intents, {kinds}, [1-9]\d* guess(es)?", counts[2]), counts
    assert "1 new intent is not accepted yet" in page.locator("main").text_content()
    page.check("text=Accepted new intents only")
    page.fill("#language", "pt-br")
    assert page.locator("a:has-text('Rasa')").get_attribute("href") == "/v1/export/rasa?language=pt-br&only=accepted"
    assert set(exported(page, tmp_path / "nlu.yml")) == {first}
    page.fill("#language", "not a language")
    page.wait_for_selector("text=A language code, for instance en or pt-br.")


def test_the_overview_says_how_much_is_new_and_leads_on(page):
    page.wait_for_selector("h2:has-text('2 new intents cover')")
    state = fetched(page, "/v1/review/state")
    new = sorted((i for i in state["intents"] if i["status"] != "known"), key=lambda i: -i["share"])
    largest = page.locator(".largest").first  # the known ones are below
    assert largest.locator(".label").all_text_contents() == [i["name"] for i in new]
    assert sum(i["share"] for i in new) == pytest.approx(state["progress"]["new_share"], abs=1e-4)
    assert page.evaluate("document.documentElement.scrollHeight") <= 860, "it fits one screen"
    assert largest.locator(".value").all_text_contents() == [str(i["size"]) for i in new]
    page.wait_for_selector(".largest .example:has-text('“')")
    with page.expect_download() as report:
        page.click("text=Download the report")
    assert new[0]["name"] in report.value.path().read_text("utf-8")
    section(page, "What needs a person").get_by_text("new intents wait for a decision").click()
    page.wait_for_selector("#show")
    assert page.locator("#show").input_value() == "new"
    page.go_back()
    page.click("main a.main:has-text('Review')")
    page.wait_for_selector(".big")

    check = {"labels": 120, "plain": 0.9333, "now": 0.8, "lost": 19, "gained": 3, "falls": True}

    def with_other_figures(state):
        state["progress"]["known_check"] = check
        state["limits"]["max_texts_to_classify"] = 2
        new = next(i for i in state["intents"] if i["status"] == "new")
        state["intents"] += [{**new, "name": f"sure_{k}", "expected_error": 0.0} for k in range(3)]
        state["intents"][0] |= {"expected_error": 0.9, "size": 10}

    change_answers(page, "**/v1/review/state", with_other_figures)
    to_view(page, "overview")
    page.reload()
    quality = section(page, "How good it is")
    quality.get_by_text("80 % are right, and 93 % with a plain classifier: 3 gained, 19 lost").wait_for()
    assert "Label more utterances of the known intents" in quality.locator(".bad").text_content()
    check |= {"now": 0.9083, "falls": False}
    page.reload()
    quality.get_by_text("91 % are right, and 93 %").wait_for()
    assert quality.locator(".bad").count() == 0
    to_view(page, "intents/show=doubtful")
    page.get_by_text("About 9 of 10 are probably wrong").wait_for()
    assert page.locator(".new-intents a.name").all_text_contents() == [state["intents"][0]["name"]], "the worst fifth"
    page.select_option("#sort", "size")
    assert page.url.endswith("#intents/show=doubtful&sort=size")
    page.click("nav a:has-text('Try it')")
    page.fill("#try-text", "one\ntwo\nthree")
    page.click("button:has-text('Classify')")
    said(page, "At most 2 sentences at a time.")


def test_the_list_is_filtered_sorted_explained_and_worked_through_by_keys(page):
    first, second = names(page)
    page.fill("#filter", second)
    assert page.locator(".new-intents a.name").all_text_contents() == [second]
    page.fill("#filter", "")
    page.select_option("#sort", "name")
    assert page.locator(".new-intents a.name").all_text_contents() == sorted([first, second])
    page.select_option("#sort", "size")
    sizes = page.locator(".new-intents .share").evaluate_all("(all) => all.map((one) => parseInt(one.title))")
    assert sizes == sorted(sizes, reverse=True)
    for where in ("header", "main"):
        page.hover(f"{where} .word:has-text('probably wrong')")
        assert page.locator(f"{where} .tip:visible").count() == 1
    page.click("#accept-above")
    page.fill("#ask-value", "100")
    page.wait_for_selector("#ask-choices:has-text('2 new intents')")
    answer_dialog(page, "-1")
    page.wait_for_selector("#ask-problem:has-text('Of no new intent so few')")
    answer_dialog(page, "100")
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
    for _ in range(2):
        page.click("#undo")
        said(page, "Undone")

    page.reload()
    first, second = names(page)
    page.wait_for_selector(f"button[aria-label='Accept {first}']:enabled")
    page.keyboard.press("?")
    page.uncheck("#keys-on")
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.name") is None, "keys can be turned off"
    page.keyboard.press("?")
    page.check("#keys-on")
    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.name") == first
    press(page, "a")
    said(page, f"Accepted {first}")
    page.wait_for_function("name => document.activeElement?.dataset.name === name", arg=second)
    page.keyboard.press("Enter")
    page.wait_for_selector(f"h2:has-text('{second}')")
    press(page, "a")
    said(page, f"Accepted {second}")
    assert [entry["kind"] for entry in decisions(page) if not entry["undone_by"]] == ["accept", "accept"]

    for typed, heading in (("hist", "History"), (first, first), ("water pipe", "with “water pipe”")):
        page.keyboard.press("Control+k")
        page.keyboard.type(typed)
        if typed == "water pipe":
            page.keyboard.press("ArrowUp")  # the last one is the search
        page.keyboard.press("Enter")
        page.wait_for_selector(f"h2:has-text('{heading}')")


def test_names_are_asked_for_with_care_and_what_is_gone_can_be_brought_back(page):
    first, second = names(page)
    page.fill("#author", "")
    page.click(f"button[aria-label='Accept {first}']")
    page.wait_for_selector("#ask[open]:has-text('Who are you?')")
    answer_dialog(page, "Cleo")
    said(page, f"Accepted {first}")  # the click is not lost
    accept(page, second)
    page.fill("#author", "")
    to_view(page, "queue")
    page.wait_for_selector(".big")
    press(page, "a")
    page.wait_for_selector("#ask[open]:has-text('Who are you?')")
    page.click("#ask-cancel")
    assert [entry["author"] for entry in decisions(page)] == ["Cleo", "Cleo"], "nobody answers without a name"
    page.fill("#author", "Ana")

    open_intent(page, first)
    page.locator("ul.utterances li button").first.click()
    answer_dialog(page, second[:-1])  # a slip of the finger
    page.wait_for_selector("#ask-problem:has-text('There is no intent')")
    assert len(decisions(page)) == 2, "Enter alone makes no intent"
    nearest = page.locator("#ask-choices button").first
    assert nearest.inner_text().split()[0] == second, "the nearest comes first"
    nearest.click()
    said(page, f"Moved to {second}")
    page.locator("ul.utterances li button").first.click()
    answer_dialog(page, "entirely_new")
    page.click("button:has-text('Make the new intent')")
    said(page, "Made entirely_new")
    assert [entry["arguments"].get("create") for entry in decisions(page)[2:]] == [None, True]
    to_view(page, "queue")
    page.wait_for_selector(".big")
    press(page, "n")
    answer_dialog(page, second)
    page.wait_for_selector("#ask-problem:has-text('already')")
    page.keyboard.press("Escape")
    assert len(decisions(page)) == 4

    open_intent(page, first)
    page.click("summary:has-text('Comment')")
    page.fill("#comment", "Is this <b>one</b> intent?\nAsk Bo.")
    page.click("button:has-text('Add the comment')")
    said(page, "Comment added")
    assert page.locator(".comment .lines").inner_text() == "Is this <b>one</b> intent?\nAsk Bo."
    assert page.locator("#comment").input_value() == ""
    to_view(page, "intents")
    row_of(page, first).get_by_text("1 comment").wait_for()

    open_intent(page, first)
    page.click("button:has-text('Merge into …')")
    answer_dialog(page, second)
    said(page, f"Merged into {second}")
    to_view(page, f"intent/{first}", f"{first} is not there any more")
    assert f"Ana merged {first} into {second}" in page.locator("main").inner_text()
    page.click(f"button:has-text('Bring {first} back')")
    page.wait_for_selector("h3:has-text('Central utterances')")
    to_view(page, "history")
    page.click(f"button[aria-label='Undo: Cleo accepted {second}']")  # any step, not only the last
    said(page, f"Undone: Cleo accepted {second}")
    assert f"accepted {second}" in page.locator("tr.undone .words").all_text_contents()
