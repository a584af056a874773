"""The file of decisions: read-only folders, full disks, links, other schemas and damaged rows."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from commands import newfound
from newfound.errors import ModelError
from newfound.files import REVIEW_FILE
from newfound.review.decisions import Decision
from newfound.review.reviewed import load
from newfound.review.sqlite import explain_errors
from newfound.review.store import ReviewStore


@pytest.fixture
def folder(folder):
    ReviewStore(folder).decide([Decision("rename", {"intent": "pay", "to": "paying"})], author="ana")
    return folder


SOURCE = Path(__file__).parents[2] / "src"
READ = """
import sys
from newfound.review.store import ReviewStore
print("paying" in ReviewStore(sys.argv[1]).review().names)
"""


SYSTEM_PYTHON = Path(f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}")
NOBODY = 65_534


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or not SYSTEM_PYTHON.exists() or not shutil.which("setpriv"),
    reason="needs root, to become somebody else, and a Python that everybody may run",
)
def test_a_reviewed_model_is_read_where_nothing_may_be_written(folder):
    with tempfile.TemporaryDirectory() as place:
        copied = shutil.copytree(folder, Path(place) / "model")
        for path in (Path(place), copied, *copied.iterdir()):
            path.chmod(0o555 if path.is_dir() else 0o444)
        before = {path.name: path.stat().st_mtime_ns for path in copied.iterdir()}
        packages = os.pathsep.join([str(SOURCE), *(p for p in sys.path if p.endswith("site-packages"))])
        done = subprocess.run(
            ["setpriv", f"--reuid={NOBODY}", "--clear-groups", SYSTEM_PYTHON, "-c", READ, copied],
            capture_output=True,
            text=True,
            env={"HOME": place, "PYTHONPATH": packages, "PYTHONDONTWRITEBYTECODE": "1"},
        )
        if "Permission denied" in done.stderr or "ModuleNotFoundError" in done.stderr:
            pytest.skip("the checkout cannot be read by another user here")
        assert done.stdout.strip() == "True", done.stderr
        assert {path.name: path.stat().st_mtime_ns for path in copied.iterdir()} == before


def test_reading_changes_nothing(folder, tiny_encoder):
    before = (folder / REVIEW_FILE).stat().st_mtime_ns
    load(folder, encoder=tiny_encoder)
    assert (folder / REVIEW_FILE).stat().st_mtime_ns == before
    assert [path.name for path in folder.glob("review*")] == [REVIEW_FILE]


def test_links_are_refused(folder, tmp_path):
    (folder / REVIEW_FILE).rename(tmp_path / "elsewhere.sqlite3")
    (folder / REVIEW_FILE).symlink_to(tmp_path / "elsewhere.sqlite3")
    store = ReviewStore(folder)
    for attempt in (store.entries, lambda: store.decide([Decision("accept", {"intent": "pay"})], author="ana")):
        with pytest.raises(ModelError, match="is a link"):
            attempt()


@pytest.mark.parametrize(
    "script",
    [
        "DROP TABLE decisions; CREATE VIEW decisions AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
        " SELECT i AS id, '' AS at, '' AS author, '' AS kind, '{}' AS arguments, NULL AS undone_at, NULL AS undone_by"
        " FROM n",
        "CREATE TRIGGER t AFTER INSERT ON decisions BEGIN DELETE FROM decisions; END",
        "DROP TABLE decisions; CREATE TABLE decisions (id)",
        "CREATE TABLE other (id)",
    ],
)
def test_another_schema_is_refused_before_anything_is_asked_of_it(folder, script):
    connection = sqlite3.connect(folder / REVIEW_FILE)
    connection.executescript(script)
    connection.close()
    store = ReviewStore(folder)
    for attempt in (store.entries, lambda: store.decide([Decision("accept", {"intent": "pay"})], author="ana")):
        with pytest.raises(ModelError, match="not a file of newfound's decisions"):
            attempt()


@pytest.mark.parametrize("arguments", ["no JSON", "[1]", "[" * 100_000])
def test_damaged_decisions_are_named(folder, arguments):
    connection = sqlite3.connect(folder / REVIEW_FILE)
    connection.execute("UPDATE decisions SET arguments = ?", (arguments,))
    connection.commit()
    connection.close()
    with pytest.raises(ModelError, match="a decision in it is damaged"):
        ReviewStore(folder).entries()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("SQLITE_READONLY", "cannot be written"),
        ("SQLITE_CANTOPEN", "cannot be written"),
        ("SQLITE_IOERR_WRITE", "the disk reports an error"),
        ("SQLITE_CORRUPT", "restore it from a copy"),
    ],
)
def test_what_is_wrong_with_the_disk_is_not_blamed_on_the_file(folder, code, message):
    error = sqlite3.OperationalError("something")
    error.sqlite_errorname = code
    with pytest.raises(ModelError, match=message) as caught, explain_errors(folder / REVIEW_FILE):
        raise error
    assert ("restore" in str(caught.value)) == (code == "SQLITE_CORRUPT")


def test_an_empty_file_holds_no_decision(folder):
    (folder / REVIEW_FILE).write_bytes(b"")
    store = ReviewStore(folder)
    assert store.entries() == []
    store.decide([Decision("rename", {"intent": "pay", "to": "paying"})], author="ana")
    assert len(store.entries()) == 1


def test_decisions_about_another_model_are_refused_with_the_name_of_the_file(folder, themed, tiny_encoder, tmp_path):
    from newfound.methods.kmeans import KMeans

    labels = ["other" if label == "pay" else label for label in themed.labels]
    other = KMeans(n_new=2, encoder=tiny_encoder, tune="heads", epochs=1, device="cpu").fit(themed.texts, labels)
    other.save(tmp_path / "other")
    shutil.copy(folder / REVIEW_FILE, tmp_path / "other" / REVIEW_FILE)
    message = rf"other/{REVIEW_FILE}: holds decisions about another model \(no intent 'pay'.*\); put the file of this"
    with pytest.raises(ModelError, match=message):
        ReviewStore(tmp_path / "other").review()
    with pytest.raises(ModelError, match=message):
        ReviewStore(tmp_path / "other").decide([Decision("accept", {"intent": "leak"})], author="ana")
    done = newfound("inspect", tmp_path / "other")
    assert done.returncode == 2
    assert f"other/{REVIEW_FILE}: holds decisions about another model" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("model.json", ["inspect", "MODEL"]),
        ("utterances.jsonl", ["export", "MODEL", "--to", "csv", "--out", "x.csv"]),
        (REVIEW_FILE, ["inspect", "MODEL"]),
        (f"{REVIEW_FILE}-wal", ["review", "log", "MODEL"]),
        ("weights.safetensors", ["predict", "MODEL", "texts.txt"]),
        ("encoder/x", ["report", "MODEL", "--out", "x.html"]),
    ],
)
def test_a_pipe_in_a_model_folder_is_refused_and_not_waited_for(folder, tmp_path, tiny_folder, name, command):
    """Opening a pipe waits for somebody who writes into it, so the commands run in a process that can be stopped."""
    about = json.loads((folder / "model.json").read_text())
    about["encoder"]["included"] = True
    (folder / "model.json").write_text(json.dumps(about))
    shutil.copytree(tiny_folder, folder / "encoder")
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    (tmp_path / "texts.txt").write_text("pay my bill")
    given = [str(folder) if part == "MODEL" else part for part in command]
    done = subprocess.run(
        [sys.executable, "-m", "newfound", *given], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 2, done.stdout
    assert f"{name}: is not a regular file; refused" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
