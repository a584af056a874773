"""What every reader shares: the options, the report, and an open file with its compression and character encoding."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from newfound.data.corpus import FROM_LOGS, Origin
from newfound.defaults import ENCODING, LABEL_COLUMN, TEXT_COLUMN, TIME_COLUMN
from newfound.errors import DataError

if TYPE_CHECKING:
    from newfound.data.validation import Conflict

FALLBACK_ENCODING = "cp1252"  # the most likely encoding of a file or line that is not UTF-8
MAX_TEXT_LENGTH = 2_000  # characters kept of an utterance; encoders read fewer, and a longer one is likely a file
MAX_FALLBACK_SHARE = 0.6  # of the letters of a line beyond ASCII; in Western European languages it is about 1 / 20
MAX_UNPACKED_BYTES = 512 * 2**20
GZIP_START, ZIP_START = b"\x1f\x8b", b"PK\x03\x04"

LabelUse = Literal["required", "optional", "ignored"]
"""Whether a file must have a column of labels, may have one, or is read without labels."""
Turns = Literal["wishes", "all"]
"""Which turns of customers in conversations are learned from."""

Record = Mapping[str, Any]
"""The values of a row by the names of their columns. Formats without columns call them `text` and `label`."""
Records = Iterator[tuple[int, Record]]
"""What a reader yields: records, each with the line it starts on."""


@dataclass(frozen=True, slots=True)
class Row:
    """One utterance, the line it starts on, its label, None if it has none or labels are not read, and its origin."""

    line: int
    text: str
    label: str | None
    origin: Origin = field(default=FROM_LOGS, compare=False)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How a file of utterances is read.

    Attributes:
        text_column: The column that holds the utterance; None finds it by its name.
        label_column: The column that holds the intent; None finds it by its name.
        format: One of `newfound.data.readers.READERS`; None goes by the file's extension.
        encoding: The file's character encoding. A file that is not UTF-8 but looks like Windows-1252 is read as such.
        delimiter: What separates the fields of a table: a character, or tab; None finds it out.
        header: Whether a table starts with a line of column names. None expects one, and refuses a first line that
            looks like data; without one, columns are named by their position, from 1.
        time_column: The column of the logs that says when each utterance was said; None finds one that holds times.
        conversation_column: The column that says to which conversation a turn belongs; None finds it by its name.
        speaker_column: The column that says who speaks; None finds it by its name and its values.
        speaker: Whose turns are the utterances; None takes what customers are usually called.
        user_column: The column that says which person wrote an utterance; None finds it by its name.
        value_columns: Columns of numbers, or of yes and no, whose means are wanted for each intent.
        turns: "wishes" learns from turns that state a wish, at most three of a conversation, "all" from all turns.
        mask: What is left out of utterances: any of mentions, links, numbers, ids, emails, and names of files with a
            word on each line. None leaves out what is in most of the logs.
    """

    text_column: str | None = TEXT_COLUMN
    label_column: str | None = LABEL_COLUMN
    format: str | None = None
    encoding: str = ENCODING
    delimiter: str | None = None
    header: bool | None = None
    time_column: str | None = TIME_COLUMN
    conversation_column: str | None = None
    speaker_column: str | None = None
    speaker: str | None = None
    user_column: str | None = None
    value_columns: tuple[str, ...] = ()
    turns: Turns = "wishes"
    mask: tuple[str, ...] | None = None


DEFAULT_READ_OPTIONS = ReadOptions()
STANDARD_INPUT = "standard input"  # the name of what is piped in


@dataclass(slots=True)
class ReadReport:
    """What was unusual but usable in one file; it is complete when all rows were read."""

    name: str  # of the file, in messages
    rows: int = 0
    counts: Counter[str] = field(default_factory=Counter)  # of rows with each kind of problem; see `warnings`
    first_line: dict[str, int] = field(default_factory=dict)  # with each kind of problem
    conflicts: list[Conflict] = field(default_factory=list)  # texts with several labels, which were resolved
    notes: list[str] = field(default_factory=list)  # what a user should know about how the file was read
    columns: Sequence[str] = ()  # the names of all columns; none for a format without columns
    text_column: str | None = None  # the one that holds the utterances
    label_column: str | None = None
    delimiter: str | None = None  # what separates the fields of a table as text
    holds_conversations: bool = False  # whether lists of messages were found

    def warnings(self) -> list[str]:
        """Return one message for each kind of problem, with a count and the first line that has it."""
        notes = {
            "truncated": f"longer than {MAX_TEXT_LENGTH:,} characters, cut there",
            "empty": "empty, skipped",
            "recoded": "not UTF-8, read as Windows-1252",
            "unlabelled": "without a label, skipped",
            "duplicates": "with the text of an earlier row, learned once",
            "undated": "with a time that cannot be read, kept without it",
            "strangers": "of speakers that are neither known as customers nor as agents, left out",
            "unvalued": "with a value that is neither a number nor yes or no, kept without it",
        }
        return [
            f"{self.name}: {count:,} {'row' if count == 1 else 'rows'} {note} (first: line {self.first_line[kind]})"
            for kind, note in notes.items()
            if (count := self.counts[kind])
        ]

    def count(self, kind: str, line: int) -> None:
        """Add one to the count of a kind of problem, seen on this line."""
        self.counts[kind] += 1
        self.first_line.setdefault(kind, line)

    def note(self, message: str) -> None:
        """Add a note, unless it is there already."""
        note = f"{self.name}: {message}"
        if note not in self.notes:
            self.notes.append(note)


