"""Files of utterances that a person sends from the page: what they hold, and the utterances until a job takes them.

A small file can unpack to very much, and its format can be slow to read. So a file is read in the process of the work
queue, within limits of memory and time.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from newfound import defaults
from newfound.data.corpus import Corpus
from newfound.data.readers import READERS, format_of
from newfound.data.rows import LabelUse, ReadOptions
from newfound.data.validation import read_corpus
from newfound.errors import ColumnMissing, ConflictError, NewfoundError
from newfound.training.progress import Reporter

MAX_FILES = 32  # that wait for a job
SECONDS_TO_KEEP = 3600
SECONDS_TO_READ = 60
MAX_ROWS_SHOWN = 5
MAX_MEMORY = 2 * 2**30  # bytes that reading may take
ENDINGS = [ending for _, _, endings in READERS.values() for ending in endings]
REMEDIES = {  # in the words of the page
    "conflicts": "keep one label of each such text",
    "encoding": "or as UTF-16",
    "format": f"give it a name that ends with one of {', '.join(ENDINGS)}",
    "label_column": "add or choose the column with the intents",
    "no_header": "say that the first line is an utterance",
    "text_column": "choose the column with the utterances",
}


@dataclass(frozen=True, slots=True)
class FilePreview:
    """What a file of utterances holds, or why it cannot be used.

    Attributes:
        id: Send it with `/v1/update` or `/v1/discover`; None if the file cannot be used.
        problem: Why it cannot be used, and what to do about it.
        remedies: Keys of what can be done about it: text_column, label_column, no_header and others.
        intents: The number of intents; 0 if labels are not read.
        first: The text and the label of the first rows.
        notes: What is unusual in it.
    """

    id: str | None
    name: str
    problem: str | None = None
    remedies: Sequence[str] = ()
    columns: Sequence[str] = ()
    text_column: str | None = None
    label_column: str | None = None
    utterances: int = 0
    intents: int = 0
    first: Sequence[tuple[str, str | None]] = ()
    notes: Sequence[str] = ()


class Uploads:
    """The utterances of the files that were sent."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[float, Corpus]] = {}  # times and utterances by ids, the oldest first

    def keep(self, corpus: Corpus) -> str:
        """Keep utterances and return their id. Only very old ones make room for them."""
        now = time.monotonic()
        self.forget(*[id for id, (since, _) in self._files.items() if now - since > SECONDS_TO_KEEP])
        if len(self._files) >= MAX_FILES:
            raise ConflictError("too many files wait for a training; try again later")
        id = secrets.token_urlsafe(16)
        self._files[id] = now, corpus
        return id

    def get(self, id: str | None) -> Corpus | None:
        """Return the utterances of a file; None without an id."""
        if id is None:
            return None
        if id not in self._files:
            raise ConflictError("the file is not here any more; choose it again")
        return self._files[id][1]

    def forget(self, *ids: str | None) -> None:
        for id in ids:
            self._files.pop(id or "", None)


def read_file(
    folder: Path, name: str, content: bytes, labels: LabelUse, options: ReadOptions, *, reporter: Reporter
) -> tuple[FilePreview, Corpus | None]:
    """Return what a file holds, and its utterances; a file that cannot be used is no error.

    This is the work of another process, which cannot take much more memory afterwards. The file lies in the folder
    while it is read; its name tells its format, and is never used as a path.
    """
    _limit_memory()
    path = folder / "file"
    try:
        path = path.with_suffix(READERS[format_of(name)][2][0])
        path.write_bytes(content)
        corpus, report = read_corpus(path, options, labels, max_logs=defaults.MAX_LOGS)
    except MemoryError:
        return beyond_limits(name, "too much memory"), None
    except NewfoundError as error:
        error.message = error.message.replace(str(path), name)
        columns = error.names if isinstance(error, ColumnMissing) else ()
        problem = error.in_words_of(REMEDIES)
        return FilePreview(None, name, problem=problem, remedies=error.remedies, columns=columns), None
    preview = FilePreview(
        None,
        name,
        columns=report.columns,
        text_column=report.text_column,
        label_column=report.label_column,
        utterances=len(corpus),
        intents=len(corpus.intents),
        first=list(zip(corpus.texts[:MAX_ROWS_SHOWN], corpus.labels, strict=False)),
        notes=[note.removeprefix(f"{path}: ") for note in (*report.notes, *report.warnings())],
    )
    return preview, corpus.from_source(name)


def beyond_limits(name: str, what: str) -> FilePreview:
    return FilePreview(None, name, problem=f"{name}: takes {what}; use the command line for it")


def _limit_memory() -> None:
    """Let this process take only so much more memory, where the system can limit it."""
    with suppress(ImportError, OSError):
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MAX_MEMORY, hard))
