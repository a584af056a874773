"""`NetworkEmbedder`: from texts to vectors, with the network of a fitted model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from newfound.encoders.cache import FeatureCache
from newfound.encoders.encoder import Encoder, Tune
from newfound.encoders.registry import hash_of
from newfound.encoders.tail import whole_corpus
from newfound.model.arrays import TEXTS_PER_BATCH, TEXTS_PER_BATCH_ON_GPU, Array, in_batches
from newfound.model.network import IntentNetwork, embed
from newfound.paths import feature_cache_dir

if TYPE_CHECKING:
    from newfound.encoders.onnx.session import GraphSession

MANY_TEXTS = 20_000  # at once, of training utterances: they are mostly in the cache, so that larger batches pay off


@dataclass(eq=False)
class NetworkEmbedder:
    """Makes vectors of texts: with torch, or with ONNX Runtime where the network has a graph.

    Attributes:
        encoder: The pretrained encoder.
        tune: How much of it was trained.
        network: The trained network.
        cache: Keeps what the frozen layers compute of texts. By default nothing is kept of texts that are classified.
    """

    encoder: Encoder
    tune: Tune
    network: IntentNetwork
    cache: FeatureCache | None = None

    def __post_init__(self) -> None:
        self.network.eval()

    def __call__(self, texts: Sequence[str]) -> Array:
        """Return the vectors of texts, [n, d]."""
        size = TEXTS_PER_BATCH if self.device.type == "cpu" else TEXTS_PER_BATCH_ON_GPU
        return in_batches(lambda batch: self._vectors(batch, self.cache), texts, self.encoder.width, size)

    def of_training(self, texts: Sequence[str]) -> Tensor:
        """Return the vectors of training utterances, [n, d], computed from the features in the cache."""
        cache = self.encoder.cache or FeatureCache(feature_cache_dir())

        def compute(some: Sequence[str]) -> Array:
            return in_batches(lambda batch: self._vectors(batch, cache), some, self.encoder.width, MANY_TEXTS)

        if not self.tune.layers:  # what the frozen encoder computes is in the cache already
            return torch.from_numpy(compute(texts))
        state = {name: t for name, t in self.network.state_dict().items() if not name.startswith("classifier.")}
        weights = hash_of(state, self.encoder.weights_hash(), str(self.encoder.max_length))
        return torch.from_numpy(cache.fetch({"vectors of a trained network": weights}, texts, compute))

    def pretrained(self, texts: Sequence[str]) -> Array:
        """Return the vectors of the pretrained encoder, which has learned nothing from the model's logs, [n, d]."""
        return self.encoder.with_cache(self.cache).vectors(texts)

    def _vectors(self, texts: Sequence[str], cache: FeatureCache | None) -> Array:
        session = self._session if cache is None else None
        if session is not None:
            from newfound.encoders.onnx.engine import vectors_of

            return vectors_of(session, self.encoder.tokenize(texts))
        encoder = self.encoder.with_cache(cache)  # another one, because other threads use the original
        features = encoder.features(texts, self.tune)
        batches = whole_corpus(features.data.lengths, self.device)
        vectors: Array = embed(self.network, features.to(self.device), batches).cpu().numpy()
        return vectors

    @cached_property
    def _session(self) -> GraphSession | None:
        """What computes vectors with ONNX Runtime, the trained layers included; None if torch does it."""
        return self.encoder.session(self.network.tail if self.tune.layers else None, self.network.dense)

    def has_graph(self) -> bool:
        """Return whether ONNX Runtime computes vectors, which several threads may then do at the same time."""
        return self._session is not None

    def graph_problem(self) -> str | None:
        """Return why torch encodes on a CPU although ONNX Runtime is installed; None if it does not."""
        return None if self.has_graph() else self.encoder.graph_problem

    @property
    def device(self) -> torch.device:
        return self.network.classifier.weight.device

    def to(self, device: torch.device | str) -> None:
        """Move the weights to a device, in place, as torch does."""
        self.encoder.to(device)
        self.network.to(device)
        self.__dict__.pop("_session", None)  # another device may need another session
