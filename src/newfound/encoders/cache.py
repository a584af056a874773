"""A cache of frozen features on disk, keyed by the hash of the text; `newfound.encoders.shards` reads its files.

A shard is put in place by one rename, so two processes may write at the same time; at worst both write the same rows.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from newfound.encoders.ragged import Ragged
from newfound.encoders.shards import HASH_BYTES, Shard, folder_name, hash_of_text, load_shards

Compute = Callable[[list[int]], Ragged]


class FeatureCache:
    """Stores the features of texts on disk, so that they are computed once."""

    def __init__(self, root: Path) -> None:
        """Use a folder as the cache.

        Args:
            root: The folder; it is created when the first features are written.
        """
        self.root = root

    def fetch(self, key: Mapping[str, str | int], texts: Sequence[str], compute: Compute) -> Ragged:
        """Return the features of texts, in their order, and store those that were computed.

        Args:
            key: Everything besides the text that the features depend on, for instance weights and layer.
            texts: The texts to look up; equal ones are stored once.
            compute: Function that computes the features of texts that are not in the cache. It is called at most once,
                with their positions in `texts`.
        """
        folder = self.root / folder_name(key)
        hashes = [hash_of_text(text) for text in texts]
        shards = load_shards(folder)
        location = {key.tobytes(): (s, r) for s, shard in enumerate(shards) for r, key in enumerate(shard.keys)}
        missing = list({h: i for i, h in reversed(list(enumerate(hashes))) if h not in location}.values())[::-1]
        if missing:
            fresh = compute(missing)
            shard = Shard(
                np.array([hashes[i] for i in missing], dtype=f"V{HASH_BYTES}"),
                fresh.offsets.numpy(),
                fresh.flat.numpy(),
            )
            self._write(folder, shard)
            if len(missing) == len(texts):
                return fresh
            location |= {hashes[i]: (len(shards), r) for r, i in enumerate(missing)}
            shards.append(shard)
        return _gather(shards, [location[h] for h in hashes])

    def _write(self, folder: Path, shard: Shard) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            temporary = Path(tempfile.mkdtemp(prefix="writing-", dir=folder))
        except OSError:
            return  # The features were computed; that they cannot be stored is not an error.
        try:
            np.save(temporary / "keys.npy", shard.keys)
            np.save(temporary / "offsets.npy", shard.offsets)
            np.save(temporary / "flat.npy", shard.flat)
            os.replace(temporary, folder / f"shard-{temporary.name.removeprefix('writing-')}")
        except OSError:
            shutil.rmtree(temporary, ignore_errors=True)


def compute_distinct(texts: Sequence[str], compute: Compute) -> Ragged:
    """Return the vectors of texts without any cache; equal texts are computed once.

    Args:
        texts: The texts to encode, which may be equal.
        compute: Function that computes the vectors of the texts at some positions.
    """
    first: dict[str, int] = {}
    for i, text in enumerate(texts):
        first.setdefault(text, i)
    if len(first) == len(texts):
        return compute(list(range(len(texts))))
    place = {text: i for i, text in enumerate(first)}
    vectors = compute(list(first.values())).flat
    return Ragged(vectors[[place[text] for text in texts]], torch.arange(len(texts) + 1))


def _gather(shards: list[Shard], locations: list[tuple[int, int]]) -> Ragged:
    """Return the rows at the given locations (number of the shard, row in it), in order."""
    if len({s for s, _ in locations}) == 1:
        shard = shards[locations[0][0]]
        if [r for _, r in locations] == list(range(len(shard.keys))):
            return Ragged(_tensor(shard.flat), torch.from_numpy(np.array(shard.offsets)))
    lengths = [int(shards[s].offsets[r + 1] - shards[s].offsets[r]) for s, r in locations]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    flat = np.empty((offsets[-1], shards[0].flat.shape[1]), dtype=shards[0].flat.dtype)
    for (s, r), start, end in zip(locations, offsets, offsets[1:], strict=False):
        shard = shards[s]
        flat[start:end] = shard.flat[shard.offsets[r] : shard.offsets[r + 1]]
    return Ragged(torch.from_numpy(flat), torch.from_numpy(offsets))


def _tensor(array: npt.NDArray[np.float32]) -> torch.Tensor:
    import warnings

    # torch warns that a memory-mapped array is not writable; features are never written to.

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.from_numpy(array)
