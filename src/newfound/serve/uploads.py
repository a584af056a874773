"""Files of utterances that a person sends from the page: what they hold, and the utterances until a job takes them."""

from __future__ import annotations

import gzip
import secrets
import tempfile
import zlib
from collections import OrderedDict
from io import BytesIO
from pathlib import Path
from threading import Lock

from newfound import defaults
from newfound.data.compressed import GZIP_START
from newfound.data.corpus import Corpus
from newfound.data.readers import COMPRESSIBLE_FORMATS, READERS, format_of
from newfound.data.rows import LabelUse, ReadOptions
from newfound.data.validation import read_corpus
from newfound.errors import ColumnMissing, ConflictError, DataError, NewfoundError
from newfound.serve.schemas.training import FilePreview, PreviewRow

MAX_FILES = 4  # that wait for a job, of all clients together; the oldest one makes room
MAX_ROWS_SHOWN = 5
MAX_UNPACKED_BYTES = 64 * 2**20
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
    """The utterances of the latest files that were sent. Files lie on the disk only while they are read."""

    def __init__(self) -> None:
        self._corpora: OrderedDict[str, Corpus] = OrderedDict()
        self._lock = Lock()

    def read(self, name: str, content: bytes, labels: LabelUse, options: ReadOptions) -> FilePreview:
        """Read a file, keep its utterances, and return what it holds; a file that cannot be used is no error.

        Args:
            name: The name of the file, which tells its format. It is never used as a path.
            content: The bytes of the file; a text file may be compressed with gzip.
            labels: Whether labels are read.
            options: How the file is read.
        """
        try:
            format = format_of(name)
            with tempfile.TemporaryDirectory(prefix="newfound-file-") as folder:
                path = Path(folder) / f"file{READERS[format][2][0]}"
                path.write_bytes(_unpack(name, content) if format in COMPRESSIBLE_FORMATS else content)
                return self._read(name, path, labels, options)
        except NewfoundError as error:
            columns = error.names if isinstance(error, ColumnMissing) else ()
            words = REMEDIES | (REMEDIES_WITH_ONE_COLUMN if len(columns) == 1 else {})
            problem = error.in_words_of(words)
            return FilePreview(None, name, problem=problem, remedies=error.remedies, columns=columns)

    def get(self, id: str) -> Corpus:
        """Return the utterances of a file."""
        with self._lock:
            if id not in self._corpora:
                raise ConflictError("the file is not here any more; choose it again")
            return self._corpora[id]

    def forget(self, *ids: str | None) -> None:
        """Forget files that a job has taken."""
        with self._lock:
            for id in ids:
                self._corpora.pop(id or "", None)

    def _read(self, name: str, path: Path, labels: LabelUse, options: ReadOptions) -> FilePreview:
        try:
            corpus, report = read_corpus(path, options, labels, max_logs=defaults.MAX_LOGS)
        except NewfoundError as error:
            error.message = error.message.replace(str(path), name)
            raise
        id = secrets.token_urlsafe(16)
        with self._lock:
            self._corpora[id] = corpus.from_source(name)
            while len(self._corpora) > MAX_FILES:
                self._corpora.popitem(last=False)
        pairs = zip(corpus.texts[:MAX_ROWS_SHOWN], corpus.labels, strict=False)
        return FilePreview(
            id,
            name,
            columns=report.columns,
            text_column=report.text_column,
            label_column=report.label_column,
            utterances=len(corpus),
            intents=len(corpus.intents),
            first=[PreviewRow(text, label) for text, label in pairs],
            notes=[note.removeprefix(f"{path}: ") for note in (*report.notes, *report.warnings())],
        )


def _unpack(name: str, content: bytes) -> bytes:
    """Return the content of a text file that may be compressed; browsers compress what they send."""
    if not content.startswith(GZIP_START):
        return content
    try:
        unpacked = gzip.GzipFile(fileobj=BytesIO(content)).read(MAX_UNPACKED_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{name}: damaged ({error}); pack it again") from None
    if len(unpacked) > MAX_UNPACKED_BYTES:
        raise DataError(f"{name}: has more than {MAX_UNPACKED_BYTES // 2**20} MiB; use the command line for it")
    return unpacked
