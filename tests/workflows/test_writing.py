"""Predictions as files: whole or not there, of any size, from everything that can be read."""

from __future__ import annotations

import csv
import errno
import io
import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

import newfound as library
from commands import newfound
from newfound.errors import DataError, ModelError, OutputError, TargetExists
from newfound.model.types import Prediction
from newfound.workflows.prediction import write_predictions

pa = pytest.importorskip("pyarrow", reason="extra `parquet` not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="extra `parquet` not installed")

TEXTS = ["pay bill", "water leak", "", "pay bill", "solar power back"] * 5


@pytest.fixture
def table(tmp_path):
    """A table with columns of many types, one of which has the name of a prediction's."""
    path = tmp_path / "logs.parquet"
    times = pa.array(range(len(TEXTS)), pa.timestamp("ns"))
    columns = {"id": range(len(TEXTS)), "text": TEXTS, "intent": ["old"] * len(TEXTS), "at": times}
    pq.write_table(pa.table(columns), path)
    return path


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_a_file_holds_what_is_printed(saved, table, tmp_path, ending):
    printed = newfound("predict", saved, table, "--top", 2)
    assert printed.returncode == 0
    out = tmp_path / f"out.{ending}"
    done = newfound("predict", saved, table, "--top", 2, "--out", out)
    assert (done.returncode, done.stdout) == (0, f"Wrote 20 predictions to {out}\n")
    rows = [json.loads(line) for line in printed.stdout.splitlines()]
    if ending == "jsonl":
        assert out.read_text() == printed.stdout
    elif ending == "csv":
        found = list(csv.DictReader(io.StringIO(out.read_text(), newline="")))
        assert [(row["line"], row["intent_2"]) for row in found] == [
            (str(row["line"]), row["top"][1]["intent"]) for row in rows
        ]
    else:
        assert pq.read_table(out).to_pylist() == rows


def test_what_is_there_is_not_replaced_unasked(saved, table, tmp_path):
    file, folder = tmp_path / "out.csv", tmp_path / "thesis"
    file.write_text("mine")
    folder.mkdir()
    done = newfound("predict", saved, table, "--out", file)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "add --force to replace it" in done.stderr
    with pytest.raises(TargetExists):
        library.write_predictions(saved, table, out=file)
    assert newfound("predict", saved, table, "--out", file, "--force").returncode == 0
    assert f"{folder} is a folder" in newfound("predict", saved, table, "--out", f"{folder}/", "--force").stderr
    done = newfound("predict", saved, table, "--out", table, "--force")
    assert "is where the input lies; choose another --out" in done.stderr
    done = newfound("predict", saved, table, "--out", tmp_path / "out.xyz")
    assert "cannot tell the format from its ending" in done.stderr


class FullDisk(io.RawIOBase):
    """A file on a disk that is full after some bytes."""

    def __init__(self, file, room):
        self._file, self._room = file, room

    def writable(self):
        return True

    def write(self, data):
        self._room -= len(data)
        if self._room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return self._file.write(data)

    def flush(self):
        if not self._file.closed:
            self._file.flush()

    def fileno(self):
        return self._file.fileno()

    def close(self):
        super().close()
        self._file.close()


@pytest.fixture
def full_disk(monkeypatch):
    """A disk with room for 2,000 bytes of each file."""
    real = Path.open

    def open(path, mode="r", *args, **kwargs):
        file = real(path, mode, *args, **kwargs)
        return FullDisk(file, 2_000) if mode == "xb" else file

    monkeypatch.setattr(Path, "open", open)


@pytest.mark.parametrize("out", ["out.jsonl", "out.csv", "out.parquet"])
def test_a_disk_that_is_full_in_the_middle(saved, table, tmp_path, out, request, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert newfound("predict", saved, table, "--out", out).returncode == 0
    target = tmp_path / out
    whole = target.read_bytes()
    before = names_in(tmp_path)
    big = tmp_path / "big.parquet"
    pq.write_table(pa.table({"text": [f"pay {i} bill {i * 7}" for i in range(3_000)]}), big)
    request.getfixturevalue("full_disk")
    done = newfound("predict", saved, big, "--out", out, "--force")
    assert done.returncode == 2
    errors = [line for line in done.stderr.splitlines() if line.startswith("newfound: error: ")]
    assert len(errors) == 1
    assert "No space left on device" in errors[0]
    assert names_in(tmp_path) == sorted([*before, "big.parquet"])
    assert target.read_bytes() == whole


@pytest.mark.parametrize("stop", [KeyboardInterrupt, ValueError])
def test_what_is_stopped_leaves_nothing(saved, table, tmp_path, monkeypatch, stop):
    def fail(*args, **kwargs):
        raise stop

    monkeypatch.setattr("newfound.exports.predictions._cells", fail)
    done = newfound("predict", saved, table, "--out", tmp_path / "out.csv")
    assert done.returncode == (130 if stop is KeyboardInterrupt else 1)
    assert names_in(tmp_path) == ["logs.parquet"]


@pytest.mark.slow
def test_standard_output_on_a_full_disk(saved, table, tiny_folder):
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "newfound", "predict", saved, table, "--encoder", tiny_folder]
        done = subprocess.run([*map(str, command)], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        "newfound: error: the output cannot be written (No space left on device); it is not complete"
    )


def test_a_named_pipe_is_written_to_and_not_replaced(saved, table, tmp_path):
    import os
    import stat
    import threading

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    assert newfound("predict", saved, table, "--out", pipe, "--to", "jsonl").returncode == 0
    reader.join(10)
    assert len(read[0].splitlines()) == 20
    assert stat.S_ISFIFO(pipe.stat().st_mode)


class OneIntent:
    """A model that costs nothing."""

    names, thresholds = ("pay",), {}

    def classify(self, texts, *, top=0):
        return [Prediction(text, "pay", True, 0.9, 0.1, "known") for text in texts]


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_memory_does_not_grow_with_the_input(tmp_path, monkeypatch, ending):
    # All that is held at a time is made ten times smaller, so that a few thousand rows show what a million would.
    monkeypatch.setattr("newfound.data.parquet.ROWS_PER_BATCH", 800)
    monkeypatch.setattr("newfound.exports.predictions.ROWS_PER_GROUP", 1_000)
    monkeypatch.setattr("newfound.workflows.runtime.Runtime.open_predictor", lambda *_: OneIntent())
    peaks = []
    for rows in (3_000, 15_000):
        path = tmp_path / f"{rows}.parquet"
        texts = pa.array([f"utterance {i} of a customer" for i in range(rows)])
        pq.write_table(pa.table({"text": texts}), path)
        del texts
        tracemalloc.start()
        arrow = pa.total_allocated_bytes()
        library.write_predictions(OneIntent(), path, out=f"{tmp_path}/out-{rows}.{ending}")
        peaks.append(tracemalloc.get_traced_memory()[1] + pa.total_allocated_bytes() - arrow)
        tracemalloc.stop()
    held_at_once = 15_000 * 300  # bytes, if all predictions were
    assert peaks[1] < peaks[0] + held_at_once / 10, peaks


class FailingDisk(io.RawIOBase):
    """A file of which only the first part can be read."""

    def __init__(self):
        self._left = 100_000

    def readable(self):
        return True

    def readinto(self, buffer):
        if self._left <= 0:
            raise OSError(errno.EIO, "Input/output error")
        lines = (b"pay bill\n" * len(buffer))[: len(buffer)]
        buffer[:] = lines
        self._left -= len(buffer)
        return len(buffer)


def test_an_input_that_fails_in_the_middle_is_not_called_an_output(tmp_path, monkeypatch):
    monkeypatch.setattr("newfound.workflows.runtime.Runtime.open_predictor", lambda *_: OneIntent())
    opened, file = Path.open, io.BufferedReader(FailingDisk())
    monkeypatch.setattr(Path, "open", lambda path, *mode: file if path.name == "logs.txt" else opened(path, *mode))
    with pytest.raises(DataError, match=r"^logs\.txt: cannot be read \(Input/output error\)$"):
        library.write_predictions(OneIntent(), "logs.txt", out=tmp_path / "out.csv")
    assert names_in(tmp_path) == []


def test_a_model_that_cannot_be_read_is_not_called_an_output(saved, table, tiny_folder, tmp_path, monkeypatch):
    def refuse(*args, **more):
        raise PermissionError(errno.EACCES, "Permission denied", "review.sqlite3")

    monkeypatch.setattr("newfound.review.store.ReviewStore.review", refuse)
    with pytest.raises(ModelError, match=r"^review\.sqlite3: cannot be read \(Permission denied\)$"):
        library.write_predictions(saved, table, out=tmp_path / "out.csv", encoder=str(tiny_folder))
    assert names_in(tmp_path) == ["logs.parquet"]


def test_errors_name_what_is_wrong(saved, table, tmp_path):
    done = newfound("predict", saved, table, "--engine", "ray")
    assert "--engine ray: name the folder of the predictions with --out" in done.stderr
    done = newfound("predict", saved, table, "--workers", 2)
    assert "--ray-address and --workers are for --engine ray" in done.stderr
    done = newfound("predict", saved, table, "--engine", "cloud")
    assert "'cloud' is not one of 'local', 'ray'" in done.stderr
    with pytest.raises(OutputError, match="cannot be written"):
        write_predictions(saved, table, out="/proc/out.csv")
