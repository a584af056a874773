"""Measure the review page with few and with many utterances: the first screen, decisions, the search and the map.

    python -m benchmarks.serve.page MODEL [--sizes 685,6000,100000] [--out FILE]      writes page.json beside this file
    python -m benchmarks.serve.page --table                                           prints the table of the documents

The utterances of the model are repeated, with a number at the end and the vectors of the originals, until there are as
many as asked for, all of them in the logs, so that the map shows all. A server of its own is started for each size, and
Chromium opens its map.

Times are processor time of the server, or of all processes of Chromium, so that other work on the machine changes them
little. Without a GPU, Chromium draws with the processor, and this is most of the time of a frame: what a script takes
of a frame is given as well. The first screen and the next question are what a person waits for, so they are measured by
the clock; run this on a quiet machine. It needs Linux.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from benchmarks.harness.provenance import hardware, with_code_hash
from benchmarks.harness.studies import whole_numbers

from newfound.files import to_json, write_atomically
from newfound.model.about import Description
from newfound.model.classifier import IntentModel
from newfound.model.folder import load, save

HERE = Path(__file__).parent
VECTORS_FILE = "vectors.npy"
FILE_NAME, BEFORE_FILE = "page.json", "page-before.json"
TITLES = {
    "first_screen": "first screen, ms by the clock",
    "next_question": "key to the next question, ms by the clock",
    "decision": "one decision, ms",
    "queue": "the queue after a decision, ms",
    "search": "search, ms",
    "search_by_meaning": "search by meaning, ms",
    "move": "move 1,000 utterances, ms",
    "undo": "undo that, ms",
    "map": "answer for the map, ms",
    "map_bytes": "answer for the map, kB",
    "first_drawing": "first picture of the map, ms",
    "pan": "frame of a drag, ms without a GPU",
    "pan_script": "of that scripts, ms",
    "hover": "frame of a hover, ms without a GPU",
    "hover_script": "of that scripts, ms",
}
PORT = 8813
REPEATS, QUICK_REPEATS = 5, 20  # the clock of processor time has steps of 10 ms
MOVED = 1_000
QUEUE = "/v1/review/queue?most=200"
SECONDS_OF_READING = 1.0  # of an utterance in the queue
FRAMES = 60
WORDS = "a"  # of the search, so that it has many hits
CHROMIUM_OPTIONS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]  # WebGL without a GPU
# Press a key in the queue, and return the milliseconds until another utterance is shown.
TIME_TO_NEXT_QUESTION = """() => new Promise((resolve) => {
  const text = () => document.querySelector('.big')?.textContent;
  const [old, began] = [text(), performance.now()];
  new MutationObserver((_, observer) => {
    if ([undefined, old].includes(text())) return;
    observer.disconnect();
    requestAnimationFrame(() => resolve(performance.now() - began));
  }).observe(document.body, { childList: true, subtree: true, characterData: true });
  document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'a', bubbles: true }));
})"""
IS_DRAWN = "() => /map: .+/.test(document.querySelector('#map')?.textContent)"
# Move the pointer a little in every frame, and return the milliseconds that scripts take of a frame.
SCRIPT_TIME_OF_A_GESTURE = """async ([frames, isDrag]) => {
  const canvas = document.querySelector('#map'), box = canvas.getBoundingClientRect();
  canvas.setPointerCapture = () => {};
  const send = (type, x, y) => canvas.dispatchEvent(new PointerEvent(type,
    { pointerId: 1, pointerType: 'mouse', clientX: box.x + x, clientY: box.y + y, bubbles: true }));
  const frame = window.requestAnimationFrame;
  const next = () => new Promise((resolve) => frame.call(window, resolve));
  let spent = 0; // milliseconds of scripts
  const timed = (run) => { const began = performance.now(); run(); spent += performance.now() - began; };
  window.requestAnimationFrame = (draw) => frame.call(window, (now) => timed(() => draw(now)));
  await next();
  if (isDrag) send('pointerdown', 300, 200);
  for (let k = 0; k < frames; k++) {
    timed(() => send('pointermove', 300 + 3 * (k % 40), 200 + 2 * (k % 30)));
    await next();
  }
  if (isDrag) send('pointerup', 300, 200);
  window.requestAnimationFrame = frame;
  return spent / frames;
}"""


def main(model: Path, sizes: list[int], out: Path) -> None:
    """Measure a model at some sizes, and write the figures."""
    original = load(model)
    results = []
    for size in sizes:
        with (
            tempfile.TemporaryDirectory() as place,
            _server_of(_enlarge(original, size, Path(place) / "model")) as server,
        ):
            results.append(_measure(size, server))
            print(json.dumps(results[-1]), flush=True)
    content = {"command": "python -m benchmarks.serve.page MODEL", "hardware": hardware("cpu"), "results": results}
    write_atomically(out, to_json(with_code_hash(content)))


def _enlarge(model: IntentModel, size: int, folder: Path) -> Path:
    """Save a model with so many utterances, and their vectors beside it."""
    originals = model.utterances
    order = np.random.default_rng(0).permutation(len(originals)).tolist()
    rows = [order[i % len(order)] for i in range(size)]
    utterances = [
        replace(originals[row], text=f"{originals[row].text} {i}", labelled=False) for i, row in enumerate(rows)
    ]
    save(replace(model, utterance_source=utterances), folder)
    np.save(folder / VECTORS_FILE, model.utterance_vectors.numpy()[rows])
    return folder


def serve(folder: str) -> None:
    """Serve a model whose vectors are in a file, so that they need not be computed."""
    from newfound.cli import app
    from newfound.review import session

    def load_with_vectors(description: Description, **options: Any) -> IntentModel:
        loaded = load(description, **options)
        loaded.__dict__["utterance_vectors"] = torch.from_numpy(np.load(description.folder / VECTORS_FILE))
        return loaded

    def warm_up(self: session.ReviewSession) -> None:
        _ = self.view().state
        self.votes()
        self.layout()

    session.__dict__["load"] = load_with_vectors
    session.ReviewSession.warm_up = warm_up  # type: ignore[method-assign]
    app(["serve", folder, "--port", str(PORT)])


@contextmanager
def _server_of(folder: Path) -> Iterator[int]:
    """Run a server, wait until the map has its final layout and so the server is quiet, and give its process."""
    command = [sys.executable, "-m", "benchmarks.serve.page", "--serve", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            while server.poll() is None:
                try:
                    if json.loads(_ask("/v1/review/map")).get("is_final"):
                        break
                except urllib.error.URLError:
                    pass
                time.sleep(0.5)
            yield server.pid
        finally:
            server.terminate()


def _ask(path: str, body: dict[str, Any] | None = None) -> bytes:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}{path}", data, {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        content: bytes = answer.read()
        return content


def _processor_time(process: int) -> float:
    """Return the milliseconds that a process has used so far."""
    values = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
    return 1_000 * (int(values[11]) + int(values[12])) / os.sysconf("SC_CLK_TCK")


def _measure(size: int, server: int) -> dict[str, float]:
    """Return the figures of one size, in milliseconds of the server's processor time if `TITLES` says nothing else."""

    def milliseconds(run: Callable[[], object], repeats: int = 1) -> float:
        began = _processor_time(server)
        for _ in range(repeats):
            run()
        return (_processor_time(server) - began) / repeats

    search = f"/v1/review/search?q={WORDS}"
    _ask(f"{search}&by_meaning=true")  # loads the encoder
    moved = list(range(0, size, max(1, size // MOVED)))[:MOVED]
    moves, undos = [], []
    for _ in range(REPEATS):
        moves.append(milliseconds(lambda: _move(moved)))
        undos.append(milliseconds(lambda: _ask("/v1/review/undo", {"author": "ana", "version": _version()})))
    some = iter(range(QUICK_REPEATS))
    _wait_for_questions()
    queues = []
    for _ in range(REPEATS):
        _move([next(some)])
        queues.append(milliseconds(lambda: _ask(QUEUE)))
    return {
        "utterances": size,
        "queue": median(queues),
        "decision": milliseconds(lambda: _move([next(some)]), REPEATS),
        "search": milliseconds(lambda: _ask(search), QUICK_REPEATS),
        "search_by_meaning": milliseconds(lambda: _ask(f"{search}&by_meaning=true"), QUICK_REPEATS),
        "move": median(moves),
        "undo": median(undos),
        "map": milliseconds(lambda: _ask("/v1/review/map"), QUICK_REPEATS),
        "map_bytes": len(_ask("/v1/review/map")),
        **_measure_in_browser(),
    }


def _wait_for_questions() -> None:
    """Wait until the queue begins with questions about several utterances: these are computed in the background."""
    while all(item["stands_for"] == 1 for item in json.loads(_ask(QUEUE))["items"]):
        time.sleep(0.5)


def _version() -> int:
    return int(json.loads(_ask("/v1/review/state"))["version"])


def _move(ids: list[int]) -> None:
    """Move utterances to the first intent."""
    state = json.loads(_ask("/v1/review/state"))
    decision = {"move": {"ids": ids, "to": state["intents"][0]["name"]}}
    _ask("/v1/review/decisions", {"author": "ana", "version": state["version"], "decisions": [decision]})


def _measure_in_browser() -> dict[str, float]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM_OPTIONS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(120_000)

        def time_to_first_screen() -> float:
            page.goto("about:blank")
            began = time.perf_counter()
            page.goto(f"http://127.0.0.1:{PORT}/")
            page.wait_for_selector("main h2")
            return 1_000 * (time.perf_counter() - began)

        def time_to_next_question() -> float:
            time.sleep(SECONDS_OF_READING)
            return float(page.evaluate(TIME_TO_NEXT_QUESTION))

        figures: dict[str, float] = {"first_screen": round(median(time_to_first_screen() for _ in range(REPEATS)))}
        page.fill("#author", "ana")
        page.goto(f"http://127.0.0.1:{PORT}/#queue")
        page.wait_for_selector(".big")
        figures["next_question"] = round(median(time_to_next_question() for _ in range(2 * REPEATS)))
        page.goto(f"http://127.0.0.1:{PORT}/#history")
        page.wait_for_selector("h2")

        session = browser.new_browser_cdp_session()

        def processor_time() -> float:
            processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
            return sum(1_000 * float(process["cpuTime"]) for process in processes)

        def time_to_map() -> float:
            page.goto(f"http://127.0.0.1:{PORT}/#history")
            page.wait_for_selector("#map", state="detached")
            began = processor_time()
            page.click("nav a[href='#map']")
            page.wait_for_function(IS_DRAWN)
            return processor_time() - began

        figures["first_drawing"] = round(median(time_to_map() for _ in range(3)))
        page.focus("#map")
        page.keyboard.press("+")
        for name in ("pan", "hover"):
            began = processor_time()
            script = page.evaluate(SCRIPT_TIME_OF_A_GESTURE, [FRAMES, name == "pan"])
            figures |= {name: round((processor_time() - began) / FRAMES, 1), f"{name}_script": round(script, 2)}
        browser.close()
        return figures


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def table() -> str:
    """Return what was measured of this version and of the one before as a table."""
    before, after = (json.loads((HERE / name).read_text("utf-8"))["results"] for name in (BEFORE_FILE, FILE_NAME))
    sizes = [f"{result['utterances']:,}" for result in after]
    lines = [
        f"| before → now | {' | '.join(f'{size} utterances' for size in sizes)} |",
        "|---" * (1 + len(sizes)) + "|",
    ]
    for name, title in ((name, title) for name, title in TITLES.items() if name in after[0]):
        unit = 1_000 if name == "map_bytes" else 1
        pairs = zip(before, after, strict=True)
        cells = [
            f"{_short(old[name] / unit) if name in old else '–'} → {_short(new[name] / unit)}" for old, new in pairs
        ]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, nargs="?")
    parser.add_argument("--sizes", type=whole_numbers, default=[685, 6_000, 100_000])
    parser.add_argument("--out", type=Path, default=HERE / FILE_NAME)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve)
    elif arguments.table:
        print(table())
    else:
        main(arguments.model, list(arguments.sizes), arguments.out)
