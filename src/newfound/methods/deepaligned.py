"""DeepAligned (Zhang et al., AAAI 2021) as the paper uses it for Generalized Intent Discovery.

Cluster the unlabelled utterances, train on the clusters as labels, cluster again. k-means numbers its clusters
anew every time, so each clustering is aligned with the one before it. In the end, one classifier is trained on known
labels and cluster labels together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.clustering import align_clusters, kmeans
from newfound.algorithms.metrics import silhouette_on_device
from newfound.encoders.ragged import Batch
from newfound.methods.base import Discoverer
from newfound.methods.context import MAX_VALIDATION_ROWS, Discovery, Epoch, FitContext
from newfound.methods.settings import Count, DropoutRate, Positive
from newfound.methods.supervised import default_temperature, pretrain, start_classifier, train_on_labels
from newfound.model.network import IntentNetwork
from newfound.training.schedule import AdamWSchedule, Optimization, Schedule
from newfound.training.seeding import derive
from newfound.training.trainer import Losses


class ClusteredNetwork(IntentNetwork):
    """A network and the clustering that it is trained on; both are kept together in a checkpoint."""

    pseudo: Tensor  # [n] aligned cluster of every row, as an id over known and new intents; -1 for none
    centres: Tensor  # [clusters, d]

    def __init__(self, *args: Any, rows: int, clusters: int, linear: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.linear = self.new_layer(self.classifier.weight.shape[1], clusters) if linear else None
        self.register_buffer("pseudo", torch.full((rows,), -1))
        self.register_buffer("centres", torch.zeros(clusters, self.classifier.weight.shape[1]))


def cluster_rows(
    context: FitContext,
    network: ClusteredNetwork,
    rows: Tensor,
    *,
    restarts: int,
    when: str | int,
    reference: Tensor | None = None,
    unit: bool = True,
) -> Tensor:
    """Cluster rows of the corpus into the last intents, and return their vectors, [rows, d], of length one if `unit`.

    Clusters take the numbers of the reference centres that they match.
    """
    x = context.embed(network)[rows].float()
    x = F.normalize(x, dim=-1) if unit else x
    clusters = len(network.centres)
    clustering = kmeans(x, clusters, restarts=restarts, seed=derive(context.seed, "k-means", when))
    if reference is not None:
        clustering = align_clusters(clustering, reference)
    network.centres.copy_(clustering.centres)
    network.pseudo[rows] = len(network.classifier.weight) - clusters + clustering.labels
    return x


def epoch_of(context: FitContext, network: ClusteredNetwork, number: int) -> Epoch:
    """Return the network after an epoch, for an analysis."""
    return Epoch(number, lambda: network.pseudo, lambda: context.embed(network), network.centres)


@dataclass(kw_only=True, eq=False, repr=False)
class DeepAligned(Discoverer):
    """Deep aligned clustering of the unlabelled utterances, then a joint classifier.

    Attributes:
        epochs: Epochs of clustering and training on the clusters in turn; none over a frozen encoder, whose
            vectors stay.
        joint_epochs: Epochs of the joint classifier after that.
        restarts: Starts of each k-means, of which the best is taken.
        select: Keep the clustering with the best "silhouette" (as published) or the "last".
        temperature: Temperature of the cosine classifier's softmax in training; lower is sharper. None is 0.1 where the
            encoder trains, else 0.05.
        dropout: Share of the vector's components that are zero in a training step.
        optimizer: Optimiser of pre-training and of the training on clusters: "sgd", or "adamw" with `lr` and
            `pretrain_lr` for all layers that train.
        head: Head that learns the clusters: the joint "cosine" classifier, or a "linear" one of its own (as published).
        vectors: k-means and the silhouette get vectors of "unit" length, or "raw" ones (as published).
        dense: Whether to add the released code's layer after the pooling.
        layer_std: Standard deviation of the normal distribution that the weights of this layer and of a linear head
            start from; the released code has 0.02. None is torch's default.
        patience: Stop after this many epochs without a better silhouette; None trains all epochs.
    """

    restarts: Count = 10
    joint_epochs: Count = 50
    select: Literal["silhouette", "last"] = "silhouette"
    temperature: Positive | None = None
    dropout: DropoutRate = 0.1
    optimizer: Literal["sgd", "adamw"] = "sgd"
    head: Literal["cosine", "linear"] = "cosine"
    vectors: Literal["unit", "raw"] = "unit"
    dense: bool = False
    layer_std: Positive | None = None
    patience: Count | None = None

    def _discover(self, context: FitContext) -> Discovery:
        temperature = self.temperature or default_temperature(context)
        linear = self.head == "linear"
        build = partial(ClusteredNetwork, rows=len(context.y), clusters=context.n_new, linear=linear)
        network = context.network(build, dense=self.dense, dropout=self.dropout, layer_std=self.layer_std)
        assert isinstance(network, ClusteredNetwork)
        pretrain(context, network, self._optimization(self._pretraining()), temperature=temperature)
        rows = context.unlabelled_rows.to(context.device)
        cluster = partial(cluster_rows, context, network, rows, restarts=self.restarts, unit=self.vectors == "unit")
        cluster(when="first")
        if context.tune.layers:
            self._train_on_clusters(context, network, rows, temperature, cluster)
        else:
            context.history["discovery"] = [{"epoch": 0.0, **context.watch(epoch_of(context, network, 0))}]

        y = torch.where(context.y >= 0, context.y, network.pseudo.cpu())
        start_classifier(network, context.embed(network), y)
        sgd = self._schedule() if self.optimizer == "sgd" else Schedule(epochs=self.joint_epochs)
        joint = replace(sgd, epochs=self.joint_epochs)
        columns = context.n_known + context.n_new
        train_on_labels(context, network, y, joint, stage="joint training", columns=columns, temperature=temperature)
        return Discovery(network, temperature)

    def _train_on_clusters(
        self,
        context: FitContext,
        network: ClusteredNetwork,
        rows: Tensor,
        temperature: float,
        cluster: Callable[..., Tensor],
    ) -> None:
        with torch.no_grad():
            network.classifier.weight[context.n_known :] = F.normalize(network.centres, dim=-1)
        silhouette = 0.0

        def step(batch: Batch) -> Losses:
            network.classifier.normalize_()
            x = network(context.features, batch)
            if network.linear is None:
                logits = network.classifier(x)[:, context.n_known :].float() / temperature
            else:
                logits = network.linear(x).float()
            return {"loss": F.cross_entropy(logits, network.pseudo[batch.rows] - context.n_known)}

        def cluster_again(epoch: int) -> dict[str, float]:
            nonlocal silhouette
            before = network.pseudo.clone()
            x = cluster(when=epoch, reference=network.centres)[:MAX_VALIDATION_ROWS]
            clusters = network.pseudo[rows[: len(x)]] - context.n_known
            silhouette = float(silhouette_on_device(x, clusters, context.n_new))
            changed = float((network.pseudo != before).float().mean()) * len(before) / len(rows)
            watched = context.watch(epoch_of(context, network, epoch))
            return {"changed": changed, "silhouette": silhouette, **watched}

        context.fit(
            "discovery",
            network,
            self._optimization(self._schedule()),
            context.unlabelled_rows,
            step,
            after_epoch=cluster_again,
            score=None if self.select == "last" else lambda: silhouette,
            patience=self.patience,
        )

    def _optimization(self, schedule: Schedule) -> Optimization:
        """Return the optimiser and the rates of a stage."""
        if self.optimizer == "sgd":
            return schedule
        rates = {"lr": schedule.lr, "head_lr": schedule.lr}
        return AdamWSchedule(epochs=schedule.epochs, batch_size=schedule.batch_size, **rates)
