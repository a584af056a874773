"""Ctrl-C at any time: one line, exit code 130, and how to go on where a run can be resumed."""

from __future__ import annotations

from unittest import mock

import pytest

from commands import newfound
from newfound.workflows.sources import InputReader

KNOWN = "text,label\n" + "".join(f"pay bill {w} money,pay\nleak water {w} smell,leak\n" for w in "abcdefgh")
LOGS = "text\n" + "".join(f"solar car {w} charge\nmove house {w} open\n" for w in "abcdefgh")


@pytest.fixture
def discover(tmp_path, tiny_folder):
    (tmp_path / "known.csv").write_text(KNOWN)
    (tmp_path / "logs.csv").write_text(LOGS)

    def run(*options):
        files = (tmp_path / "known.csv", tmp_path / "logs.csv", "--out", tmp_path / "m")
        fit = ("--encoder", tiny_folder, "--tune", "heads", "--n-new", 2, "--checkpoint-seconds", 0)
        return newfound("discover", *files, *fit, *options)

    return run


def ctrl_c(*_, **__):
    raise KeyboardInterrupt


@pytest.mark.parametrize("step", ["newfound.workflows.discovery.name_intents", "newfound.model.folder.save"])
def test_after_the_training_the_run_can_be_resumed(discover, tmp_path, step):
    with mock.patch(step, ctrl_c):
        stopped = discover()
    assert stopped.returncode == 130
    folder = tmp_path / "m.run"
    assert stopped.stderr.splitlines()[-1] == (
        f"newfound: stopped; what was reached lies in {folder}; add --resume to the same command to go on with it"
    )
    assert not (tmp_path / "m").exists()
    assert discover("--resume").returncode == 0
    assert (tmp_path / "m").is_dir()
    assert not folder.exists()


def test_before_the_training_it_says_that_it_stopped(discover, tmp_path):
    with mock.patch.object(InputReader, "known_and_logs", ctrl_c):
        stopped = discover()
    assert (stopped.returncode, stopped.stderr) == (130, "newfound: stopped\n")
