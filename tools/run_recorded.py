"""Run a Python command, and write the paths of all files that it opens to a file.

python tools/run_recorded.py PATHS SCRIPT ARGUMENT ...
python tools/run_recorded.py PATHS -m MODULE ARGUMENT ...
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

paths: set[str] = set()


def record(event: str, arguments: tuple[object, ...]) -> None:
    """Note the path of a file that is opened; some are opened by a number instead."""
    if event == "open" and isinstance(arguments[0], str):
        paths.add(arguments[0])


target, *command = sys.argv[1:]
sys.addaudithook(record)
try:
    if command[0] == "-m":
        sys.path[0] = str(Path.cwd())
        sys.argv = command[1:]
        runpy.run_module(command[1], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(command[0]).parent)
        sys.argv = command
        runpy.run_path(command[0], run_name="__main__")
finally:
    resolved = sorted({str(Path(path).resolve()) for path in paths})
    Path(target).write_text("\n".join(resolved), "utf-8")
