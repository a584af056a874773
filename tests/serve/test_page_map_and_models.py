"""The map, exports and refits on the review page, and what the page shares with the report."""

from __future__ import annotations

import dataclasses
import itertools
import re
import shutil
import threading
from pathlib import Path
from types import SimpleNamespace

import yaml
from browsing import answer_dialog, names, row_of, said, to_view
from serving import QUIET, client_of, columns_of

import newfound.review.session as session_module
from newfound.report.page import write_page
from newfound.review.reviewed import load
from newfound.serve import access
from newfound.text import percent
from waiting import SECONDS_TO_WAIT, until

pytest_plugins = ["browsing_fixtures"]


MARGIN = 18  # pixels around the points of the map


def open_map(page, name=""):
    to_view(page, f"map/{name}" if name else "map")
    wait_for_zoom(page, 100)


def wait_for_zoom(page, percent):
    """Wait until the map, as a screen reader reads it, has a zoom. Where no name lies in sight it lists none."""
    page.wait_for_selector(f"#map:text-matches('^Zoom {percent} %. Names on the map:')", state="attached")


def names_on_map(page):
    return page.locator("#map").text_content().partition("map: ")[2].split(", ")


def screen_point(page, index):
    """Where the map shows a point before it is zoomed, in the coordinates of the window; and its number."""
    page.evaluate("() => document.querySelector('#map').scrollIntoView({ block: 'center' })")
    box = page.locator("#map").bounding_box()
    points = columns_of(page.evaluate("() => fetch('/v1/review/map').then((a) => a.json())"))
    x, y = (
        MARGIN + points.positions[index][i] * (box[side] - 2 * MARGIN) for i, side in enumerate(("width", "height"))
    )
    return box["x"] + x, box["y"] + y, int(points.ids[index])


def zoom(page):
    """The zoom in percent."""
    return int(page.locator("#map").text_content().split()[1])


def test_the_map_has_names_a_legend_and_hover(page):
    first, second = names(page)
    open_map(page)
    assert set(names_on_map(page)) == {first, second}
    legend = page.locator(".legend li").all_text_contents()
    assert {entry.split()[0] for entry in legend} >= {first, second}
    x, y, id = screen_point(page, 3)
    page.mouse.move(x, y)
    page.wait_for_selector(".point-card strong")
    (shown,) = page.evaluate("(id) => fetch('/v1/review/utterances?id=' + id).then((a) => a.json())", id)["utterances"]
    page.wait_for_function(
        "(text) => document.querySelector('.point-card').textContent.startsWith(text)", arg=shown["text"]
    )
    assert page.locator(".point-card strong").text_content() == shown["intent"]
    page.wait_for_selector(f"#map:text-matches('map: {shown['intent']}$')", state="attached")  # the others are dimmed
    page.mouse.move(5, 5)
    page.wait_for_selector(".point-card", state="hidden")
    page.wait_for_selector("#map:text-matches('map: .+, .+')", state="attached")
    for by, entry in (("certainty", "95 % and more"), ("decision", "checked by a person")):
        page.select_option("#colour-by", by)
        page.wait_for_selector(f".legend li:has-text('{entry}')")


def test_the_map_zooms_and_does_not_swallow_scrolling(page):
    page.set_viewport_size({"width": 900, "height": 500})
    open_map(page)
    x, y, _ = screen_point(page, 0)
    page.mouse.move(x, y)
    before = page.evaluate("scrollY")
    page.mouse.wheel(0, 120)
    page.wait_for_function("(before) => scrollY > before", arg=before)
    assert zoom(page) == 100, "the wheel alone scrolls the page"
    assert page.locator("text=Hold Ctrl to zoom").is_visible()
    page.keyboard.down("Control")
    page.mouse.wheel(0, -240)
    page.keyboard.up("Control")
    wait_for_zoom(page, 120)
    assert page.evaluate("getComputedStyle(document.querySelector('#map')).touchAction") == "pan-y"
    page.check("#lasso")
    assert page.evaluate("getComputedStyle(document.querySelector('#map')).touchAction") == "none"


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


