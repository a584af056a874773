"""Selecting many utterances on the review page, in lists and on the map, and moving them with one decision."""

from __future__ import annotations

import pytest
from browsing import answer_dialog, decisions, names, open_intent, said, to_view
from serving import columns_of

from newfound.model.sidecars import write_groups

pytest_plugins = ["browsing_fixtures"]

BOXES = "ul.utterances li input"


def search(page, words):
    page.fill("#search", words)
    page.wait_for_selector(f"h2:has-text('with “{words}”')")


def hits(page, words, **more):
    query = "".join(f"&{name}={value}" for name, value in more.items())
    return page.evaluate("(path) => fetch(path).then((a) => a.json())", f"/v1/review/search?q={words}{query}")


def selected(page):
    return int(page.locator(".selection strong").text_content().split()[0].replace(",", ""))


def test_ten_with_shift_move_with_one_decision_and_come_back_with_one_undo(page):
    search(page, "water")
    before = hits(page, "water")["utterances"]
    page.locator(BOXES).nth(1).click()
    page.locator(BOXES).nth(10).click(modifiers=["Shift"])
    assert selected(page) == 10
    page.click(".selection button:has-text('Move …')")
    page.wait_for_selector("#ask-note .losses .name")
    taken = [u["intent"] for u in before[1:11]]
    shown = page.locator("#ask-note .losses li").all_text_contents()
    for name in set(taken):
        assert any(line.startswith(f"{taken.count(name)} of ") and line.endswith(name) for line in shown), shown
    answer_dialog(page, "pay")
    said(page, "Moved 10 utterances to pay")
    (entry,) = decisions(page)
    assert entry["arguments"]["texts"] == [u["text"] for u in before[1:11]]
    assert page.locator(".selection").is_hidden()
    page.click("#undo-said")
    said(page, "Undone")
    assert hits(page, "water")["utterances"] == before


def test_all_hits_are_selected_beyond_those_that_are_shown(page):
    search(page, "a")
    found = hits(page, "a")
    assert found["total"] > page.locator(BOXES).count() == 100
    page.get_by_label(f"Select all {found['total']}").check()
    assert selected(page) == found["total"]
    page.click("button:has-text('Show more')")
    page.wait_for_function("(n) => document.querySelectorAll('ul.utterances li').length > n", arg=100)
    assert page.locator(f"{BOXES}:checked").count() == page.locator(BOXES).count(), "what is read later is selected too"
    page.click(".selection button:has-text('New intent …')")
    assert page.locator("#ask-title").text_content() == f"A new intent of {found['total']} utterances"
    answer_dialog(page, "everything")
    said(page, "Made everything")
    (entry,) = decisions(page)
    assert len(entry["arguments"]["texts"]) == found["total"]


def test_labelled_utterances_are_left_out_of_a_search_and_of_an_intent(page):
    search(page, "a")
    page.get_by_label("Logs only").check()
    total = hits(page, "a", logs_only="true")["total"]
    page.wait_for_selector(f"h2:has-text('{total} utterances with')")
    assert page.locator("ul.utterances .facts:has-text('labelled')").count() == 0
    open_intent(page, "pay")
    assert page.get_by_label("Logs only").is_checked(), "the choice stays"
    assert page.locator("ul.utterances .facts:has-text('labelled')").count() == 0
    page.get_by_label("Logs only").uncheck()
    page.wait_for_selector("ul.utterances .facts:has-text('labelled')")


def test_a_list_is_selected_by_keyboard(page):
    search(page, "water")
    page.locator(BOXES).nth(2).focus()
    for key in ("ArrowDown", "Shift+ArrowDown", "Shift+ArrowDown"):
        page.keyboard.press(key)
    assert [k for k in range(8) if page.locator(BOXES).nth(k).is_checked()] == [3, 4, 5]
    page.keyboard.press("Space")
    assert selected(page) == 2
    page.click(".selection button:has-text('Clear')")
    assert page.locator(".selection").is_hidden()


def test_several_are_put_into_no_intent_after_a_question(page):
    search(page, "water")
    page.locator("ul.utterances .text").nth(0).click()
    page.locator("ul.utterances .text").nth(2).click(modifiers=["Shift"])
    page.click(".selection button:has-text('No intent')")
    page.wait_for_selector("#ask-note .losses .name")
    assert decisions(page) == []
    page.click("#ask-ok")
    said(page, "3 utterances of no intent now")


def draw_around_everything(page):
    page.check("#lasso")
    page.evaluate("() => document.querySelector('#map').scrollIntoView({ block: 'center' })")
    box = page.locator("#map").bounding_box()
    page.mouse.move(box["x"] + 15, box["y"] + 8)
    page.mouse.down()
    for x, y in ((0.99, 0.01), (0.99, 0.99), (0.01, 0.99), (0.01, 0.01)):
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=4)
    page.mouse.up()