@dataclass(slots=True)
class Source:
    """An open file, how it is read, and the report that is told its columns and what is unusual in it."""

    report: ReadReport
    stream: BinaryIO = field(default_factory=io.BytesIO)
    options: ReadOptions = DEFAULT_READ_OPTIONS
    labels: LabelUse = "required"
    times: bool = False  # whether days are wanted
    _lines: Iterator[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._lines = self._decoded_lines()

    @property
    def name(self) -> str:
        return self.report.name

    @property
    def reads_labels(self) -> bool:
        return self.labels != "ignored"

    @property
    def reads_times(self) -> bool:
        return self.times and self.labels != "required"  # examples of known intents were not said at any time

    def lines(self) -> Iterator[str]:
        """Return the decoded lines without line ends and without a byte-order mark; they can be read once."""
        return self._lines

    def peek(self, count: int) -> list[str]:
        """Return the first lines, as many or as there are; they are still to come from `lines`."""
        start = list(islice(self._lines, count))
        self._lines = chain(start, self._lines)
        return start

    def _decoded_lines(self) -> Iterator[str]:
        if self.options.encoding.startswith(("utf-16", "utf-32")):
            yield from self._lines_of_wide_characters()
            return
        for number, raw in enumerate(self.stream, start=1):
            if number == 1:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            yield self._decode(raw, number).rstrip("\r\n")

    def _lines_of_wide_characters(self) -> Iterator[str]:
        # UTF-16 line ends are not single bytes, so such a file cannot be cut into lines before decoding.
        text = io.TextIOWrapper(self.stream, encoding=self.options.encoding, newline=None)
        try:
            for line in text:
                yield line.rstrip("\n").removeprefix("\ufeff")
        except UnicodeError as error:
            raise DataError(f"{self.name}: not readable as {self.options.encoding} ({error})") from None
        finally:
            text.detach()  # the stream is closed by whoever opened it

    def _decode(self, raw: bytes, number: int) -> str:
        encoding = self.options.encoding
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError as error:
            text = raw.decode(FALLBACK_ENCODING, errors="replace")
            if encoding == "utf-8" and _is_likely_western(text):
                self.report.count("recoded", number)
                return text
            problem = f"byte 0x{raw[error.start]:02x} is not {encoding.upper()}"
            raise DataError(f"{self.name}, line {number}: {problem}", "utf8", "encoding") from None
        except (LookupError, ValueError):  # a codec of Python that is none of text, such as rot13
            raise unknown_encoding(encoding) from None


def _is_likely_western(line: str) -> bool:
    """Return whether a line that was read as Windows-1252 is likely in that encoding: most of its letters are ASCII."""
    letters = sum(map(str.isalpha, line))
    beyond_ascii = sum(not character.isascii() for character in line)
    return "\ufffd" not in line and beyond_ascii <= max(2, MAX_FALLBACK_SHARE * letters)


def unknown_encoding(name: str) -> DataError:
    """Return the error for a name that is no character encoding."""
    return DataError(f"unknown encoding {name!r}; try utf-8, cp1252 or latin-1")


class LimitedGzip(gzip.GzipFile):
    """A gzip file; reading more than the limit is an error."""

    def __init__(self, name: str, stream: BinaryIO) -> None:
        super().__init__(name, "rb", fileobj=stream)

    def read(self, size: int | None = -1) -> bytes:
        try:
            data = super().read(size)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{self.name}: damaged gzip file ({error}); compress it again") from None
        if self.tell() > MAX_UNPACKED_BYTES:
            raise _too_large(self.name, "unpack it first if this is right")
        return data


def open_zip(name: str, content: bytes, *, if_damaged: str, if_large: str) -> zipfile.ZipFile:
    """Return a zip file, or raise an error about the file with this name that ends with these words."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        raise DataError(f"{name}: {if_damaged}") from None
    if sum(info.file_size for info in archive.infolist()) > MAX_UNPACKED_BYTES:
        raise _too_large(name, if_large)
    return archive


def _too_large(name: str, remedy: str) -> DataError:
    return DataError(f"{name}: unpacks to more than {MAX_UNPACKED_BYTES // 2**20:,} MiB; {remedy}")
