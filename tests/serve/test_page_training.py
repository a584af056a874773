"""Training from the page: on the decisions, on newer logs, or anew from files."""

from __future__ import annotations

import re
from functools import partial
from types import SimpleNamespace

import background_works as works
import pytest
from browsing import accept, change_answers, names, press, said, section, to_view

from newfound.serve.routes import training
from waiting import until

pytest_plugins = ["browsing_fixtures"]
LOGS = ["is my solar meter slow", "where is my refund", "cancel my book today", "smell of gas in my house"] * 3
DROP = """([name, content]) => {
  const data = new DataTransfer();
  data.items.add(new File([content], name));
  const fire = (kind) => document.body.dispatchEvent(
    new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: data }));
  fire("dragover");
  const isShown = document.querySelector(".drop-hint").checkVisibility();
  fire("drop");
  return isShown;
}"""


def decide(page):
    """Accept an intent and answer a question, as a reviewer does; return the name of the intent."""
    first = names(page)[0]
    accept(page, first)
    to_view(page, "queue")
    page.wait_for_selector(".card.stage .big")
    press(page, "a")
    said(page, " is ")
    return first


def job(page):
    return page.locator("section.job")


def choose(page, slot, name, content):
    page.check("#train-update" if slot == "newer-logs" else "#train-discover")
    page.set_input_files(f"#{slot}", files=[{"name": name, "mimeType": "text/csv", "buffer": content.encode()}])


def beside(tmp_path):
    return sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(("model", ".newfound")))


@pytest.fixture
def waiting(monkeypatch, tmp_path):
    """A refit that never ends, until `finish` lets real ones run again."""
    started = tmp_path / "pid"
    real = training.refit
    monkeypatch.setattr(training, "refit", partial(works.write_half, started))
    return SimpleNamespace(started=started, finish=lambda: monkeypatch.setattr(training, "refit", real))


def test_a_reviewer_trains_cancels_trains_again_uses_the_model_and_goes_back(page, browser, tmp_path, waiting):
    to_view(page, "train")
    page.wait_for_selector("text=Nothing has been decided about this model yet.")
    assert page.locator("#refit").count() == 0, "it says what to do first"
    first = decide(page)
    to_view(page, "train")
    page.wait_for_selector("#refit")
    assert page.locator(".counts li").all_inner_texts() == ["1 answer", "1 accepted intent"]

    page.click("#refit")
    until(lambda: waiting.started.exists())
    page.wait_for_selector(".steps li:has-text('Loading')")
    assert page.locator(".steps li[aria-current=step] progress").count() == 1
    page.reload()
    page.wait_for_selector(".steps li[aria-current=step]")
    other = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
    other.goto(page.url.split("#")[0] + "#train")
    other.wait_for_selector(".job :text('Started by Ana')")
    assert other.evaluate("document.documentElement.scrollWidth") <= 390
    page.click("button:has-text('Cancel')")
    for one in (page, other):
        one.wait_for_selector(".job p:has-text('Ana has cancelled it. Nothing was written.')")
    assert beside(tmp_path) == ["model"]

    waiting.finish()
    page.click("button:has-text('Start again')")
    page.wait_for_selector("h3:has-text('model-2 is ready')", timeout=300_000)
    result = job(page).inner_text()
    assert "1 answer became a label. 1 accepted intent is known now." in result
    assert re.search(r"Intents\s+5 before, 5 now", result), result
    assert re.search(rf"Known now\s+{first}", result), result
    assert re.search(r"probably wrong\s.*?\d+ before, \d+ now", result, re.DOTALL), result
    assert re.search(r"Moved utterances\s+\d+ of \d+", result), result
    assert beside(tmp_path) == ["model", "model-2"]

    page.click("#use-model")
    page.wait_for_selector("h1:has-text('model-2')")
    assert page.locator("h1").get_attribute("title") == str(tmp_path / "model-2")
    other.wait_for_selector("h1:has-text('model-2')")  # every open page follows
    other.context.close()
    page.wait_for_selector("h3:has-text('model-2 is in use')")
    to_view(page, "history")
    before = section(page, "Before the training of model-2")
    before.wait_for()
    assert "You trained it from model" in before.inner_text()
    assert before.locator("tbody tr").count() == 2
    assert f"accepted {first}" in before.locator("tbody").inner_text()
    assert before.locator("button").count() == 0, "what a model was trained on cannot be undone"
    to_view(page, "intents")
    page.wait_for_selector("details.known:has-text('Known intents (4)')")

    to_view(page, "train")
    page.click("#go-back")
    page.wait_for_selector("h1:has-text('model'):not(:has-text('model-2'))")
    page.wait_for_selector("button:has-text('Use model-2')")
    to_view(page, "intents")
    page.wait_for_selector("details.known:has-text('Known intents (3)')")


