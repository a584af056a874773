"""One streaming reader per file format. A reader yields `Row`s, each with the line it came from.

Readers only parse. Whether the rows can be used (no contradicting labels, at least two intents, and so on) is checked
in `newfound.data.validation`.
"""

from __future__ import annotations

import codecs
import io
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from newfound.data.columns import find_columns, has_label_column, has_text_column
from newfound.data.compressed import GZIP_START, unpacked
from newfound.data.delimited import DELIMITERS, fields_of, named_delimiter, read_csv, read_delimited, read_tsv
from newfound.data.parquet import read_parquet, read_parquet_folder
from newfound.data.rows import Columns, Row, Source, row_of_mapping
from newfound.errors import DataError, FormatMismatch, FormatUnknown

__all__ = [
    "READERS",
    "Columns",
    "Row",
    "Source",
    "format_of",
    "open_rows",
    "read_csv",
    "read_jsonl",
    "read_parquet",
    "read_rasa",
    "read_text",
    "read_tsv",
]

# Single words that are taken for a header where nothing says that plain text is a table.
NAMES_OF_ONE_COLUMN = frozenset(("text", "utterance", "utterances", "message", "query", "sentence", "transcript"))

Reader = Callable[[Source, Columns], Iterator[Row]]


def read_jsonl(source: Source, columns: Columns) -> Iterator[Row]:
    """Read JSON lines: one object a line."""
    return _read_json_lines(source, columns, source.lines())


def _read_json_lines(source: Source, columns: Columns, lines: Iterator[str]) -> Iterator[Row]:
    names: Columns | None = None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{source.name}, line {number}: not JSON ({error}); write one object a line") from None
        if not isinstance(record, dict):
            raise DataError(f"{source.name}, line {number}: expected a JSON object with {columns.text or 'text'!r}")
        # Among labelled and unlabelled records, the first may have no label.
        if names is None or (names.label is None and names.labels == "optional"):
            names = _named(source, f"{source.name}, line {number}", list(map(str, record)), columns)
        yield row_of_mapping(source.name, number, record, names)


def _named(source: Source, where: str, names: list[str], columns: Columns) -> Columns:
    """Return the columns with the names that a record has for them."""
    found = find_columns(source, where, names, replace(columns, header=True))
    label = columns.label if found.label is None else names[found.label]
    return replace(columns, text=names[found.text], label=label)


def read_text(source: Source, columns: Columns) -> Iterator[Row]:
    """Read plain text: one utterance a line, without labels."""
    return _read_lines(source, columns, source.lines())


def _read_lines(source: Source, columns: Columns, lines: Iterator[str]) -> Iterator[Row]:
    if columns.labels == "required":
        raise DataError(
            f"{source.name}: a plain text file has no labels; give CSV, Excel, JSONL, Parquet or Rasa YAML for the "
            "known intents"
        )
    for number, line in enumerate(lines, start=1):
        yield Row(number, line, None)


def read_text_or_table(source: Source, columns: Columns) -> Iterator[Row]:
    """Read what nothing says the format of: plain text, unless its first lines are those of a table or of JSON lines.

    Spreadsheet programs save tables as .txt, and a CSV file may be piped in. Its header must not become an utterance.
    """
    if source.delimiter is not None:
        yield from read_delimited(source, columns, source.lines())
        return
    lines = source.lines()
    first = next(lines, None)
    if first is None:
        yield from _read_lines(source, columns, iter(()))
        return
    if columns.header is not False and _may_be_header(first, columns):
        second = next(lines, None)
        start = [first] if second is None else [first, second]
        if second is not None and _is_table(first, second):
            source.note("the first line is taken for a header; name the format text if it is an utterance")
            yield from read_delimited(source, columns, chain(start, lines))
            return
        lines = chain(start, lines)
    elif _is_json_record(first, columns):
        source.note("read as JSON lines; name the format text if these are utterances")
        yield from _read_json_lines(source, columns, chain([first], lines))
        return
    else:
        lines = chain([first], lines)
    yield from _read_lines(source, columns, lines)


def _may_be_header(line: str, columns: Columns) -> bool:
    if columns.text == line.strip() or line.strip().strip('"').lower() in NAMES_OF_ONE_COLUMN:
        return True
    for delimiter in DELIMITERS:
        fields = fields_of(line, delimiter)
        is_prose = any(field.startswith(" ") for field in fields) and not has_label_column(fields, columns)
        if len(fields) > 1 and not is_prose and has_text_column(fields, columns):
            return True
    return False


def _is_table(header: str, row: str) -> bool:
    """Return whether a row may belong to a table with this header: it has a delimiter that the header has."""
    delimiters = [delimiter for delimiter in DELIMITERS if delimiter in header]
    return not delimiters or '"' in row or any(delimiter in row for delimiter in delimiters)


def _is_json_record(line: str, columns: Columns) -> bool:
    if not line.lstrip().startswith("{"):
        return False
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and has_text_column(list(map(str, record)), columns)


