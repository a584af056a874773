"""Files of utterances that are sent to the server, and the jobs that learn from them."""

from __future__ import annotations

import dataclasses
import gzip
import re
import sys
import tempfile
from functools import partial

import background_works as works
import pytest
from serving import QUIET, client_of

from newfound.serve import uploads
from newfound.serve.routes import training
from waiting import until

TABLE = b"created,customer_message\n2026-01-05,where is my card\n2026-01-06,pay my bill\n"


@pytest.fixture
def client(folder, tiny_encoder, monkeypatch, tmp_path):
    files = tmp_path / "temporary"
    files.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(files))
    with client_of(folder, tiny_encoder) as client:
        yield client


def send(client, content, name="logs.csv", **options):
    answer = client.post("/v1/files", params={"name": name, **options}, content=content)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_file_is_read_as_on_the_command_line_and_nothing_of_it_stays_on_the_disk(client, tmp_path):
    sent = send(client, TABLE)
    assert (sent["utterances"], sent["text_column"], sent["problem"]) == (2, "customer_message", None)
    assert sent["columns"] == ["created", "customer_message"]
    assert [text for text, _ in sent["first"]] == ["where is my card", "pay my bill"]
    assert "the times are read from the column 'created'" in sent["notes"]
    assert send(client, gzip.compress(TABLE))["utterances"] == 2
    header, first, second = TABLE.splitlines(keepends=True)
    joined = gzip.compress(header + first) + gzip.compress(second)  # as rotated logs are put together
    assert send(client, joined)["utterances"] == 2
    latin = send(client, "text\ncafé\nça va\n".encode("cp1252"))
    assert latin["first"][0][0] == "café"
    known = send(client, b"text,label\npay my bill,pay\n", "known.csv", use="known")
    assert (known["intents"], known["first"]) == (1, [["pay my bill", "pay"]])
    assert list((tmp_path / "temporary").glob("newfound*")) == []


def test_the_name_of_a_file_is_no_path(client, folder):
    for name in ("../../etc/logs.csv", "/etc/passwd", "a\0b.csv", "logs.csv/..", "🎉.csv"):
        send(client, TABLE, name)
    assert [path.name for path in folder.parent.iterdir() if path.name != "temporary"] == ["model"]


@pytest.mark.skipif(sys.platform != "linux", reason="the memory cannot be limited")
def test_a_small_file_that_takes_too_much_memory_is_refused(client):
    """One that unpacks to more than 512 MiB is refused by the reader (`tests/data/test_tables.py`)."""
    problem = send(client, gzip.compress(b"text\n" + b"a" * 300 * 2**20, 1))["problem"]
    assert re.match("logs.csv: takes (more than 60 seconds or )?too much memory; ", problem)


def test_reading_has_only_so_much_time(client, monkeypatch):
    monkeypatch.setattr(uploads, "SECONDS_TO_READ", 0.5)
    monkeypatch.setattr(uploads, "read_file", works.read_forever)
    late = send(client, TABLE)
    assert "takes more than 0.5 seconds or too much memory; use the command line" in late["problem"]
    monkeypatch.undo()
    assert send(client, TABLE)["utterances"] == 2, "the process was killed, and another one reads the next file"


def test_files_that_cannot_be_used_are_refused_in_one_line(client):
    assert "damaged" in send(client, gzip.compress(TABLE)[:-12])["problem"]
    assert "damaged" in send(client, b"\x1f\x8bnonsense")["problem"]
    unclear = send(client, b"said,heard\na b,c d\n")
    assert unclear["columns"] == ["said", "heard"]
    assert unclear["remedies"] == ["text_column", "no_header"]
    assert send(client, b"said,heard\na b,c d\n", text_column="said")["first"] == [["a b", None]]
    assert "\n" not in unclear["problem"]


def test_with_a_token_files_need_it_and_the_page_must_be_ours(folder, tiny_encoder):
    token = "a-secret-of-24-characters"
    with client_of(folder, tiny_encoder, dataclasses.replace(QUIET, token=token)) as client:
        path, bearer = "/v1/files?name=logs.csv", {"authorization": f"Bearer {token}"}
        assert client.post(path, content=TABLE).status_code == 401
        assert client.post(path, content=TABLE, headers=bearer).status_code == 200
        foreign = {**bearer, "origin": "https://example.org"}
        assert client.post(path, content=TABLE, headers=foreign).status_code == 403
        assert client.post(path, content=TABLE, headers={**bearer, "origin": "http://127.0.0.1"}).status_code == 403


def test_a_job_takes_its_file_and_few_files_wait(client, monkeypatch, tmp_path):
    started = tmp_path / "pid"
    monkeypatch.setattr(training, "update", partial(works.wait_with_logs, started))
    monkeypatch.setattr(uploads, "MAX_FILES", 2)
    ids = [send(client, TABLE)["id"] for _ in range(2)]
    full = client.post("/v1/files?name=logs.csv", content=TABLE)
    assert (full.status_code, full.json()["detail"]) == (409, "too many files wait for a training; try again later")
    ids.append(send(client, TABLE, replaces=ids[0])["id"])  # as another choice of columns does
    gone = client.post("/v1/update", json={"author": "ana", "logs_file": ids[0]})
    assert (gone.status_code, gone.json()["detail"]) == (409, "the file is not here any more; choose it again")
    assert client.post("/v1/update", json={"author": "ana", "logs_file": ids[1]}).json()["status"] == "running"
    until(lambda: started.exists() and started.read_text())
    assert started.read_text() == "logs.csv: where is my card, pay my bill"
    busy = client.post("/v1/update", json={"author": "ana", "logs_file": ids[2]})
    assert "ana has started a job already" in busy.json()["detail"]
    client.post("/v1/jobs/cancel", json={"author": "ana"})
    again = client.post("/v1/update", json={"author": "ana", "logs_file": ids[1]})
    assert again.status_code == 409, "the job has taken it"
    assert client.post("/v1/update", json={"author": "ana", "logs_file": ids[2]}).status_code == 200, (
        "a refusal has not"
    )


def test_files_and_texts_are_not_mixed(client):
    for path, body in (
        ("/v1/update", {}),
        ("/v1/update", {"logs": ["pay"], "logs_file": "x"}),
        ("/v1/discover", {"known_file": "x"}),
        ("/v1/discover", {"logs": ["pay"], "logs_file": "x"}),
        ("/v1/discover", {"known": [{"text": "pay", "label": "pay"}], "known_file": "x", "logs_file": "x"}),
    ):
        assert client.post(path, json={"author": "ana", **body}).status_code == 422, (path, body)