def test_a_job_that_failed_says_so_and_can_be_started_again(page, monkeypatch):
    decide(page)
    monkeypatch.setattr(training, "refit", works.refuse_a_refit)
    to_view(page, "train")
    page.click("#refit")
    page.wait_for_selector("h3:has-text('The training did not come to its end')")
    assert job(page).locator("[role=alert]").inner_text() == (
        "The disk is full. Nothing was written, and the model is as it was."
    )
    warned = ["gave <b>it</b> up", "and"]
    change_answers(page, "**/v1/review/training", lambda state: state["job"].update(warnings=warned))
    page.reload()
    page.click("summary:has-text('2 warnings')")
    assert job(page).locator("li").all_inner_texts() == warned
    page.click("button:has-text('Start again')")


def test_logs_that_are_dropped_anywhere_are_shown_and_learned_from(page, tmp_path):
    page.set_viewport_size({"width": 390, "height": 844})
    table = "customer_message,agent_reply\n" + "".join(f"{text} {i},thanks\n" for i, text in enumerate(LOGS))
    assert page.evaluate(DROP, ["newer.csv", table]), "the page shows that it takes the file"
    page.wait_for_selector(".preview")
    assert page.url.endswith("#train")
    card = section(page, "Newer logs")
    assert "12 utterances" in card.inner_text()
    assert card.locator(".preview tbody tr").count() == 5
    assert card.locator("select").input_value() == "customer_message"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    small = "(e) => e.getBoundingClientRect().height < 39.5"
    controls = card.locator("button, select").evaluate_all(f"(all) => all.filter({small}).map((e) => e.outerHTML)")
    assert controls == [], "large enough for a finger"
    assert page.locator("#start-update").is_disabled(), "nothing is accepted yet"
    page.check("text=that nobody has accepted as they are, too")
    page.click("summary:has-text('Options')")
    page.fill("#update-number", "2")
    page.click("#start-update")
    page.wait_for_selector("h3:has-text('Finding further intents')")
    page.wait_for_selector("h3:has-text('model-2 is ready')", timeout=300_000)
    assert re.search(r"\d new intents? w\w+ found. There were 12 utterances in the logs", job(page).inner_text())
    assert section(page, "Newer logs").locator(".preview").count() == 0, "they are learned"
    assert beside(tmp_path) == ["model", "model-2"]


def test_intents_are_found_anew_in_two_files(page, themed, tmp_path):
    known = [(text, label) for text, label in zip(themed.texts, themed.labels, strict=True) if label is not None]
    logs = [text for text, label in zip(themed.texts, themed.labels, strict=True) if label is None]
    to_view(page, "train")
    page.wait_for_selector("#other-logs", state="attached")
    choose(page, "other-logs", "logs.txt", "\n".join(logs))
    choose(page, "known-file", "known.csv", "text,label\n" + "".join(f'"{text}",{label}\n' for text, label in known))
    card = section(page, "Intents of other data")
    card.locator(".preview >> nth=1").wait_for()
    assert f"{len(known)} utterances of 3 intents" in card.inner_text()
    card.locator("summary").click()
    page.fill("#discover-number", "2")
    page.click("#start-discovery")
    page.wait_for_selector("h3:has-text('model-2 is ready')", timeout=300_000)
    assert "3 intents are known." in job(page).inner_text()


BAD_FILES = [
    ("newer-logs", "logs.jsonl", '{"text": "pay"}\n{"text": ', "logs.jsonl, line 2: not JSON"),
    ("newer-logs", "logs.pdf", "%PDF", "logs.pdf: cannot tell the format from the extension '.pdf'"),
    ("newer-logs", "logs.csv", "text\n", "logs.csv: no utterance in it"),
    ("known-file", "known.csv", "text\npay\n", "add or choose the column with the intents."),
    ("known-file", "known.csv", "text,label\npay,a\npay,b\n", "'pay' is labelled 'b', but 'a' on line 2"),
]


def test_a_file_that_cannot_be_used_gets_one_clear_line_and_a_remedy(page):
    to_view(page, "train")
    page.wait_for_selector("#newer-logs", state="attached")
    for slot, name, content, problem in BAD_FILES:
        choose(page, slot, name, content)
        page.wait_for_selector("p.refused")
        assert problem in page.locator("p.refused").inner_text()
        assert page.locator("#start-update:enabled, #start-discovery:enabled").count() == 0
        page.click(f"button[aria-label='Remove {name}']")
        assert page.locator("p.refused").count() == 0
    choose(page, "newer-logs", "logs.csv", "said,heard\nwhere is my card,thanks\n")
    page.wait_for_selector("p.refused:has-text('choose the column with the utterances')")
    page.select_option("#newer-logs-text", "said")
    page.wait_for_selector(".preview td:has-text('where is my card')")
    page.select_option("#newer-logs-text", "heard")
    page.wait_for_selector(".preview td:has-text('thanks')")
    page.click("button[aria-label='Remove logs.csv']")
    choose(page, "newer-logs", "plain.csv", "where is my card today please?\npay my bill\n")
    page.click("button:has-text('The first line is an utterance')")
    page.wait_for_selector(".preview td:has-text('where is my card today please?')")
    page.click("button[aria-label='Remove plain.csv']")
    page.evaluate("() => { CompressionStream = class { constructor() { return new TransformStream(); } }; }")
    choose(page, "newer-logs", "large.csv", "text\n" + "pay my bill\n" * 400_000)
    page.wait_for_selector("p.refused:has-text('large.csv is too large to be sent: at most 4 MB')")
