"""How the review page looks: on a desk and a phone, in both schemes, with the numbers and colours of the report."""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from browsing import fetched, names, row_of, to_view

from newfound.report.page import write_page
from newfound.review.reviewed import load_reviewed
from newfound.text import percent
from waiting import until

pytest_plugins = ["browsing_fixtures"]
HEADINGS = {
    "overview": "cover",
    "intents": "Intents",
    "queue": "Review queue",
    "pairs": "Mixed-up pairs",
    "map": "Map of the logs",
    "try": "Try it",
    "audit": "Audit",
    "history": "History",
    "train": "Train",
    "export": "Export",
    "none": "Rejected, and of no intent",
    "search/pay": "with “pay”",
}
MIN_TARGET = 40  # pixels of what a finger must hit
TOO_SMALL = """least => [...document.querySelectorAll('main button, main select, main .button, header button')]
  .filter(e => e.checkVisibility() && !e.matches('.word') && e.getBoundingClientRect().height < least)
  .map(e => `${e.outerHTML.slice(0, 80)} ${e.getBoundingClientRect().height}`)"""


@pytest.mark.parametrize(("width", "scheme"), [(1440, "dark"), (390, "light")])
def test_every_view_fits_and_axe_finds_nothing(page, width, scheme):
    """WCAG 2 A and AA, which has names and contrasts; no sideways scrolling, and on a phone no keys."""
    axe, options = Axe(), {"runOnly": ["wcag2a", "wcag2aa", "wcag21aa"]}
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)

    def check(where):
        found = axe.run(page, options=options).response["violations"]
        assert [(v["id"], [n["html"][:160] for n in v["nodes"]]) for v in found] == [], where
        assert page.evaluate("document.documentElement.scrollWidth") <= width, where
        if width < 400:
            assert page.locator("main kbd:visible").count() == 0, where
            assert page.evaluate(TOO_SMALL, MIN_TARGET) == [], where

    first = names(page)[0]
    for view, heading in {**HEADINGS, f"intent/{first}": first}.items():
        to_view(page, view, heading)
        if view == "intents":
            page.click("summary:has-text('Coarser or finer')")
            page.wait_for_selector(".resize p:not(:empty)")  # how many intents were expected
        until(lambda: page.locator("main:has-text('Loading …')").count() == 0)
        assert not {"false", "null", "undefined", "NaN"} & set(page.locator("main").inner_text().split()), view
        check(view)
        if os.environ.get("NEWFOUND_SHOTS"):
            page.screenshot(path=f"{os.environ['NEWFOUND_SHOTS']}/{width}-{scheme}-{view.split('/')[0]}.png")
    page.click("button:has-text('Rename')")
    check("a dialog")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.wait_for_selector("#jump[open]")
    assert axe.run(page, options=options).response["violations"] == []


def test_the_report_and_the_page_show_the_same_numbers_and_colours(page, tmp_path, saved, tiny_encoder, browser):
    shares = [i / 10_000 for i in range(10_001)] + [i / 997 for i in range(998)]
    scripts = page.locator("script[type=module]").get_attribute("src").removesuffix("app.js")
    written = page.evaluate(f"(shares) => import('{scripts}format.js').then((m) => shares.map(m.percent))", shares)
    assert written == [percent(share) for share in shares]
    palette = page.evaluate(f"() => import('{scripts}palette.js').then((m) => m.PALETTE)")
    rgb = [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in palette]
    distances = [
        sum((a - b) ** 2 for a, b in zip(*pair, strict=True)) ** 0.5 for pair in itertools.combinations(rgb, 2)
    ]
    assert len(distances) == 66
    assert min(distances) > 50, "no two of twelve colours look alike"

    path = tmp_path / "report.html"
    write_page(load_reviewed(saved, encoder=tiny_encoder), path, title="report")
    report, problems = browser.new_context().new_page(), []
    report.on("pageerror", lambda error: problems.append(str(error)))
    report.goto(Path(path).as_uri())
    for name in names(page):
        row, card = row_of(page, name), report.locator(f"article[data-name='{name}']")
        wrong = row.locator(".certain").text_content()
        assert re.search(rf"about\s+{wrong} probably wrong", card.locator(".meta").first.text_content())
        colours = [dot.evaluate("(e) => e.style.background") for dot in (row.locator(".dot"), card.locator(".dot"))]
        assert colours[0] == colours[1] != ""
    error = fetched(page, "/v1/review/state")["progress"]["expected_error"]
    logs = fetched(page, "/v1/review/state")["progress"]["logs"]
    assert page.locator("#expected-error").text_content() == f"about {round(error * logs)}"
    assert f"About {round(error * logs)} of them are probably wrong" in report.locator("body").inner_text()
    assert problems == []
    report.context.close()
