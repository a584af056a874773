"""Excel workbooks (xlsx)."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from typing import Any

from newfound.data.columns import ColumnPositions, columns_by_position, find_columns
from newfound.data.compressed import open_zip
from newfound.data.rows import ReadReport, Row, Source
from newfound.errors import ColumnMissing, DataError, MissingExtra
from newfound.text import first_line

MAX_COLUMNS = 1_024  # more are not looked at: a workbook can claim 16,384 columns in each of a million rows
ROWS_TO_LOOK_AT = 50
CELL_ERRORS = frozenset(("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A"))


def read_xlsx(source: Source) -> Iterator[Row]:
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
    book = _open(source, content, values=True)
    sheet, first, columns = _find_sheet(source, book)
    formulas: set[tuple[int, int]] | None = None
    for number, cells in enumerate(_cells(source, sheet, columns.width), start=1):
        if number < first or all(cell is None for cell in cells):
            continue
        fields = []
        for position in (columns.text, columns.label):
            cell = None if position is None or position >= len(cells) else cells[position]
            if cell is None and position is not None:
                formulas = _formulas(source, content, sheet.title, columns) if formulas is None else formulas
                if (number, position) in formulas:
                    raise DataError(
                        f"{source.name}, line {number}: a formula whose value was never computed; open the file in a "
                        "spreadsheet program and save it"
                    )
            fields.append(_text_of(source, number, cell))
        record = source.record_of(columns.names, cells)
        yield Row(number, fields[0], fields[1] if columns.label is not None else None, record=record)


def _open(source: Source, content: bytes, *, values: bool) -> Any:
    try:
        import openpyxl
    except ImportError:
        raise MissingExtra(f"{source.name}: reading Excel files", "openpyxl", "excel") from None
    try:
        return openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=values)
    except Exception as error:  # A damaged workbook raises different types, depending on the part.
        raise _damaged(source, error) from None


def _damaged(source: Source, error: Exception) -> DataError:
    reason = first_line(error)[:80]
    return DataError(f"{source.name}: not a readable xlsx workbook ({reason}); save it as .xlsx or CSV again")


def _cells(source: Source, sheet: Any, width: int = MAX_COLUMNS) -> Iterator[tuple[Any, ...]]:
    try:
        sheet.reset_dimensions()  # what a file says of its size is often wrong
        yield from sheet.iter_rows(max_col=width, values_only=True)
    except Exception as error:  # A damaged sheet raises different types.
        raise _damaged(source, error) from None


def _find_sheet(source: Source, book: Any) -> tuple[Any, int, ColumnPositions]:
    """Return the first sheet that has the columns, the number of its first row of data, and the columns.

    If none has them, the error is about the sheet that has most of what is needed: the utterances, or else most cells.
    """
    problems: list[tuple[bool, int, DataError]] = []
    sheets = list(book.worksheets)
    for sheet in sheets:
        trial = replace(source, report=ReadReport(source.name))  # notes about a sheet that is not read are of no use
        try:
            start = _start_of_sheet(source, sheet)
            if not start:
                continue
            first, columns = _find_columns(trial, sheet.title, start)
        except DataError as error:
            if not error.remedies:
                raise
            has_text = isinstance(error, ColumnMissing) and error.role == "label"
            problems.append((has_text, sum(len(fields) for _, fields in start), error))
            continue
        if len(sheets) > 1:
            others = ", ".join(repr(other.title) for other in sheets if other is not sheet)[:120]
            source.report.note(f"reading the sheet {sheet.title!r} (not {others})")
        source.report.notes.extend(trial.report.notes)
        return sheet, first, columns
    if problems:
        raise max(problems, key=lambda problem: problem[:2])[2]
    raise DataError(f"{source.name}: the workbook is empty; it needs a header line and an utterance")


def _start_of_sheet(source: Source, sheet: Any) -> list[tuple[int, list[str]]]:
    """Return the first rows that are not empty, each with its number and without empty cells at its end."""
    start: list[tuple[int, list[str]]] = []
    for number, cells in enumerate(_cells(source, sheet), start=1):
        filled = [_text_of(source, number, cell, errors=False) for cell in cells]
        while filled and not filled[-1].strip():
            filled.pop()
        if filled:
            start.append((number, filled))
        if len(start) == ROWS_TO_LOOK_AT or number > 100 * ROWS_TO_LOOK_AT:
            break
    return start


def _find_columns(source: Source, title: str, start: Sequence[tuple[int, list[str]]]) -> tuple[int, ColumnPositions]:
    number, header = start[0]
    if source.options.header is False:
        width = max(len(fields) for _, fields in start)
        return number, columns_by_position(source, [fields + [""] * (width - len(fields)) for _, fields in start])
    return number + 1, find_columns(source, f"{source.name}, sheet {title!r}, line {number}", header)


def _formulas(source: Source, content: bytes, title: str, columns: ColumnPositions) -> set[tuple[int, int]]:
    """Return row and position of the formulas in the columns that are read."""
    cells = set()
    sheet = _open(source, content, values=False)[title]
    for number, row in enumerate(_cells(source, sheet, columns.width), start=1):
        for position in (columns.text, columns.label):
            if position is not None and position < len(row) and str(row[position]).startswith("="):
                cells.add((number, position))
    return cells


def _text_of(source: Source, line: int, cell: Any, *, errors: bool = True) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        if errors and cell in CELL_ERRORS:
            raise DataError(f"{source.name}, line {line}: the cell has the error {cell}; correct the formula")
        return cell
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ") if cell.time() != time() else cell.date().isoformat()
    return cell.isoformat() if isinstance(cell, date | time) else str(cell)
