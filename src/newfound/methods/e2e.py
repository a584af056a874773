"""E2E (Mou et al., "Generalized Intent Discovery", COLING 2022): pseudo-labels and classifier in one loss.

One head for the known intents, several for the new ones. The pseudo-label of an unlabelled utterance is the
Sinkhorn assignment of its other view; one cross-entropy over known and new columns trains everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from newfound.assignment import align
from newfound.data.corpus import Corpus
from newfound.encoders.ragged import Batch
from newfound.errors import SettingsError
from newfound.methods.base import Discoverer, check_choice, check_positive
from newfound.methods.job import Job
from newfound.methods.supervised import cluster, default_temperature, pretrain, start_classifier
from newfound.network import IntentNetwork
from newfound.objectives import cross_entropies
from newfound.training.trainer import Losses, Trainer


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

    heads          parallel heads for the new intents; overcluster: columns of the extra heads, in multiples of M
    temperature    of the cross-entropy; epsilon: of Sinkhorn-Knopp, with its number of iterations
    start          of the new heads: "random" as published, "kmeans" or "balanced"
    select         checkpoint by silhouette of "new" or "all" validation data, or the "last"
    dense          the released code's layer after the pooling; dropout: on the vector, makes the two views
    """

    heads: int = 4
    overcluster: int = 3
    temperature: float | None = None
    epsilon: float = 0.05
    sinkhorn_iterations: int = 3
    start: Literal["random", "kmeans", "balanced"] = "random"
    select: Literal["new", "all", "last"] = "last"
    dense: bool = False
    dropout: float = 0.1

    def check_settings(self, corpus: Corpus) -> None:
        super().check_settings(corpus)
        check_positive(self, "heads", "temperature", "epsilon", "sinkhorn_iterations")
        check_choice(self, "start", "random", "kmeans", "balanced")
        check_choice(self, "select", "new", "all", "last")
        if self.overcluster < 0:
            raise SettingsError(f"overcluster={self.overcluster} must be 0 (none) or more")

    def _discover(self, job: Job) -> tuple[IntentNetwork, float]:
        temperature = self.temperature or default_temperature(job)

        def build(*args: Any, **kwargs: Any) -> MultiHeadNetwork:
            return MultiHeadNetwork(*args, n_new=job.n_new, heads=self.heads, over=self.overcluster, **kwargs)

        network = job.network(build, dense=self.dense, dropout=self.dropout)
        assert isinstance(network, MultiHeadNetwork)
        pretrain(job, network, self._pretraining(), temperature=temperature)
        if self.start != "random":
            x = job.embed(network)
            start_classifier(network, x, cluster(x, job, balanced=self.start == "balanced"))
            with torch.no_grad():
                network.new_heads.copy_(network.classifier.weight[job.n_known :].expand_as(network.new_heads))
        y = job.y.to(job.device)

        def step(batch: Batch) -> Losses:
            network.normalize_()
            y_batch = y[batch.rows]
            x = F.normalize(network.two_views(job.features, batch), dim=-1)  # [2, B, d]
            known_logits = x @ network.classifier.weight[: job.n_known].T  # [2, B, N]
            by_head = self._swapped(x, known_logits, network.new_heads, y_batch, temperature)  # [H]
            network.head_loss += by_head.detach()
            losses = {"ce": by_head.mean()}
            if self.overcluster:
                over = self._swapped(x, known_logits, network.over_heads, y_batch, temperature)
                losses["over"] = over.mean()
            return {"loss": torch.stack(list(losses.values())).mean(), **losses}

        def after_epoch(epoch: int) -> dict[str, float]:
            network.adopt_best_head(job.n_known)
            network.head_loss.zero_()
            return self._observe(job, network, epoch)

        trainer = Trainer("discovery", network, self._schedule(), seed=job.seed, device=job.device, run=job.run)
        job.history["discovery"] = trainer.fit(
            torch.arange(len(job.y)),
            job.lengths,
            step,
            after_epoch=after_epoch,
            score=None if self.select == "last" else lambda: job.silhouette(network, self.select),
        )
        return network, temperature

    def _swapped(self, x: Tensor, known_logits: Tensor, heads: Tensor, y: Tensor, temperature: float) -> Tensor:
        """Per head [H]: each view's unified logits learn the assignment of the other view."""
        new_logits = torch.einsum("vbd,hmd->vhbm", x, heads.to(x.dtype))  # [2, H, B, M]
        n_known = known_logits.shape[-1]
        q = align(new_logits.detach(), y, n_known, epsilon=self.epsilon, iterations=self.sinkhorn_iterations)
        known = known_logits[:, None].expand(-1, heads.shape[0], -1, -1)
        logits = torch.cat([known, new_logits], dim=-1)  # [2, H, B, N + M]
        return cross_entropies(logits, q.flip(0), temperature).mean(dim=(0, 2))

    def _observe(self, job: Job, network: MultiHeadNetwork, epoch: int) -> dict[str, float]:
        new = network.classifier.weight[job.n_known :]
        seen: dict[str, float] = {}
        if job.watch.gold is not None:
            with torch.inference_mode():
                ids = job.n_known + (F.normalize(job.embed(network), dim=-1) @ new.T).argmax(-1)
            seen |= job.pseudo_label_accuracy(ids)
        job.snapshot(epoch, lambda: job.embed(network), network.classifier.weight.detach())
        return seen
