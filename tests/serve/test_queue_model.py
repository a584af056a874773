"""The queue of the page without the page, tested by node: `queue_model.mjs`."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import newfound

HERE, STATIC = Path(__file__).parent, Path(newfound.__file__).parent / "serve" / "static"


@pytest.mark.skipif(shutil.which("node") is None, reason="no node here")
def test_the_queue_as_a_model():
    command = ["node", str(HERE / "queue_model.mjs"), str(STATIC / "queue-model.js")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, "pass 4" in done.stdout) == (0, True), done.stdout
