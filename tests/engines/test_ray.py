"""A real Ray cluster on this machine with two workers, one of which dies: no row is lost or doubled."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

import newfound as library
from commands import newfound
from newfound.engines import ray_data
from newfound.errors import EngineError
from newfound.workflows import prediction

ray = pytest.importorskip("ray", reason="extra `ray` not installed")
pa = pytest.importorskip("pyarrow", reason="extra `parquet` not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="extra `parquet` not installed")

ROWS = 240


@pytest.fixture(scope="module")
def cluster():
    """Two cores, whatever the machine has; started once for all tests."""
    ray.init(
        address="local",
        num_cpus=2,
        num_gpus=0,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="CRITICAL",
        object_store_memory=80 * 2**20,
    )
    yield
    ray.shutdown()


@pytest.fixture
def logs(tmp_path):
    """A folder of three files, with a column that has the name of a prediction's and rows without text."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for number in range(3):
        ids = range(number * 80, number * 80 + 80)
        texts = [f"pay bill {'water ' * (i % 7)}leak {'late ' * (i % 3)}" if i % 40 else None for i in ids]
        pq.write_table(pa.table({"id": ids, "text": texts, "intent": ["old"] * 80}), folder / f"{number}.parquet")
    return folder


@pytest.fixture
def ray_options(tiny_folder):
    return {"encoder": str(tiny_folder), "device": "cpu", "engine": "ray"}


def dying_worker(marker: Path, *, always: bool = False):
    """A worker that is killed at the row with the id 100: once, or always.

    The class is made in a function, so that Ray sends it with its code and not by the name of this module.
    """

    class Dying(ray_data.Worker):
        def __call__(self, batch):
            answer = super().__call__(batch)
            if 100 in batch.column("id").to_pylist() and (always or not marker.exists()):
                marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return answer

    return Dying


def failing_worker():
    """A worker whose texts cannot be classified."""

    class Failing(ray_data.Worker):
        def __call__(self, batch):
            raise ValueError("too long a text")

    return Failing


def test_a_worker_that_dies_loses_and_doubles_no_row(cluster, saved, logs, ray_options, tmp_path, monkeypatch):
    monkeypatch.setattr(ray_data, "Worker", dying_worker(tmp_path / "died"))
    written = library.write_predictions(saved, logs, out=tmp_path / "out", top=1, workers=2, **ray_options)
    assert (tmp_path / "died").exists()
    assert written == ROWS
    found = sorted(pq.read_table(tmp_path / "out").to_pylist(), key=lambda row: row["id"])
    assert [row["id"] for row in found] == list(range(ROWS))
    assert {row["input_intent"] for row in found} == {"old"}
    assert [row["id"] for row in found if row["intent"] is None] == [0, 40, 80, 120, 160, 200]
    # The same as without a cluster; which texts are encoded together changes the last digit.
    rows = [row for row in found if row["text"] is not None]
    here = library.predict(saved, [row["text"] for row in rows], encoder=ray_options["encoder"], device="cpu", top=1)
    assert [(row["intent"], row["top"][0]["intent"]) for row in rows] == [(p.intent, p.top[0].intent) for p in here]
    assert [row["probability"] for row in rows] == pytest.approx([p.probability for p in here], abs=1e-5)


@pytest.mark.parametrize("name", ["logs.csv", "logs.jsonl"])
def test_other_formats_and_what_is_said_about_them(cluster, saved, tiny_folder, tmp_path, name):
    content = {
        "logs.csv": 'id;text\n1;pay bill\n2;\n3;"water\nleak"\n',
        "logs.jsonl": '{"id": 1, "text": "pay bill"}\n{"id": 2, "text": ""}\n{"id": 3, "text": "leak"}\n',
    }
    (tmp_path / name).write_text(content[name])
    options = ("--engine", "ray", "--workers", 1, "--encoder", tiny_folder, "--device", "cpu")
    options = (*options, "--out", tmp_path / "out")
    done = newfound("predict", saved, tmp_path / name, *options)
    assert (done.returncode, done.stdout) == (0, f"Wrote 3 predictions to {tmp_path / 'out'}\n"), done.stderr
    rows = sorted(pq.read_table(tmp_path / "out").to_pylist(), key=lambda row: row["id"])
    assert [row["intent"] is None for row in rows] == [False, True, False]
    done = newfound("predict", saved, tmp_path / name, *options, "--force")
    assert f"{tmp_path / 'out'} exists; remove it, or choose another folder" in done.stderr


def test_a_worker_that_always_dies_ends_the_job_in_one_line(cluster, saved, tiny_folder, logs, tmp_path, monkeypatch):
    monkeypatch.setattr(ray_data, "Worker", dying_worker(tmp_path / "died", always=True))
    monkeypatch.setattr(ray_data, "MAX_RETRIES", 1)
    done = newfound(
        *("predict", saved, logs, "--engine", "ray", "--encoder", tiny_folder, "--device", "cpu"),
        *("--out", tmp_path / "out", "--workers", 1),
    )
    assert done.returncode == 2, done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("newfound: error")]
    assert errors == [
        "newfound: error: workers of the Ray cluster died 2 times at the same work, likely for lack of memory; "
        "choose fewer with --workers"
    ]
    assert done.stdout == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["died", "logs"]


def test_what_a_worker_finds_out_is_an_error_in_words(cluster, saved, logs, ray_options, tmp_path, monkeypatch):
    monkeypatch.setattr(ray_data, "Worker", failing_worker())
    with pytest.raises(EngineError, match=r"a worker of the Ray cluster failed: ValueError: too long a text"):
        library.write_predictions(saved, logs, out=tmp_path / "out", workers=1, **ray_options)
    assert not (tmp_path / "out").exists()


def test_messages_without_ray_and_without_a_cluster(saved, logs, tmp_path, monkeypatch):
    (tmp_path / "logs.txt").write_text("pay bill\n")
    for file, out, said in (
        (logs, "out.csv", "the engine ray writes a folder of Parquet files"),
        (tmp_path / "logs.txt", "out", "the engine ray reads csv, tsv, jsonl, parquet, and not text"),
        ("-", "out", "the engine ray reads files that all workers see"),
    ):
        assert said in newfound("predict", saved, file, "--engine", "ray", "--out", tmp_path / out).stderr
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(EngineError, match=r"no Ray cluster at 127\.0\.0\.1:1 "):
        library.write_predictions(saved, logs, tmp_path / "out", ray_address="127.0.0.1:1", engine="ray")
    monkeypatch.setattr(prediction, "find_spec", lambda name: None)
    done = newfound("predict", saved, logs, "--engine", "ray", "--out", tmp_path / "out")
    assert (done.returncode, done.stderr) == (
        2,
        "newfound: error: the engine ray needs Ray; install it with: pip install 'newfound[ray]'\n",
    )
