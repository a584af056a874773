"""Runs the missing cells of an experiment one after another in one process, so that they can share features."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from newfound.bench.baselines import check_baselines
from newfound.bench.cells import Cell, missing_cells, run_cell, task_of, write_result
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
    """Run the cells that have no result yet, and write the result of each as soon as it is finished.

    A cell that fails is tried once more at the end.

    Args:
        cells: Cells with and without a result; those with one are skipped.
        root: The folder of the result files.
        encoder: The loaded encoder that all cells name.
        device: auto, cpu or cuda.
        reporter: Shows the progress.
        until: A time of `time.monotonic`. No cell is begun that would end later, by the mean time of those before it.
        **settings: Settings of the methods that differ from the cells'.

    Raises:
        MissingExtra: A baseline needs what is not installed; nothing was run.
        ExperimentError: Some cells failed twice; all others were run.
    """
    unfinished = missing_cells(cells, root)
    check_baselines(cell.method for cell in unfinished)
    for cell in {(c.benchmark, c.ratio, c.split, c.variant): c for c in unfinished}.values():
        task_of(cell)  # raises an error for missing data before anything runs
    failed = _run_all(unfinished, root, encoder, device, reporter, until, settings)
    failed_twice = _run_all(list(failed), root, encoder, device, reporter, until, settings) if failed else {}
    if failed_twice:
        cell, error = next(iter(failed_twice.items()))
        raise ExperimentError(
            f"{len(failed_twice)} of {len(cells)} cells failed twice, the first of them {_description(cell)} with "
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
    """Run the cells, and return the errors of those that failed."""
    failed: dict[Cell, Exception] = {}
    memory_unchanged: dict[str, Any] = {}  # shared by all cells on unchanged data
    # Shared by consecutive cells with the same changed logs; features of all changed logs would need too much memory.
    memory_changed: dict[str, Any] = {}
    last_data: object = None
    started = time.monotonic()
    with reporter.task("cells", len(cells)) as task:
        for number, cell in enumerate(_group_by_data(cells), 1):
            if time.monotonic() + (time.monotonic() - started) / max(1, number - 1) > until:
                reporter.note(f"stopped by the time limit; {len(cells) - number + 1} of {len(cells)} cells are left")
                break
            if _data_of(cell) != last_data:
                memory_changed, last_data = {}, _data_of(cell)
            is_unchanged = VARIANTS[cell.variant].condition.changes_nothing
            memory = memory_unchanged if is_unchanged else memory_changed
            try:
                write_result(cell, run_cell(cell, encoder, device, settings=settings, memory=memory), root)
            except NewfoundError:
                raise  # Bad input would fail in every cell.
            except Exception as error:
                failed[cell] = error
                reporter.note(f"{_description(cell)} failed: {type(error).__name__}: {error}")
            left = (time.monotonic() - started) / number * (len(cells) - number)
            task.advance(f"{_description(cell)}, about {_duration(left)} left")
    return failed


def _group_by_data(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells with those on the same data one after another."""
    order = {data: i for i, data in enumerate(dict.fromkeys(map(_data_of, cells)))}
    return sorted(cells, key=lambda cell: order[_data_of(cell)])


def _data_of(cell: Cell) -> tuple[Any, ...]:
    """Return a key that is equal for cells on the same data."""
    condition = VARIANTS[cell.variant].condition
    unchanged = condition.changes_nothing
    return (cell.benchmark, cell.ratio, cell.split, condition, None if unchanged else cell.seed)


def _description(cell: Cell) -> str:
    variant = "" if cell.variant == "default" else f" {cell.variant}"
    return f"{cell.method}{variant} {cell.benchmark} {cell.ratio}% split {cell.split} seed {cell.seed}"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
