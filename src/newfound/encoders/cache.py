"""Frozen features on disk, by content.

A folder per (weights, layer, length, dtype); in it, shards that are written once and never changed. A shard is a
folder of three arrays: the hashes of its texts, the offsets of its rows, and the rows themselves without padding.
A shard appears by one rename, so two processes may write at once: at worst both hold the same rows.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from newfound.encoders.ragged import Ragged

Compute = Callable[[list[int]], Ragged]
HASH_BYTES = 16


@dataclass(frozen=True, slots=True)
class _Shard:
    keys: npt.NDArray[np.void]  # [rows] hash of each text
    offsets: npt.NDArray[np.int64]  # [rows + 1]
    flat: npt.NDArray[np.float32]  # [tokens, d], memory-mapped


class FeatureCache:
    """Features of texts that were seen before; the rest is computed and kept."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def fetch(self, key: Mapping[str, str | int], texts: Sequence[str], compute: Compute) -> Ragged:
        """The features of `texts` in order; `compute` is called once, with the row numbers that are missing."""
        folder = self._folder(key)
        hashes = [_hash(text) for text in texts]
        shards = self._shards(folder)
        where = {key.tobytes(): (s, r) for s, shard in enumerate(shards) for r, key in enumerate(shard.keys)}
        missing = list({h: i for i, h in reversed(list(enumerate(hashes))) if h not in where}.values())[::-1]
        if missing:
            fresh = compute(missing)
            shard = _Shard(
                np.array([hashes[i] for i in missing], dtype=f"V{HASH_BYTES}"),
                fresh.offsets.numpy(),
                fresh.flat.numpy(),
            )
            self._write(folder, shard)
            if len(missing) == len(texts):
                return fresh
            where |= {hashes[i]: (len(shards), r) for r, i in enumerate(missing)}
            shards.append(shard)
        return _gather(shards, [where[h] for h in hashes])

    def _folder(self, key: Mapping[str, str | int]) -> Path:
        digest = hashlib.sha256(json.dumps(dict(key), sort_keys=True).encode()).hexdigest()
        return self.root / digest[:32]

    def _shards(self, folder: Path) -> list[_Shard]:
        found = []
        for path in sorted(folder.glob("shard-*")):
            # A shard that another process is deleting, or that a full disk cut short, counts as absent.
            with contextlib.suppress(OSError, ValueError, EOFError):
                found.append(_load(path))
        return found

    def _write(self, folder: Path, shard: _Shard) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            temporary = Path(tempfile.mkdtemp(prefix="writing-", dir=folder))
        except OSError:
            return  # a cache that cannot be written is no reason to fail
        try:
            np.save(temporary / "keys.npy", shard.keys)
            np.save(temporary / "offsets.npy", shard.offsets)
            np.save(temporary / "flat.npy", shard.flat)
            os.replace(temporary, folder / f"shard-{temporary.name.removeprefix('writing-')}")
        except OSError:
            shutil.rmtree(temporary, ignore_errors=True)


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES).digest()


def _load(path: Path) -> _Shard:
    keys = np.load(path / "keys.npy", allow_pickle=False)
    offsets = np.load(path / "offsets.npy", allow_pickle=False)
    flat = np.load(path / "flat.npy", mmap_mode="r", allow_pickle=False)
    if len(offsets) != len(keys) + 1 or offsets[-1] != len(flat) or keys.dtype.itemsize != HASH_BYTES:
        raise ValueError(f"{path}: its arrays do not fit together")
    return _Shard(keys, offsets, flat)


def _gather(shards: list[_Shard], where: list[tuple[int, int]]) -> Ragged:
    if len({s for s, _ in where}) == 1 and [r for _, r in where] == list(range(len(shards[where[0][0]].keys))):
        shard = shards[where[0][0]]
        return Ragged(_tensor(shard.flat), torch.from_numpy(np.array(shard.offsets)))
    lengths = [int(shards[s].offsets[r + 1] - shards[s].offsets[r]) for s, r in where]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    flat = np.empty((offsets[-1], shards[0].flat.shape[1]), dtype=shards[0].flat.dtype)
    for (s, r), start, end in zip(where, offsets, offsets[1:], strict=False):
        shard = shards[s]
        flat[start:end] = shard.flat[shard.offsets[r] : shard.offsets[r + 1]]
    return Ragged(torch.from_numpy(flat), torch.from_numpy(offsets))


def _tensor(array: npt.NDArray[np.float32]) -> torch.Tensor:
    # torch warns that a memory-mapped array is not writable; nothing here writes to features.
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.from_numpy(array)
