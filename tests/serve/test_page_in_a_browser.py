"""A reviewer at work in a real browser: what was decided on the page is exactly what is exported."""

from __future__ import annotations

import dataclasses
import os
import shutil
from pathlib import Path

import pytest
import yaml
from browsing import answer_dialog, decisions, names, open_intent, row_of, said
from serving import QUIET, server_of

from conftest import HOSTILE

pytest_plugins = ["browsing_fixtures"]


def exported(page, folder: Path):
    page.click("nav a:has-text('Export')")
    with page.expect_download() as download:
        page.click("a:has-text('Rasa')")
    path = folder / "nlu.yml"
    download.value.save_as(path)
    blocks = yaml.safe_load(path.read_text("utf-8"))["nlu"]
    return {block["intent"]: [line[2:] for line in block["examples"].splitlines()] for block in blocks}


def test_a_reviewer_turns_clusters_into_intents(page, tmp_path):
    first, second = names(page)
    page.click(f"button[aria-label='Accept {first}']")
    said(page, f"Accepted {first}")

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
    text = moved.locator("button").get_attribute("aria-label").removeprefix("Move “").removesuffix("”")
    moved.locator("button").click()
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

    page.click("nav a:has-text('History')")
    page.wait_for_selector("table.history")
    words = page.locator("tbody tr td:nth-child(3)").all_text_contents()
    beginnings = ["rejected sun_power", f"put “{text}” into sun_power", "merged sun_money into pay"]
    beginnings += [f"split {second} into", f"renamed {first} to moving_house", f"accepted {first}"]
    assert all(said.startswith(begin) for said, begin in zip(words, beginnings, strict=True)), words
    assert page.locator("tbody tr").first.locator("td").nth(3).text_content().startswith("undone by you")
    assert page.locator("tbody tr time").first.text_content() == "just now"

    found = exported(page, tmp_path)
    assert set(found) == {"pay", "meter", "leak", "moving_house", "sun_power"}
    assert text in found["sun_power"]
    assert text not in found["moving_house"]


def test_the_map_is_in_step_with_the_list(page):
    first = names(page)[0]
    page.goto(page.url.split("#")[0] + f"#map/{first}")
    page.wait_for_selector(".side strong")
    selected = int(page.locator(".side strong").text_content().split()[0])
    assert selected == page.locator(".side .utterances li").count() > 5
    page.click("button:has-text('Show all intents')")
    page.wait_for_selector(".side:has-text('Click a point')")


def test_a_person_logs_in_with_the_token(browser, saved, tmp_path, tiny_encoder):
    folder = shutil.copytree(saved, tmp_path / "model")
    with server_of(folder, tiny_encoder, dataclasses.replace(QUIET, token="a-secret-of-24-characters")) as address:
        context = browser.new_context()
        page = context.new_page()
        page.goto(address)
        page.wait_for_selector("button:has-text('Log in')")  # its words come from scripts, which need no token
        page.fill("#token", "wrong")
        page.keyboard.press("Enter")
        page.wait_for_selector("[role=alert]")
        page.fill("#token", "a-secret-of-24-characters")
        page.keyboard.press("Enter")
        page.wait_for_selector("h2:has-text('New intents')")
        context.close()


def test_after_a_restart_the_page_leads_to_the_login(browser, saved, tmp_path, tiny_encoder):
    """The new server does not know the session; personal tokens say who the reviewer is; a logout ends it."""
    folder = shutil.copytree(saved, tmp_path / "model")
    settings = dataclasses.replace(QUIET, token={"Ana Maria": "a-secret-of-24-characters"})
    context = browser.new_context()
    page = context.new_page()

    def log_in():
        page.fill("#token", "a-secret-of-24-characters")
        page.keyboard.press("Enter")
        page.wait_for_selector("h2:has-text('New intents')")

    with server_of(folder, tiny_encoder, settings) as address:
        page.goto(address)
        log_in()
        assert page.locator("#person").text_content() == "Ana Maria"
        assert page.locator("#author").count() == 0
        first = names(page)[0]
        page.click(f"button[aria-label='Accept {first}']")
        said(page, f"Accepted {first}")
        assert [(entry["author"], entry["kind"]) for entry in decisions(page)] == [("Ana Maria", "accept")]
    port = int(address.rpartition(":")[2])
    with server_of(folder, tiny_encoder, settings, port=port):
        page.click("nav a:has-text('Queue')")
        page.wait_for_selector("main [role=alert]:has-text('You are logged out.')")
        page.click("main a:has-text('Log in again')")
        page.fill("#token", "a-secret-of-24-characters")
        page.keyboard.press("Enter")
        page.wait_for_selector(".big")
        assert page.url.endswith("#queue"), "the login leads back to where the reviewer was"
        page.click("#logout")
        page.wait_for_selector("#token")
        page.goto(address)
        assert page.url.endswith("/login")
    context.close()


