"""How the texts of a fit become features: which encoder, how much of it trains, and what the device holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from newfound.data.corpus import Corpus
from newfound.encoders.cache import FeatureCache
from newfound.encoders.encoder import Encoder, Features, Pooling, Tune, load_encoder
from newfound.encoders.ragged import Batch
from newfound.encoders.tail import whole_corpus
from newfound.methods.context import EncodedCorpus
from newfound.paths import feature_cache_dir
from newfound.training.run import Run
from newfound.training.seeding import derive


def encoder_for(encoder: str | Encoder, *, pooling: Pooling | None, max_length: int) -> Encoder:
    """Return the encoder of a fit: one that is loaded, with other settings, or one that is loaded here.

    Args:
        encoder: A short name, a folder, owner/name on the hub, or a loaded encoder.
        pooling: How tokens become a vector; None is the encoder's own.
        max_length: Tokens kept of an utterance.
    """
    if isinstance(encoder, Encoder):
        return encoder.variant(pooling=pooling, max_length=max_length)
    cache = FeatureCache(feature_cache_dir())
    return load_encoder(encoder, pooling=pooling, max_length=max_length, cache=cache)


def resolve_tune(tune: str, device: torch.device, *, can_train: bool = True) -> str:
    """Return how much of an encoder trains; "auto" is the last layer on a GPU, and the heads on a CPU.

    Args:
        tune: heads, last, last:K, layers, all or auto.
        device: Where it trains.
        can_train: Whether there are known intents to train on; without them "auto" is the heads.
    """
    if tune != "auto":
        return tune
    return "last" if can_train and device.type == "cuda" else "heads"


@dataclass(frozen=True, slots=True)
class CorpusEncoder:
    """Encodes the corpora of one fit; fits of one run share the features of the same texts.

    Attributes:
        encoder: What reads the texts.
        tune: Which layers of the encoder train; the features are the output of the layers below.
        device: Where the features go.
        run: Keeps the features.
        ids: The id of each known intent by its name.
        trunk_dropout: Whether the frozen layers run with fresh dropout in every step.
    """

    encoder: Encoder
    tune: Tune
    device: torch.device
    run: Run
    ids: Mapping[str, int]
    trunk_dropout: bool = False

    def __call__(self, part: Corpus, views: int = 0) -> EncodedCorpus:
        """Return a corpus for the network.

        Args:
            part: The texts, and the labels of those that have one.
            views: Stored runs of the frozen layers with dropout; 0 is one run without.
        """
        texts = Corpus.of(part.texts).fingerprint()
        same_encoder = [self.run.identity["encoder"], self.encoder.max_length]
        key = repr([texts, *same_encoder, self.tune, self.trunk_dropout, views, str(self.device)])
        features, batches, lengths = self.run.get_or_make(key, lambda: self._features(part, views))
        y = torch.tensor([-1 if label is None else self.ids.get(label, -1) for label in part.labels])
        return EncodedCorpus(features, batches, lengths, y, part.texts)

    def _features(self, part: Corpus, views: int) -> tuple[Features, list[Batch], Tensor]:
        features = self.encoder.features(part.texts, self.tune, trunk_dropout=self.trunk_dropout)
        halved = self.device.type == "cuda" and self.tune.layers
        on_device = features.to(self.device, torch.bfloat16 if halved else None)
        if views and not self.trunk_dropout:
            seeds = [derive(0, "trunk view", view) for view in range(views)]
            on_device = self.encoder.with_noise(on_device, part.texts, self.tune, seeds=seeds)
        lengths = features.data.lengths
        return on_device, whole_corpus(lengths, self.device), lengths
