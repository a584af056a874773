"""Work in the background: its process, the folders of jobs, and requests that take turns."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import background_works as works
import httpx
import pytest
from serving import client_of, server_of

from newfound.errors import ConflictError, NewfoundError
from newfound.review.history import History, write_history
from newfound.serve.background.folders import next_name, put_beside, remove_old_results
from newfound.serve.background.jobs import BackgroundJobs
from newfound.serve.background.process import WorkFailed, run_in_process
from newfound.serve.schemas.errors import without_paths
from newfound.threads import inference_threads
from newfound.workflows.evaluation import EvaluationScores

SECONDS_TO_WAIT = 300
LABELLED = {"labelled": [{"text": "pay my bill", "label": "pay"}]}


def wait_until(condition, what="it"):
    deadline = time.monotonic() + SECONDS_TO_WAIT
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen"
        time.sleep(0.02)


async def until(condition):
    await asyncio.to_thread(wait_until, condition)


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    if not Path("/proc/self").exists():
        return True
    try:
        return b"\0" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return False


def ends(pid):
    wait_until(lambda: not is_running(pid), f"the end of process {pid}")


# ---------------------------------------------------------------- the process


def test_work_has_half_of_the_cores_and_a_low_priority_and_its_process_ends(monkeypatch):
    monkeypatch.setattr("newfound.serve.background.process.NICENESS", 10)
    reports = []
    work = run_in_process(works.describe, lambda *report: reports.append(report))
    pid, priority, threads = asyncio.run(work)
    assert reports == [("task", "describing", 2), ("advance", 1), ("warn", "odd")]
    assert int(threads) == max(1, inference_threads() // 2)
    assert priority > os.getpriority(os.PRIO_PROCESS, 0) or priority == 19
    ends(pid)


@pytest.mark.parametrize(
    ("work", "error", "message"),
    [
        (partial(works.refuse, "/a"), NewfoundError, r"rows\.csv: no utterance in it"),
        (works.fail, WorkFailed, "ZeroDivisionError; the server's log says more"),
        (works.die, WorkFailed, "ended with code 3"),
    ],
)
def test_a_refusal_a_failure_and_the_death_of_the_process_are_told(work, error, message):
    with pytest.raises(error, match=message):
        asyncio.run(run_in_process(work, print))


def test_work_that_is_cancelled_while_its_process_starts_is_ended(tmp_path):
    started = tmp_path / "pid"

    async def run():
        work = asyncio.create_task(run_in_process(partial(works.wait, started), print))
        await asyncio.sleep(0)
        work.cancel()
        await asyncio.wait([work])
        return work.cancelled()

    assert asyncio.run(run())
    if started.exists():  # it may have been killed before it said so
        ends(int(started.read_text() or 0))


# ---------------------------------------------------------------- jobs and their folders


def jobs_of():
    return BackgroundJobs(in_use=list)


async def ended(jobs):
    while jobs.state().status == "running":
        await asyncio.sleep(0.02)
    return jobs.state()


def test_a_cancelled_job_leaves_nothing_and_the_next_one_starts(tmp_path):
    started, model = tmp_path / "pid", tmp_path / "models" / "m"
    model.mkdir(parents=True)

    async def run():
        jobs = jobs_of()
        with pytest.raises(ConflictError, match="no job is running"):
            await jobs.cancel("ana")
        jobs.start("refit", model, partial(works.write_half, started), author="ana")
        await until(lambda: started.exists() and started.read_text() and jobs.state().warnings)
        with pytest.raises(ConflictError, match="ana has started a job already"):
            jobs.start("refit", model, works.write_whole, author="bo")
        cancelled = await jobs.cancel("bo")
        left = sorted(path.name for path in model.parent.iterdir())
        jobs.start("refit", model, works.write_whole, author="bo")
        return cancelled, left, await ended(jobs)

    cancelled, left, done = asyncio.run(run())
    assert (cancelled.status, cancelled.message) == ("cancelled", "bo has cancelled it. Nothing was written.")
    assert len(cancelled.warnings) == 1
    assert str(tmp_path) not in str(cancelled)
    assert left == ["m"]
    ends(int(started.read_text()))
    assert done.status == "done", done
    assert sorted(path.name for path in model.parent.iterdir()) == ["m", "m-2"], "no checkpoints either"
    assert (done.folder, done.author) == ("m-2", "bo")
    steps = ("loading", "encoding", "fine-tuning", "training", "comparing", "writing")
    assert done.steps == steps, "unexpected ones are added"
    assert (done.step, done.done, done.total) == ("fine-tuning", 1, 2)


def test_a_job_that_fails_says_no_path_and_leaves_nothing(tmp_path):
    model = tmp_path / "two words" / "m"
    model.mkdir(parents=True)

    async def run():
        jobs = jobs_of()
        jobs.start("discover", model, works.refuse_to_write, author="ana")
        return await ended(jobs)

    state = asyncio.run(run())
    assert state.status == "failed"
    assert state.message == "m-2: cannot be written"
    assert [path.name for path in model.parent.iterdir()] == ["m"]


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("/model: damaged", "model: damaged"),
        ("cannot open '/var/lib/x/weights.safetensors'", "cannot open 'weights.safetensors'"),
        ("C:\\models\\m: damaged", "m: damaged"),
        (
            "no such <b>key</b> at https://example.org/v1, 3/4 done",
            "no such <b>key</b> at https://example.org/v1, 3/4 done",
        ),
    ],
)
def test_messages_hold_no_path(message, shown):
    assert without_paths(message) == shown


def test_the_name_of_a_result_is_short_and_does_not_grow(tmp_path):
    def trained_from(model):
        written = tmp_path / "work" / "written"
        written.mkdir(parents=True)
        return put_beside(written, model, "ana")

    model = tmp_path / "bot"
    model.mkdir()
    names = []
    for _ in range(3):
        model = trained_from(model)
        names.append(model.name)
    assert names == ["bot-2", "bot-3", "bot-4"]
    assert trained_from(tmp_path / "bot").name == "bot-5", "the next number that is free, whichever is trained from"
    (tmp_path / "bank-77").mkdir()
    assert next_name(tmp_path / "bank-77") == "bank-77-2", "a number that belongs to the name stays"


def test_only_the_latest_results_stay(saved, tmp_path):
    names = [f"m-{number}" for number in range(2, 12)]
    for name in ("m", "other-2", "m-notes", *names):
        shutil.copytree(saved, tmp_path / name)
        write_history(tmp_path / name, History(result=name))
    (tmp_path / names[0] / "review.sqlite3").write_text("decisions")
    (tmp_path / names[1] / "mine.txt").write_text("something else")
    (tmp_path / names[2] / "history.json").unlink()
    (tmp_path / names[3]).rename(tmp_path / "m-9000")  # somebody keeps a result under another name
    remove_old_results(tmp_path / names[-1], 2, in_use=[tmp_path / names[4]])
    stayed = {path.name for path in tmp_path.iterdir()}
    kept = {*(names[i] for i in (0, 1, 2, 4, 8, 9)), "m-9000"}
    assert stayed == {"m", "other-2", "m-notes", *kept}


def test_what_a_killed_server_left_goes_with_the_next_start(folder, tiny_encoder, tmp_path):
    started = tmp_path / "pid"
    script = f"""
