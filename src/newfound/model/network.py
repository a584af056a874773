"""The trainable network that methods share: the tail of an encoder and heads on its pooled vectors."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from newfound.encoders.encoder import Features, Tail
from newfound.encoders.ragged import Batch


class CosineClassifier(nn.Module):
    """Logits are cosines: unit features times unit weights, one column per intent, known ones first."""

    def __init__(self, width: int, n_intents: int, *, weight: Tensor | None = None) -> None:
        """Start at random unit columns, or at the given `weight` [intents, width]."""
        super().__init__()
        start = F.normalize(torch.randn(n_intents, width), dim=-1) if weight is None else weight
        self.weight = nn.Parameter(start)

    def forward(self, x: Tensor) -> Tensor:
        return F.normalize(x, dim=-1) @ F.normalize(self.weight, dim=-1).T

    @torch.no_grad()
    def normalize_(self) -> None:
        """Back to unit length: otherwise the weights grow and the effective learning rate shrinks."""
        self.weight.copy_(F.normalize(self.weight, dim=-1))


class IntentNetwork(nn.Module):
    """Features of a corpus -> vectors -> logits over known and new intents.

    `dense` adds the released code's layer after the pooling (linear, tanh); `dropout` drops units of the vector in
    training, which makes two passes over one utterance two views of it.
    """

    def __init__(
        self,
        tail: Tail,
        width: int,
        n_intents: int,
        *,
        dense: bool = False,
        dropout: float = 0.0,
        classifier: CosineClassifier | None = None,
    ) -> None:
        super().__init__()
        self.tail = tail
        self.dense = nn.Linear(width, width) if dense else None
        self.dropout = nn.Dropout(dropout)
        self.classifier = CosineClassifier(width, n_intents) if classifier is None else classifier

    def forward(self, features: Features, batch: Batch, views: int = 1) -> Tensor:
        """Vectors [views x B, d]; heads are applied to them by whoever needs them."""
        x: Tensor = self.tail(features, batch, views)
        if self.dense is not None:
            x = torch.tanh(self.dense(x))
        dropped: Tensor = self.dropout(x)
        return dropped

    def two_views(self, features: Features, batch: Batch) -> Tensor:
        """The same utterances twice, in one pass, [2, B, d]: dropout makes the two views."""
        both: Tensor = self(features, batch, 2)
        return both.view(2, -1, both.shape[-1])

    def with_columns(self, columns: Sequence[int]) -> IntentNetwork:
        """Return a network for inference with these columns of the classifier, in this order; this one stays."""
        weight = self.classifier.weight.detach()[list(columns)].clone()
        classifier = CosineClassifier(weight.shape[1], len(weight), weight=weight)
        other = IntentNetwork(self.tail, weight.shape[1], len(weight), dropout=self.dropout.p, classifier=classifier)
        other.dense = self.dense
        return other.train(self.training)

    def classifier_branch(self) -> dict[str, Tensor]:
        """What inference needs of the training: the trained tail, the dense layer and the classifier."""
        state = {f"tail.{name}": t for name, t in self.tail.trained().items()}
        if self.dense is not None:
            state |= {f"dense.{name}": t for name, t in self.dense.state_dict().items()}
        state["classifier.weight"] = self.classifier.weight.detach()
        return state


@torch.inference_mode()
def embed(network: IntentNetwork, features: Features, batches: Sequence[Batch]) -> Tensor:
    """Vectors [n, d] of a whole corpus, on its device, without dropout; the batches cover it (`whole_corpus`)."""
    network.eval()
    device = features.data.flat.device
    if network.tail.stack is None and network.dense is None:
        return features.data.flat
    vectors = torch.empty(len(features), network.classifier.weight.shape[1], device=device)
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
        for batch in batches:
            vectors[batch.rows] = network(features, batch).float()
    return vectors