def test_a_lasso_says_what_each_intent_would_lose_before_it_moves_anything(page):
    first, second = names(page)
    to_view(page, "map")
    page.wait_for_selector("#map:text-matches('map: .+')", state="attached")
    before = page.evaluate("() => fetch('/v1/review/map').then((a) => a.json())")
    draw_around_everything(page)
    page.wait_for_selector(".side .losses .name")
    intents = columns_of(before).intents.tolist()
    lines = page.locator(".side .losses li").all_text_contents()
    for name in (first, second):
        n = intents.count(before["names"].index(name))
        assert f"all {n} of  {name}, which would be empty" in lines, lines
    unticked = page.locator(".side ul.utterances li input").first
    unticked.click()
    page.wait_for_function(
        "(n) => parseInt(document.querySelector('.side strong').textContent) === n", arg=len(intents) - 1
    )
    page.click(".side button:has-text('Move …')")
    answer_dialog(page, "leak")
    said(page, f"Moved {len(intents) - 1} utterances to leak")
    page.click("#undo-said")
    said(page, "Undone")
    after = page.evaluate("() => fetch('/v1/review/map').then((a) => a.json())")
    assert after["intents"] == before["intents"]


def test_the_legend_dims_the_other_intents_and_a_click_keeps_one(page):
    first, second = names(page)
    to_view(page, "map")
    page.wait_for_selector("#map:text-matches('map: .+, .+')", state="attached")
    page.hover(f".legend button:has-text('{second}')")
    page.wait_for_selector(f"#map:text-matches('map: {second}$')", state="attached")
    page.hover("h1")
    page.wait_for_selector("#map:text-matches('map: .+, .+')", state="attached")
    page.click(f".legend button:has-text('{first}')")
    page.hover("h1")
    page.wait_for_selector(f"#map:text-matches('map: {first}$')", state="attached")
    page.click("button:has-text('Show all intents')")
    page.hover("h1")
    page.wait_for_selector("#map:text-matches('map: .+, .+')", state="attached")


def test_names_of_known_intents_are_shown_on_demand(page):
    first, _ = names(page)
    open_intent(page, first)
    page.locator(BOXES).nth(0).click()
    page.locator(BOXES).nth(5).click(modifiers=["Shift"])
    page.click(".selection button:has-text('Move …')")
    answer_dialog(page, "pay")
    said(page, "Moved 6 utterances to pay")
    to_view(page, "map")
    page.wait_for_selector("#map:text-matches('map: .+')", state="attached")
    assert "pay" not in page.locator("#map").text_content()
    page.check("text=Names of known intents")
    page.wait_for_selector("#map:text-matches('map: .*pay')", state="attached")


def test_groups_are_soft_areas_and_parts_of_the_legend(page, tmp_path):
    first, second = names(page)
    intents = page.evaluate("() => fetch('/v1/intents').then((a) => a.json())")["intents"]
    ids = {intent["name"]: intent["id"] for intent in intents}
    write_groups(tmp_path / "model", {ids[first]: ("homes", "moving"), ids[second]: ("power",)})
    page.reload()
    to_view(page, "map")
    page.wait_for_selector(".plot .regions")
    assert page.locator(".side h4").all_text_contents() == ["homes", "power", "in no group"]
    assert page.locator(".side h4:has-text('power') + .legend li").all_text_contents()[0].split()[0] == second
    coloured = page.evaluate("""() => {
      const canvas = document.querySelector('.regions');
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      return new Set(Array.from(data).filter((value, k) => k % 4 === 3)).size;
    }""")
    assert coloured > 3, "areas fade out"


@pytest.mark.parametrize("has_webgl", [True, False])
def test_points_are_drawn_with_and_without_webgl(page, has_webgl):
    """Only the points change their colours, so that the two pictures differ if and only if points are drawn."""
    if has_webgl and not page.evaluate("() => Boolean(document.createElement('canvas').getContext('webgl'))"):
        pytest.skip("this Chromium has no WebGL")
    if not has_webgl:
        page.add_init_script("""
            const getContext = HTMLCanvasElement.prototype.getContext;
            HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
              return kind === 'webgl' ? null : getContext.call(this, kind, ...more);
            };
        """)
        page.reload()
    to_view(page, "map")
    page.wait_for_selector("#map:text-matches('map: .+')", state="attached")
    pictures = []
    for by in ("intent", "decision", "intent"):
        page.select_option("#colour-by", by)
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        pictures.append(page.locator(".plot").screenshot())
    assert pictures[0] == pictures[2] != pictures[1]
