"""How the review page looks: on a desk and a phone, in both schemes, with the numbers and colours of the report."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from browsing import fetched, names, open_intent, row_of, section, to_view
from serving import server_of

from newfound.report.page import write_page
from newfound.review.decisions import Decision
from newfound.review.reviewed import load_reviewed
from newfound.review.store import ReviewStore
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


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (1440, "dark"), (390, "light"), (390, "dark")])
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


def test_a_phone_has_a_menu_and_its_queue_is_answered_by_a_finger(page):
    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()
    page.wait_for_selector("h2:has-text('cover')")
    assert page.locator("header").bounding_box()["height"] < 60
    assert not page.locator("nav").is_visible()
    page.click("#menu")
    page.click("nav a:has-text('Queue')")
    page.wait_for_selector(".big")
    assert not page.locator("nav").is_visible(), "the menu closes"
    page.wait_for_timeout(300)
    page.locator(".answer").first.click()
    page.wait_for_selector("#progress-text:has-text('1 utterance checked')", state="attached")


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
        certainty = row.locator(".certain").text_content()
        assert f"certainty {certainty}" in card.locator(".meta").first.text_content()
        colours = [dot.evaluate("(e) => e.style.background") for dot in (row.locator(".dot"), card.locator(".dot"))]
        assert colours[0] == colours[1] != ""
    error = fetched(page, "/v1/review/state")["progress"]["expected_error"]
    assert page.locator("#expected-error").text_content() == percent(error)
    assert f"About {percent(1 - error)} are in the right intent" in report.locator("body").inner_text()
    assert problems == []
    report.context.close()


def numbers(words):
    return [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", words)]


def test_counts_agree_wherever_texts_repeat_and_some_have_no_intent(browser, saved, tmp_path, tiny_encoder):
    """Each utterance counts as often as it occurred in the files, on every view and in the report."""
    folder = shutil.copytree(saved, tmp_path / "model")
    path = folder / "utterances.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    rows = [{**row, "count": 1 + i % 3} for i, row in enumerate(rows)]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    logs = [row for row in rows if not row["labelled"]]
    put_aside = logs[:4]
    decision = Decision("move", {"texts": [row["text"] for row in put_aside], "to": None})
    ReviewStore(folder).decide([decision], author="ana")
    n_all, n_logs, n_none = (sum(row["count"] for row in some) for some in (rows, logs, put_aside))
    assert n_none > len(put_aside)
    with server_of(folder, tiny_encoder) as address:
        context = browser.new_context(viewport={"width": 1280, "height": 860})
        page = context.new_page()
        page.goto(address)
        page.fill("#author", "Ana")
        page.wait_for_selector(f"text={n_logs} utterances of the logs were read.")
        assert f"{n_none} utterances checked" in page.locator("#progress-text").text_content()
        name = names(page)[0]
        page.click("details.known > summary")
        titles = page.locator("tbody .share").evaluate_all("(all) => all.map((one) => one.title)")
        shown = page.locator("tbody a.name").all_text_contents()
        sizes = {name: numbers(title)[0] for name, title in zip(shown, titles, strict=True)}
        assert sum(sizes.values()) + n_none == n_all
        page.click(f"main a:has-text('{n_none} utterances of no intent')")
        page.wait_for_selector(f"h3:has-text('{n_none} utterances of no intent {len(put_aside)} different texts')")
        open_intent(page, name)
        assert numbers(page.locator("p.meta").first.inner_text())[0] == sizes[name]
        assert numbers(page.locator("h3:has-text('least certain first')").inner_text())[0] == sizes[name]
        parts = section(page, "A possible split").locator(".row .quiet").all_inner_texts()
        assert sum(numbers(part)[0] for part in parts) == sizes[name]
        to_view(page, "search/pay")
        for row in (0, 1):
            page.locator("ul.utterances input").nth(row).check()
        page.click(".selection button:has-text('Move …')")
        lost = page.locator("#ask-note li:has-text(' from ')").first.inner_text()
        assert numbers(lost)[1] == sizes[lost.split()[-1]]
        page.keyboard.press("Escape")
        to_view(page, "map")
        page.wait_for_selector(f".map-heading:has-text('{n_logs} utterances')")
        assert sum(numbers(entry)[-1] for entry in page.locator(".legend li").all_inner_texts()) == n_logs
        context.close()
    write_page(load_reviewed(folder, encoder=tiny_encoder), tmp_path / "report.html", title="report")
    report = (tmp_path / "report.html").read_text("utf-8")
    assert f"{n_logs:,} utterances of the logs were read" in report
    assert all(f"{size:,} utterances · certainty" in report for size in sizes.values())
    assert f"{n_logs:,}, of which" in report
    assert f"{n_none:,}, for instance" in report
