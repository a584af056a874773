"""Decoupled Prototype Learning (Mou et al., ACL 2023): Algorithm 1 of the paper.

Where the paper and the authors' released code differ, a setting chooses; `DPL.preset("paper")` and
`DPL.preset("released")` set each group as one. The defaults are what scored best on fresh class partitions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from newfound.assignment import align, class_means, disambiguate, move_prototypes, one_hot_or_zero
from newfound.data.corpus import Corpus
from newfound.encoders.ragged import Batch
from newfound.errors import SettingsError
from newfound.methods.base import Discoverer, check_choice, check_positive
from newfound.methods.job import Job
from newfound.methods.supervised import cluster, default_temperature, pretrain, start_classifier
from newfound.network import IntentNetwork
from newfound.objectives import (
    cross_entropy,
    instance_contrastive,
    prototypical_contrastive,
    supervised_contrastive,
    swapped_prediction,
)
from newfound.training.trainer import Losses, Trainer

PROTOTYPE_WIDTH = 128


class PrototypeNetwork(IntentNetwork):
    """The joint classifier f and beside it the projection g to the hypersphere on which the prototypes lie."""

    mu: Tensor  # [N + M, 128] prototypes: moved by an average, never by a gradient

    def __init__(self, *args: Any, projection: Literal["linear", "mlp"] = "mlp", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        intents, width = self.classifier.weight.shape
        last = nn.Linear(width, PROTOTYPE_WIDTH)
        self.projection = nn.Sequential(nn.Linear(width, width), nn.ReLU(), last) if projection == "mlp" else last
        for module in self.projection.modules():
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)  # vectors have unit length: a random bias would drown them
        self.register_buffer("mu", torch.zeros(intents, PROTOTYPE_WIDTH))

    def project(self, x: Tensor) -> Tensor:
        """g(x): unit embeddings z [B, 128]."""
        return F.normalize(self.projection(x).float(), dim=-1)


@dataclass(kw_only=True, eq=False, repr=False)
class DPL(Discoverer):
    """Prototypes between representation and labels: PCL shapes the embedding, the nearest prototype labels it.

    gamma            moving average of the prototypes (eq. 4); prototype_norm: length restored per batch or sample
    tau              temperature of L_PCL; tau_ins of L_ins; temperature of the classifier's cross-entropy
    start            of prototypes and new classifier columns: "balanced" (k-means evened out by Sinkhorn, which the
                     alignment assumes anyway), "kmeans", "random" (paper) or "zeros" (released)
    pcl_targets      L_PCL aligns a view with its "own" q (paper) or with the other view's, "swapped" (released)
    ce_targets       the classifier learns its "own" view's pseudo-labels or the other's, "swapped"
    denominator      of L_ins: as the "paper" prints it or as the "code" has it
    loss             "sum" (paper) or "mean" (released) of the three losses
    objectives       which representation losses: "pcl+ins", and for the ablation "pcl", "ins", "scl", "pcl+scl"
    epsilon          of Sinkhorn-Knopp, with its number of iterations
    projection       "mlp" or "linear"; dense: the released code's layer after the pooling; dropout: on the vector
    select           checkpoint by silhouette of "new" (paper) or "all" (released) validation data, or the "last"
    """

    gamma: float = 0.9
    tau: float = 0.1
    tau_ins: float = 0.5
    temperature: float | None = None
    start: Literal["balanced", "kmeans", "random", "zeros"] = "balanced"
    pcl_targets: Literal["own", "swapped"] = "swapped"
    ce_targets: Literal["own", "swapped"] = "swapped"
    prototype_norm: Literal["batch", "sample"] = "batch"
    denominator: Literal["paper", "code"] = "code"
    loss: Literal["sum", "mean"] = "mean"
    objectives: Literal["pcl+ins", "pcl", "ins", "scl", "pcl+scl"] = "pcl+ins"
    epsilon: float = 0.05
    sinkhorn_iterations: int = 3
    projection: Literal["mlp", "linear"] = "mlp"
    dense: bool = False
    dropout: float = 0.1
    select: Literal["new", "all", "last"] = "last"

    PRESETS: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {
            "tau": 0.5,
            "tau_ins": 0.5,
            "temperature": 0.1,
            "start": "random",
            "pcl_targets": "own",
            "ce_targets": "own",
            "prototype_norm": "sample",
            "denominator": "paper",
            "loss": "sum",
            "select": "new",
            "lr": 0.02,
            "min_lr": 0.01,
        },
        "released": {
            "gamma": 0.9,
            "tau": 0.1,
            "tau_ins": 0.5,
            "temperature": 0.1,
            "start": "zeros",
            "pcl_targets": "swapped",
            "ce_targets": "swapped",
            "prototype_norm": "batch",
            "denominator": "code",
            "loss": "mean",
            "select": "all",
            "pooling": "padded-mean",
            "max_length": 55,
            "dense": True,
            "trunk_dropout": True,
            "lr": 0.02,
            "min_lr": 0.001,
        },
    }

    @classmethod
    def preset(cls, name: str, **settings: Any) -> Self:
        """The settings of the `paper` or of the `released` code as one group; single ones can be overruled."""
        if name not in cls.PRESETS:
            raise SettingsError(f"no preset {name!r}; one of {', '.join(cls.PRESETS)}")
        return cls(**{**cls.PRESETS[name], **settings})

    def check_settings(self, corpus: Corpus) -> None:
        super().check_settings(corpus)
        if not 0 < self.gamma < 1:
            raise SettingsError(f"gamma={self.gamma} must lie strictly between 0 and 1; the paper has 0.9")
        check_positive(self, "tau", "tau_ins", "temperature", "epsilon", "sinkhorn_iterations")
        if not 0 <= self.dropout < 1:
            raise SettingsError(f"dropout={self.dropout} must lie in [0, 1)")
        check_choice(self, "start", "balanced", "kmeans", "random", "zeros")
        check_choice(self, "objectives", "pcl+ins", "pcl", "ins", "scl", "pcl+scl")
        check_choice(self, "select", "new", "all", "last")
        for setting in ("pcl_targets", "ce_targets"):
            check_choice(self, setting, "own", "swapped")
        check_choice(self, "prototype_norm", "batch", "sample")
        check_choice(self, "denominator", "paper", "code")
        check_choice(self, "loss", "sum", "mean")
        check_choice(self, "projection", "mlp", "linear")

    def _discover(self, job: Job) -> tuple[IntentNetwork, float]:
        temperature = self.temperature or default_temperature(job)
        network = job.network(self._build, dense=self.dense, dropout=self.dropout)
        assert isinstance(network, PrototypeNetwork)
        pretrain(job, network, self._pretraining(), temperature=temperature)
        self._start(job, network)  # line 1
        y, n_known = job.y.to(job.device), job.n_known

        def step(batch: Batch) -> Losses:
            """Lines 5 to 12 of Algorithm 1, for one mini-batch of labelled and unlabelled utterances."""
            network.classifier.normalize_()
            mu, y_batch = network.mu.clone(), y[batch.rows]
            x = network.two_views(job.features, batch)  # [2, B, d]: the second view is the first with new dropout
            z = network.project(x)  # line 6
            logits = network.classifier(x)
            q = self._align(logits, y_batch, n_known)  # line 7: equation 1

            represent = self._representation_loss(z, q, mu)  # line 8: equations 2 and 3

            labels = disambiguate(z, mu, y_batch, n_known)  # line 9: equations 5 and 6
            classify = self._classifier_loss(logits, labels, temperature)  # line 10

            parts = {**represent, "ce": classify}
            total = torch.stack(list(parts.values())).sum()  # line 11
            if self.loss == "mean":
                total = total / len(parts)

            aligned, z_both = q.argmax(-1).flatten(), z.detach().flatten(0, 1)  # line 12: equation 4, view 1 first
            network.mu.copy_(move_prototypes(mu, z_both, aligned, self.gamma, normalize=self.prototype_norm))
            return {"loss": total, **parts}

        trainer = Trainer("discovery", network, self._schedule(), seed=job.seed, device=job.device, run=job.run)
        job.history["discovery"] = trainer.fit(
            torch.arange(len(job.y)),
            job.lengths,
            step,
            after_epoch=self._observer(job, network),
            score=None if self.select == "last" else lambda: job.silhouette(network, self.select),
        )
        return network, temperature

    def _build(self, *args: Any, **kwargs: Any) -> PrototypeNetwork:
        return PrototypeNetwork(*args, projection=self.projection, **kwargs)

    def _start(self, job: Job, network: PrototypeNetwork) -> None:
        """Line 1: prototypes at random, at zero, or at the means of clusters and of known intents."""
        if self.start == "random":
            network.mu.copy_(F.normalize(torch.randn_like(network.mu), dim=-1))
        if self.start in ("random", "zeros"):
            return
        x = job.embed(network)
        ids = cluster(x, job, balanced=self.start == "balanced")
        start_classifier(network, x, ids)
        with torch.inference_mode():
            means, _ = class_means(network.project(x), ids.to(x.device), len(network.mu))
        network.mu.copy_(means)

    def _align(self, logits: Tensor, y: Tensor, n_known: int) -> Tensor:
        new = logits[..., n_known:].detach()  # [2, B, M]
        return align(new, y, n_known, epsilon=self.epsilon, iterations=self.sinkhorn_iterations)

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

    def _classifier_loss(self, logits: Tensor, labels: Tensor, temperature: float) -> Tensor:
        targets = one_hot_or_zero(labels, logits.shape[-1])
        if self.ce_targets == "swapped":
            return swapped_prediction(logits, targets, temperature)
        return cross_entropy(logits, targets, temperature)

    def _observer(self, job: Job, network: PrototypeNetwork) -> Any:
        """After an epoch: how far prototypes moved and, where an analysis asks for it, how good pseudo-labels are."""
        before = network.mu.clone()
        y = job.y.to(job.device)

        def project() -> Tensor:
            with torch.inference_mode():
                return network.project(job.embed(network))

        def observe(epoch: int) -> dict[str, float]:
            moved = (network.mu - before).norm(dim=-1).mean()
            before.copy_(network.mu)
            seen = {"prototype_movement": float(moved)}
            if job.watch.gold is not None:
                seen |= job.pseudo_label_accuracy(disambiguate(project(), network.mu, y, job.n_known))
            job.snapshot(epoch, project, network.mu)
            return seen

        return observe
