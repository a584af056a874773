"""`Job`: one fit as the methods see it. The corpus is features on the device; labels are ids, -1 for none."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from newfound.encoders.encoder import Encoder, Features, Tune
from newfound.network import IntentNetwork, embed
from newfound.training.run import Run
from newfound.training.seeding import seed_torch
from newfound.training.trainer import History


@dataclass(frozen=True, slots=True)
class Job:
    encoder: Encoder
    tune: Tune
    features: Features  # on the device
    lengths: Tensor  # [n] tokens per utterance, on the CPU
    y: Tensor  # [n] known id or -1, on the CPU
    n_known: int
    n_new: int
    seed: int
    device: torch.device
    run: Run
    trunk_dropout: bool = False
    history: dict[str, History] = field(default_factory=dict)

    @property
    def known_rows(self) -> Tensor:
        return (self.y >= 0).nonzero().squeeze(1)

    @property
    def unlabelled_rows(self) -> Tensor:
        return (self.y < 0).nonzero().squeeze(1)

    def network(self) -> IntentNetwork:
        """A fresh network over known and new intents; its tail is a copy of the pretrained encoder's."""
        seed_torch(self.seed, "network")
        tail = self.encoder.tail(self.tune, trunk_dropout=self.trunk_dropout)
        return IntentNetwork(tail, self.encoder.width, self.n_known + self.n_new).to(self.device)

    def embed(self, network: IntentNetwork) -> Tensor:
        """Pooled vectors of the whole corpus, [n, d]."""
        return embed(network, self.features, self.lengths)
