"""What every reader shares: a row, the columns to read, and an open file with its character encoding."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, BinaryIO, Literal

from newfound.errors import ColumnMissing, DataError, WrongEncoding

FALLBACK_ENCODING = "cp1252"  # the most likely encoding of a file or line that is not UTF-8
LINES_FOR_GUESS = 1_000  # that are looked at to guess an encoding
MAX_FALLBACK_SHARE = 1 / 3  # of the letters of a line beyond ASCII; in Western European languages it is about 1 / 20

LabelUse = Literal["required", "optional", "ignored"]
"""Whether a file must have a column of labels, may have one, or is read without labels."""


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
        text: The column of the utterances; None finds it by its name.
        label: The column of the intents; None finds it by its name.
        labels: Whether labels are read.
        header: Whether a table starts with a line of column names; None expects one, and refuses a first line that
            looks like data. Without one, columns are named by their position: 1, 2 and so on.
    """

    text: str | None = None
    label: str | None = None
    labels: LabelUse = "required"
    header: bool | None = None

    @property
    def reads_labels(self) -> bool:
        """Whether labels are read."""
        return self.labels != "ignored"


@dataclass(frozen=True, slots=True)
class Source:
    """An open file.

    Attributes:
        name: What messages call the file.
        stream: The open file.
        encoding: Its character encoding.
        delimiter: What separates the fields of a table; None finds it out.
        mixed_encodings: Whether single lines of a UTF-8 file may be in the fallback encoding.
        on_fallback: Is called with the number of each line that was read in the fallback encoding.
        on_note: Is called with what a user should know about how the file was read.
    """

    name: str
    stream: BinaryIO
    encoding: str = "utf-8"
    delimiter: str | None = None
    mixed_encodings: bool = False
    on_fallback: Callable[[int], None] | None = None
    on_note: Callable[[str], None] | None = None

    def note(self, message: str) -> None:
        """Say something about how the file is read."""
        if self.on_note is not None:
            self.on_note(f"{self.name}: {message}")

    def lines(self) -> Iterator[str]:
        """Yield the decoded lines without line ends and without a byte-order mark."""
        if self.encoding.lower().replace("_", "-").startswith(("utf-16", "utf-32")):
            yield from self._lines_of_wide_characters()
            return
        may_fall_back = cache(lambda: self._may_fall_back())  # looks at the whole file
        for number, raw in enumerate(self.stream, start=1):
            if number == 1:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            line = self._decode(raw, number, may_fall_back)
            if number == 1 and "\r" in line and "\n" not in line:  # Excel's "CSV (Macintosh)" has no other line ends
                yield from line.removesuffix("\r").split("\r")
                return
            yield line.rstrip("\r\n")

    def _lines_of_wide_characters(self) -> Iterator[str]:
        # UTF-16 line ends are not single bytes, so such a file cannot be cut into lines before decoding.
        text = io.TextIOWrapper(self.stream, encoding=self.encoding, newline=None)
        try:
            for line in text:
                yield line.rstrip("\n").removeprefix("\ufeff")
        except UnicodeError as error:
            raise DataError(f"{self.name}: not readable as {self.encoding} ({error})") from None
        finally:
            text.detach()  # the stream is closed by whoever opened it

    def _decode(self, raw: bytes, number: int, may_fall_back: Callable[[], bool]) -> str:
        try:
            return raw.decode(self.encoding)
        except UnicodeDecodeError as error:
            if may_fall_back():
                if self.on_fallback is not None:
                    self.on_fallback(number)
                return raw.decode(FALLBACK_ENCODING, errors="replace")
            sample = raw + b"".join(islice(self.stream, LINES_FOR_GUESS))
            where = f"{self.name}, line {number}"
            raise WrongEncoding(
                where, raw[error.start], self.encoding, _likely_encoding(sample, self.encoding)
            ) from None
        except (LookupError, ValueError):
            raise DataError(f"unknown encoding {self.encoding!r}; try utf-8, cp1252 or latin-1") from None

    def _may_fall_back(self) -> bool:
        """Return whether lines that are not UTF-8 may be read as Windows-1252.

        They may if the whole file looks like Windows-1252. Single ones in a file that is clearly UTF-8 may only if the
        caller takes mixed encodings.
        """
        if self.encoding.lower() not in ("utf-8", "utf8") or not self.stream.seekable():
            return False
        position = self.stream.tell()
        self.stream.seek(0)
        try:
            letters = others = 0
            is_fallback = True
            for line in self.stream:  # and not all of them at once: the file may be larger than the memory
                if line.isascii():
                    continue
                if _is_utf8(line):
                    return self.mixed_encodings
                counts = _fallback_characters(line)
                is_fallback = is_fallback and counts is not None
                if counts is not None:
                    letters, others = letters + counts[0], others + counts[1]
        finally:
            self.stream.seek(position)
        return is_fallback and others < MAX_FALLBACK_SHARE * letters


def _likely_encoding(sample: bytes, tried: str) -> str | None:
    """Return the encoding that lines of a file are most likely in, other than the one that failed; None if unknown."""
    try:
        from charset_normalizer import from_bytes
    except ImportError:  # it is a dependency, but newfound works without it
        is_fallback = tried != FALLBACK_ENCODING and _fallback_characters(sample) is not None
        return FALLBACK_ENCODING if is_fallback else None
    best = from_bytes(sample).best()
    return None if best is None or best.encoding in ("ascii", tried) else str(best.encoding)


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _fallback_characters(line: bytes) -> tuple[int, int] | None:
    """Return how many letters a line in Windows-1252 has and how many characters beyond ASCII; None if it cannot be."""
    try:
        text = line.decode(FALLBACK_ENCODING)
    except UnicodeDecodeError:
        return None
    return sum(map(str.isalpha, text)), sum(not character.isascii() for character in text)


def row_of_mapping(name: str, line: int, record: dict[str, Any], columns: Columns) -> Row:
    """Return a row of a record with named values.

    Raises:
        ColumnMissing: The record has no such column.
        DataError: The text is no string, or the label neither a text nor a whole number.
    """
    if columns.text not in record:
        raise ColumnMissing(f"{name}, line {line}", columns.text or "text", "text", list(map(str, record)))
    text = record[columns.text]
    if text is None:
        text = ""
    if not isinstance(text, str):
        raise DataError(f"{name}, line {line}: {columns.text!r} is not a string but {type(text).__name__}")
    if not columns.reads_labels:
        return Row(line, text, None)
    if columns.label not in record and columns.labels == "required":
        raise ColumnMissing(f"{name}, line {line}", columns.label or "label", "label", list(map(str, record)))
    label = record.get(columns.label or "label")
    try:
        return Row(line, text, label_text(label))
    except DataError:
        raise DataError(f"{name}, line {line}: the label is not a string but {type(label).__name__}") from None


def label_text(value: object) -> str | None:
    """Return a label as text: whole numbers as their digits, None and NaN (a missing value in pandas) as None.

    Raises:
        DataError: The value is neither a text nor a whole number.
    """
    if value is None or isinstance(value, str):
        return value
    if type(value).__name__ == "NAType":  # pandas.NA, which cannot be compared
        return None
    try:
        if value != value:
            return None
        is_whole = not isinstance(value, bool) and type(value).__name__ != "bool" and int(value) == value  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        is_whole = False
    if not is_whole:
        raise DataError(f"a label is {value!r}; give a text that is not empty, a whole number, or None for no label")
    return str(int(value))  # type: ignore[call-overload]
