"""A real Ray cluster on this machine with two workers, one of which is killed: no row is lost or doubled."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest

import newfound as library
from commands import newfound
from newfound.engines import parts, ray_data
from newfound.engines.ray_data import RaySettings, connect
from newfound.errors import EngineError, MissingExtra
from waiting import until

ray = pytest.importorskip("ray", reason="extra `ray` not installed")
pa = pytest.importorskip("pyarrow", reason="extra `parquet` not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="extra `parquet` not installed")

ROWS = 240


@pytest.fixture(scope="module")
def cluster():
    """Two cores, whatever the machine has; started once for all tests."""
    for name, value in ray_data.QUIET_VARIABLES.items():
        os.environ.setdefault(name, value)
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
def logs(tmp_path, monkeypatch):
    """A folder of three files, which become twelve parts."""
    monkeypatch.setattr(parts, "MIN_ROWS_PER_PART", 20)
    folder = tmp_path / "logs"
    folder.mkdir()
    for number in range(3):
        ids = range(number * 80, number * 80 + 80)
        texts = [f"pay bill {'water ' * (i % 7)}leak {'late ' * (i % 3)}{'please' if i % 2 else ''}" for i in ids]
        pq.write_table(pa.table({"id": ids, "text": texts}), folder / f"{number}.parquet")
    return folder


def dying_worker(marker: Path, *, always: bool):
    """A worker that writes the part with the number 5 and then, before it can say so, waits to be killed.

    The class is made in a function, so that Ray sends it with its code and not by the name of this module.
    """

    class Dying(ray_data.PartWorker):
        def __call__(self, batch):
            result = super().__call__(batch)
            if batch["number"][0] == 5 and (always or not marker.exists()):
                marker.write_text(str(os.getpid()))
                if always:
                    os.kill(os.getpid(), signal.SIGKILL)
                time.sleep(600)
            return result

    return Dying


def test_a_worker_that_is_killed_loses_and_doubles_no_row(
    cluster, saved, tiny_folder, logs, tmp_path, monkeypatch, capfd
):
    marker, killed = tmp_path / "marker", []
    monkeypatch.setattr(ray_data, "PartWorker", dying_worker(marker, always=False))

    def kill():
        assert until(lambda: marker.exists() and marker.read_text())
        os.kill(int(marker.read_text()), signal.SIGKILL)
        killed.append(True)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    options = {"encoder": str(tiny_folder), "device": "cpu", "top": 1}
    written = library.write_predictions(saved, logs, out=tmp_path / "out", engine="ray", workers=2, **options)
    killer.join(60)
    assert killed == [True]
    assert (written.rows, written.files) == (ROWS, 12)
    manifest = json.loads((tmp_path / "out" / "_manifest.json").read_text())
    assert sum(file["rows"] for file in manifest["files"]) == manifest["rows"] == ROWS
    found = pq.read_table(tmp_path / "out").to_pylist()
    assert [row["id"] for row in found] == list(range(ROWS))
    # The same as without a cluster, to the last file; which texts are encoded together changes the last digit.
    library.write_predictions(saved, logs, out=f"{tmp_path}/here/", **options)
    here = pq.read_table(tmp_path / "here").to_pylist()
    for name in ("probability", "outlier"):
        assert [row.pop(name) for row in found] == pytest.approx([row.pop(name) for row in here], abs=1e-5)
    for row in [*found, *here]:
        row["top"] = [one["intent"] for one in row["top"]]
    assert found == here
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == sorted(p.name for p in (tmp_path / "here").iterdir())


def test_a_worker_that_always_dies_ends_the_job_in_one_line(cluster, saved, tiny_folder, logs, tmp_path, monkeypatch):
    monkeypatch.setattr(ray_data, "PartWorker", dying_worker(tmp_path / "marker", always=True))
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
    assert sorted(path.name for path in tmp_path.iterdir()) == ["logs", "marker"]


def worker_that_dies_once_at_each_of(numbers, folder: Path):
    class Dying(ray_data.PartWorker):
        def __call__(self, batch):
            marker = folder / f"died-at-{batch['number'][0]}"
            if batch["number"][0] in numbers and not marker.exists():
                marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return super().__call__(batch)

    return Dying


def test_workers_may_die_at_any_number_of_different_parts(cluster, saved, tiny_folder, logs, tmp_path, monkeypatch):
    monkeypatch.setattr(ray_data, "PartWorker", worker_that_dies_once_at_each_of((3, 4, 5), tmp_path))
    monkeypatch.setattr(ray_data, "MAX_RETRIES", 1)
    options = {"encoder": str(tiny_folder), "device": "cpu", "workers": 1}
    written = library.write_predictions(saved, logs, out=tmp_path / "out", engine="ray", **options)
    assert len(list(tmp_path.glob("died-at-*"))) == 3
    assert (written.rows, written.files) == (ROWS, 12)


def test_what_a_worker_finds_out_is_an_error_in_words(cluster, saved, tiny_folder, logs, tmp_path, monkeypatch):
    path = logs / "2.parquet"
    content = path.read_bytes()
    path.write_bytes(content[:4] + b"\xff" * 60 + content[64:])
    done = newfound(
        *("predict", saved, logs, "--engine", "ray", "--encoder", tiny_folder, "--device", "cpu"),
        *("--out", tmp_path / "out", "--workers", 1),
    )
    assert done.returncode == 2
    assert f"newfound: error: {path}: a damaged Parquet file" in done.stderr
    assert not (tmp_path / "out").exists()


def test_messages_without_ray_and_without_a_cluster(saved, logs, tmp_path, monkeypatch):
    done = newfound("predict", saved, logs, "--engine", "ray", "--out", tmp_path / "out.csv")
    assert "the engine ray writes a folder, not a file" in done.stderr
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(EngineError, match=r"no Ray cluster at 127\.0\.0\.1:1 "), connect(RaySettings("127.0.0.1:1")):
        pass
    monkeypatch.setattr(ray_data, "find_spec", lambda name: None)
    done = newfound("predict", saved, logs, "--engine", "ray", "--out", tmp_path / "out")
    assert (done.returncode, done.stderr) == (
        2,
        "newfound: error: the engine ray needs Ray; install it with: pip install 'newfound[ray]'\n",
    )
    with pytest.raises(MissingExtra):
        RaySettings().check()
