"""The trainable network that all methods use, and `NetworkEmbedder`: from texts to vectors, with a fitted one.

A network is the tail of an encoder, and a classifier on its pooled vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from newfound.encoders.cache import FeatureCache
from newfound.encoders.encoder import Encoder, Tune
from newfound.encoders.ragged import Batch
from newfound.encoders.registry import hash_of
from newfound.encoders.tail import Features, Tail, whole_corpus
from newfound.model.head import TEXTS_PER_BATCH, TEXTS_PER_BATCH_ON_GPU, Array, in_batches
from newfound.paths import feature_cache_dir

if TYPE_CHECKING:
    from newfound.encoders.onnx.session import GraphSession

MANY_TEXTS = 20_000  # at once, of training utterances: they are mostly in the cache, so that larger batches pay off


class CosineClassifier(nn.Module):
    """A linear classifier whose logits are cosines of vectors and weights; one column per intent, known ones first."""

    def __init__(self, width: int, n_intents: int) -> None:
        """Start from random unit vectors."""
        super().__init__()
        self.weight = nn.Parameter(F.normalize(torch.randn(n_intents, width), dim=-1))

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits [n, intents] of vectors [n, width]."""
        return F.normalize(x, dim=-1) @ F.normalize(self.weight, dim=-1).T

    @torch.no_grad()
    def normalize_(self) -> None:
        """Scale the weights to unit length; otherwise they grow, and the effective learning rate falls."""
        self.weight.copy_(F.normalize(self.weight, dim=-1))


class IntentNetwork(nn.Module):
    """Turns the features of utterances into vectors, with a classifier over known and new intents on them."""

    def __init__(
        self,
        tail: Tail,
        width: int,
        n_intents: int,
        *,
        dense: bool = False,
        dropout: float = 0.0,
        layer_std: float | None = None,
    ) -> None:
        """Put a network together on the trainable end of an encoder with vectors of this width.

        `dense` adds a linear layer with tanh after the pooling, as in the released code. The dropout of the vectors in
        training makes two passes over one utterance differ. Weights of linear layers start from a normal distribution
        with standard deviation `layer_std`; None leaves them to torch.
        """
        super().__init__()
        self.tail, self.layer_std = tail, layer_std
        self.dense = self.new_layer(width, width) if dense else None
        self.dropout = nn.Dropout(dropout)
        self.classifier = CosineClassifier(width, n_intents)

    def new_layer(self, inputs: int, outputs: int) -> nn.Linear:
        """Return a linear layer without a bias at the start: a random one would drown vectors of unit length."""
        layer = nn.Linear(inputs, outputs)
        nn.init.zeros_(layer.bias)
        if self.layer_std is not None:
            nn.init.normal_(layer.weight, std=self.layer_std)
        return layer

    def forward(self, features: Features, batch: Batch, views: int = 1) -> Tensor:
        """Return the vectors of a batch, [views x B, d]; the classifier is not applied."""
        x: Tensor = self.tail(features, batch, views)
        if self.dense is not None:
            x = torch.tanh(self.dense(x))
        dropped: Tensor = self.dropout(x)
        return dropped

    def two_views(self, features: Features, batch: Batch) -> Tensor:
        """Return two views of a batch, [2, B, d], computed in one pass; they differ by dropout."""
        both: Tensor = self(features, batch, 2)
        return both.view(2, -1, both.shape[-1])

    def with_columns(self, columns: Sequence[int]) -> IntentNetwork:
        """Return another network with these columns of the classifier, in this order; the tail is shared."""
        weight = self.classifier.weight.detach()[list(columns)].clone()
        other = IntentNetwork(self.tail, weight.shape[1], len(weight), dropout=self.dropout.p)
        other.dense, other.classifier.weight = self.dense, nn.Parameter(weight)
        return other.train(self.training)

    def classifier_branch(self) -> dict[str, Tensor]:
        """Return the trained tensors that inference needs: of the tail, the dense layer and the classifier."""
        state = {f"tail.{name}": t for name, t in self.tail.trained().items()}
        if self.dense is not None:
            state |= {f"dense.{name}": t for name, t in self.dense.state_dict().items()}
        state["classifier.weight"] = self.classifier.weight.detach()
        return state


@torch.inference_mode()
def embed(network: IntentNetwork, features: Features, batches: Sequence[Batch]) -> Tensor:
    """Return the vectors of a whole corpus, [n, d], on its device and without dropout.

    The network is put into evaluation mode. The batches cover the corpus (`whole_corpus`).
    """
    network.eval()
    device = features.data.flat.device
    if network.tail.stack is None and network.dense is None:
        return features.data.flat
    vectors = torch.zeros(len(features), network.classifier.weight.shape[1], device=device)
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
        for batch in batches:
            vectors[batch.rows] = network(features, batch).float()
    return vectors


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
