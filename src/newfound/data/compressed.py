"""Compressed files, read with a limit on what they may unpack to."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from typing import BinaryIO

from newfound.errors import DataError

MAX_UNPACKED_BYTES = 512 * 2**20
GZIP_START, ZIP_START = b"\x1f\x8b", b"PK\x03\x04"


class LimitedGzip(gzip.GzipFile):
    """A gzip file; reading more than the limit is an error."""

    def __init__(self, name: str, stream: BinaryIO) -> None:
        super().__init__(name, "rb", fileobj=stream)
        self._can_seek = stream.seekable()

    def seekable(self) -> bool:
        return self._can_seek

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
