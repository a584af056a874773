"""The number of utterances is the same wherever it is shown: each counts as often as it occurred in the files."""

from __future__ import annotations

import json
import re
import shutil

from browsing import names, open_intent, to_view
from serving import server_of

from newfound.report.page import write_page
from newfound.review.decisions import Decision
from newfound.review.reviewed import load
from newfound.review.store import ReviewStore

pytest_plugins = ["browsing_fixtures"]


def numbers(words):
    return [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", words)]


def test_all_places_agree_where_texts_repeat_and_some_have_no_intent(browser, saved, tmp_path, tiny_encoder):
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
        titles = page.locator("tbody tr:has(a.name) td.traffic").evaluate_all("cells => cells.map((c) => c.title)")
        shown = page.locator("tbody a.name").all_text_contents()
        sizes = {name: numbers(title)[0] for name, title in zip(shown, titles, strict=True)}
        assert sum(sizes.values()) + n_none == n_all
        page.click(f"main a:has-text('{n_none} utterances of no intent')")
        page.wait_for_selector(f"h3:has-text('{n_none} utterances of no intent {len(put_aside)} different texts')")
        open_intent(page, name)
        assert numbers(page.locator("p.meta").first.inner_text())[0] == sizes[name]
        assert numbers(page.locator("h3:has-text('least certain first')").inner_text())[0] == sizes[name]
        parts = page.locator("main .row:has(input) .quiet:has-text('utterance')").all_inner_texts()
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
        legend = page.locator(".legend li").all_inner_texts()
        assert sum(numbers(entry)[-1] for entry in legend) == n_logs
        context.close()
    write_page(load(folder, encoder=tiny_encoder).reviewed, tmp_path / "report.html", title="report")
    report = (tmp_path / "report.html").read_text("utf-8")
    assert f"{n_logs:,} utterances of the logs were read" in report
    assert all(f"{size:,} utterances · certainty" in report for size in sizes.values())
    assert f"{n_logs:,}, of which" in report
    assert f"{n_none:,}, for instance" in report
