"""Vectors of texts on disk, keyed by the hash of the text. This module does not need torch.

There is one folder per encoder. It holds shards, which are written once and never changed. A shard is a folder of two
arrays: the hashes of its texts, and their vectors. It is put in place by one rename, so that two processes may write at
the same time; at worst both write the same vectors.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

HASH_BYTES = 16
Vectors = npt.NDArray[np.float32]


class StoredVectors:
    """The vectors of texts that were encoded before, for reading only."""

    def __init__(self, folder: Path) -> None:
        """Look at the shards in the folder of one encoder's vectors, which may be missing."""
        shards = _load_shards(folder)
        self._vectors = [vectors for _, vectors in shards]  # [rows, d] of each shard, memory-mapped
        self._keys = np.concatenate([np.empty(0, dtype=f"V{HASH_BYTES}"), *(keys for keys, _ in shards)])
        self._starts = np.cumsum([0, *(len(keys) for keys, _ in shards)])
        beginnings = self._keys.view(np.uint64)[:: HASH_BYTES // 8]
        self._order = np.argsort(beginnings, kind="stable")
        self._sorted = beginnings[self._order]

    def find(self, texts: Sequence[str]) -> list[Vectors | None]:
        """Return the vector of each text, [d]; None for those that were not encoded before."""
        hashes = [_hash_of_text(text) for text in texts]
        beginnings = np.array([np.frombuffer(key, np.uint64)[0] for key in hashes], dtype=np.uint64)
        places = np.searchsorted(self._sorted, beginnings)
        return [self._vector(int(place), key) for place, key in zip(places, hashes, strict=True)]

    def _vector(self, place: int, key: bytes) -> Vectors | None:
        if place == len(self._order):
            return None
        row = int(self._order[place])
        if self._keys[row].tobytes() != key:
            return None
        shard = int(np.searchsorted(self._starts, row, side="right")) - 1
        vector: Vectors = self._vectors[shard][row - self._starts[shard]]
        return vector


class FeatureCache:
    """Stores the vectors of texts in a folder, so that they are computed once."""

    def __init__(self, root: Path) -> None:
        """Use a folder as the cache; it is created when the first vectors are written."""
        self.root = root

    def fetch(
        self, key: Mapping[str, str | int], texts: Sequence[str], compute: Callable[[Sequence[str]], Vectors]
    ) -> Vectors:
        """Return the vectors of texts, [n, d], and store those that were computed.

        Args:
            key: Everything besides the text that the vectors depend on, for instance the weights.
            texts: The texts to look up; equal ones are stored once.
            compute: Computes the vectors of texts that are missing. It is called at most once.
        """
        folder, distinct = self.root / folder_name(key), list(dict.fromkeys(texts))
        found = zip(distinct, StoredVectors(folder).find(distinct), strict=True)
        vectors = {text: vector for text, vector in found if vector is not None}
        missing = [text for text in distinct if text not in vectors]
        if missing or not distinct:
            computed = compute(missing)
            _write_shard(folder, missing, computed)
            if len(missing) == len(texts):
                return computed
            vectors.update(zip(missing, computed, strict=True))
        return np.stack([vectors[text] for text in texts])


def folder_name(key: Mapping[str, str | int]) -> str:
    """Return the name of the folder of vectors, given everything besides the text that they depend on."""
    return hashlib.sha256(json.dumps(dict(key), sort_keys=True).encode()).hexdigest()[:32]


def _hash_of_text(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES).digest()


def _load_shards(folder: Path) -> list[tuple[npt.NDArray[np.void], Vectors]]:
    """Return the hashes of the texts and the vectors of each shard; none if the folder is missing."""
    shards = []
    for path in sorted(folder.glob("shard-*")):
        # A shard that another process is deleting, or that is incomplete because the disk was full, is ignored.
        with contextlib.suppress(OSError, ValueError, EOFError):
            keys = np.load(path / "keys.npy", allow_pickle=False)
            vectors = np.load(path / "vectors.npy", mmap_mode="r", allow_pickle=False)
            if len(vectors) == len(keys) and keys.dtype.itemsize == HASH_BYTES:
                shards.append((keys, vectors))
    return shards


def _write_shard(folder: Path, texts: Sequence[str], vectors: Vectors) -> None:
    """Store vectors; that they cannot be stored is not an error, since they were computed."""
    keys = np.array([_hash_of_text(text) for text in texts], dtype=f"V{HASH_BYTES}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix="writing-", dir=folder))
    except OSError:
        return
    try:
        np.save(temporary / "keys.npy", keys)
        np.save(temporary / "vectors.npy", vectors)
        os.replace(temporary, folder / f"shard-{temporary.name.removeprefix('writing-')}")
    except OSError:
        shutil.rmtree(temporary, ignore_errors=True)