def test_two_fingers_zoom_and_one_is_left_to_the_page(page):
    open_map(page)
    page.evaluate("""() => {
      const canvas = document.querySelector('#map'), box = canvas.getBoundingClientRect();
      canvas.setPointerCapture = () => {};
      window.touch = (type, pointerId, x, y) => canvas.dispatchEvent(new PointerEvent(type,
        { pointerId, pointerType: 'touch', clientX: box.x + x, clientY: box.y + y, bubbles: true }));
    }""")
    page.evaluate("""() => {
      touch('pointerdown', 1, 100, 100); touch('pointermove', 1, 101, 130); touch('pointercancel', 1, 101, 130);
      return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    }""")
    assert zoom(page) == 100
    page.evaluate("""() => {
      touch('pointerdown', 1, 100, 100); touch('pointerdown', 2, 200, 100); touch('pointermove', 2, 300, 100);
      touch('pointerup', 1, 100, 100); touch('pointerup', 2, 300, 100);
    }""")
    wait_for_zoom(page, 200)


def test_the_map_does_not_wait_for_the_final_layout(saved, tiny_encoder, monkeypatch):
    """With many utterances t-SNE takes long; until it is done a simple layout is shown."""
    go_on, original = threading.Event(), session_module.map_positions

    def slow(x):
        assert go_on.wait(SECONDS_TO_WAIT)
        return original(x)

    monkeypatch.setattr(session_module, "map_positions", slow)
    monkeypatch.setattr(session_module, "MAX_UTTERANCES_TO_WAIT_FOR", {"layout": 10, "votes": 10})
    with client_of(saved, tiny_encoder) as client:
        first = client.get("/v1/review/map").json()
        assert first["is_final"] is False
        go_on.set()
        until(lambda: client.get("/v1/review/map").json()["is_final"])
        last = client.get("/v1/review/map").json()
    assert last["is_final"]
    assert {name: last[name] for name in ("intents", "ids", "probabilities", "checked")}.items() <= first.items()
    assert last["positions"] != first["positions"]


def test_exports_are_named_counted_and_can_be_of_accepted_intents_only(page, tmp_path):
    first, _ = names(page)
    page.click(f"button[aria-label='Accept {first}']")
    said(page, f"Accepted {first}")
    to_view(page, "export")
    page.wait_for_selector("a:has-text('Azure conversational language understanding')")
    formats = page.evaluate("() => fetch('/v1/export').then((answer) => answer.json())")["formats"]
    about = [f"{f['title']}{f['about']} ({f['suffix']})" for f in formats if f["about"]]
    assert page.locator(".download").all_text_contents() == about, "every format says what it is"
    counts = page.locator("fieldset label").all_text_contents()
    kinds = r"\d+ utterances: \d+ labelled by people, \d+ in accepted intents"
    assert re.fullmatch(rf" Labelled and accepted 4 intents, {kinds}, 0 guesses", counts[0]), counts
    assert re.fullmatch(rf" Accepted new intents only 1 intent, {kinds}, 0 guesses", counts[1]), counts
    assert re.fullmatch(rf" With the guesses of the model 5 intents, {kinds}, [1-9]\d* guess(es)?", counts[2]), counts
    assert "1 new intent is not accepted yet" in page.locator("main").text_content()
    page.check("text=Accepted new intents only")
    page.fill("#language", "pt-br")
    assert page.locator("a:has-text('Rasa')").get_attribute("href") == "/v1/export/rasa?language=pt-br&only=accepted"
    with page.expect_download() as download:
        page.click("a:has-text('Rasa')")
    download.value.save_as(tmp_path / "nlu.yml")
    exported = {block["intent"] for block in yaml.safe_load((tmp_path / "nlu.yml").read_text("utf-8"))["nlu"]}
    assert exported == {first}
    page.fill("#language", "not a language")
    page.wait_for_selector("text=A language code, for instance en or pt-br.")


def test_a_refit_that_cannot_be_written_is_refused_before_it_trains(saved, tiny_encoder, tmp_path, monkeypatch):
    from newfound.serve.background import folders

    def full(*args, **kwargs):
        raise OSError(30, "Read-only file system")

    with client_of(saved, tiny_encoder) as client:
        monkeypatch.setattr(folders.tempfile, "mkdtemp", full)
        answer = client.post("/v1/review/refit", json={"author": "ana"})
        assert answer.status_code == 409
        assert "cannot be written beside the model (Read-only file system)" in answer.json()["detail"]
        assert answer.json()["detail"].startswith("model-2: "), "a client sees no path"
        assert client.get("/v1/jobs").json()["status"] == "idle"
        refused = client.post("/v1/review/serve", json={"author": "ana"})
        assert refused.status_code == 409
        assert "no job has written a model" in refused.json()["detail"]


