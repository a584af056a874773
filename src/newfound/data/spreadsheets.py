"""Excel workbooks (xlsx)."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time
from typing import Any

from newfound.data.columns import ROWS_TO_LOOK_AT, NumberedRow, find_columns_of_table, has_column
from newfound.data.rows import Records, Source, open_zip
from newfound.errors import DataError, MissingExtra
from newfound.text import first_line

MAX_COLUMNS = 1_024  # more are not looked at: a workbook can claim 16,384 columns in each of a million rows
CELL_ERRORS = frozenset(("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A"))


def read_xlsx(source: Source) -> Records:
    """Read the first sheet that has the columns; the line of a row is its number in the sheet.

    The value of a formula is the one that was last computed. Numbers and dates are read as text, and empty rows are
    skipped.
    """
    content = source.stream.read()
    open_zip(
        source.name,
        content,
        if_damaged="not an xlsx workbook, or protected by a password; save it as .xlsx or CSV",
        if_large="save the sheet as CSV",
    )
    try:
        import openpyxl
    except ImportError:
        raise MissingExtra(f"{source.name}: reading Excel files", "openpyxl", "excel") from None
    with _readable(source):
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    sheet, first = _find_sheet(source, list(book.worksheets))
    names = source.report.columns
    read = [names.index(name) for name in (source.report.text_column, source.report.label_column) if name is not None]
    for number, cells in enumerate(_cells(source, sheet, len(names)), start=1):
        if number < first or all(cell is None for cell in cells):
            continue
        values = [*cells, *[None] * (len(names) - len(cells))]
        for position in read:
            if values[position] in CELL_ERRORS:
                problem = f"the cell has the error {values[position]}; correct the formula"
                raise DataError(f"{source.name}, line {number}: {problem}")
            values[position] = _text_of(values[position])
        yield number, dict(zip(names, values, strict=True))


@contextmanager
def _readable(source: Source) -> Iterator[None]:
    """Turn what a damaged workbook raises into one error."""
    try:
        yield
    except Exception as error:  # of different types, depending on the part
        reason = f"not a readable xlsx workbook ({first_line(error)[:80]}); save it as .xlsx or CSV again"
        raise DataError(f"{source.name}: {reason}") from None


def _cells(source: Source, sheet: Any, width: int = MAX_COLUMNS) -> Iterator[tuple[Any, ...]]:
    with _readable(source):
        sheet.reset_dimensions()  # what a file says of its size is often wrong
        yield from sheet.iter_rows(max_col=width, values_only=True)


def _find_sheet(source: Source, sheets: Sequence[Any]) -> tuple[Any, int]:
    """Find the columns, and return the first sheet that has them and the number of its first row of data.

    If none has them, the error is about the sheet with most cells.
    """
    starts = [(sheet, start) for sheet in sheets if (start := _start_of_sheet(source, sheet))]
    if not starts:
        raise DataError(f"{source.name}: the workbook is empty; it needs a header line and an utterance")
    largest = max(starts, key=lambda one: sum(len(fields) for _, fields in one[1]))
    sheet, start = next((one for one in starts if _has_columns(source, one[1][0][1])), largest)
    if len(sheets) > 1:
        others = ", ".join(repr(other.title) for other in sheets if other is not sheet)[:120]
        source.report.note(f"reading the sheet {sheet.title!r} (not {others})")
    rows = find_columns_of_table(source, f"{source.name}, sheet {sheet.title!r}", iter(start))
    return sheet, next(rows, (start[0][0] + 1,))[0]


def _has_columns(source: Source, first: Sequence[str]) -> bool:
    """Return whether the first row of a sheet names the columns that are needed."""
    options = source.options
    return options.header is False or (
        has_column(first, "text", options.text_column)
        and (source.labels != "required" or has_column(first, "label", options.label_column))
    )


def _start_of_sheet(source: Source, sheet: Any) -> list[NumberedRow]:
    """Return the first rows that are not empty, each with its number and without empty cells at its end."""
    start: list[NumberedRow] = []
    for number, cells in enumerate(_cells(source, sheet), start=1):
        filled = [_text_of(cell) for cell in cells]
        while filled and not filled[-1].strip():
            filled.pop()
        if filled:
            start.append((number, filled))
        if len(start) == ROWS_TO_LOOK_AT or number > 100 * ROWS_TO_LOOK_AT:
            break
    if source.options.header is not False:
        return start
    width = max((len(fields) for _, fields in start), default=0)
    return [(number, fields + [""] * (width - len(fields))) for number, fields in start]


def _text_of(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ") if cell.time() != time() else cell.date().isoformat()
    return cell.isoformat() if isinstance(cell, date | time) else str(cell)
