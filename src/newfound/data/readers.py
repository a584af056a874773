"""One streaming reader per file format. A reader yields records, each with the line it starts on.

Readers only parse, and find the columns where a format has some (`newfound.data.columns`). `newfound.data.validation`
makes rows of the records and checks them.
"""

from __future__ import annotations

import codecs
import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from newfound.data.columns import find_columns, has_column
from newfound.data.delimited import DELIMITERS, fields_of, parse_delimiter, read_csv
from newfound.data.messages import messages_of, records_of
from newfound.data.rows import GZIP_START, ZIP_START, LimitedGzip, ReadOptions, Records, Source, unknown_encoding
from newfound.errors import DataError

# Single words that are taken for a header where nothing says that plain text is a table.
NAMES_OF_ONE_COLUMN = frozenset(("text", "utterance", "utterances", "message", "query", "sentence", "transcript"))

# The module in `newfound.data`, which is imported when it is needed, the function, which takes a `Source` and yields
# records, and the extensions of such files.
READERS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "csv": ("delimited", "read_csv", (".csv",)),
    "tsv": ("delimited", "read_tsv", (".tsv", ".tab")),
    "jsonl": ("readers", "read_jsonl", (".jsonl", ".ndjson")),
    "json": ("readers", "read_json", (".json",)),
    "parquet": ("parquet", "read_parquet", (".parquet", ".pq")),
    "text": ("readers", "read_text", (".txt", ".log")),
    "rasa": ("platforms", "read_rasa", (".yml", ".yaml")),
    "xlsx": ("spreadsheets", "read_xlsx", (".xlsx", ".xlsm")),
    "dialogflow-es": ("platforms", "read_dialogflow_es", ()),
    "dialogflow-cx": ("platforms", "read_dialogflow_cx", ()),
    "clu": ("platforms", "read_clu", ()),
    "botpress": ("platforms", "read_botpress", ()),
}
FORMAT_OF_EXTENSION = {extension: format for format, (_, _, known) in READERS.items() for extension in known}
COMPRESSIBLE_FORMATS = ("csv", "tsv", "jsonl", "json", "text")


def read_jsonl(source: Source) -> Records:
    """Read JSON lines: one object a line."""

    def objects() -> Iterator[tuple[int, str, Any]]:
        for number, line in enumerate(source.lines(), start=1):
            if line.strip():
                where = f"{source.name}, line {number}"
                try:
                    yield number, where, json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise DataError(f"{where}: not JSON ({error}); write one object a line") from None

    return read_objects(source, objects())


def read_json(source: Source) -> Records:
    """Read one JSON array of objects, or one object; the line of an object is its position in the array."""
    text = "\n".join(source.lines())
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        if "Extra data" in str(error):
            raise DataError(f"{source.name}: more than one JSON value; name the file .jsonl") from None
        raise DataError(f"{source.name}: not JSON ({error})") from None
    if isinstance(whole, dict) and messages_of(whole) is None:  # such as {"data": [...]}
        whole = next((value for value in whole.values() if isinstance(value, list)), [whole])
    found = whole if isinstance(whole, list) else [whole]
    return read_objects(source, ((i, f"{source.name}, item {i}", item) for i, item in enumerate(found, start=1)))


def read_objects(source: Source, objects: Iterator[tuple[int, str, Any]]) -> Records:
    """Yield JSON objects as records; one that holds a list of messages becomes a record for each of them."""
    for place, where, record in objects:
        if not isinstance(record, dict):
            raise DataError(f"{where}: expected a JSON object with {source.options.text_column or 'text'!r}")
        messages = messages_of(record)
        source.report.holds_conversations |= messages is not None
        for own in (record,) if messages is None else records_of(record, messages, place, source.options):
            # Among labelled and unlabelled records, the first may have no label.
            if source.report.text_column is None or (
                source.report.label_column is None and source.labels == "optional"
            ):
                find_columns(source, where, list(own), may_be_data=False)
            yield place, own


def read_text(source: Source) -> Records:
    """Read plain text: one utterance a line, without labels."""
    if source.labels == "required":
        raise DataError(
            f"{source.name}: a plain text file has no labels; give CSV, Excel, JSONL, Parquet or Rasa YAML for the "
            "known intents"
        )
    for number, line in enumerate(source.lines(), start=1):
        yield number, {"text": line}


def read_text_or_table(source: Source) -> Records:
    """Read what nothing says the format of: plain text, unless its first lines are those of a table or of JSON lines.

    Spreadsheet programs save tables as .txt, and a CSV file may be piped in. Its header must not become an utterance.
    """
    first = "".join(source.peek(1))
    if source.options.header is not False and _may_be_header(first, source.options):
        start = source.peek(2)
        if len(start) == 2 and _is_table(*start):
            source.report.note("the first line is taken for a header; name the format text if it is an utterance")
            return read_csv(source)
    elif _is_json_record(first, source.options):
        source.report.note("read as JSON lines; name the format text if these are utterances")
        return read_jsonl(source)
    return read_text(source)


