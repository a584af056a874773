"""One streaming reader per file format. A reader yields `Row`s, each with the line it came from.

Readers only parse. Whether the rows can be used (no contradicting labels, at least two intents, and so on) is checked
in `newfound.data.validation`.
"""

from __future__ import annotations

import codecs
import io
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

from newfound.data.columns import find_names, has_label_column, has_text_column
from newfound.data.compressed import GZIP_START, unpack
from newfound.data.delimited import DELIMITERS, fields_of, parse_delimiter, read_delimited
from newfound.data.rows import (
    DEFAULT_READ_OPTIONS,
    LabelUse,
    ReadOptions,
    ReadReport,
    Row,
    Source,
    row_of_record,
    unknown_encoding,
)
from newfound.errors import DataError

# Single words that are taken for a header where nothing says that plain text is a table.
NAMES_OF_ONE_COLUMN = frozenset(("text", "utterance", "utterances", "message", "query", "sentence", "transcript"))

# The module in `newfound.data`, which is imported when it is needed, and the function. It takes a `Source` and yields
# rows.
READERS = {
    "csv": "delimited.read_csv",
    "tsv": "delimited.read_tsv",
    "jsonl": "readers.read_jsonl",
    "parquet": "parquet.read_parquet",
    "text": "readers.read_text",
    "rasa": "readers.read_rasa",
    "xlsx": "spreadsheets.read_xlsx",
    "dialogflow-es": "platforms.read_dialogflow_es",
    "dialogflow-cx": "platforms.read_dialogflow_cx",
    "clu": "platforms.read_clu",
    "botpress": "platforms.read_botpress",
}
FORMAT_OF_EXTENSION = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".txt": "text",
    ".log": "text",
    ".yml": "rasa",
    ".yaml": "rasa",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
}
ZIP_START = b"PK\x03\x04"
COMPRESSIBLE_FORMATS = ("csv", "tsv", "jsonl", "text")


def read_jsonl(source: Source) -> Iterator[Row]:
    """Read JSON lines: one object a line."""
    return _read_json_lines(source, source.lines())


