"""Files to rows: one streaming reader per format. Each yields `Row`s and knows the line a row came from.

Readers only parse. What makes a set of rows usable (labels that contradict each other, one class only, ...)
is decided in `newfound.data.validation`.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

from newfound.errors import ColumnMissing, DataError, FormatUnknown, WrongEncoding

OTHER_ENCODING = "cp1252"  # what a line in a UTF-8 file most likely is that is not UTF-8
CSV_FIELD_LIMIT = 2**30  # the csv module's own limit of 128 KiB would fail on a long line instead of truncating it


@dataclass(frozen=True, slots=True)
class Row:
    line: int
    text: str
    label: str | None


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns to read; `label=None` reads texts alone."""

    text: str = "text"
    label: str | None = "label"


@dataclass(frozen=True, slots=True)
class Source:
    """An open file with the name that errors show."""

    name: str
    stream: BinaryIO
    encoding: str = "utf-8"
    recoded: Callable[[int], None] | None = None  # told the line that was in another encoding; without it, an error

    def lines(self) -> Iterator[str]:
        """Decoded lines without their line end; a byte-order mark is dropped."""
        if self.encoding.lower().replace("_", "-").startswith(("utf-16", "utf-32")):
            yield from self._whole_text().splitlines()
            return
        for number, raw in enumerate(self.stream, start=1):
            if number == 1:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            yield self._decode(raw, number).rstrip("\r\n")

    def _whole_text(self) -> str:
        # UTF-16 line ends are not single bytes, so such a file cannot be cut into lines before decoding.
        try:
            return self.stream.read().decode(self.encoding)
        except UnicodeError as error:
            raise DataError(f"{self.name}: not readable as {self.encoding} ({error})") from None

    def _decode(self, raw: bytes, number: int) -> str:
        try:
            return raw.decode(self.encoding)
        except UnicodeDecodeError as error:
            if self.recoded is not None and self._has_more_than_ascii():
                self.recoded(number)
                return raw.decode(OTHER_ENCODING, errors="replace")
            byte = raw[error.start]
            raise WrongEncoding(
                f"{self.name}, line {number}: byte 0x{byte:02x} is not {self.encoding.upper()}; save the file as "
                "UTF-8, or name its encoding, for instance cp1252"
            ) from None
        except LookupError:
            raise DataError(f"unknown encoding {self.encoding!r}; try utf-8, cp1252 or latin-1") from None

    def _has_more_than_ascii(self) -> bool:
        """Whether other lines prove that the file as a whole is UTF-8: they have such characters, and decode."""
        if self.encoding.lower() not in ("utf-8", "utf8") or not self.stream.seekable():
            return False
        here = self.stream.tell()
        self.stream.seek(0)
        try:
            return any(not line.isascii() and _is_utf8(line) for line in self.stream)
        finally:
            self.stream.seek(here)


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


Reader = Callable[[Source, Columns], Iterator[Row]]


def read_csv(source: Source, columns: Columns) -> Iterator[Row]:
    return _read_delimited(source, columns, ",")


def read_tsv(source: Source, columns: Columns) -> Iterator[Row]:
    return _read_delimited(source, columns, "\t")


def _read_delimited(source: Source, columns: Columns, delimiter: str) -> Iterator[Row]:
    csv.field_size_limit(CSV_FIELD_LIMIT)
    # csv needs the line ends back: a quoted field may contain one.
    reader = csv.reader((line + "\n" for line in source.lines()), delimiter=delimiter, strict=True)
    try:
        header = next(reader, None)
        if header is None:
            raise DataError(f"{source.name}: the file is empty; it needs a header line and at least one utterance")
        text_at, label_at = _find_columns(source.name, [name.strip() for name in header], columns)
        start = reader.line_num + 1
        for fields in reader:
            line, start = start, reader.line_num + 1
            if not fields:
                continue
            if len(fields) != len(header):
                raise DataError(
                    f"{source.name}, line {line}: {len(fields)} fields where the header has {len(header)}; "
                    "put quotes around a text that contains the delimiter"
                )
            yield Row(line, fields[text_at], fields[label_at] if label_at is not None else None)
    except csv.Error as error:
        raise DataError(f"{source.name}, line {reader.line_num}: {error}; check the quotes there") from None


def _find_columns(name: str, header: list[str], columns: Columns) -> tuple[int, int | None]:
    def position(column: str, role: str) -> int:
        if column not in header:
            raise ColumnMissing(f"{name}, line 1", column, role, header)
        if header.count(column) > 1:
            raise DataError(f"{name}, line 1: the column {column!r} stands there twice; rename one of them")
        return header.index(column)

    text_at = position(columns.text, "text")
    if columns.label is None:
        return text_at, None
    return text_at, position(columns.label, "label")