def _may_be_header(line: str, options: ReadOptions) -> bool:
    if options.text_column == line.strip() or line.strip().strip('"').lower() in NAMES_OF_ONE_COLUMN:
        return True
    for delimiter in DELIMITERS:
        fields = fields_of(line, delimiter)
        has_spaces = any(field.startswith(" ") for field in fields)
        is_prose = has_spaces and not has_column(fields, "label", options.label_column)
        if len(fields) > 1 and not is_prose and has_column(fields, "text", options.text_column):
            return True
    return False


def _is_table(header: str, row: str) -> bool:
    """Return whether a row may belong to a table with this header: it has a delimiter that the header has."""
    delimiters = [delimiter for delimiter in DELIMITERS if delimiter in header]
    return not delimiters or '"' in row or any(delimiter in row for delimiter in delimiters)


def _is_json_record(line: str, options: ReadOptions) -> bool:
    if not line.lstrip().startswith("{"):
        return False
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return False
    is_object = isinstance(record, dict)
    return is_object and (messages_of(record) is not None or has_column(list(record), "text", options.text_column))


def format_of(name: str, chosen: str | None = None) -> str:
    """Return the format of a file: the one that the user chose, or else that of the extension of its name."""
    if chosen is not None:
        if chosen not in READERS:
            raise DataError(f"unknown format {chosen!r}; one of {', '.join(READERS)}")
        return chosen
    extension = Path(name.lower().removesuffix(".gz")).suffix
    if extension == ".xls":
        raise DataError(f"{name}: the old Excel format is not read; save it as .xlsx or CSV")
    if extension not in FORMAT_OF_EXTENSION:
        seen = f"the extension {extension!r}" if extension else "a name without extension"
        raise DataError(f"{name}: cannot tell the format from {seen} (formats: {', '.join(READERS)})", "format")
    return FORMAT_OF_EXTENSION[extension]


def read_records(path: str | Path, source: Source) -> Records:
    """Yield the records of a file; the source says how it is read, and its stream is set.

    `-` is standard input, which is plain text, a table or JSON lines by its first line, unless the options say which.
    """
    name, options = source.name, source.options
    try:  # the one name of an encoding that Python knows by several
        encoding = codecs.lookup(options.encoding).name
    except (LookupError, ValueError):
        raise unknown_encoding(options.encoding) from None
    delimiter = None if options.delimiter is None else parse_delimiter(options.delimiter)
    source.options = replace(options, encoding=encoding, delimiter=delimiter)
    if str(path) != "-" and Path(path).is_dir():
        raise DataError(f"{name}: is a folder; give a file (the engine ray predicts for a folder of Parquet files)")
    format = format_of("-.txt" if str(path) == "-" else str(path), source.options.format)
    with _open(path, name) as file:
        stream = file
        if file.peek(2).startswith(GZIP_START):  # does not consume anything: a pipe can be read only once
            if format not in COMPRESSIBLE_FORMATS:
                raise DataError(f"{name}: is compressed; unpack it first (gunzip)")
            stream = io.BufferedReader(LimitedGzip(name, file))
        if format in COMPRESSIBLE_FORMATS and file.peek(4).startswith(ZIP_START):
            raise DataError(f"{name}: this is a workbook or another zip file, not text", "format")
        # Spreadsheet programs save "Unicode text" as UTF-16 with a byte-order mark.
        if stream.peek(2).startswith((b"\xff\xfe", b"\xfe\xff")) and source.options.encoding == "utf-8":
            source.options = replace(source.options, encoding="utf-16")
        source.stream = stream
        if format == "text" and source.options.delimiter is not None:
            format = "csv"
        if format == "text" and source.options.format is None:
            yield from read_text_or_table(source)
        else:
            module, function, _ = READERS[format]
            yield from getattr(import_module(f"newfound.data.{module}"), function)(source)


@contextmanager
def _open(path: str | Path, name: str) -> Iterator[io.BufferedReader]:
    """Open a file or standard input; what the file system says while it is read is an error with its name."""
    try:
        if str(path) == "-":
            stdin: Any = sys.stdin.buffer
            yield stdin if hasattr(stdin, "peek") else io.BufferedReader(io.BytesIO(stdin.read()))
        else:
            with Path(path).open("rb") as file:
                yield file
    except FileNotFoundError:
        raise DataError(f"{name}: no such file") from None
    except OSError as error:
        raise DataError(f"{name}: cannot be read ({error.strerror or error})") from error
