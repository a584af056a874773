"""One streaming reader per file format. A reader yields `Row`s, each with the line it came from.

Readers only parse. Whether the rows can be used (no contradicting labels, at least two intents, and so on) is checked
in `newfound.data.validation`.
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

FALLBACK_ENCODING = "cp1252"  # the most likely encoding of single lines in a UTF-8 file that are not UTF-8
MAX_CSV_FIELD_CHARACTERS = 2**30  # the csv module's own limit of 128 KiB would refuse a long text


@dataclass(frozen=True, slots=True)
class Row:
    """One utterance of a file.

    Attributes:
        line: The line it starts on.
        text: The utterance.
        label: Its intent; None if labels are not read or it has none.
    """

    line: int
    text: str
    label: str | None


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns to read.

    Attributes:
        text: The column of the utterances.
        label: The column of the intents; None to read no labels.
    """

    text: str = "text"
    label: str | None = "label"


@dataclass(frozen=True, slots=True)
class Source:
    """An open file.

    Attributes:
        name: What error messages call the file.
        stream: The open file.
        encoding: Its character encoding.
        on_fallback: Called with the number of each line that was read in the fallback encoding. If it is None, such a
            line is an error.
    """

    name: str
    stream: BinaryIO
    encoding: str = "utf-8"
    on_fallback: Callable[[int], None] | None = None

    def lines(self) -> Iterator[str]:
        """Yield the decoded lines without line ends and without a byte-order mark."""
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
            if self.on_fallback is not None and self._other_lines_are_utf8():
                self.on_fallback(number)
                return raw.decode(FALLBACK_ENCODING, errors="replace")
            byte = raw[error.start]
            raise WrongEncoding(
                f"{self.name}, line {number}: byte 0x{byte:02x} is not {self.encoding.upper()}; save the file as "
                "UTF-8, or name its encoding, for instance cp1252"
            ) from None
        except LookupError:
            raise DataError(f"unknown encoding {self.encoding!r}; try utf-8, cp1252 or latin-1") from None

    def _other_lines_are_utf8(self) -> bool:
        """Return whether some line has characters beyond ASCII and is valid UTF-8, so that the file is UTF-8."""
        if self.encoding.lower() not in ("utf-8", "utf8") or not self.stream.seekable():
            return False
        position = self.stream.tell()
        self.stream.seek(0)
        try:
            return any(not line.isascii() and _is_utf8(line) for line in self.stream)
        finally:
            self.stream.seek(position)


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


Reader = Callable[[Source, Columns], Iterator[Row]]


def read_csv(source: Source, columns: Columns) -> Iterator[Row]:
    """Read comma-separated values with a header line."""
    return _read_delimited(source, columns, ",")


def read_tsv(source: Source, columns: Columns) -> Iterator[Row]:
    """Read tab-separated values with a header line."""
    return _read_delimited(source, columns, "\t")


def _read_delimited(source: Source, columns: Columns, delimiter: str) -> Iterator[Row]:
    csv.field_size_limit(MAX_CSV_FIELD_CHARACTERS)
    # csv needs the line ends, because a quoted field may contain one.
    reader = csv.reader((line + "\n" for line in source.lines()), delimiter=delimiter, strict=True)
    try:
        header = next(reader, None)
        if header is None:
            raise DataError(f"{source.name}: the file is empty; it needs a header line and at least one utterance")
        text_index, label_index = _find_columns(source.name, [name.strip() for name in header], columns)
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
            yield Row(line, fields[text_index], fields[label_index] if label_index is not None else None)
    except csv.Error as error:
        raise DataError(f"{source.name}, line {reader.line_num}: {error}; check the quotes there") from None


def _find_columns(name: str, header: list[str], columns: Columns) -> tuple[int, int | None]:
    """Return the positions of the text column and of the label column in a header."""

    def position(column: str, role: str) -> int:
        if column not in header:
            raise ColumnMissing(f"{name}, line 1", column, role, header)
        if header.count(column) > 1:
            raise DataError(f"{name}, line 1: the column {column!r} stands there twice; rename one of them")
        return header.index(column)

    text_index = position(columns.text, "text")
    if columns.label is None:
        return text_index, None
    return text_index, position(columns.label, "label")


def read_jsonl(source: Source, columns: Columns) -> Iterator[Row]:
    """Read JSON lines: one object a line."""
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
    """Read a Parquet file; the line of a row is its number in the file."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise DataError(f"{source.name}: reading Parquet needs pyarrow; pip install 'newfound[parquet]'") from None
    try:
        table = pq.ParquetFile(source.stream)
    except (pa.ArrowInvalid, pa.ArrowIOError) as error:
        raise DataError(f"{source.name}: not a Parquet file ({str(error).splitlines()[0]})") from None
    text_index, label_index = _find_columns(source.name, list(table.schema_arrow.names), columns)
    names = table.schema_arrow.names
    wanted = [names[text_index]] + ([names[label_index]] if label_index is not None else [])
    line = 0
    for batch in table.iter_batches(batch_size=8192, columns=wanted):
        for record in batch.to_pylist():
            line += 1
            yield _row_of_mapping(source.name, line, record, columns)


def read_text(source: Source, columns: Columns) -> Iterator[Row]:
    """Read plain text: one utterance a line, without labels."""
    if columns.label is not None:
        raise DataError(
            f"{source.name}: a plain text file has no labels; give CSV, TSV, JSONL, Parquet or Rasa YAML for the "
            "known intents"
        )
    for number, line in enumerate(source.lines(), start=1):
        yield Row(number, line, None)


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
        yield from _rasa_examples(name, block, with_label=columns.label is not None)


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
    examples = block.get("examples", "")
    if isinstance(examples, list):
        texts = [(start + i, str(e.get("text", "") if isinstance(e, dict) else e)) for i, e in enumerate(examples)]
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
}


def _platform_reader(name: str) -> Reader:
    """Return a reader of `newfound.data.platforms`, which is imported when it is used."""

    def read(source: Source, columns: Columns) -> Iterator[Row]:
        from newfound.data import platforms

        reader: Reader = getattr(platforms, f"read_{name}")
        yield from reader(source, columns)

    return read


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
    on_fallback: Callable[[int], None] | None = None,
) -> Iterator[Row]:
    """Stream the rows of a file.

    Args:
        path: The file; `-` is standard input, which is plain text unless `format` says otherwise.
        columns: Which columns to read.
        format: One of `READERS`; by default, the file's extension decides.
        encoding: The file's character encoding.
        on_fallback: If given, single lines of a UTF-8 file that are not UTF-8 are read as Windows-1252, and this
            function is called with the number of each. Otherwise such a line is an error.
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
        yield from reader(_source(str(path), stream, encoding, on_fallback), columns)


def _source(
    name: str, stream: BufferedReader, encoding: str, on_fallback: Callable[[int], None] | None = None
) -> Source:
    """Return the source for an open file; a compressed file is refused, and UTF-16 is recognised."""
    start = stream.peek(4)  # does not consume anything: a pipe can be read only once
    if start.startswith(b"\x1f\x8b"):
        raise DataError(f"{name}: is compressed; unpack it first (gunzip)")
    # Spreadsheet programs save "Unicode text" as UTF-16 with a byte-order mark.
    is_utf16 = start.startswith((b"\xff\xfe", b"\xfe\xff")) and encoding == "utf-8"
    return Source(name, stream, "utf-16" if is_utf16 else encoding, on_fallback)