def read_jsonl(source: Source, columns: Columns) -> Iterator[Row]:
    for number, line in enumerate(source.lines(), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{source.name}, line {number}: not JSON ({error}); write one object a line") from None
        if not isinstance(record, dict):
            raise DataError(f"{source.name}, line {number}: expected a JSON object with {columns.text!r}")
        yield _row_of_mapping(source.name, number, record, columns)


def _row_of_mapping(name: str, line: int, record: dict[str, Any], columns: Columns) -> Row:
    if columns.text not in record:
        raise ColumnMissing(f"{name}, line {line}", columns.text, "text", list(map(str, record)))
    text = record[columns.text]
    if text is None:
        text = ""
    if not isinstance(text, str):
        raise DataError(f"{name}, line {line}: {columns.text!r} is not a string but {type(text).__name__}")
    if columns.label is None:
        return Row(line, text, None)
    if columns.label not in record:
        raise ColumnMissing(f"{name}, line {line}", columns.label, "label", list(map(str, record)))
    label = record[columns.label]
    if isinstance(label, bool) or not isinstance(label, str | int | None):
        raise DataError(f"{name}, line {line}: the label is not a string but {type(label).__name__}")
    return Row(line, text, None if label is None else str(label))


def read_parquet(source: Source, columns: Columns) -> Iterator[Row]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise DataError(f"{source.name}: reading Parquet needs pyarrow; pip install 'newfound[parquet]'") from None
    try:
        table = pq.ParquetFile(source.stream)
    except (pa.ArrowInvalid, pa.ArrowIOError) as error:
        raise DataError(f"{source.name}: not a Parquet file ({str(error).splitlines()[0]})") from None
    text_at, label_at = _find_columns(source.name, list(table.schema_arrow.names), columns)
    names = table.schema_arrow.names
    wanted = [names[text_at]] + ([names[label_at]] if label_at is not None else [])
    line = 0
    for batch in table.iter_batches(batch_size=8192, columns=wanted):
        for record in batch.to_pylist():
            line += 1
            yield _row_of_mapping(source.name, line, record, columns)


def read_text(source: Source, columns: Columns) -> Iterator[Row]:
    if columns.label is not None:
        raise DataError(
            f"{source.name}: a plain text file has no labels; give CSV, TSV, JSONL, Parquet or Rasa YAML for the "
            "known intents"
        )
    for number, line in enumerate(source.lines(), start=1):
        yield Row(number, line, None)


def read_rasa(source: Source, columns: Columns) -> Iterator[Row]:
    """Rasa NLU YAML (`nlu:` with `intent` and `examples`); entity marks are reduced to their surface text."""
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
            continue  # synonyms, lookups and regexes are no utterances
        yield from _rasa_examples(name, block, with_label=columns.label is not None)


def _loader_with_lines(yaml: Any) -> Any:
    """A safe loader that notes, for every block scalar, the line it starts on."""

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
    examples = block.get("examples", "")
    if isinstance(examples, list):
        texts = [(start + i, str(e.get("text", "") if isinstance(e, dict) else e)) for i, e in enumerate(examples)]
    else:
        lines = enumerate(str(examples).splitlines(), start=start + 1)
        texts = [(number, line.strip()[1:]) for number, line in lines if line.strip().startswith("-")]
        stray = [n for n, line in enumerate(str(examples).splitlines(), start + 1) if _is_stray(line)]
        if stray:
            raise DataError(
                f"{name}, line {stray[0]}: an example of intent {block['intent']!r} does not start with '-'"
            )
    for number, text in texts:
        yield Row(number, _without_entity_marks(text.strip()), label)


def _is_stray(line: str) -> bool:
    return bool(line.strip()) and not line.strip().startswith(("-", "#"))


def _without_entity_marks(text: str) -> str:
    """`fly to [Paris](city)` and `fly to [Paris]{"entity": "city"}` both read `fly to Paris`."""
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
}


def _platform(name: str) -> Reader:
    """A reader of `platforms`, which is imported when it is needed."""

    def read(source: Source, columns: Columns) -> Iterator[Row]:
        from newfound.data import platforms

        reader: Reader = getattr(platforms, f"read_{name}")
        yield from reader(source, columns)

    return read


READERS |= {name: _platform(name.replace("-", "_")) for name in ("dialogflow-es", "dialogflow-cx", "clu", "botpress")}


def format_of(name: str, chosen: str | None = None) -> str:
    """The format by option or by extension."""
    if chosen is not None:
        if chosen not in READERS:
            raise DataError(f"unknown format {chosen!r}; one of {', '.join(READERS)}")
        return chosen
    extension = Path(name).suffix.lower()
    if extension not in FORMAT_OF_EXTENSION:
        seen = f"the extension {extension!r}" if extension else "a name without extension"
        raise FormatUnknown(name, seen, list(READERS))
    return FORMAT_OF_EXTENSION[extension]


def open_rows(
    path: str | Path,
    columns: Columns,
    *,
    format: str | None = None,
    encoding: str = "utf-8",
    recoded: Callable[[int], None] | None = None,
) -> Iterator[Row]:
    """Stream the rows of a file, or of standard input for `-` (plain text unless `format` says otherwise).

    With `recoded`, single lines of a UTF-8 file in another encoding are read as Windows-1252 and it is told which.
    """
    if str(path) == "-":
        source = Source("standard input", sys.stdin.buffer, encoding)
        yield from READERS[format_of("-.txt", format)](source, columns)
        return
    path = Path(path)
    reader = READERS[format_of(str(path), format)]
    try:
        stream = path.open("rb")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    with stream:
        yield from reader(_source(str(path), stream, encoding, recoded), columns)


def _source(name: str, stream: BufferedReader, encoding: str, recoded: Callable[[int], None] | None = None) -> Source:
    """Look at the first bytes without consuming them: a pipe can be read only once."""
    start = stream.peek(4)
    if start.startswith(b"\x1f\x8b"):
        raise DataError(f"{name}: is compressed; unpack it first (gunzip)")
    # Spreadsheet programs save "Unicode text" as UTF-16 with a byte-order mark.
    is_utf16 = start.startswith((b"\xff\xfe", b"\xfe\xff")) and encoding == "utf-8"
    return Source(name, stream, "utf-16" if is_utf16 else encoding, recoded)
