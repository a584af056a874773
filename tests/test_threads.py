"""Threads sleep while they wait, unless the user wants otherwise."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from newfound import threads
from newfound.threads import WAIT_VARIABLES, cores_of_quota

SHOW = "import os; print(os.environ.get('OMP_WAIT_POLICY'), os.environ.get('KMP_BLOCKTIME'))"
BY_COMMAND = (
    "import sys; sys.argv = ['newfound', '--version']\n"
    "from newfound.cli import main\n"
    "try: main()\n"
    "except SystemExit: pass\n"
    "assert 'torch' not in sys.modules\n" + SHOW
)
BY_SERVER = "import newfound.serve, sys\nassert 'torch' not in sys.modules\n" + SHOW


def _settled(code: str, **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in WAIT_VARIABLES} | variables
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("code", [BY_COMMAND, BY_SERVER], ids=["command", "server"])
def test_threads_sleep_before_torch_is_imported(code):
    assert _settled(code) == "PASSIVE 0"


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("OMP_WAIT_POLICY", "ACTIVE", "ACTIVE None"),
        ("KMP_BLOCKTIME", "200", "None 200"),
        ("GOMP_SPINCOUNT", "1000", "None None"),
    ],
)
def test_what_the_user_has_set_stays(name, value, expected):
    assert _settled(BY_SERVER, **{name: value}) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [("200000 100000\n", 2), ("150000 100000\n", 2), ("1000 100000\n", 1), ("max 100000\n", None), ("", None)],
)
def test_a_container_has_as_many_threads_as_cores(tmp_path, content, expected):
    (tmp_path / "cpu.max").write_text(content)
    assert cores_of_quota(tmp_path / "cpu.max") == expected
    assert cores_of_quota(tmp_path / "absent") is None


def test_the_number_of_threads_follows_the_quota(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "usable_cores", lambda: 8)
    monkeypatch.setattr(threads, "cores_of_quota", lambda: 3)
    threads.limit_threads()
    assert os.environ["OMP_NUM_THREADS"] == "3"
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    threads.limit_threads()
    assert os.environ["OMP_NUM_THREADS"] == "5"
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setattr(threads, "cores_of_quota", lambda: None)
    threads.limit_threads()
    assert "OMP_NUM_THREADS" not in os.environ
