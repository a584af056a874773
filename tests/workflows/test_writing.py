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
from newfound.data.parquet import open_dataset
from newfound.data.rows import ReadOptions
from newfound.engines import parts
from newfound.engines.predictor import Predictor, PredictorSettings
from newfound.errors import DataError, EngineError, ModelError, OutputError, SettingsError, TargetExists
from newfound.model.types import Prediction
from newfound.workflows import WritePredictionsRequest, writing
from newfound.workflows.prediction import PredictRequest, stream_predictions
from newfound.workflows.writing import write_predictions

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


def test_a_folder_keeps_the_columns_and_says_when_it_is_whole(saved, table, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "MIN_ROWS_PER_PART", 10)
    out = tmp_path / "out"
    done = newfound("predict", saved, table, "--out", f"{out}/")
    assert done.returncode == 0, done.stderr
    assert "'intent' is written as 'input_intent'" in done.stderr
    assert "5 rows without text" in done.stderr
    assert names_in(out) == ["_manifest.json", "part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]
    manifest = json.loads((out / "_manifest.json").read_text())
    assert (manifest["rows"], manifest["empty"]) == (25, 5)
    assert [file["rows"] for file in manifest["files"]] == [10, 10, 5]
    assert len(manifest["model"]["sha256"]) == 64
    found = pq.read_table(out)
    assert found.schema.field("at").type == pa.timestamp("ns")
    rows = found.to_pylist()
    assert [row["id"] for row in rows] == list(range(25))
    assert [(row["file"], row["line"]) for row in rows] == [("logs.parquet", i) for i in range(1, 26)]
    wanted = library.predict(saved, [text for text in TEXTS if text])
    assert [row["intent"] for row in rows if row["text"]] == [p.intent for p in wanted]
    assert {row["intent"] for row in rows if not row["text"]} == {None}


def test_a_folder_is_computed_with_the_precision_that_its_manifest_names(saved, table, tmp_path):
    pytest.importorskip("onnx", reason="extra `onnx` not installed")
    pytest.importorskip("onnxruntime", reason="extra `onnx` not installed")
    out = tmp_path / "out"
    done = newfound("predict", saved, table, "--device", "cpu", "--precision", "int8", "--out", f"{out}/")
    assert done.returncode == 0, done.stderr
    assert json.loads((out / "_manifest.json").read_text())["settings"]["precision"] == "int8"
    found = {row["text"]: row["probability"] for row in pq.read_table(out).to_pylist() if row["text"]}
    rounded, exact = (
        {p.text: p.probability for p in library.predict(saved, list(found), device="cpu", precision=precision)}
        for precision in ("int8", "fp32")
    )
    assert found == pytest.approx(rounded, abs=1e-6)
    assert found != pytest.approx(exact, abs=1e-6)
    with pytest.raises(SettingsError, match="'int8' is for the CPU"):
        library.write_predictions(saved, table, out=f"{tmp_path}/gpu/", precision="int8", device="cuda")


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_parts_in_other_formats(saved, table, tmp_path, format):
    written = library.write_predictions(saved, table, out=f"{tmp_path}/out/", format=format, top=1)
    assert (written.rows, written.files) == (25, 1)
    text = (tmp_path / "out" / f"part-00000.{format}").read_text()
    read = csv.DictReader(io.StringIO(text, newline="")) if format == "csv" else map(json.loads, text.splitlines())
    first = next(iter(read))
    assert str(first["id"]) == "0"
    assert first["at"].startswith("1970-01-01 00:00:00")
    assert (first["intent_1"] if format == "csv" else first["top"][0]["intent"]) == first["intent"]


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_numbers_that_are_none_are_null_in_json(saved, tmp_path, format):
    nan, infinity = float("nan"), float("inf")
    kept = {"score": [nan, infinity, 0.5], "scores": [[nan, 1.0], [-infinity], []]}
    pq.write_table(pa.table({"text": ["pay", "leak", "bill"], **kept}), tmp_path / "logs.parquet")
    library.write_predictions(saved, tmp_path / "logs.parquet", out=f"{tmp_path}/out/", format=format)
    text = (tmp_path / "out" / f"part-00000.{format}").read_text()
    if format == "csv":
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        assert [row["scores"] for row in rows] == ["[null, 1.0]", "[null]", "[]"]
    else:
        rows = [json.loads(line, parse_constant=pytest.fail) for line in text.splitlines()]
        assert [row["score"] for row in rows] == [None, None, 0.5]
        assert [row["scores"] for row in rows] == [[None, 1.0], [None], []]


def test_other_files_and_pipes_become_folders_too(saved, tmp_path):
    (tmp_path / "logs.csv").write_text("id,text\n1,pay bill\n2,\n3,water leak\n")
    done = newfound("predict", saved, tmp_path / "logs.csv", "--out", f"{tmp_path}/a/")
    assert "1 row empty, skipped" in done.stderr
    assert [row["line"] for row in pq.read_table(tmp_path / "a").to_pylist()] == [2, 4]
    newfound("predict", saved, "-", "--out", f"{tmp_path}/b/", stdin="pay bill\nwater leak\n")
    assert [row["text"] for row in pq.read_table(tmp_path / "b").to_pylist()] == ["pay bill", "water leak"]
    assert names_in(tmp_path / "b") == ["_manifest.json", "part-00000.parquet"]


def test_what_is_there_is_not_replaced_unasked(saved, table, tmp_path):
    file, folder, other = tmp_path / "out.csv", tmp_path / "out", tmp_path / "other"
    file.write_text("mine")
    other.mkdir()
    (other / "thesis.txt").write_text("mine")
    assert newfound("predict", saved, table, "--out", f"{folder}/").returncode == 0
    for target in (file, folder):
        done = newfound("predict", saved, table, "--out", target)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "add --force to replace it" in done.stderr
        assert newfound("predict", saved, table, "--out", target, "--force").returncode == 0
    done = newfound("predict", saved, folder, "--out", folder, "--force")
    assert "is where the input lies" in done.stderr
    (folder / "_manifest.json").unlink()  # somebody's files, which look like parts
    done = newfound("predict", saved, table, "--out", folder, "--force")
    assert "holds something else (part-00000.parquet)" in done.stderr
    done = newfound("predict", saved, table, "--out", other, "--force")
    assert "holds something else (thesis.txt)" in done.stderr
    assert (other / "thesis.txt").read_text() == "mine"
    done = newfound("predict", saved, table, "--out", table, "--force")
    assert "is where the input lies; choose another --out" in done.stderr
    done = newfound("predict", saved, table, "--out", tmp_path / "out.xyz")
    assert "cannot tell the format from its ending" in done.stderr
    with pytest.raises(TargetExists):
        library.write_predictions(saved, table, out=file)


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
    import os

    real = os.fdopen

    def fdopen(handle, mode="r", *args, **kwargs):
        file = real(handle, mode, *args, **kwargs)
        return FullDisk(file, 2_000) if mode == "wb" else file

    monkeypatch.setattr("newfound.files.os.fdopen", fdopen)


@pytest.mark.parametrize("out", ["out.jsonl", "out.csv", "out.parquet", "out/"])
def test_a_disk_that_is_full_in_the_middle(saved, table, tmp_path, out, request, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert newfound("predict", saved, table, "--out", out).returncode == 0
    target = tmp_path / out
    whole = {path: path.read_bytes() for path in (target.rglob("*") if target.is_dir() else [target])}
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
    assert {path: path.read_bytes() for path in whole} == whole


@pytest.mark.parametrize("stop", [KeyboardInterrupt, ValueError])
def test_what_is_stopped_leaves_nothing(saved, table, tmp_path, monkeypatch, stop):
    def fail(*args, **kwargs):
        raise stop

    monkeypatch.setattr("newfound.exports.predictions.CommaSeparated.write_rows", fail)
    for out in (tmp_path / "out.csv", f"{tmp_path}/out/"):
        done = newfound("predict", saved, table, "--out", out, "--format", "csv")
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
    assert newfound("predict", saved, table, "--out", pipe, "--format", "jsonl").returncode == 0
    reader.join(10)
    assert len(read[0].splitlines()) == 20
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_rows_that_do_not_add_up_are_an_error(saved, table, tmp_path, monkeypatch):
    def one_part_is_lost(request, job, planned, runtime):
        predictor = Predictor(saved, job.settings)
        yield from [parts.predict_part(predictor, job, part) for part in planned][:-1]

    monkeypatch.setattr(parts, "MIN_ROWS_PER_PART", 10)
    monkeypatch.setattr(writing, "_results", one_part_is_lost)
    with pytest.raises(EngineError, match="3 parts were given and 2 came back"):
        library.write_predictions(saved, table, out=f"{tmp_path}/out/")
    assert names_in(tmp_path) == ["logs.parquet"]


def test_what_a_killed_worker_leaves_is_not_in_the_finished_folder(saved, table, tmp_path, monkeypatch):
    def a_worker_is_killed(request, job, planned, runtime):
        (job.folder / ".part-00000.parquet-x1y2").write_bytes(b"half a part")
        predictor = Predictor(saved, job.settings)
        yield from (parts.predict_part(predictor, job, part) for part in planned)

    monkeypatch.setattr(writing, "_results", a_worker_is_killed)
    for overwrite in (False, True):
        library.write_predictions(saved, table, out=f"{tmp_path}/out/", overwrite=overwrite)
        assert names_in(tmp_path / "out") == ["_manifest.json", "part-00000.parquet"]


class OneIntent:
    """A model that costs nothing."""

    names, thresholds = ("pay",), {}

    def classify(self, texts, *, top=0):
        return [Prediction(text, "pay", True, 0.9, 0.1, "known") for text in texts]


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "folder/"])
def test_memory_does_not_grow_with_the_input(tmp_path, monkeypatch, ending):
    # All that is held at a time is made ten times smaller, so that a few thousand rows show what a million would.
    for name, size in {
        "data.parquet.ROWS_PER_BATCH": 800,
        "engines.parts.MIN_ROWS_PER_PART": 1_000,
        "engines.predictor.MAX_REMEMBERED": 1_000,
        "exports.predictions.ROWS_PER_GROUP": 1_000,
    }.items():
        monkeypatch.setattr(f"newfound.{name}", size)
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


