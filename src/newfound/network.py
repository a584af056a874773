"""The trainable network that methods share: the tail of an encoder and heads on its pooled vectors."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from newfound.encoders.encoder import TOKENS_PER_BATCH, Bounds, Features, Tail, batches_by_length


class CosineClassifier(nn.Module):
    """Logits are cosines: unit features times unit weights, one column per intent, known ones first."""

    def __init__(self, width: int, n_intents: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(F.normalize(torch.randn(n_intents, width), dim=-1))

    def forward(self, x: Tensor) -> Tensor:
        return F.normalize(x, dim=-1) @ F.normalize(self.weight, dim=-1).T

    @torch.no_grad()
    def normalize_(self) -> None:
        """Back to unit length: otherwise the weights grow and the effective learning rate shrinks."""
        self.weight.copy_(F.normalize(self.weight, dim=-1))


class IntentNetwork(nn.Module):
    """Features of a corpus -> pooled vectors -> logits over known and new intents."""

    def __init__(self, tail: Tail, width: int, n_intents: int) -> None:
        super().__init__()
        self.tail = tail
        self.classifier = CosineClassifier(width, n_intents)

    def forward(self, features: Features, rows: Tensor, bounds: Bounds) -> Tensor:
        """Pooled vectors [B, d]; heads are applied to them by whoever needs them."""
        x: Tensor = self.tail(features, rows, bounds)
        return x


@torch.inference_mode()
def embed(network: IntentNetwork, features: Features, lengths: Tensor) -> Tensor:
    """Pooled vectors [n, d] of a whole corpus, on its device, without dropout; `lengths` lie on the CPU."""
    network.eval()
    device = features.data.flat.device
    if network.tail.stack is None:
        return features.data.flat
    vectors = torch.empty(len(features), network.classifier.weight.shape[1], device=device)
    for batch in batches_by_length(lengths, TOKENS_PER_BATCH[device.type]):
        vectors[batch.to(device)] = network(features, batch.to(device), Bounds.of(lengths, batch[None]))
    return vectors
