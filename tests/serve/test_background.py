"""Work in the background: its process, the folders of jobs, and requests that take turns."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import background_works as works
import httpx
import pytest
from serving import client_of, server_of, wait_for_job

from newfound.errors import NewfoundError
from newfound.serve.background import WorkFailed, run_in_process
from newfound.serve.jobs import BackgroundJobs, next_name, put_beside, without_paths
from newfound.serve.uploads import beyond_limits
from newfound.threads import inference_threads
from waiting import SECONDS_TO_WAIT, until

FILES = "/v1/files?name=logs.csv"
TABLE = b"text\npay my bill\n"


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
    assert until(lambda: not is_running(pid)), f"process {pid} goes on"


# ---------------------------------------------------------------- the process


def test_work_has_half_of_the_cores_and_a_low_priority_and_its_process_ends(monkeypatch):
    monkeypatch.setattr("newfound.serve.background.NICENESS", 10)
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


async def ended(jobs):
    while jobs.state().status == "running":
        await asyncio.sleep(0.02)
    return jobs.state()


def test_a_job_that_fails_says_no_path_and_leaves_nothing(tmp_path):
    model = tmp_path / "two words" / "m"
    model.mkdir(parents=True)

    async def run():
        jobs = BackgroundJobs()
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


def test_what_a_killed_server_left_goes_with_the_next_start(folder, tiny_encoder, tmp_path):
    started = tmp_path / "pid"
    script = f"""
import asyncio, pathlib, functools, background_works as works
from newfound.serve.jobs import BackgroundJobs

async def run():
    work = functools.partial(works.write_half, pathlib.Path({str(started)!r}))
    BackgroundJobs().start("refit", pathlib.Path({str(folder)!r}), work, author="ana")
    await asyncio.sleep(1000)

asyncio.run(run())"""
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", script], env=variables) as server:
        assert until(lambda: started.exists() and started.read_text())
        server.send_signal(signal.SIGKILL)
    ends(int(started.read_text()))  # and so does the job
    (left,) = tmp_path.glob(".newfound-job-*")
    with client_of(folder, tiny_encoder):
        assert left.exists(), "another server may have it under way"
    os.utime(left, (0, 0))
    (folder / ".audit.json-abc").touch()
    with client_of(folder, tiny_encoder):
        assert not list(tmp_path.glob(".newfound-job-*"))
        assert not (folder / ".audit.json-abc").exists()


# ---------------------------------------------------------------- over HTTP


def work_that_waits(monkeypatch, tmp_path):
    """Let the reading of files wait for one; return it, and the file that tells which processes have begun."""
    release, order = tmp_path / "release", tmp_path / "order"
    answer = beyond_limits("logs.csv", "nothing"), None
    monkeypatch.setattr("newfound.serve.uploads.read_file", partial(works.wait_for, release, order, answer))
    return release, order


def test_files_take_turns_and_are_limited(folder, tiny_encoder, monkeypatch, tmp_path):
    release, order = work_that_waits(monkeypatch, tmp_path)
    monkeypatch.setattr("newfound.serve.background.MAX_WAITING", 2)
    answers = []
    with server_of(folder, tiny_encoder) as address:

        def send():
            answers.append(httpx.post(address + FILES, content=TABLE, timeout=SECONDS_TO_WAIT).status_code)

        asking = [threading.Thread(target=send) for _ in range(3)]
        asking[0].start()
        assert until(order.exists)
        for thread in asking[1:]:
            thread.start()
        assert until(lambda: answers == [503])
        predicted = httpx.post(f"{address}/v1/predict", json={"texts": ["pay"]}, timeout=SECONDS_TO_WAIT)
        assert predicted.status_code == 200
        assert len(order.read_text().split()) == 1, "the second one waits for its turn"
        release.touch()
        for thread in asking:
            thread.join(SECONDS_TO_WAIT)
        assert httpx.post(address + FILES, content=TABLE, timeout=SECONDS_TO_WAIT).status_code == 200
    assert sorted(answers) == [200, 200, 503]
    assert len(set(order.read_text().split())) == 3, "a process for each"


def test_a_server_that_stops_waits_neither_for_a_job_nor_for_a_file(folder, tiny_encoder, monkeypatch, tmp_path):
    _, order = work_that_waits(monkeypatch, tmp_path)
    started, answers = tmp_path / "pid", []
    monkeypatch.setattr("newfound.serve.routes.training.refit", partial(works.write_half, started))
    with server_of(folder, tiny_encoder) as address:

        def send():
            answers.append(httpx.post(address + FILES, content=TABLE, timeout=SECONDS_TO_WAIT))

        asking = threading.Thread(target=send)
        asking.start()
        assert httpx.post(f"{address}/v1/review/refit", json={"author": "ana"}).json()["status"] == "running"
        assert until(lambda: started.exists() and started.read_text() and order.exists() and order.read_text())
    asking.join(SECONDS_TO_WAIT)
    assert (answers[0].status_code, answers[0].json()) == (503, {"detail": "the server is stopping"})
    ends(int(started.read_text()))
    ends(int(order.read_text()))
    assert sorted(path.name for path in folder.parent.glob("*model*")) == ["model"]


def test_a_refit_is_cancelled_over_http(folder, tiny_encoder, monkeypatch, tmp_path):
    """By who started it. Nothing of it stays, and another one can be started."""
    started, refit = tmp_path / "pid", "newfound.serve.routes.training.refit"
    monkeypatch.setattr(refit, partial(works.write_half, started))
    with client_of(folder, tiny_encoder) as client:

        def post(path, author):
            answer = client.post(path, json={"author": author})
            return answer.status_code, answer.json().get("detail")

        assert post("/v1/jobs/cancel", "bo") == (409, "no job is running")
        client.post("/v1/review/refit", json={"author": "ana"})
        assert until(lambda: started.exists() and started.read_text() and client.get("/v1/jobs").json()["warnings"])
        refused = "ana has started a job already; wait for it, or cancel it"
        assert post("/v1/review/refit", "bo") == (409, refused)
        assert post("/v1/jobs/cancel", "bo") == (403, "ana has started it; only ana may cancel it")
        cancelled = client.post("/v1/jobs/cancel", json={"author": "ana"}).json()
        assert (cancelled["status"], len(cancelled["warnings"])) == ("cancelled", 1)
        assert cancelled["message"] == "ana has cancelled it. Nothing was written."
        assert str(tmp_path) not in str(cancelled)
        ends(int(started.read_text()))
        assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "pid"]
        assert post("/v1/review/serve", "bo") == (409, "no job has written a model yet")
        monkeypatch.setattr(refit, works.write_whole)
        client.post("/v1/review/refit", json={"author": "bo"})
        done = wait_for_job(client)
    assert (done["folder"], done["author"]) == ("model-2", "bo")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "model-2", "pid"], "no checkpoints either"
    assert done["steps"] == ["Loading", "Encoding", "Fine-tuning"]
    assert (done["done"], done["total"]) == (1, 2)


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
