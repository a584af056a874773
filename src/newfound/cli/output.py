"""Standard output: what becomes of it when it cannot be written, and who may write to it."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import BinaryIO

from newfound.errors import OutputError


@contextmanager
def writing_output() -> Iterator[BinaryIO]:
    """Yield standard output. A full disk behind it becomes one error; a reader that has gone is none (`| head`)."""
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        forget_output()
        raise OutputError(f"the output cannot be written ({error.strerror or error}); it is not complete") from error


def forget_output() -> None:
    """Send standard output nowhere. Python would flush it again at exit, and print another error."""
    with suppress(io.UnsupportedOperation):  # it may be memory of the caller and no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def quiet_output(quiet: bool) -> Iterator[None]:
    """Swallow what a library prints to standard output, as Ray does with notes about its workers."""
    if not quiet:
        yield
        return
    with redirect_stdout(io.StringIO()):
        yield
