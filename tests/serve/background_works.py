"""Work for the processes in the background, which import it by its name. It starts without torch."""

from __future__ import annotations

import os
import time

from newfound.errors import DataError
from newfound.workflows.updating import RefitResult


def describe(*, reporter):
    with reporter.task("describing", 2) as task:
        task.advance()
        reporter.warn("odd")
    print("this is no answer")
    return os.getpid(), os.getpriority(os.PRIO_PROCESS, 0), os.environ["OMP_NUM_THREADS"]


def refuse(path, *, reporter):
    raise DataError(f"{path}/rows.csv: no utterance in it")


def fail(*, reporter):
    raise ZeroDivisionError


def die(*, reporter):
    os._exit(3)


def wait(started, *, reporter):
    """Say which process this is, and wait forever."""
    started.write_text(str(os.getpid()))
    while True:
        time.sleep(0.02)


def read_forever(*arguments, reporter):
    while True:
        time.sleep(0.02)


def wait_for(release, order, answer, *arguments, **options):
    """As the workflow of a request: wait for a file, and note when it was done."""
    with order.open("a") as file:
        file.write(f"{os.getpid()}\n")
    while not release.exists():
        time.sleep(0.02)
    return answer


def write_half(started, *arguments, out, reporter, **options):
    """As a job that is cancelled in the middle: it leaves checkpoints, a temporary folder, and its process id."""
    for folder in (out.with_name(f"{out.name}.run"), out.with_name(f".{out.name}-abc")):
        folder.mkdir()
        (folder / "part").write_text("half")
    reporter.warn(f"{out}.run: odd")
    wait(started, reporter=reporter)


def write_whole(*arguments, out, reporter, **options):
    (out.with_name(f"{out.name}.run")).mkdir()
    out.mkdir()
    with reporter.task("encoding", 1) as task:
        task.advance()
    with reporter.task("fine-tuning", 2) as task:
        task.advance()
    return RefitResult(None, out, None)


def refuse_to_write(*, out, reporter):
    out.with_name(f"{out.name}.run").mkdir()
    raise DataError(f"{out}: cannot be written")


def refuse_a_refit(*arguments, **options):
    raise DataError("the disk is full")


def wait_with_logs(started, model, logs, **options):
    """As an update: say what was in the file, and wait forever."""
    started.write_text(f"{logs.origins[0].source}: {', '.join(logs.texts)}")
    while True:
        time.sleep(0.02)
