"""Several workers on one port: the same answers, decisions of other processes, summed metrics, and a clean end."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest

import newfound
from newfound.review.decisions import Decision
from newfound.review.store import ReviewStore
from waiting import until

pytest.importorskip("uvicorn", reason="extra `serve` not installed")

from newfound.serve.workers import MIN_SECONDS_OF_A_WORKER

pytestmark = pytest.mark.slow


def ask(address, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{address}{path}", data, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.fixture(scope="module")
def served(saved, tmp_path_factory):
    folder = shutil.copytree(saved, tmp_path_factory.mktemp("workers") / "model")
    command = [sys.executable, "-m", "newfound", "serve", str(folder), "--port", "0", "--workers", "2", "--quiet"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        address = re.search(r"http://\S+?(?=/ )", process.stderr.readline())[0]
        assert until(lambda: ask(address, "/readyz")[0] == 200)  # a listener accepts before a worker answers
        yield folder, address, process, time.monotonic()
    finally:
        process.kill()
        process.wait()


def test_workers_answer_alike_until_they_are_stopped(served):
    """One test, so that one server is started for all of it."""
    folder, address, process, begun = served
    _check_predictions_and_decisions(folder, address)
    _check_what_needs_one_process(address)
    _check_metrics(address)
    _check_a_killed_worker_is_replaced(process, address, begun)
    process.send_signal(signal.SIGTERM)
    assert process.wait(40) == 0
    with pytest.raises((urllib.error.URLError, OSError)):
        ask(address, "/healthz")


def _check_predictions_and_decisions(folder, address):
    (expected,) = newfound.predict(folder, ["pay my bill"], device="cpu")
    status, content = ask(address, "/v1/predict", {"texts": ["pay my bill"]})
    assert status == 200
    (found,) = json.loads(content)["predictions"]
    assert (found["intent"], found["probability"]) == (expected.intent, pytest.approx(expected.probability, abs=1e-5))
    ReviewStore(folder).decide([Decision("rename", {"intent": found["intent"], "to": "renamed"})], author="ana")

    def intents_of_several_answers():
        answers = {ask(address, "/v1/predict", {"texts": ["pay my bill"]})[1] for _ in range(12)}
        return {json.loads(answer)["predictions"][0]["intent"] for answer in answers}

    assert until(lambda: intents_of_several_answers() == {"renamed"})


def _check_what_needs_one_process(address):
    for path, body in (("/v1/jobs", None), ("/v1/review/state", None), ("/v1/discover", {}), ("/", None)):
        status, content = ask(address, path, body)
        assert status == 501, (path, content)
        assert "several workers and only predicts" in content


def _check_metrics(address):
    before = _predictions(address)
    for _ in range(20):
        assert ask(address, "/v1/predict", {"texts": ["leak"]})[0] == 200
    assert until(lambda: _predictions(address) == before + 20)  # an answer is counted when it was sent
    assert {_predictions(address) - before for _ in range(6)} == {20}, "whichever worker is asked"


def _check_a_killed_worker_is_replaced(process, address, begun):
    before = _workers_of(process)
    assert len(before) == 2
    time.sleep(max(0, begun + MIN_SECONDS_OF_A_WORKER - time.monotonic()))  # one that ends sooner would end again
    os.kill(min(before), signal.SIGKILL)
    assert until(lambda: len(_workers_of(process)) == 2 and _workers_of(process) != before)
    assert len(_workers_of(process) - before) == 1
    assert ask(address, "/v1/predict", {"texts": ["leak"]})[0] == 200


def _workers_of(process):
    """The processes that answer; another one is Python's own, which tidies up after all."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    found = set()
    for child in children:
        with suppress(OSError):  # it may have ended since
            if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                found.add(int(child))
    return found


def test_a_worker_that_cannot_start_ends_the_command_with_one_line(saved, tmp_path):
    folder = shutil.copytree(saved, tmp_path / "model")
    (folder / "weights.safetensors").write_bytes(b"no weights")
    # Every worker counts as one that has run for long, as one with a large encoder has when it fails.
    command = (
        "from newfound.cli import main; from newfound.serve import workers; workers.MIN_SECONDS_OF_A_WORKER = 0; main()"
    )
    options = ["serve", str(folder), "--port", "0", "--workers", "2", "--quiet"]
    done = subprocess.run([sys.executable, "-c", command, *options], capture_output=True, text=True, timeout=300)
    assert done.returncode == 2, done.stderr
    announced, error = done.stderr.splitlines()
    assert announced.startswith("newfound serves ")
    assert error.startswith("newfound: error: ")
    assert "weights.safetensors" in error


def test_control_c_while_workers_start_is_quiet(saved):
    command = [sys.executable, "-m", "newfound", "serve", str(saved), "--port", "0", "--workers", "2", "--quiet"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stderr.readline().startswith("newfound serves ")
        assert until(lambda: len(_workers_of(process)) == 2)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to the command and to its workers
        assert process.communicate(timeout=40) == (None, "")
        assert process.returncode == 0
    finally:
        process.kill()
        process.wait()


def _predictions(address):
    _, text = ask(address, "/metrics")
    found = re.search(r'newfound_requests_total\{[^}]*route="/v1/predict"[^}]*status="200"[^}]*\} ([\d.]+)', text)
    return 0 if found is None else int(float(found[1]))
