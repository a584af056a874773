"""DeepAligned-Mix (Mou et al., COLING 2022): known and unlabelled utterances are clustered together.

Every epoch clusters everything into N + M clusters, aligns them with those of the epoch before and trains one
cross-entropy on them. The labels of the known utterances only name the clusters, before the first epoch and after
the last. The classifier head that was trained predicts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.assignment import class_means
from newfound.clustering import align_clusters, kmeans
from newfound.data.corpus import Corpus
from newfound.encoders.ragged import Batch
from newfound.errors import SettingsError
from newfound.methods.base import Discoverer, check_positive
from newfound.methods.deepaligned import ClusteredNetwork
from newfound.methods.job import Job
from newfound.methods.supervised import default_temperature, pretrain
from newfound.metrics import match_clusters
from newfound.network import IntentNetwork
from newfound.training.seeding import derive
from newfound.training.trainer import Losses, Trainer


@dataclass(kw_only=True, eq=False, repr=False)
class DeepAlignedMix(Discoverer):
    """Deep aligned clustering of known and unlabelled utterances together, with one cross-entropy.

    epochs           of clustering and training on the clusters in turn
    restarts         of each k-means
    temperature      of the cosine classifier's cross-entropy; dropout: on the vector
    """

    restarts: int = 10
    temperature: float | None = None
    dropout: float = 0.1

    def check_settings(self, corpus: Corpus) -> None:
        super().check_settings(corpus)
        check_positive(self, "restarts", "temperature")
        if not 0 <= self.dropout < 1:
            raise SettingsError(f"dropout={self.dropout} must lie in [0, 1)")

    def _discover(self, job: Job) -> tuple[IntentNetwork, float]:
        temperature = self.temperature or default_temperature(job)
        columns = job.n_known + job.n_new

        def build(*args: Any, **kwargs: Any) -> ClusteredNetwork:
            return ClusteredNetwork(*args, rows=len(job.y), clusters=columns, **kwargs)

        network = job.network(build, dropout=self.dropout)
        assert isinstance(network, ClusteredNetwork)
        pretrain(job, network, self._pretraining(), temperature=temperature)
        known, _ = class_means(job.embed(network), job.y.to(job.device), job.n_known)
        self._cluster(job, network, known, "first")
        with torch.no_grad():
            network.classifier.weight.copy_(F.normalize(network.centres, dim=-1))

        def step(batch: Batch) -> Losses:
            network.classifier.normalize_()
            logits = network.classifier(network(job.features, batch))
            return {"loss": F.cross_entropy(logits.float() / temperature, network.pseudo[batch.rows])}

        def cluster_again(epoch: int) -> dict[str, float]:
            before = network.pseudo.clone()
            if job.tune.layers:  # over a frozen encoder the vectors, and so the clusters, do not change
                self._cluster(job, network, network.centres, epoch)
            job.snapshot(epoch, lambda: job.embed(network), network.centres)
            changed = float((network.pseudo != before).float().mean())
            return {"changed": changed, **job.pseudo_label_accuracy(network.pseudo)}

        trainer = Trainer("discovery", network, self._schedule(), seed=job.seed, device=job.device, run=job.run)
        job.history["discovery"] = trainer.fit(torch.arange(len(job.y)), job.lengths, step, after_epoch=cluster_again)
        _name_columns(job, network)
        return network, temperature

    def _cluster(self, job: Job, network: ClusteredNetwork, reference: Tensor, when: str | int) -> None:
        """Cluster all rows; clusters take the numbers of the reference centres that they match."""
        x = F.normalize(job.embed(network).float(), dim=-1)
        clusters = len(network.centres)
        found = kmeans(x, clusters, restarts=self.restarts, seed=derive(job.seed, "k-means", when))
        found = align_clusters(found, reference)
        network.centres.copy_(found.centres)
        network.pseudo.copy_(found.labels)


@torch.no_grad()
def _name_columns(job: Job, network: IntentNetwork) -> None:
    """Reorder the classifier's columns: each known intent gets the column that its utterances are predicted with."""
    rows = job.known_rows
    predicted = network.classifier(job.embed(network)[rows.to(job.device)]).argmax(1).cpu()
    column_of = {intent: column for column, intent in match_clusters(job.y[rows].numpy(), predicted.numpy()).items()}
    free = [c for c in range(job.n_known + job.n_new) if c not in column_of.values()]
    order = [column_of[i] if i in column_of else free.pop(0) for i in range(job.n_known)] + free
    network.classifier.weight.copy_(network.classifier.weight[order].clone())
