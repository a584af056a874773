"""DeepAligned (Zhang et al., AAAI 2021) as the paper uses it for Generalized Intent Discovery.

Cluster the unlabelled utterances, train on the clusters as labels, cluster again. k-means numbers its clusters
anew every time, so each clustering is aligned with the one before it. In the end, one classifier is trained on known
labels and cluster labels together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.clustering import align_clusters, kmeans
from newfound.data.corpus import Corpus
from newfound.encoders.ragged import Batch
from newfound.errors import SettingsError
from newfound.methods.base import Discoverer, check_choice, check_positive
from newfound.methods.job import MOST_VALIDATION_ROWS, Job
from newfound.methods.supervised import default_temperature, pretrain, start_classifier, train_on_labels
from newfound.metrics import silhouette_on_device
from newfound.network import IntentNetwork
from newfound.training.seeding import derive
from newfound.training.trainer import Losses, Trainer


class ClusteredNetwork(IntentNetwork):
    """A network and the clustering that it is trained on; both are kept together in a checkpoint."""

    pseudo: Tensor  # [n] aligned cluster of every row, as an id over known and new intents; -1 for none
    centres: Tensor  # [clusters, d] of unit vectors

    def __init__(self, *args: Any, rows: int, clusters: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.register_buffer("pseudo", torch.full((rows,), -1))
        self.register_buffer("centres", torch.zeros(clusters, self.classifier.weight.shape[1]))


@dataclass(kw_only=True, eq=False, repr=False)
class DeepAligned(Discoverer):
    """Deep aligned clustering of the unlabelled utterances, then a joint classifier.

    epochs           of clustering and training on the clusters in turn (none over a frozen encoder, whose vectors
                     do not change); joint_epochs: of the joint classifier after it
    restarts         of each k-means
    select           keep the clustering with the best "silhouette" (as published) or the "last"
    temperature      of the cosine classifier's cross-entropy; dropout: on the vector
    """

    restarts: int = 10
    joint_epochs: int = 50
    select: Literal["silhouette", "last"] = "silhouette"
    temperature: float | None = None
    dropout: float = 0.1

    def check_settings(self, corpus: Corpus) -> None:
        super().check_settings(corpus)
        check_positive(self, "restarts", "joint_epochs", "temperature")
        check_choice(self, "select", "silhouette", "last")
        if not 0 <= self.dropout < 1:
            raise SettingsError(f"dropout={self.dropout} must lie in [0, 1)")

    def _discover(self, job: Job) -> tuple[IntentNetwork, float]:
        temperature = self.temperature or default_temperature(job)

        def build(*args: Any, **kwargs: Any) -> ClusteredNetwork:
            return ClusteredNetwork(*args, rows=len(job.y), clusters=job.n_new, **kwargs)

        network = job.network(build, dropout=self.dropout)
        assert isinstance(network, ClusteredNetwork)
        pretrain(job, network, self._pretraining(), temperature=temperature)
        self._cluster(job, network, "first")
        if job.tune.layers:
            self._train_on_clusters(job, network, temperature)

        y = torch.where(job.y >= 0, job.y, network.pseudo.cpu())
        start_classifier(network, job.embed(network), y)
        joint = replace(self._schedule(), epochs=self.joint_epochs)
        columns = job.n_known + job.n_new
        train_on_labels(job, network, y, joint, stage="joint training", columns=columns, temperature=temperature)
        return network, temperature

    def _cluster(self, job: Job, network: ClusteredNetwork, when: str | int) -> Tensor:
        """Cluster the unlabelled rows, aligned with the clustering before; returns their unit vectors."""
        rows = job.unlabelled_rows.to(job.device)
        x = F.normalize(job.embed(network)[rows].float(), dim=-1)
        found = kmeans(x, job.n_new, restarts=self.restarts, seed=derive(job.seed, "k-means", when))
        if when != "first":
            found = align_clusters(found, network.centres)
        network.centres.copy_(found.centres)
        network.pseudo[rows] = job.n_known + found.labels
        return x

    def _train_on_clusters(self, job: Job, network: ClusteredNetwork, temperature: float) -> None:
        with torch.no_grad():
            network.classifier.weight[job.n_known :] = F.normalize(network.centres, dim=-1)
        silhouette = 0.0

        def step(batch: Batch) -> Losses:
            network.classifier.normalize_()
            logits = network.classifier(network(job.features, batch))[:, job.n_known :]
            return {"loss": F.cross_entropy(logits.float() / temperature, network.pseudo[batch.rows] - job.n_known)}

        def cluster_again(epoch: int) -> dict[str, float]:
            nonlocal silhouette
            before = network.pseudo.clone()
            x = self._cluster(job, network, epoch)[:MOST_VALIDATION_ROWS]
            unlabelled = job.unlabelled_rows[: len(x)].to(job.device)
            clusters = network.pseudo[unlabelled] - job.n_known
            silhouette = float(silhouette_on_device(x, clusters, job.n_new))
            job.snapshot(epoch, lambda: job.embed(network), network.centres)
            changed = float((network.pseudo != before).float().mean()) * len(before) / len(job.unlabelled_rows)
            return {"changed": changed, "silhouette": silhouette, **job.pseudo_label_accuracy(network.pseudo)}

        trainer = Trainer("discovery", network, self._schedule(), seed=job.seed, device=job.device, run=job.run)
        job.history["discovery"] = trainer.fit(
            job.unlabelled_rows,
            job.lengths,
            step,
            after_epoch=cluster_again,
            score=None if self.select == "last" else lambda: silhouette,
        )
