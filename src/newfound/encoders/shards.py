"""Frozen features on disk, as `newfound.encoders.cache` writes them. This module does not need torch.

There is one folder per combination of weights, layer, length and dtype. It holds shards, which are written once and
never changed. A shard is a folder of three arrays: the hashes of its texts, the offsets of its rows, and the rows
themselves without padding.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

HASH_BYTES = 16


@dataclass(frozen=True, slots=True)
class Shard:
    """One shard in memory."""

    keys: npt.NDArray[np.void]  # [rows] hash of each text
    offsets: npt.NDArray[np.int64]  # [rows + 1]
    flat: npt.NDArray[np.float32]  # [tokens, d], memory-mapped


class StoredVectors:
    """The vectors of texts that were encoded before, for reading only."""

    def __init__(self, folder: Path) -> None:
        """Look at the shards of a folder.

        Args:
            folder: The folder of the vectors of one encoder; it may be missing.
        """
        self._shards = [shard for shard in load_shards(folder) if len(shard.flat) == len(shard.keys)]
        keys = [shard.keys for shard in self._shards]
        self._keys = np.concatenate(keys) if keys else np.empty(0, dtype=f"V{HASH_BYTES}")
        self._starts = np.cumsum([0, *(len(of_shard) for of_shard in keys)])
        beginnings = self._keys.view(np.uint64)[:: HASH_BYTES // 8]
        self._order = np.argsort(beginnings, kind="stable")
        self._sorted = beginnings[self._order]

    def find(self, texts: Sequence[str]) -> list[npt.NDArray[np.float32] | None]:
        """Return the vector of each text; None for those that were not encoded before."""
        hashes = [hash_of_text(text) for text in texts]
        beginnings = np.array([np.frombuffer(key, np.uint64)[0] for key in hashes], dtype=np.uint64)
        places = np.searchsorted(self._sorted, beginnings)
        return [self._vector(int(place), key) for place, key in zip(places, hashes, strict=True)]

    def _vector(self, place: int, key: bytes) -> npt.NDArray[np.float32] | None:
        if place == len(self._order):
            return None
        row = int(self._order[place])
        if self._keys[row].tobytes() != key:
            return None
        shard = int(np.searchsorted(self._starts, row, side="right")) - 1
        vector: npt.NDArray[np.float32] = self._shards[shard].flat[row - self._starts[shard]]
        return vector


def folder_name(key: Mapping[str, str | int]) -> str:
    """Return the name of the folder of features.

    Args:
        key: Everything besides the text that the features depend on, for instance weights and layer.
    """
    return hashlib.sha256(json.dumps(dict(key), sort_keys=True).encode()).hexdigest()[:32]


def hash_of_text(text: str) -> bytes:
    """Return the hash by which a text is found."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES).digest()


def load_shards(folder: Path) -> list[Shard]:
    """Return the shards of a folder; none if it is missing."""
    shards = []
    for path in sorted(folder.glob("shard-*")):
        # A shard that another process is deleting, or that is incomplete because the disk was full, is ignored.
        with contextlib.suppress(OSError, ValueError, EOFError):
            shards.append(_load(path))
    return shards


def _load(path: Path) -> Shard:
    keys = np.load(path / "keys.npy", allow_pickle=False)
    offsets = np.load(path / "offsets.npy", allow_pickle=False)
    flat = np.load(path / "flat.npy", mmap_mode="r", allow_pickle=False)
    if len(offsets) != len(keys) + 1 or offsets[-1] != len(flat) or keys.dtype.itemsize != HASH_BYTES:
        raise ValueError(f"{path}: its arrays do not fit together")
    return Shard(keys, offsets, flat)