def _read_json_lines(source: Source, lines: Iterator[str]) -> Iterator[Row]:
    text: str | None = None
    label: str | None = None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{source.name}, line {number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{where}: not JSON ({error}); write one object a line") from None
        if not isinstance(record, dict):
            raise DataError(f"{where}: expected a JSON object with {source.options.text_column or 'text'!r}")
        # Among labelled and unlabelled records, the first may have no label.
        if text is None or (label is None and source.labels == "optional"):
            text, label = find_names(source, where, list(record))
        yield row_of_record(source, number, record, text, label)


def read_text(source: Source) -> Iterator[Row]:
    """Read plain text: one utterance a line, without labels."""
    return _read_lines(source, source.lines())


def _read_lines(source: Source, lines: Iterator[str]) -> Iterator[Row]:
    if source.labels == "required":
        raise DataError(
            f"{source.name}: a plain text file has no labels; give CSV, Excel, JSONL, Parquet or Rasa YAML for the "
            "known intents"
        )
    for number, line in enumerate(lines, start=1):
        yield Row(number, line, None)


def read_text_or_table(source: Source) -> Iterator[Row]:
    """Read what nothing says the format of: plain text, unless its first lines are those of a table or of JSON lines.

    Spreadsheet programs save tables as .txt, and a CSV file may be piped in. Its header must not become an utterance.
    """
    lines = source.lines()
    first = next(lines, None)
    start = [] if first is None else [first]
    if first is not None and source.options.header is not False and _may_be_header(first, source.options):
        second = next(lines, None)
        start += [] if second is None else [second]
        if second is not None and _is_table(first, second):
            source.report.note("the first line is taken for a header; name the format text if it is an utterance")
            return read_delimited(source, chain(start, lines))
    elif first is not None and _is_json_record(first, source.options):
        source.report.note("read as JSON lines; name the format text if these are utterances")
        return _read_json_lines(source, chain(start, lines))
    return _read_lines(source, chain(start, lines))


def _may_be_header(line: str, options: ReadOptions) -> bool:
    if options.text_column == line.strip() or line.strip().strip('"').lower() in NAMES_OF_ONE_COLUMN:
        return True
    for delimiter in DELIMITERS:
        fields = fields_of(line, delimiter)
        has_spaces = any(field.startswith(" ") for field in fields)
        is_prose = has_spaces and not has_label_column(fields, options.label_column)
        if len(fields) > 1 and not is_prose and has_text_column(fields, options.text_column):
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
    return isinstance(record, dict) and has_text_column(list(record), options.text_column)


def read_rasa(source: Source) -> Iterator[Row]:
    """Read Rasa NLU YAML (`nlu:` with `intent` and `examples`); an annotated entity is reduced to its text."""
    import yaml

    name = source.name
    try:
        document = yaml.load("\n".join(source.lines()), Loader=_loader_with_lines(yaml))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise DataError(f"{name}{where}: not valid YAML ({getattr(error, 'problem', error)})") from None
    if not isinstance(document, dict) or not isinstance(document.get("nlu"), list):
        raise DataError(f"{name}: no `nlu:` list; this reader takes Rasa NLU training data (version 2 or 3)")
    for block in document["nlu"]:
        if not isinstance(block, dict) or "intent" not in block:
            continue  # Synonyms, lookups and regexes are not utterances.
        yield from _rasa_examples(name, block, with_label=source.reads_labels)


def _loader_with_lines(yaml: Any) -> Any:
    """Return a safe YAML loader that adds the line on which the examples of an intent start."""

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        pass

    def construct_mapping(loader: Any, node: Any) -> dict[Any, Any]:
        mapping: dict[Any, Any] = loader.construct_mapping(node, deep=True)
        for key, value in node.value:
            if key.value == "examples":
                mapping["__line__"] = value.start_mark.line + 1
        return mapping

    Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, construct_mapping)
    return Loader


def _rasa_examples(name: str, block: dict[str, Any], with_label: bool) -> Iterator[Row]:
    start = int(block.get("__line__", 1))
    if not isinstance(block["intent"], str):
        raise DataError(f"{name}, line {start}: the intent there has no name; write `intent: its_name`")
    label = block["intent"] if with_label else None
    examples = block.get("examples") or ""
    if isinstance(examples, list):
        texts = [(start + i, str((e.get("text") or "") if isinstance(e, dict) else e)) for i, e in enumerate(examples)]
    else:
        lines = enumerate(str(examples).splitlines(), start=start + 1)
        texts = [(number, line.strip()[1:]) for number, line in lines if line.strip().startswith("-")]
        invalid = [n for n, line in enumerate(str(examples).splitlines(), start + 1) if not _is_example(line)]
        if invalid:
            problem = f"an example of intent {block['intent']!r} does not start with '-'"
            raise DataError(f"{name}, line {invalid[0]}: {problem}")
    for number, text in texts:
        yield Row(number, _without_entities(text.strip()), label)


def _is_example(line: str) -> bool:
    """Return whether a line is an example, a comment or empty."""
    return not line.strip() or line.strip().startswith(("-", "#"))


def _without_entities(text: str) -> str:
    """Return `fly to Paris` for `fly to [Paris](city)` and for `fly to [Paris]{"entity": "city"}`."""
    return re.sub(r"\[([^\]\[]*)\](?:\([^)]*\)|\{[^}]*\})", r"\1", text)