def test_markup_in_the_logs_is_text(page):
    page.fill("#search", "document.title")
    page.wait_for_selector(f'li:has-text("{HOSTILE}")')
    page.click("nav a:has-text('Try it')")
    page.fill("#try-text", "<img src=x onerror=\"document.title='owned'\">")
    page.click("button:has-text('Classify')")
    page.wait_for_selector(".big")
    assert "owned" not in page.title()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (390, "light")])
def test_the_page_fits_and_can_be_read(page, width, scheme):
    """No sideways scrolling; every control has a name; text stands out from its background (WCAG AA: 4.5)."""
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    first = names(page)[0]
    headings = {
        "overview": "cover",
        "intents": "Intents",
        f"intent/{first}": first,
        "queue": "Review queue",
        "try": "Try it",
        "history": "History",
        "train": "Train",
        "export": "Export",
        "map": "Map of the logs",
        "pairs": "Mixed-up pairs",
        "none": "Rejected, and of no intent",
        "search/pay": "with “pay”",
    }
    for view, heading in headings.items():
        page.goto(page.url.split("#")[0] + f"#{view}")
        page.wait_for_selector(f"h2:has-text('{heading}')")
        if view == "intents":
            page.click("summary:has-text('Coarser or finer')")
            page.wait_for_selector(".resize p:not(:empty)")  # how many intents were expected
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view
        assert page.evaluate(UNNAMED) == [], view
        assert page.evaluate(PALE) == [], view
        assert not {"false", "null", "undefined", "NaN"} & set(page.locator("main").inner_text().split()), view
        if os.environ.get("NEWFOUND_SHOTS"):
            page.screenshot(path=f"{os.environ['NEWFOUND_SHOTS']}/{width}-{view.split('/')[0]}.png")


UNNAMED = """() => [...document.querySelectorAll('button, input, select, a, #map')].filter(e => e.checkVisibility()
  && !(e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.length)).map(e => e.outerHTML)"""
PALE = """() => {
  const parse = (c) => c.match(/[\\d.]+/g).map(Number);
  const linear = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = (c) => { const [r, g, b] = parse(c).map(linear); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const opaque = (c) => parse(c).length < 4 || parse(c)[3] > 0;
  const behind = (e) => {
    const colour = () => getComputedStyle(e).backgroundColor;
    for (; e; e = e.parentElement) if (opaque(colour())) return colour();
    return 'rgb(255, 255, 255)';
  };
  const hasText = (e) => [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
  const contrast = (e) => {
    const [a, b] = [light(getComputedStyle(e).color), light(behind(e))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  };
  return [...document.querySelectorAll('body *')].filter(e => e.checkVisibility() && !e.disabled && hasText(e))
    .filter(e => contrast(e) < 4.5).map(e => contrast(e).toFixed(2) + ' ' + e.outerHTML.slice(0, 80));
}"""


def test_thresholds_are_those_of_the_server(page):
    def with_other_limits(route):
        answer = route.fetch()
        state = answer.json()
        state["limits"] |= {"low_certainty": 1.1, "max_texts_to_classify": 2}
        route.fulfill(response=answer, json=state)

    page.route("**/v1/review/state", with_other_limits)
    page.reload()
    for name in names(page):
        row_of(page, name).get_by_text("Many doubtful utterances").wait_for()
    page.click("nav a:has-text('Try it')")
    page.fill("#try-text", "one\ntwo\nthree")
    page.click("button:has-text('Classify')")
    said(page, "At most 2 sentences at a time.")