import asyncio, pathlib, functools, background_works as works
from newfound.serve.background.jobs import BackgroundJobs

async def run():
    work = functools.partial(works.write_half, pathlib.Path({str(started)!r}))
    BackgroundJobs(in_use=list).start("refit", pathlib.Path({str(folder)!r}), work, author="ana")
    await asyncio.sleep(1000)

asyncio.run(run())"""
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", script], env=variables) as server:
        wait_until(lambda: started.exists() and started.read_text())
        with client_of(folder, tiny_encoder):
            assert list(tmp_path.glob(".newfound-job-*")), "another server has it under way"
        server.send_signal(signal.SIGKILL)
    ends(int(started.read_text()))  # and so does the job
    (folder / ".audit.json-abc").touch()
    with client_of(folder, tiny_encoder):
        assert not list(tmp_path.glob(".newfound-job-*"))
        assert not (folder / ".audit.json-abc").exists()


# ---------------------------------------------------------------- over HTTP


def work_that_waits(monkeypatch, tmp_path):
    """Let evaluations wait for a file; return it, and the file that tells which processes have begun."""
    names = [field.name for field in dataclasses.fields(EvaluationScores)]
    answer = EvaluationScores(**dict.fromkeys(names, 0) | {"matches": (), "confusions": (), "no_intent": None})
    release, order = tmp_path / "release", tmp_path / "order"
    work = partial(works.wait_for, release, order, answer)
    monkeypatch.setattr("newfound.serve.routes.predictions.run_evaluation", work)
    return release, order


def test_evaluations_take_turns_and_are_limited(folder, tiny_encoder, monkeypatch, tmp_path):
    release, order = work_that_waits(monkeypatch, tmp_path)
    monkeypatch.setattr("newfound.serve.background.queue.MAX_WAITING_PER_CLIENT", 2)
    answers = []
    with server_of(folder, tiny_encoder) as address:

        def evaluate():
            answers.append(httpx.post(f"{address}/v1/evaluate", json=LABELLED, timeout=SECONDS_TO_WAIT).status_code)

        asking = [threading.Thread(target=evaluate) for _ in range(3)]
        asking[0].start()
        wait_until(order.exists)
        for thread in asking[1:]:
            thread.start()
        wait_until(lambda: answers == [429])
        predicted = httpx.post(f"{address}/v1/predict", json={"texts": ["pay"]}, timeout=SECONDS_TO_WAIT)
        assert predicted.status_code == 200
        assert len(order.read_text().split()) == 1, "the second one waits for its turn"
        release.touch()
        for thread in asking:
            thread.join(SECONDS_TO_WAIT)
        assert httpx.post(f"{address}/v1/evaluate", json=LABELLED, timeout=SECONDS_TO_WAIT).status_code == 200
    assert sorted(answers) == [200, 200, 429]
    assert len(set(order.read_text().split())) == 3, "a process for each"


def send_and_leave(address, path, body):
    content = json.dumps(body).encode()
    host, port = address.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)))
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    connection.sendall(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
    return connection


def test_the_work_of_a_client_that_leaves_ends(folder, tiny_encoder, monkeypatch, tmp_path):
    release, order = work_that_waits(monkeypatch, tmp_path)
    monkeypatch.setattr("newfound.serve.background.queue.MAX_WAITING_PER_CLIENT", 1)
    with server_of(folder, tiny_encoder) as address:
        connection = send_and_leave(address, "/v1/evaluate", LABELLED)
        wait_until(lambda: order.exists() and order.read_text())
        connection.close()
        ends(int(order.read_text()))
        release.touch()
        evaluate = partial(httpx.post, f"{address}/v1/evaluate", json=LABELLED, timeout=SECONDS_TO_WAIT)
        wait_until(lambda: evaluate().status_code == 200, "the place of the client that left was not given back:")


def test_a_server_that_stops_waits_neither_for_a_job_nor_for_an_evaluation(folder, tiny_encoder, monkeypatch, tmp_path):
    _, order = work_that_waits(monkeypatch, tmp_path)
    started, answers = tmp_path / "pid", []
    monkeypatch.setattr("newfound.serve.routes.training.run_refit", partial(works.write_half_of_a_refit, started))
    with server_of(folder, tiny_encoder) as address:

        def evaluate():
            answers.append(httpx.post(f"{address}/v1/evaluate", json=LABELLED, timeout=SECONDS_TO_WAIT))

        asking = threading.Thread(target=evaluate)
        asking.start()
        assert httpx.post(f"{address}/v1/review/refit", json={"author": "ana"}).json()["status"] == "running"
        wait_until(lambda: started.exists() and started.read_text() and order.exists() and order.read_text())
    asking.join(SECONDS_TO_WAIT)
    assert (answers[0].status_code, answers[0].json()) == (503, {"detail": "the server is stopping"})
    ends(int(started.read_text()))
    ends(int(order.read_text()))
    assert sorted(path.name for path in folder.parent.glob("*model*")) == ["model"]


def test_a_refit_is_cancelled_over_http(folder, tiny_encoder, monkeypatch, tmp_path):
    started = tmp_path / "pid"
    monkeypatch.setattr("newfound.serve.routes.training.run_refit", partial(works.write_half_of_a_refit, started))
    with client_of(folder, tiny_encoder) as client:
        assert client.post("/v1/jobs/cancel", json={"author": "bo"}).status_code == 409
        client.post("/v1/review/refit", json={"author": "ana"})
        wait_until(lambda: started.exists() and started.read_text())
        refused = client.post("/v1/jobs/cancel", json={"author": "bo"})
        assert (refused.status_code, refused.json()["detail"]) == (403, "ana has started it; only ana may cancel it")
        assert client.post("/v1/jobs/cancel", json={"author": "ana"}).json()["status"] == "cancelled"
        assert client.get("/v1/jobs").json()["message"] == "ana has cancelled it. Nothing was written."
        assert client.post("/v1/review/serve", json={"author": "bo"}).status_code == 409
    ends(int(started.read_text()))


def test_an_encoder_can_be_sent_to_another_process_after_it_was_used(tiny_encoder):
    import pickle

    tiny_encoder.features(["pay my bill"], tiny_encoder.tune("heads"))
    sent = pickle.loads(pickle.dumps(tiny_encoder))  # noqa: S301 (our own)
    assert sent.weights_hash() == tiny_encoder.weights_hash()


@pytest.mark.parametrize(
    ("head", "body"),
    [("Content-Length: 100000000", b""), ("Transfer-Encoding: chunked", b"800\r\n" + b"x" * 0x800 + b"\r\n")],
)
def test_nothing_is_read_after_413(folder, tiny_encoder, monkeypatch, head, body):
    """The connection is closed, although the client has most of the body still to send.

    What is sent here arrives as one piece: a server that closes on unread bytes resets the connection.
    """
    monkeypatch.setattr("newfound.serve.middleware.MAX_BYTES", 1_000)
    with server_of(folder, tiny_encoder) as address:
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=SECONDS_TO_WAIT) as connection:
            connection.sendall(f"POST /v1/predict HTTP/1.1\r\nHost: 127.0.0.1\r\n{head}\r\n\r\n".encode() + body)
            answer = b""
            while part := connection.recv(10_000):  # until the server closes it
                answer += part
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in answer.lower()
