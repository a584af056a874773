"""Files of utterances that a person sends from the page: what they hold, and the utterances until a job takes them.

A small file can unpack to very much, and its format can be slow to read. So a file is read in the process of the work
queue, within limits of size, memory and time.
"""

from __future__ import annotations

import gzip
import secrets
import tempfile
import time
import zipfile
import zlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path

from newfound import defaults
from newfound.data.compressed import GZIP_START, ZIP_START, open_zip
from newfound.data.corpus import Corpus
from newfound.data.readers import COMPRESSIBLE_FORMATS, READERS, format_of
from newfound.data.rows import LabelUse, ReadOptions
from newfound.data.validation import read_corpus
from newfound.errors import ColumnMissing, ConflictError, DataError, NewfoundError
from newfound.serve.background.process import WorkFailed
from newfound.serve.schemas.training import FilePreview, PreviewRow
from newfound.training.progress import Reporter

MAX_FILES_OF_ONE = 4  # that wait for a job; the oldest one of the same person makes room
MAX_FILES = 32
SECONDS_TO_KEEP = 3600
SECONDS_TO_READ = 60
MAX_ROWS_SHOWN = 5
MAX_UNPACKED_BYTES = 64 * 2**20
MAX_MEMORY = 2 * 2**30  # bytes that reading may take
MAX_ROWS = 1_000_000
MAX_FIELDS = 5_000_000  # of a table
MAX_CELLS = 1_000_000  # of a workbook, which takes ten times as long; a cell has four tags
MAX_LINE_BYTES = 2**20
BEYOND_LIMITS = "use the command line for it"
ENDINGS = [ending for _, _, endings in READERS.values() for ending in endings]
REMEDIES = {  # in the words of the page
    "conflicts": "keep one label of each such text",
    "encoding": "or as UTF-16",
    "format": f"give it a name that ends with one of {', '.join(ENDINGS)}",
    "label_column": "choose the column with the intents",
    "no_header": "say that the first line is an utterance",
    "text_column": "choose the column with the utterances",
}
REMEDIES_WITH_ONE_COLUMN = {
    "label_column": "add a column with the intents",
    "text_column": "name its column text",
}


class Uploads:
    """The utterances of the files that were sent. Files lie on the disk only while they are read."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[str, float, Corpus]] = {}  # owner, time and utterances by id, the oldest first

    async def read(
        self,
        name: str,
        content: bytes,
        labels: LabelUse,
        options: ReadOptions,
        *,
        owner: str,
        run: Callable[..., Awaitable[tuple[FilePreview, Corpus | None]]],
    ) -> FilePreview:
        """Read a file, keep its utterances, and return what it holds; a file that cannot be used is no error.

        Args:
            name: The name of the file, which tells its format. It is never used as a path.
            content: The bytes of the file; a text file may be compressed with gzip.
            labels: Whether labels are read.
            options: How the file is read.
            owner: Who sends it.
            run: Does the work in another process, for so many seconds.
        """
        with tempfile.TemporaryDirectory(prefix="newfound-file-") as folder:
            work = partial(read_file, Path(folder), name, content, labels, options)
            try:
                preview, corpus = await run(work, seconds=SECONDS_TO_READ)
            except (TimeoutError, WorkFailed):
                problem = f"{name}: takes more than {SECONDS_TO_READ} seconds or too much memory; {BEYOND_LIMITS}"
                return FilePreview(None, name, problem=problem)
        return preview if corpus is None else replace(preview, id=self._keep(corpus, owner))

    def get(self, id: str) -> Corpus:
        """Return the utterances of a file."""
        if id not in self._files:
            raise ConflictError("the file is not here any more; choose it again")
        return self._files[id][2]

    def forget(self, *ids: str | None) -> None:
        """Forget files that a job has taken."""
        for id in ids:
            self._files.pop(id or "", None)

    def _keep(self, corpus: Corpus, owner: str) -> str:
        """Keep utterances and return their id. Only the owner's own files, or very old ones, make room for them."""
        now = time.monotonic()
        self.forget(*[id for id, (_, since, _) in self._files.items() if now - since > SECONDS_TO_KEEP])
        files_of_owner = [id for id, (whose, _, _) in self._files.items() if whose == owner]
        self.forget(*files_of_owner[: max(0, len(files_of_owner) - MAX_FILES_OF_ONE + 1)])
        if len(self._files) >= MAX_FILES:
            raise ConflictError("too many files wait for a training; try again later")
        id = secrets.token_urlsafe(16)
        self._files[id] = owner, now, corpus
        return id


