"""E2E (Mou et al., "Generalized Intent Discovery", COLING 2022): pseudo-labels and classifier in one loss.

One head for the known intents, several for the new ones. The pseudo-label of an unlabelled utterance is the
Sinkhorn assignment of its other view; one cross-entropy over known and new columns trains everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from newfound.algorithms.assignment import align
from newfound.algorithms.losses import cross_entropies
from newfound.data.corpus import Corpus
from newfound.encoders.ragged import Batch
from newfound.methods.base import Discoverer
from newfound.methods.context import Discovery, Epoch, FitContext
from newfound.methods.settings import Count, DropoutRate, NonNegativeInt, NotNegative, Positive
from newfound.methods.supervised import check_sizes, default_temperature, pretrain, start_at_clusters
from newfound.model.network import IntentNetwork
from newfound.training.trainer import Losses


class MultiHeadNetwork(IntentNetwork):
    """H heads of M columns for the new intents, and H over-clustering heads of several times M columns."""

    head_loss: Tensor  # [H] summed over the current epoch: the head with the lowest loss serves for prediction

    def __init__(self, *args: Any, n_new: int, heads: int, over: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        width = self.classifier.weight.shape[1]
        self.new_heads = nn.Parameter(F.normalize(torch.randn(heads, n_new, width), dim=-1))  # [H, M, d]
        self.over_heads = nn.Parameter(F.normalize(torch.randn(heads if over else 0, over * n_new, width), dim=-1))
        self.register_buffer("head_loss", torch.zeros(heads))

    @torch.no_grad()
    def normalize_(self) -> None:
        self.classifier.normalize_()
        for heads in (self.new_heads, self.over_heads):
            heads.copy_(F.normalize(heads, dim=-1))

    @torch.no_grad()
    def adopt_best_head(self, n_known: int) -> None:
        """Make the best head the new columns of the joint classifier."""
        best = self.head_loss.argmin()
        self.classifier.weight[n_known:] = F.normalize(self.new_heads[best], dim=-1)


@dataclass(kw_only=True, eq=False, repr=False)
class E2E(Discoverer):
    """End-to-end generalized intent discovery with swapped prediction.

    Attributes:
        heads: Parallel heads for the new intents.
        overcluster: Columns of the extra heads, in multiples of the number of new intents; 0 for no such heads.
        temperature: Temperature of the softmax in training; None is 0.1 where the encoder trains, else 0.05.
        epsilon: Entropy of Sinkhorn-Knopp's assignments: the smaller, the closer to one intent for each utterance.
        sinkhorn_iterations: Rounds in which Sinkhorn-Knopp evens out the sizes of the new intents.
        start: Start of the new heads: "random" as published, "kmeans" or "balanced".
        select: Checkpoint by silhouette of "new" or "all" validation data, or the "last".
        dense: Whether to add the released code's layer after the pooling.
        layer_std: Standard deviation of the normal distribution that the weights of this layer start from; the released
            code has 0.02. None is torch's default.
        dropout: Share of the vector's components that are zero in a training step; it makes the two views differ.
        sizes: What Sinkhorn takes the sizes of the new intents for: "equal" (as published), or "estimated" from the
            k-means clusters that the training starts from, which are then not evened out. The over-clustering heads
            always take them to be equal.
    """

    heads: Count = 4
    overcluster: NonNegativeInt = 1
    temperature: Positive | None = None
    epsilon: Positive = 0.05
    sinkhorn_iterations: Count = 3
    start: Literal["random", "kmeans", "balanced"] = "random"
    select: Literal["new", "all", "last"] = "last"
    dense: bool = False
    layer_std: Positive | None = None
    dropout: DropoutRate = 0.1
    sizes: Literal["equal", "estimated"] = "equal"
    epochs: NonNegativeInt = 200
    lr: Positive = 0.4
    min_lr: NotNegative = 0.01

    def check_settings(self, corpus: Corpus) -> None:
        """Refuse what cannot work, before anything is loaded or trained."""
        super().check_settings(corpus)
        check_sizes(self.sizes, self.start)

    def _discover(self, context: FitContext) -> Discovery:
        temperature = self.temperature or default_temperature(context)
        build = partial(MultiHeadNetwork, n_new=context.n_new, heads=self.heads, over=self.overcluster)
        network = context.network(build, dense=self.dense, dropout=self.dropout, layer_std=self.layer_std)
        assert isinstance(network, MultiHeadNetwork)
        pretrain(context, network, self._pretraining(), temperature=temperature)
        shares: Tensor | None = None
        if self.start != "random":
            _, _, shares = start_at_clusters(context, network, start=self.start, sizes=self.sizes)
            with torch.no_grad():
                network.new_heads.copy_(network.classifier.weight[context.n_known :].expand_as(network.new_heads))
        y = context.y.to(context.device)

        def step(batch: Batch) -> Losses:
            network.normalize_()
            y_batch = y[batch.rows]
            x = F.normalize(network.two_views(context.features, batch), dim=-1)  # [2, B, d]
            known_logits = x @ network.classifier.weight[: context.n_known].T  # [2, B, N]
            by_head = self._swapped_loss(x, known_logits, network.new_heads, y_batch, temperature, shares)  # [H]
            network.head_loss += by_head.detach()
            losses = {"ce": by_head.mean()}
            if self.overcluster:
                over = self._swapped_loss(x, known_logits, network.over_heads, y_batch, temperature)
                losses["over"] = over.mean()
            return {"loss": torch.stack(list(losses.values())).mean(), **losses}

        def embed() -> Tensor:
            return context.embed(network)

        def pseudo_labels() -> Tensor:
            new = network.classifier.weight[context.n_known :].detach()
            return context.n_known + (F.normalize(embed(), dim=-1) @ new.T).argmax(-1)

        def after_epoch(epoch: int) -> dict[str, float]:
            network.adopt_best_head(context.n_known)
            network.head_loss.zero_()
            return context.watch(Epoch(epoch, pseudo_labels, embed, network.classifier.weight.detach()))

        context.fit(
            "discovery",
            network,
            self._schedule(),
            torch.arange(len(context.y)),
            step,
            after_epoch=after_epoch,
            score=None if self.select == "last" else lambda: context.silhouette(network, self.select),
        )
        return Discovery(network, temperature)

    def _swapped_loss(
        self,
        x: Tensor,
        known_logits: Tensor,
        heads: Tensor,
        y: Tensor,
        temperature: float,
        shares: Tensor | None = None,
    ) -> Tensor:
        """Per head [H]: each view's unified logits learn the assignment of the other view."""
        new_logits = torch.einsum("vbd,hmd->vhbm", x, heads.to(x.dtype))  # [2, H, B, M]
        n_known = known_logits.shape[-1]
        rounds = self.sinkhorn_iterations
        q = align(new_logits.detach(), y, n_known, epsilon=self.epsilon, iterations=rounds, prior=shares)
        known = known_logits[:, None].expand(-1, heads.shape[0], -1, -1)
        logits = torch.cat([known, new_logits], dim=-1)  # [2, H, B, N + M]
        return cross_entropies(logits, q.flip(0), temperature).mean(dim=(0, 2))
