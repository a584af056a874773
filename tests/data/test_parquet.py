"""Parquet: damage gets one line, and large files are read in small pieces."""

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


def test_damaged_files_and_other_types_are_named(tmp_path):
    path = tmp_path / "logs.parquet"
    pq.write_table(pa.table({"text": [f"pay {row}" for row in range(3)]}), path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"logs\.parquet: not a Parquet file, or a damaged one \("):
        list(open_rows(path, TEXTS, "ignored")[0])
    end = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    path.write_bytes(whole[:4] + b"\xff" * (end - 4) + whole[end:])  # the footer is whole, the data are not
    with pytest.raises(DataError, match=r"logs\.parquet: a damaged Parquet file"):
        list(open_rows(path, TEXTS, "ignored")[0])
    pq.write_table(pa.table({"text": [1]}), path)
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


def test_folders_and_pipes_are_refused(tmp_path, saved):
    assert f"{tmp_path}: is a folder; give a file" in newfound("predict", saved, tmp_path).stderr
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
    for row in open_rows(path, TEXTS, "ignored")[0]:
        if row.line % 5_000 == 0:
            peak = max(peak, pool.bytes_allocated() - before)
    _, of_python = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert path.stat().st_size > 20 * 2**20
    assert peak < 12 * 2**20
    assert of_python < 12 * 2**20