def test_a_refit_reports_each_of_its_steps(saved, tiny_encoder, tmp_path):
    folder = shutil.copytree(saved, tmp_path / "model")
    with client_of(folder, tiny_encoder) as client:
        client.post("/v1/review/refit", json={"author": "ana"})
        until(lambda: client.get("/v1/jobs").json()["status"] != "running")
        job = client.get("/v1/jobs").json()
    assert job["status"] == "done", job
    trained = ["fine-tuning", "training", "training on all labels"]
    assert sorted(job["steps"]) == sorted(["loading", "encoding", *trained, "comparing", "writing"])
    assert set(job["steps"]) <= set(job["step_titles"])
    assert all(title[0].isupper() for title in job["step_titles"].values()), "the page shows them"
    assert job["seconds"] > 0


def test_decisions_about_another_model_are_refused(saved, tiny_encoder, tmp_path):
    folder = shutil.copytree(saved, tmp_path / "model")
    with client_of(folder, tiny_encoder) as client:
        body = {"author": "ana", "version": 0, "decisions": [{"accept": {"intent": "pay"}}]}
        answer = client.post("/v1/review/decisions", json={**body, "model": "another"})
        assert answer.status_code == 409
        assert "another model is served now" in answer.json()["detail"]
        model = client.get("/v1/review/state").json()["model"]
        assert client.post("/v1/review/decisions", json={**body, "model": model}).status_code == 200


def test_news_tell_what_others_did_and_keep_no_session_alive(saved, tiny_encoder, tmp_path, monkeypatch):
    now = 0.0
    monkeypatch.setattr(access, "time", SimpleNamespace(monotonic=lambda: now))
    folder = shutil.copytree(saved, tmp_path / "model")
    settings = dataclasses.replace(QUIET, token="a-secret-of-24-characters", seconds_of_session=1.5)
    with client_of(folder, tiny_encoder, settings) as client:
        client.post("/login", data={"token": settings.token}, headers={"origin": "http://127.0.0.1"})
        bearer = {"Authorization": f"Bearer {settings.token}"}
        assert client.get("/v1/review/news").json()["events"] == []
        decision = {"author": "bo", "version": 0, "decisions": [{"accept": {"intent": "pay"}}]}
        assert client.post("/v1/review/decisions", json=decision, headers=bearer | {"cookie": ""}).status_code in (
            200,
            403,
        )
        for _ in range(4):
            now += 0.5
            answer = client.get("/v1/review/news?since=0")
        assert answer.status_code == 401, "a page that only asks for news is logged out in the end"


def test_the_report_and_the_page_show_the_same_numbers_and_colours(page, tmp_path, saved, tiny_encoder, browser):
    shares = [i / 10_000 for i in range(10_001)] + [i / 997 for i in range(998)]
    scripts = page.locator("script[type=module]").get_attribute("src").removesuffix("app.js")
    written = page.evaluate(f"(shares) => import('{scripts}format.js').then((m) => shares.map(m.percent))", shares)
    assert written == [percent(share) for share in shares]
    palette = page.evaluate(f"() => import('{scripts}palette.js').then((m) => m.PALETTE)")
    assert len(set(palette)) == 12
    rgb = [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in palette]
    nearest = min(
        sum((a - b) ** 2 for a, b in zip(*pair, strict=True)) ** 0.5 for pair in itertools.combinations(rgb, 2)
    )
    assert nearest > 50, "no two of twelve colours look alike"

    path = tmp_path / "report.html"
    write_page(load(saved, encoder=tiny_encoder).reviewed, path, title="report")
    context = browser.new_context()
    report = context.new_page()
    problems = []
    report.on("pageerror", lambda error: problems.append(str(error)))
    report.goto(Path(path).as_uri())
    shown = {}
    for name in names(page):
        row = row_of(page, name)
        shown[name] = (
            row.locator(".certain").text_content(),
            row.locator(".dot").evaluate("(e) => e.style.background"),
        )
    for name, (certainty, colour) in shown.items():
        card = report.locator(f"article[data-name='{name}']")
        assert f"certainty {certainty}" in card.locator(".meta").first.text_content()
        assert card.locator(".dot").evaluate("(e) => e.style.background") == colour
    progress = page.evaluate("() => fetch('/v1/review/state').then((answer) => answer.json())")["progress"]
    assert page.locator("#expected-error").text_content() == percent(progress["expected_error"])
    right = percent(1 - progress["expected_error"])
    assert f"About {right} are in the right intent" in report.locator("body").inner_text()
    assert problems == []
    context.close()
