"""The map of the review page: names, legend, hover, zoom, keys, fingers, and a lasso that moves utterances."""

from __future__ import annotations

import itertools

import pytest
from browsing import answer_dialog, fetched, names, said, to_view
from serving import columns_of

pytest_plugins = ["browsing_fixtures"]

MARGIN = 18  # pixels around the points of the map
TWO_FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def open_map(page, name=""):
    to_view(page, f"map/{name}" if name else "map")
    wait_for_zoom(page, 100)


def wait_for_zoom(page, percent):
    """Wait until the map, as a screen reader reads it, has a zoom. Where no name lies in sight it lists none."""
    page.wait_for_selector(f"#map:text-matches('^Zoom {percent} %. Names on the map:')", state="attached")


def wait_for_names(page, pattern):
    page.wait_for_selector(f"#map:text-matches('map: {pattern}')", state="attached")


def box_of_map(page):
    page.evaluate("() => document.querySelector('#map').scrollIntoView({ block: 'center' })")
    return page.locator("#map").bounding_box()


def screen_point(page, index):
    """Where the map shows a point before it is zoomed, in the coordinates of the window; and its number."""
    box = box_of_map(page)
    points = columns_of(fetched(page, "/v1/review/map"))
    x, y = (
        MARGIN + points.positions[index][i] * (box[side] - 2 * MARGIN) for i, side in enumerate(("width", "height"))
    )
    return box["x"] + x, box["y"] + y, int(points.ids[index])


def test_the_map_has_names_a_legend_and_the_text_at_the_pointer(page):
    first, second = names(page)
    open_map(page)
    wait_for_names(page, ".+, .+")
    assert set(page.locator("#map").text_content().partition("map: ")[2].split(", ")) == {first, second}
    assert {entry.split()[0] for entry in page.locator(".legend li").all_text_contents()} >= {first, second}
    x, y, id = screen_point(page, 3)
    page.mouse.move(x, y)
    page.wait_for_selector(".point-card strong")
    (shown,) = fetched(page, f"/v1/review/utterances?id={id}")["utterances"]
    page.wait_for_function(
        "(text) => document.querySelector('.point-card').textContent.startsWith(text)", arg=shown["text"]
    )
    assert page.locator(".point-card strong").text_content() == shown["intent"]
    page.wait_for_timeout(300)
    wait_for_names(page, ".+, .+")  # the others are not dimmed
    page.mouse.move(5, 5)
    page.wait_for_selector(".point-card", state="hidden")
    page.fill("#find", shown["text"].split()[0])
    hits = fetched(page, f"/v1/review/search?q={shown['text'].split()[0]}&logs_only=true")["occurrences"]
    page.wait_for_selector(f".map-tools [role=status]:has-text('{hits} utterance')")
    page.fill("#find", "")
    page.wait_for_selector(".map-tools [role=status]:empty", state="attached")

    page.hover(f".legend button:has-text('{second}')")
    wait_for_names(page, f"{second}$")
    page.hover("h1")
    wait_for_names(page, ".+, .+")
    page.click(f".legend button:has-text('{first}')")
    page.hover("h1")
    wait_for_names(page, f"{first}$")  # a click keeps it
    assert page.locator(".side .utterances li").count() == int(page.locator(".side strong").text_content().split()[0])
    page.click("button:has-text('Show all intents')")
    page.hover("h1")
    wait_for_names(page, ".+, .+")
    for by, entry in (("certainty", "fairly sure"), ("decision", "checked by a person")):
        page.select_option("#colour-by", by)
        page.wait_for_selector(f".legend li:has-text('{entry}')")
    open_map(page, first)  # as the view of an intent leads here
    page.wait_for_selector(".side strong")
    assert page.locator(".side .utterances li").count() > 5


def test_the_map_works_by_keyboard(page):
    open_map(page)
    for key, zoomed in (("+", 130), ("+", 169), ("ArrowRight", 169), ("-", 130)):
        page.focus("#map")  # a view that is drawn late takes the focus
        page.keyboard.press(key)
        wait_for_zoom(page, zoomed)
    for key in itertools.islice(itertools.cycle(["ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"]), 40):
        if page.locator(".point-card strong").is_visible():
            break
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    page.wait_for_selector(".side strong:has-text('1 selected')")
    page.keyboard.press("i")
    page.wait_for_function("() => parseInt(document.querySelector('.side strong').textContent) > 1")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Move …":
            break
    page.keyboard.press("Enter")
    answer_dialog(page, "leak")
    said(page, "utterances to leak")
    page.focus("#map")
    page.keyboard.press("Escape")
    page.wait_for_selector(".side:has-text('Click a point')")
    page.keyboard.press("0")
    wait_for_zoom(page, 100)


def test_a_lasso_says_what_each_intent_would_lose_before_it_moves_anything(page):
    first, second = names(page)
    open_map(page)
    before = fetched(page, "/v1/review/map")
    page.check("#lasso")
    box = box_of_map(page)
    page.mouse.move(box["x"] + 15, box["y"] + 8)
    page.mouse.down()
    for x, y in ((0.99, 0.01), (0.99, 0.99), (0.01, 0.99), (0.01, 0.01)):
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=4)
    page.mouse.up()
    page.wait_for_selector(".side .losses .name")
    intents = columns_of(before).intents.tolist()
    lines = page.locator(".side .losses li").all_text_contents()
    for name in (first, second):
        n = intents.count(before["names"].index(name))
        assert f"all {n} of  {name}, which would be empty" in lines, lines
    page.locator(".side ul.utterances li input").first.click()
    rest = len(intents) - 1
    page.wait_for_function("(n) => parseInt(document.querySelector('.side strong').textContent) === n", arg=rest)
    page.click(".side button:has-text('Move …')")
    answer_dialog(page, "leak")
    leak = before["names"].index("leak")
    said(page, f"Moved {rest - intents[1:].count(leak)} utterances to leak")  # the others are there already
    page.click("#undo-said")
    said(page, "Undone")
    assert fetched(page, "/v1/review/map")["intents"] == before["intents"]


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
    wait_for_names(page, ".+")
    pictures = []
    for by in ("intent", "decision", "intent"):
        page.select_option("#colour-by", by)
        page.evaluate(TWO_FRAMES)
        pictures.append(page.locator(".plot").screenshot())
    assert pictures[0] == pictures[2] != pictures[1]