def test_a_reader_whose_predictions_nobody_takes_stops(monkeypatch, tmp_path):
    import threading

    monkeypatch.setattr("newfound.workflows.runtime.Runtime.open_predictor", lambda *_: OneIntent())
    path = tmp_path / "many.txt"
    path.write_text("pay\n" * 50_000)
    before = set(threading.enumerate())
    batches = stream_predictions(PredictRequest(OneIntent(), path))
    next(batches)
    (reader,) = set(threading.enumerate()) - before
    batches.close()
    reader.join(5)
    assert not reader.is_alive()


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


@pytest.mark.parametrize("out", ["out.csv", "out/"])
def test_an_input_that_fails_in_the_middle_is_not_called_an_output(tmp_path, monkeypatch, out):
    monkeypatch.setattr("newfound.workflows.runtime.Runtime.open_predictor", lambda *_: OneIntent())
    monkeypatch.setattr("newfound.data.readers._open", lambda path: io.BufferedReader(FailingDisk()))
    with pytest.raises(DataError, match=r"^logs\.txt: cannot be read \(Input/output error\)$"):
        library.write_predictions(OneIntent(), "logs.txt", out=f"{tmp_path}/{out}")
    assert names_in(tmp_path) == []


def test_a_model_that_cannot_be_read_is_not_called_an_output(saved, table, tmp_path, monkeypatch):
    def refuse(*args, **more):
        raise PermissionError(errno.EACCES, "Permission denied", "review.sqlite3")

    monkeypatch.setattr("newfound.review.store.ReviewStore.review", refuse)
    message = "review.sqlite3: cannot be read (Permission denied)"
    with pytest.raises(ModelError) as raised:
        library.write_predictions(saved, table, out=f"{tmp_path}/out/")
    assert str(raised.value) == message
    assert names_in(tmp_path) == ["logs.parquet"]
    job = parts.PartJob(tmp_path, "csv", "text", ("text",), PredictorSettings())
    (planned,) = parts.plan_parts(open_dataset(table, ReadOptions("text")))
    predictor = parts.Predictor(saved, job.settings)
    assert parts.predict_part(predictor, job, planned).error == message  # as a worker of a cluster says it


def test_errors_name_what_is_wrong(saved, table, tmp_path):
    done = newfound("predict", saved, table, "--engine", "ray")
    assert "--engine ray: name the folder of the predictions with --out" in done.stderr
    done = newfound("predict", saved, table, "--workers", 2)
    assert "--ray-address and --workers are for --engine ray" in done.stderr
    done = newfound("predict", saved, table, "--engine", "cloud")
    assert "--engine cloud: one of local, ray" in done.stderr
    with pytest.raises(OutputError, match="cannot be written"):
        write_predictions(WritePredictionsRequest(saved, table, out="/proc/out.csv"))
