"""Frozen features that are computed on a cluster and kept in the feature cache of this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from newfound.encoders.cache import Compute, FeatureCache
from newfound.encoders.encoder import Encoder, Pooling, Tune, load_encoder
from newfound.encoders.ragged import Ragged
from newfound.engines.ray_data import RaySettings, map_on_ray
from newfound.errors import EngineError, NewfoundError

TEXTS_PER_ITEM = 1_024
MIN_TEXTS = 512  # fewer are encoded here before a worker has loaded the encoder


class ClusterCache(FeatureCache):
    """A feature cache whose missing features are computed by the workers of a cluster, and not here."""

    def __init__(self, root: Path, encoder: Encoder, settings: RaySettings) -> None:
        """Use a folder as the cache.

        Args:
            root: The folder.
            encoder: The encoder; workers must be able to load it by its name, or from the same folder.
            settings: Which cluster works. The caller is connected to it (`ray_data.connected`).
        """
        super().__init__(root)
        name = encoder.name
        self._encoder = str(Path(name).resolve()) if Path(name).is_dir() else name
        self._settings, self._prompt = settings, encoder.prompt

    def fetch(self, key: Mapping[str, str | int], texts: Sequence[str], compute: Compute) -> Ragged:
        """Return the features of texts; see `FeatureCache.fetch`."""

        def compute_on_cluster(rows: list[int]) -> Ragged:
            if len(rows) < MIN_TEXTS or "layer" not in key:  # vectors of a trained network have no layer
                return compute(rows)
            return self._features(key, [texts[i] for i in rows])

        return super().fetch(key, texts, compute_on_cluster)

    def _features(self, key: Mapping[str, str | int], texts: list[str]) -> Ragged:
        starts = range(0, len(texts), TEXTS_PER_ITEM)
        items = [{"number": n, "texts": texts[start : start + TEXTS_PER_ITEM]} for n, start in enumerate(starts)]
        found: dict[int, Ragged] = {}
        for row in map_on_ray(FeatureWorker, (self._encoder, dict(key), self._prompt), items, self._settings):
            if row["error"]:
                raise EngineError(row["error"])
            flat = np.frombuffer(row["flat"], np.float32).reshape(-1, int(row["width"])).copy()
            offsets = np.frombuffer(row["offsets"], np.int64).copy()
            found[int(row["number"])] = Ragged(torch.from_numpy(flat), torch.from_numpy(offsets))
        rows = sum(len(piece.offsets) - 1 for piece in found.values())
        if rows != len(texts):
            raise EngineError(f"{len(texts):,} utterances were sent and {rows:,} came back; try again")
        pieces = [found[n] for n in range(len(items))]
        lengths = torch.cat([piece.lengths for piece in pieces])
        return Ragged(
            torch.cat([piece.flat for piece in pieces]),
            torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)]),
        )


class FeatureWorker:
    """Encodes texts; Ray calls it with batches of one record."""

    def __init__(self, encoder: str, key: dict[str, str | int], prompt: str) -> None:
        """Use an encoder for features of a kind.

        Args:
            encoder: Its name or folder.
            key: The key of the features in the cache; the worker's own must be the same.
            prompt: What is put before every text.
        """
        self._name, self._key, self._prompt = encoder, key, prompt
        self._encoder: Encoder | None = None

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        """Return the features of the texts of one item, as bytes."""
        row: dict[str, Any] = {"number": int(batch["number"][0]), "flat": b"", "offsets": b"", "width": 0, "error": ""}
        try:
            encoder, tune = self._loaded()
            features = encoder.features([str(text) for text in batch["texts"][0]], tune).data
            row |= {
                "flat": features.flat.float().numpy().tobytes(),
                "offsets": features.offsets.numpy().tobytes(),
                "width": features.flat.shape[1],
            }
        except NewfoundError as error:
            row["error"] = str(error)
        return {name: [value] for name, value in row.items()}

    def _loaded(self) -> tuple[Encoder, Tune]:
        """Return the encoder and what of it is frozen, both as the key says."""
        if self._encoder is None:
            pooling = str(self._key["pooling"]).split(",")[0] or None
            if self._key["padding"] == "True":
                pooling = "padded-mean"
            chosen: Pooling | None = pooling  # type: ignore[assignment]
            length = int(self._key["max_length"])
            encoder = load_encoder(self._name, pooling=chosen, max_length=length, prompt=self._prompt)
            self._encoder = encoder.to("cuda" if torch.cuda.is_available() else "cpu")
        tune = Tune(self._encoder.depth - int(self._key["layer"]))
        if self._encoder._cache_key(tune) != self._key:
            raise EngineError(f"the encoder {self._name!r} of a worker is not the one of this machine")
        return self._encoder, tune
