"""Parquet as one file or as a folder of files: checked before anything is read, and read in small pieces."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc

import pytest

from commands import newfound
from newfound.data import parquet
from newfound.data.rows import ReadOptions
from newfound.data.validation import open_rows
from newfound.errors import DataError

pa = pytest.importorskip("pyarrow", reason="extra `parquet` not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="extra `parquet` not installed")
TEXTS = ReadOptions()


@pytest.fixture
def folder(tmp_path):
    """Twenty files of three rows, in two folders, with things that are no data beside them."""
    root = tmp_path / "logs.parquet"
    for number in range(20):
        path = root / f"day={number // 10}" / f"part-{number:03}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": range(3), "text": [f"pay {number} {row}" for row in range(3)]}), path)
    (root / "_SUCCESS").touch()
    (root / "_manifest.parquet").write_bytes(b"no data")
    (root / ".part-021.parquet").write_bytes(b"no data")
    return root


def test_a_folder_is_one_table(folder):
    rows = list(open_rows(folder, TEXTS, "ignored")[0])
    assert [row.line for row in rows] == list(range(1, 61))
    assert [row.text for row in rows[:4]] == ["pay 0 0", "pay 0 1", "pay 0 2", "pay 1 0"]


@pytest.mark.parametrize("out", [(), ("--out", "out.csv")])
def test_a_column_that_is_missing_late_is_noticed_before_anything_else(folder, saved, out, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"id": [1], "message": ["pay"]}), folder / "day=1" / "part-018.parquet")
    done = newfound("predict", saved, folder, *out)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        f"newfound: error: {folder}/day=1/part-018.parquet: no column 'text' (found: id, message), which "
        "part-000.parquet has; nothing was read\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["logs.parquet"]


def test_damaged_files_are_named(folder, saved):
    path = folder / "day=1" / "part-018.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    done = newfound("predict", saved, folder)
    assert done.returncode == 2
    assert done.stderr.startswith(f"newfound: error: {path}: not a Parquet file, or a damaged one (")
    assert done.stderr.count("\n") == 1
    end = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    path.write_bytes(whole[:4] + b"\xff" * (end - 4) + whole[end:])  # the footer is whole, the data are not
    with pytest.raises(DataError, match=r"part-018\.parquet: a damaged Parquet file"):
        list(open_rows(folder, TEXTS, "ignored")[0])


def test_other_types_and_other_columns(folder):
    path = folder / "day=1" / "part-018.parquet"
    pq.write_table(pa.table({"id": ["a"], "text": ["pay"], "channel": ["chat"]}), path)
    assert len(list(open_rows(folder, TEXTS, "ignored")[0])) == 58  # other columns are not read
    pq.write_table(pa.table({"text": [1]}), path)
    with pytest.raises(DataError, match="the column 'text' holds int64"):
        list(open_rows(folder, TEXTS, "ignored")[0])
    with pytest.raises(DataError, match="'text' is not a string but int"):
        list(open_rows(path, TEXTS, "ignored")[0])


@pytest.mark.parametrize("out", [(), ("--out", "out.csv")])
def test_strings_that_are_not_utf_8_are_one_line(saved, out, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "latin.parquet"
    latin = pa.array([b"pay", b"caf\xe9"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"text": latin}), path)
    done = newfound("predict", saved, path, *out)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        f"newfound: error: {path}: a string in it is not UTF-8; write the file again with strings in UTF-8"
    )
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["latin.parquet"]


def test_folders_without_parquet_and_parquet_through_a_pipe(tmp_path, saved):
    assert "is a directory without Parquet files" in newfound("predict", saved, tmp_path).stderr
    assert "only Parquet is read from one" in newfound("predict", saved, tmp_path, "--format", "csv").stderr
    pq.write_table(pa.table({"text": ["pay"]}), tmp_path / "a.parquet")
    command = [sys.executable, "-m", "newfound", "predict", str(saved), "-", "--format", "parquet"]
    content = (tmp_path / "a.parquet").read_bytes()
    done = subprocess.run(command, input=content, capture_output=True)  # a real pipe, which cannot be read twice
    assert done.returncode == 2
    assert done.stderr.decode() == (
        "newfound: error: standard input: Parquet cannot be read from a pipe; give the file itself\n"
    )


def test_a_large_row_group_is_not_held_in_memory(tmp_path, monkeypatch):
    path = tmp_path / "large.parquet"
    texts = [f"utterance {i} " + "x" * 1_000 for i in range(25_000)]
    pq.write_table(pa.table({"text": texts}), path, compression="none", use_dictionary=False)
    del texts
    monkeypatch.setattr(parquet, "ROWS_PER_BATCH", 1_000)
    pool = pa.default_memory_pool()
    before, peak = pool.bytes_allocated(), 0
    tracemalloc.start()
    for row in open_rows(path.parent, TEXTS, "ignored")[0]:
        if row.line % 5_000 == 0:
            peak = max(peak, pool.bytes_allocated() - before)
    _, of_python = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert path.stat().st_size > 20 * 2**20
    assert peak < 12 * 2**20
    assert of_python < 12 * 2**20
