"""Decoupled Prototype Learning (Mou et al., ACL 2023): Algorithm 1 of the paper.

Where the paper and the authors' released code differ, a setting chooses. The defaults are what scored best on fresh
class partitions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from newfound.algorithms.assignment import align, class_means, disambiguate, move_prototypes, one_hot_or_zero
from newfound.algorithms.losses import (
    cross_entropy,
    instance_contrastive,
    prototypical_contrastive,
    supervised_contrastive,
)
from newfound.data.corpus import Corpus
from newfound.encoders.ragged import Batch
from newfound.methods.base import Discoverer
from newfound.methods.context import Discovery, Epoch, FitContext
from newfound.methods.settings import Count, DropoutRate, OpenShare, Positive
from newfound.methods.supervised import check_sizes, default_temperature, pretrain, start_at_clusters
from newfound.model.network import IntentNetwork
from newfound.training.seeding import derive
from newfound.training.trainer import Losses

PROTOTYPE_WIDTH = 128
N_LOSSES = 3  # L_PCL, L_ins and L_CE: without one of them, the others keep their weight


class PrototypeNetwork(IntentNetwork):
    """The joint classifier f and beside it the projection g to the hypersphere on which the prototypes lie."""

    mu: Tensor  # [N + M, 128] prototypes: moved by an average, never by a gradient

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        intents, width = self.classifier.weight.shape
        last, first = self.new_layer(width, PROTOTYPE_WIDTH), self.new_layer(width, width)
        self.projection = nn.Sequential(first, nn.ReLU(), last)
        self.register_buffer("mu", torch.zeros(intents, PROTOTYPE_WIDTH))

    def project(self, x: Tensor) -> Tensor:
        """g(x): unit embeddings z [B, 128]."""
        return F.normalize(self.projection(x).float(), dim=-1)


@dataclass(kw_only=True, eq=False, repr=False)
class DPL(Discoverer):
    """Prototypes between representation and labels: PCL shapes the embedding, the nearest prototype labels it.

    Attributes:
        gamma: Moving average of the prototypes (equation 4); the paper has 0.9.
        tau: Temperature of L_PCL.
        tau_ins: Temperature of L_ins.
        temperature: Temperature of the classifier's cross-entropy; None is 0.1 where the encoder trains, else 0.05.
        start: Start of prototypes and new classifier columns: "balanced" (k-means evened out by Sinkhorn, which the
            alignment assumes anyway), "kmeans", "random" (paper) or "zeros" (released).
        pcl_targets: L_PCL aligns a view with its "own" q (paper) or with the other view's, "swapped" (released).
        ce_targets: The classifier learns its "own" view's pseudo-labels or the other's, "swapped".
        prototype_norm: The prototypes' length is restored per "batch" (released) or per "sample" (paper).
        denominator: Denominator of L_ins: as the "paper" prints it or as the "code" has it.
        loss: "sum" (paper) or "mean" (released) of the three losses; one that is left out counts as zero.
        objectives: The representation losses: "pcl+ins", and for the ablation "pcl", "ins", "scl", "pcl+scl".
        epsilon: Entropy of Sinkhorn-Knopp's assignments: the smaller, the closer to one intent for each utterance.
        sinkhorn_iterations: Rounds in which Sinkhorn-Knopp evens out the sizes of the new intents.
        sizes: What Sinkhorn takes the sizes of the new intents for: "equal" (paper), or "estimated" from the k-means
            clusters that the training starts from, which are then not evened out.
        dense: Whether to add the released code's layer after the pooling.
        layer_std: Standard deviation of the normal distribution that weights of dense layer and projection start from;
            the released code has 0.02. None is torch's default, 0.0295 for vectors of 384 components.
        dropout: Share of the vector's components that are zero in a training step; it makes the two views differ.
        select: Checkpoint by silhouette of "new" (paper) or "all" (released) validation data, or the "last".
    """

    gamma: OpenShare = 0.9
    tau: Positive = 0.1
    tau_ins: Positive = 0.5
    temperature: Positive | None = None
    start: Literal["balanced", "kmeans", "random", "zeros"] = "balanced"
    pcl_targets: Literal["own", "swapped"] = "swapped"
    ce_targets: Literal["own", "swapped"] = "swapped"
    prototype_norm: Literal["batch", "sample"] = "batch"
    denominator: Literal["paper", "code"] = "code"
    loss: Literal["sum", "mean"] = "mean"
    objectives: Literal["pcl+ins", "pcl", "ins", "scl", "pcl+scl"] = "pcl+ins"
    epsilon: Positive = 0.05
    sinkhorn_iterations: Count = 3
    sizes: Literal["equal", "estimated"] = "equal"
    dense: bool = False
    layer_std: Positive | None = None
    dropout: DropoutRate = 0.1
    select: Literal["new", "all", "last"] = "last"

    def check_settings(self, corpus: Corpus) -> None:
        """Refuse what cannot work, before anything is loaded or trained."""
        super().check_settings(corpus)
        check_sizes(self.sizes, self.start)

    def _discover(self, context: FitContext) -> Discovery:
        temperature = self.temperature or default_temperature(context)
        network = context.network(PrototypeNetwork, dense=self.dense, dropout=self.dropout, layer_std=self.layer_std)
        assert isinstance(network, PrototypeNetwork)
        pretrain(context, network, self._pretraining(), temperature=temperature)
        sizes = self._start(context, network)  # line 1
        y, n_known, swaps = context.y.to(context.device), context.n_known, self.ce_targets == "swapped"
        calibrate = partial(align, epsilon=self.epsilon, iterations=self.sinkhorn_iterations, prior=sizes)

        def step(batch: Batch) -> Losses:
            """Lines 5 to 12 of Algorithm 1, for one mini-batch of labelled and unlabelled utterances."""
            network.classifier.normalize_()
            mu, y_batch = network.mu.clone(), y[batch.rows]
            x = network.two_views(context.features, batch)  # [2, B, d]: the second view is the first with new dropout
            z = network.project(x)  # line 6
            logits = F.normalize(x, dim=-1) @ network.classifier.weight.T  # whose rows `normalize_` has made unit
            q = calibrate(logits[..., n_known:].detach(), y_batch, n_known)  # line 7: equation 1

            represent = self._representation_loss(z, q, mu)  # line 8: equations 2 and 3

            labels = disambiguate(z, mu, y_batch, n_known)  # line 9: equations 5 and 6
            targets = one_hot_or_zero(labels, logits.shape[-1])
            classify = cross_entropy(logits, targets.flip(0) if swaps else targets, temperature)  # line 10

            parts = {**represent, "ce": classify}
            total = torch.stack(list(parts.values())).sum()  # line 11
            if self.loss == "mean":
                total = total / N_LOSSES

            aligned, z_both = q.argmax(-1).flatten(), z.detach().flatten(0, 1)  # line 12: equation 4, view 1 first
            network.mu.copy_(move_prototypes(mu, z_both, aligned, self.gamma, normalize=self.prototype_norm))
            return {"loss": total, **parts}

        def embed() -> Tensor:
            with torch.inference_mode():
                return network.project(context.embed(network))

        def pseudo_labels() -> Tensor:
            return disambiguate(embed(), network.mu, y, n_known)

        context.fit(
            "discovery",
            network,
            self._schedule(),
            torch.arange(len(context.y)),
            step,
            after_epoch=lambda epoch: context.watch(Epoch(epoch, pseudo_labels, embed, network.mu)),
            score=None if self.select == "last" else lambda: context.silhouette(network, self.select),
            waits_for_host=self.prototype_norm == "sample",
        )
        return Discovery(network, temperature)

    def _start(self, context: FitContext, network: PrototypeNetwork) -> Tensor | None:
        """Line 1: prototypes at random, at zero, or at the means of clusters and of known intents.

        Returns the estimated share of each new intent, [M]; None for equal shares.
        """
        if self.start == "random":
            generator = torch.Generator().manual_seed(derive(context.seed, "prototypes"))
            network.mu.copy_(F.normalize(torch.randn(network.mu.shape, generator=generator), dim=-1))
        if self.start in ("random", "zeros"):
            return None
        x, ids, shares = start_at_clusters(context, network, start=self.start, sizes=self.sizes)
        with torch.inference_mode():
            means, _ = class_means(network.project(x), ids.to(x.device), len(network.mu))
        network.mu.copy_(means)
        return shares

    def _representation_loss(self, z: Tensor, q: Tensor, mu: Tensor) -> Losses:
        losses = {}
        if "pcl" in self.objectives:
            targets = q.flip(0) if self.pcl_targets == "swapped" else q
            losses["pcl"] = prototypical_contrastive(z, mu, targets, self.tau)
        if "ins" in self.objectives:
            losses["ins"] = instance_contrastive(z[0], z[1], self.tau_ins, denominator=self.denominator)
        if "scl" in self.objectives:
            losses["scl"] = supervised_contrastive(z.flatten(0, 1), q.argmax(-1).flatten(), self.tau)
        return losses
