"""The command line, called in this process: importing torch for every command would take most of the time."""

from __future__ import annotations

import io
import os
import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest import mock

from newfound.cli import main


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


def newfound(*args, stdin: str | bytes | None = None, **env: str) -> Done:
    """What `newfound ARGS` would print, and its exit code."""
    given = stdin.encode() if isinstance(stdin, str) else stdin or b""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    code: object = 0
    with (
        mock.patch.object(sys, "argv", ["newfound", *map(str, args)]),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8")),
        mock.patch.dict(os.environ, {"COLUMNS": "100", **env}),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as stop:
            code = stop.code
        except Exception:
            code = 1
            traceback.print_exc()
    printed = [stream.buffer.getvalue().decode() for stream in (out, err)]
    return Done(code if isinstance(code, int) else 0, *printed)