def format_of(name: str, chosen: str | None = None) -> str:
    """Return the format of a file.

    Args:
        name: The file's name.
        chosen: The format the user asked for; by default, the file's extension decides.

    Raises:
        DataError: There is no such format, or the extension says nothing.
    """
    if chosen is not None:
        if chosen not in READERS:
            raise DataError(f"unknown format {chosen!r}; one of {', '.join(READERS)}")
        return chosen
    plain_name = name[: -len(".gz")] if name.lower().endswith(".gz") else name
    extension = Path(plain_name).suffix.lower()
    if extension == ".xls":
        raise DataError(f"{name}: the old Excel format is not read; save it as .xlsx or CSV")
    if extension not in FORMAT_OF_EXTENSION:
        seen = f"the extension {extension!r}" if extension else "a name without extension"
        raise DataError(f"{name}: cannot tell the format from {seen} (formats: {', '.join(READERS)})", "format")
    return FORMAT_OF_EXTENSION[extension]


def open_rows(
    path: str | Path, options: ReadOptions = DEFAULT_READ_OPTIONS, labels: LabelUse = "required"
) -> tuple[Iterator[Row], ReadReport]:
    """Stream the rows of a file.

    Args:
        path: The file, or a folder of Parquet files; `-` is standard input, which is plain text, a table or JSON lines
            by its first line, unless the options say which.
        options: How the file is read.
        labels: Whether labels are read.

    Returns:
        The rows, and what is unusual in those that were read so far.
    """
    report = ReadReport("standard input" if str(path) == "-" else str(path))
    return _rows(path, options, labels, report), report


def _rows(path: str | Path, options: ReadOptions, labels: LabelUse, report: ReadReport) -> Iterator[Row]:
    name = report.name
    options = _normalize_options(options)
    if str(path) != "-" and Path(path).is_dir():
        if options.format not in (None, "parquet"):
            raise DataError(f"{name}: is a directory; only Parquet is read from one, give a file")
        from newfound.data.parquet import read_parquet_folder

        yield from read_parquet_folder(Path(path), Source(report, io.BytesIO(), options, labels))
        return
    format = format_of("-.txt" if str(path) == "-" else str(path), options.format)
    file = _open(path)
    try:
        stream = file
        if file.peek(2).startswith(GZIP_START):  # does not consume anything: a pipe can be read only once
            if format not in COMPRESSIBLE_FORMATS:
                raise DataError(f"{name}: is compressed; unpack it first (gunzip)")
            stream = unpack(name, file)
        if format in COMPRESSIBLE_FORMATS and file.peek(4).startswith(ZIP_START):
            raise DataError(f"{name}: this is a workbook or another zip file, not text", "format")
        # Spreadsheet programs save "Unicode text" as UTF-16 with a byte-order mark.
        if stream.peek(2).startswith((b"\xff\xfe", b"\xfe\xff")) and options.encoding == "utf-8":
            options = replace(options, encoding="utf-16")
        yield from _read(format, Source(report, stream, options, labels))
    except OSError as error:
        raise DataError(f"{name}: cannot be read ({error.strerror or error})") from error
    finally:
        if str(path) != "-":
            file.close()


def _normalize_options(options: ReadOptions) -> ReadOptions:
    """Return the options with the one name of an encoding that Python knows by several, and the delimiter itself."""
    try:
        encoding = codecs.lookup(options.encoding).name
    except (LookupError, ValueError):
        raise unknown_encoding(options.encoding) from None
    delimiter = None if options.delimiter is None else parse_delimiter(options.delimiter)
    return replace(options, encoding=encoding, delimiter=delimiter)


def _read(format: str, source: Source) -> Iterator[Row]:
    if format == "text" and source.options.delimiter is not None:
        format = "csv"
    if format == "text" and source.options.format is None:
        return read_text_or_table(source)
    module, _, function = READERS[format].partition(".")
    rows: Iterator[Row] = getattr(import_module(f"newfound.data.{module}"), function)(source)
    return rows


def _open(path: str | Path) -> io.BufferedReader:
    if str(path) == "-":
        stdin: Any = sys.stdin.buffer
        return stdin if hasattr(stdin, "peek") else io.BufferedReader(io.BytesIO(stdin.read()))
    try:
        return Path(path).open("rb")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