def read_rasa(source: Source, columns: Columns) -> Iterator[Row]:
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
        yield from _rasa_examples(name, block, with_label=columns.reads_labels)


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
            raise DataError(
                f"{name}, line {invalid[0]}: an example of intent {block['intent']!r} does not start with '-'"
            )
    for number, text in texts:
        yield Row(number, _without_entities(text.strip()), label)


def _is_example(line: str) -> bool:
    """Return whether a line is an example, a comment or empty."""
    return not line.strip() or line.strip().startswith(("-", "#"))


def _without_entities(text: str) -> str:
    """Return `fly to Paris` for `fly to [Paris](city)` and for `fly to [Paris]{"entity": "city"}`."""
    import re

    return re.sub(r"\[([^\]\[]*)\](?:\([^)]*\)|\{[^}]*\})", r"\1", text)


READERS: dict[str, Reader] = {
    "csv": read_csv,
    "tsv": read_tsv,
    "jsonl": read_jsonl,
    "parquet": read_parquet,
    "text": read_text,
    "rasa": read_rasa,
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
COMPRESSIBLE = ("csv", "tsv", "jsonl", "text")


def _read_xlsx(source: Source, columns: Columns) -> Iterator[Row]:
    from newfound.data.spreadsheets import read_xlsx

    yield from read_xlsx(source, columns)


def _platform_reader(name: str) -> Reader:
    """Return a reader of `newfound.data.platforms`, which is imported when it is used."""

    def read(source: Source, columns: Columns) -> Iterator[Row]:
        from newfound.data import platforms

        reader: Reader = getattr(platforms, f"read_{name}")
        yield from reader(source, columns)

    return read


READERS["xlsx"] = _read_xlsx
READERS |= {
    name: _platform_reader(name.replace("-", "_")) for name in ("dialogflow-es", "dialogflow-cx", "clu", "botpress")
}


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
        raise FormatUnknown(name, seen, list(READERS))
    return FORMAT_OF_EXTENSION[extension]


def _encoding_named(encoding: str) -> str:
    """Return the one name of an encoding that Python knows by several."""
    try:
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise DataError(f"unknown encoding {encoding!r}; try utf-8, cp1252 or latin-1") from None


def open_rows(
    path: str | Path,
    columns: Columns,
    *,
    format: str | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    mixed_encodings: bool = False,
    on_fallback: Callable[[int], None] | None = None,
    on_note: Callable[[str], None] | None = None,
) -> Iterator[Row]:
    """Stream the rows of a file.

    Args:
        path: The file, or a folder of Parquet files; `-` is standard input, which is plain text, a table or JSON lines
            by its first line, unless `format` says which.
        columns: Which columns to read.
        format: One of `READERS`; by default, the file's extension decides.
        encoding: The file's character encoding. A file that is not UTF-8 but looks like Windows-1252 is read as such.
        delimiter: What separates the fields of a table as text; by default it is found out. Other formats have none.
        mixed_encodings: Whether single lines of a UTF-8 file may be in Windows-1252; otherwise such a line is an error.
        on_fallback: Is called with the number of each line that was read as Windows-1252.
        on_note: Is called with what a user should know about how the file was read.
    """
    name = "standard input" if str(path) == "-" else str(path)
    encoding = _encoding_named(encoding)
    if str(path) != "-" and Path(path).is_dir():
        if format not in (None, "parquet"):
            raise DataError(f"{name}: is a directory; only Parquet is read from one, give a file")
        yield from read_parquet_folder(Path(path), columns, on_note)
        return
    chosen = format_of("-.txt" if str(path) == "-" else str(path), format)
    reader = read_text_or_table if chosen == "text" and format is None else READERS[chosen]
    if chosen == "text" and delimiter is not None:
        reader = read_csv
    file = _opened(path)
    try:
        stream = file
        if file.peek(2).startswith(GZIP_START):  # does not consume anything: a pipe can be read only once
            if chosen not in COMPRESSIBLE:
                raise DataError(f"{name}: is compressed; unpack it first (gunzip)")
            stream = unpacked(name, file)
        if chosen in COMPRESSIBLE and file.peek(4).startswith(ZIP_START):
            raise FormatMismatch(f"{name}: this is a workbook or another zip file, not text; is it of another format?")
        # Spreadsheet programs save "Unicode text" as UTF-16 with a byte-order mark.
        is_utf16 = stream.peek(2).startswith((b"\xff\xfe", b"\xfe\xff")) and encoding == "utf-8"
        source = Source(
            name,
            stream,
            "utf-16" if is_utf16 else encoding,
            None if delimiter is None else named_delimiter(delimiter),
            mixed_encodings,
            on_fallback,
            on_note,
        )
        yield from reader(source, columns)
    except OSError as error:
        raise DataError(f"{name}: cannot be read ({error.strerror or error})") from error
    finally:
        if str(path) != "-":
            file.close()


def _opened(path: str | Path) -> io.BufferedReader:
    if str(path) == "-":
        stdin: Any = sys.stdin.buffer
        return stdin if hasattr(stdin, "peek") else io.BufferedReader(io.BytesIO(stdin.read()))
    try:
        return Path(path).open("rb")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
