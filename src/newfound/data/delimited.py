"""Tables as text: comma-separated, semicolon-separated, tab-separated and others."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import chain, dropwhile
from typing import Any

from newfound.data.columns import ROWS_TO_LOOK_AT, NumberedRow, find_columns_of_table, has_column
from newfound.data.rows import Records, Source
from newfound.errors import DataError

DELIMITERS = (",", ";", "\t", "|")  # that are detected, the most common first
NO_DELIMITER = "\x1f"  # for tables of one column: a character that hardly any text has
MIN_ROWS_ALIKE = 2  # below the header, to believe that they have more columns than it names
DELIMITER_LINE = re.compile('"?sep=([^"])"?', re.IGNORECASE)  # as Excel writes it before the header
MAX_CSV_FIELD_CHARACTERS = 2**30  # the csv module's own limit of 128 KiB would refuse a long text


def read_tsv(source: Source) -> Records:
    return read_csv(source, delimiter="\t")


def read_csv(source: Source, delimiter: str | None = None) -> Records:
    """Read a table; the delimiter is that of the options, or else this one, or else found out."""
    csv.field_size_limit(MAX_CSV_FIELD_CHARACTERS)
    source.report.delimiter = delimiter = source.options.delimiter or delimiter or _detect_delimiter(source)
    # csv needs the line ends, because a quoted field may contain one.
    reader = csv.reader((line + "\n" for line in source.lines()), delimiter=delimiter, strict=True)
    try:
        rows = find_columns_of_table(source, source.name, _number_rows(reader))
        names = source.report.columns
        for line, fields in rows:
            if not fields or (len(fields) > 1 and not any(fields)):
                continue  # spreadsheet programs write rows of nothing but delimiters
            if len(fields) != len(names):
                start = "first row" if source.options.header is False else "header"
                raise DataError(
                    f"{source.name}, line {line}: {len(fields)} fields where the {start} has {len(names)}; "
                    "put quotes around a text that contains the delimiter"
                )
            yield line, dict(zip(names, fields, strict=True))
    except csv.Error as error:
        problem = str(error).replace(f"'{delimiter}'", "a delimiter or the end of the line")
        raise DataError(f"{source.name}, line {reader.line_num}: {problem}; check the quotes there") from None


def _number_rows(reader: Any) -> Iterator[NumberedRow]:
    """Yield the rows of a `csv.reader` with the line on which each starts."""
    start = 1
    for fields in reader:
        yield start, fields
        start = reader.line_num + 1


def _delimiter_of_header(line: str, source: Source) -> str | None:
    """Return the delimiter with which the first line names the columns; None if that does not decide it."""
    if source.options.header is False:
        return None
    text, label = source.options.text_column, source.options.label_column
    named = [d for d in DELIMITERS if len(fields := fields_of(line, d)) > 1 and has_column(fields, "text", text)]
    if source.reads_labels:
        named = [d for d in named if has_column(fields_of(line, d), "label", label)] or named
    return named[0] if len(named) == 1 else None


def _detect_delimiter(source: Source) -> str:
    """Return what separates the fields of a table.

    The header decides if it names the columns with one delimiter only. Otherwise that delimiter is taken with which
    all rows have as many fields as the header, two or more; so a comma in some of the texts does not mislead. If there
    is none, the table has one column, unless its rows are alike in another number of fields: then the header lacks a
    name, which reading with that delimiter shows.
    """
    for count in (1, 1 + ROWS_TO_LOOK_AT):  # more lines than the header only if it does not decide
        filled = list(dropwhile(lambda line: not line.strip(), source.peek(count)))
        header = filled[0] if filled else ""
        if declared := DELIMITER_LINE.fullmatch(header.strip()):
            return declared.group(1)
        if by_header := _delimiter_of_header(header, source):
            return by_header
    widths = {d: [len(fields) for fields in _parse_lines(filled, d)] for d in DELIMITERS}
    regular = [d for d, counts in widths.items() if counts and len(set(counts)) == 1 and counts[0] > 1]
    for delimiter in regular:
        if has_column(fields_of(header, delimiter), "text", source.options.text_column):
            return delimiter
    unnamed = [
        d for d, counts in widths.items() if len(counts) > MIN_ROWS_ALIKE and len(set(counts[1:])) == 1 < counts[1]
    ]
    several = [d for d, counts in widths.items() if counts and counts[0] > 1]
    if source.options.header is False and not source.reads_labels:
        return next(iter(regular), NO_DELIMITER)
    return next(chain(regular, several, unnamed), NO_DELIMITER)


def fields_of(line: str, delimiter: str) -> list[str]:
    """Return the fields of a line; none if it cannot be divided."""
    return next(iter(_parse_lines([line], delimiter)), [])


def _parse_lines(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    try:
        rows = [fields for fields in csv.reader((line + "\n" for line in lines), delimiter=delimiter) if fields]
    except csv.Error:
        return []
    # The last row may be cut in the middle of a quoted text.
    return rows[:-1] if len(lines) > ROWS_TO_LOOK_AT else rows


def parse_delimiter(text: str) -> str:
    """Return the delimiter that a user names: one character, or tab."""
    delimiter = "\t" if text.lower() in ("tab", "\\t") else text
    if len(delimiter) != 1 or delimiter in '\r\n"':
        raise DataError(f"the delimiter {text!r} is not one character; give one, or tab")
    return delimiter