def read_file(
    folder: Path, name: str, content: bytes, labels: LabelUse, options: ReadOptions, *, reporter: Reporter | None = None
) -> tuple[FilePreview, Corpus | None]:
    """Return what a file holds, and its utterances; the folder is for the file while it is read.

    See `Uploads.read` for the other arguments. This is the work of another process.
    """
    try:
        with _limited_memory():
            format = format_of(name)
            path = folder / f"file{READERS[format][2][0]}"
            content = _unpack(name, content) if format in COMPRESSIBLE_FORMATS else content
            _check_size(name, content)
            path.write_bytes(content)
            return _read(name, path, labels, options)
    except MemoryError:
        return FilePreview(None, name, problem=f"{name}: takes too much memory; {BEYOND_LIMITS}"), None
    except NewfoundError as error:
        columns = error.names if isinstance(error, ColumnMissing) else ()
        words = REMEDIES | (REMEDIES_WITH_ONE_COLUMN if len(columns) == 1 else {})
        problem = error.in_words_of(words)
        return FilePreview(None, name, problem=problem, remedies=error.remedies, columns=columns), None


def _read(name: str, path: Path, labels: LabelUse, options: ReadOptions) -> tuple[FilePreview, Corpus]:
    try:
        corpus, report = read_corpus(path, options, labels, max_logs=defaults.MAX_LOGS)
    except NewfoundError as error:
        error.message = error.message.replace(str(path), name)
        raise
    pairs = zip(corpus.texts[:MAX_ROWS_SHOWN], corpus.labels, strict=False)
    preview = FilePreview(
        None,
        name,
        columns=report.columns,
        text_column=report.text_column,
        label_column=report.label_column,
        utterances=len(corpus),
        intents=len(corpus.intents),
        first=[PreviewRow(text, label) for text, label in pairs],
        notes=[note.removeprefix(f"{path}: ") for note in (*report.notes, *report.warnings())],
    )
    return preview, corpus.from_source(name)


def _unpack(name: str, content: bytes) -> bytes:
    """Return the content of a text file that may be compressed; browsers compress what they send."""
    if not content.startswith(GZIP_START):
        return content
    try:
        unpacked = gzip.GzipFile(fileobj=BytesIO(content)).read(MAX_UNPACKED_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{name}: damaged ({error}); pack it again") from None
    if len(unpacked) > MAX_UNPACKED_BYTES:
        raise DataError(f"{name}: has more than {MAX_UNPACKED_BYTES // 2**20} MiB; {BEYOND_LIMITS}")
    return unpacked


def _check_size(name: str, content: bytes) -> None:
    """Refuse what would take long, before it is parsed: counting bytes takes no time, whatever they mean."""
    if content.startswith(ZIP_START):  # a workbook
        archive = open_zip(name, content, if_damaged="damaged; save it again", if_large=BEYOND_LIMITS)
        sizes = [info.file_size for info in archive.infolist()]
        _check(name, "MiB", sum(sizes) / 2**20, MAX_UNPACKED_BYTES // 2**20)
        with suppress(zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError):  # its reader says so
            _check(name, "cells", sum(archive.read(info).count(b"<") for info in archive.infolist()) / 4, MAX_CELLS)
        return
    _check(name, "rows", max(content.count(b"\n"), content.count(b"\r")), MAX_ROWS)
    _check(name, "fields", max(map(content.count, (b",", b";", b"\t", b"|"))), MAX_FIELDS)
    _check(name, "bytes in a line", max(map(len, content.splitlines()), default=0), MAX_LINE_BYTES)


def _check(name: str, what: str, count: float, limit: int) -> None:
    if count > limit:
        raise DataError(f"{name}: has more than {limit:,} {what}; {BEYOND_LIMITS}")


@contextmanager
def _limited_memory() -> Iterator[None]:
    """Let this process take only so much more memory, where the system can limit it."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (ImportError, OSError):
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MAX_MEMORY, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
