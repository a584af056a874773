"""Frozen features on disk, keyed by the hash of the text. Reading stored vectors does not need torch.

There is one folder per combination of weights, layer, length and dtype. It holds shards, which are written once and
never changed. A shard is a folder of three arrays: the hashes of its texts, the offsets of its rows, and the rows
themselves without padding. It is put in place by one rename, so that two processes may write at the same time; at worst
both write the same rows.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from newfound.encoders.ragged import Ragged

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
        """Look at the shards in the folder of one encoder's vectors, which may be missing."""
        self._shards = [shard for shard in _load_shards(folder) if len(shard.flat) == len(shard.keys)]
        keys = [shard.keys for shard in self._shards]
        self._keys = np.concatenate(keys) if keys else np.empty(0, dtype=f"V{HASH_BYTES}")
        self._starts = np.cumsum([0, *(len(of_shard) for of_shard in keys)])
        beginnings = self._keys.view(np.uint64)[:: HASH_BYTES // 8]
        self._order = np.argsort(beginnings, kind="stable")
        self._sorted = beginnings[self._order]

    def find(self, texts: Sequence[str]) -> list[npt.NDArray[np.float32] | None]:
        """Return the vector of each text; None for those that were not encoded before."""
        hashes = [_hash_of_text(text) for text in texts]
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


class FeatureCache:
    """Stores the features of texts in a folder, so that they are computed once."""

    def __init__(self, root: Path) -> None:
        """Use a folder as the cache; it is created when the first features are written."""
        self.root = root

    def fetch(
        self, key: Mapping[str, str | int], texts: Sequence[str], compute: Callable[[list[int]], Ragged]
    ) -> Ragged:
        """Return the features of texts, in their order, and store those that were computed.

        Args:
            key: Everything besides the text that the features depend on, for instance weights and layer.
            texts: The texts to look up; equal ones are stored once.
            compute: Computes features that are missing. It is called at most once, with positions in `texts`.
        """
        folder = self.root / folder_name(key)
        hashes = [_hash_of_text(text) for text in texts]
        shards = _load_shards(folder)
        location = {key.tobytes(): (s, r) for s, shard in enumerate(shards) for r, key in enumerate(shard.keys)}
        missing = list({h: i for i, h in reversed(list(enumerate(hashes))) if h not in location}.values())[::-1]
        if missing:
            fresh = compute(missing)
            keys = np.array([hashes[i] for i in missing], dtype=f"V{HASH_BYTES}")
            shard = Shard(keys, fresh.offsets.numpy(), fresh.flat.numpy())
            _write_shard(folder, shard)
            if len(missing) == len(texts):
                return fresh
            location |= {hashes[i]: (len(shards), r) for r, i in enumerate(missing)}
            shards.append(shard)
        return _gather(shards, [location[h] for h in hashes])


def folder_name(key: Mapping[str, str | int]) -> str:
    """Return the name of the folder of features, given everything besides the text that they depend on."""
    return hashlib.sha256(json.dumps(dict(key), sort_keys=True).encode()).hexdigest()[:32]


def _hash_of_text(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES).digest()


def _load_shards(folder: Path) -> list[Shard]:
    """Return the shards of a folder; none if it is missing."""
    shards = []
    for path in sorted(folder.glob("shard-*")):
        # A shard that another process is deleting, or that is incomplete because the disk was full, is ignored.
        with contextlib.suppress(OSError, ValueError, EOFError):
            keys = np.load(path / "keys.npy", allow_pickle=False)
            offsets = np.load(path / "offsets.npy", allow_pickle=False)
            flat = np.load(path / "flat.npy", mmap_mode="r", allow_pickle=False)
            if len(offsets) == len(keys) + 1 and offsets[-1] == len(flat) and keys.dtype.itemsize == HASH_BYTES:
                shards.append(Shard(keys, offsets, flat))
    return shards


def _write_shard(folder: Path, shard: Shard) -> None:
    """Store features; that they cannot be stored is not an error, since they were computed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix="writing-", dir=folder))
    except OSError:
        return
    try:
        for name in ("keys", "offsets", "flat"):
            np.save(temporary / f"{name}.npy", getattr(shard, name))
        os.replace(temporary, folder / f"shard-{temporary.name.removeprefix('writing-')}")
    except OSError:
        shutil.rmtree(temporary, ignore_errors=True)


def _gather(shards: list[Shard], locations: list[tuple[int, int]]) -> Ragged:
    """Return the rows at the given locations (number of the shard, row in it), in order."""
    import torch

    from newfound.encoders.ragged import Ragged

    first = shards[locations[0][0]] if locations else None
    if first is not None and locations == [(locations[0][0], row) for row in range(len(first.keys))]:
        with warnings.catch_warnings():  # that a memory-mapped array is not writable; features are never written to
            warnings.simplefilter("ignore")
            return Ragged(torch.from_numpy(first.flat), torch.from_numpy(np.array(first.offsets)))
    lengths = [int(shards[s].offsets[r + 1] - shards[s].offsets[r]) for s, r in locations]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    flat = np.empty((offsets[-1], shards[0].flat.shape[1]), dtype=shards[0].flat.dtype)
    for (s, r), start, end in zip(locations, offsets, offsets[1:], strict=False):
        shard = shards[s]
        flat[start:end] = shard.flat[shard.offsets[r] : shard.offsets[r + 1]]
    return Ragged(torch.from_numpy(flat), torch.from_numpy(offsets))
