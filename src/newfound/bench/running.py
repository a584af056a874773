"""Runs the missing cells of an experiment, one after another in one process, so that they share features."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from newfound.bench.cells import Cell, missing, run_cell, task_of, write_result
from newfound.bench.variants import VARIANTS
from newfound.encoders.encoder import Encoder
from newfound.errors import ExperimentError, NewfoundError
from newfound.training.progress import Reporter


def run_missing(
    cells: Sequence[Cell],
    root: Path,
    encoder: Encoder,
    device: str,
    reporter: Reporter,
    *,
    until: float = math.inf,
    **settings: Any,
) -> None:
    """Finished cells are skipped; a failed one is tried once more at the end and then reported with the others.

    Every result is written as soon as it is there, so stopping loses the cell in flight and nothing else. No cell is
    begun that would end after `until` (of `time.monotonic`), by the mean of those before it.
    """
    todo = missing(cells, root)
    for cell in {(c.benchmark, c.ratio, c.split, c.variant): c for c in todo}.values():
        task_of(cell)  # missing data is noticed before anything runs
    failed = _run_all(todo, root, encoder, device, reporter, until, settings)
    again = _run_all(list(failed), root, encoder, device, reporter, until, settings) if failed else {}
    if again:
        cell, error = next(iter(again.items()))
        raise ExperimentError(
            f"{len(again)} of {len(cells)} cells failed twice, the first of them {_called(cell)} with "
            f"{type(error).__name__}: {error}; the others are done, run the command again to retry"
        )


def _run_all(
    cells: list[Cell],
    root: Path,
    encoder: Encoder,
    device: str,
    reporter: Reporter,
    until: float,
    settings: dict[str, Any],
) -> dict[Cell, Exception]:
    failed: dict[Cell, Exception] = {}
    memory: dict[str, Any] = {}  # of cells on unchanged data
    changed: dict[str, Any] = {}  # of neighbours with the same changed logs; there are too many to keep them all
    last_data: object = None
    started = time.monotonic()
    with reporter.task("cells", len(cells)) as task:
        for number, cell in enumerate(_neighbours_together(cells), 1):
            if time.monotonic() + (time.monotonic() - started) / max(1, number - 1) > until:
                reporter.note(f"stopped by the time limit; {len(cells) - number + 1} of {len(cells)} cells are left")
                break
            if _data_of(cell) != last_data:
                changed, last_data = {}, _data_of(cell)
            same = VARIANTS[cell.variant].condition.changes_nothing
            try:
                write_result(
                    cell,
                    run_cell(cell, encoder, device, settings=settings, memory=memory if same else changed),
                    root,
                )
            except NewfoundError:
                raise  # bad input is bad for every cell
            except Exception as error:
                failed[cell] = error
                reporter.note(f"{_called(cell)} failed: {type(error).__name__}: {error}")
            left = (time.monotonic() - started) / number * (len(cells) - number)
            task.advance(f"{_called(cell)}, about {_duration(left)} left")
    return failed


def _neighbours_together(cells: Iterable[Cell]) -> list[Cell]:
    """Cells on the same changed logs follow one another; all others keep their order."""
    order = {data: i for i, data in enumerate(dict.fromkeys(map(_data_of, cells)))}
    return sorted(cells, key=lambda cell: order[_data_of(cell)])


def _data_of(cell: Cell) -> tuple[Any, ...]:
    condition = VARIANTS[cell.variant].condition
    unchanged = condition.changes_nothing
    return (cell.benchmark, cell.ratio, cell.split, condition, None if unchanged else cell.seed)


def _called(cell: Cell) -> str:
    variant = "" if cell.variant == "default" else f" {cell.variant}"
    return f"{cell.method}{variant} {cell.benchmark} {cell.ratio}% split {cell.split} seed {cell.seed}"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
