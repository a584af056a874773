"""DeepAligned-Mix (Mou et al., COLING 2022): known and unlabelled utterances are clustered together.

Every epoch clusters everything into N + M clusters, aligns them with those of the epoch before and trains one
cross-entropy on them. The labels of the known utterances only name the clusters, before the first epoch and after
the last. The classifier head that was trained predicts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F

from newfound.algorithms.assignment import class_means
from newfound.algorithms.metrics import match_clusters
from newfound.encoders.ragged import Batch
from newfound.methods.base import Discoverer
from newfound.methods.context import Discovery, FitContext
from newfound.methods.deepaligned import ClusteredNetwork, cluster_rows, epoch_of
from newfound.methods.settings import Count, DropoutRate, Positive
from newfound.methods.supervised import default_temperature, pretrain
from newfound.model.network import IntentNetwork
from newfound.training.trainer import Losses


@dataclass(kw_only=True, eq=False, repr=False)
class DeepAlignedMix(Discoverer):
    """Deep aligned clustering of known and unlabelled utterances together, with one cross-entropy.

    Attributes:
        epochs: Epochs of clustering and training on the clusters in turn.
        restarts: Starts of each k-means, of which the best is taken.
        temperature: Temperature of the cosine classifier's softmax in training; lower is sharper. None is 0.1 where the
            encoder trains, else 0.05.
        dropout: Share of the vector's components that are zero in a training step.
    """

    restarts: Count = 10
    temperature: Positive | None = None
    dropout: DropoutRate = 0.1

    def _discover(self, context: FitContext) -> Discovery:
        temperature = self.temperature or default_temperature(context)
        columns = context.n_known + context.n_new
        build = partial(ClusteredNetwork, rows=len(context.y), clusters=columns)
        network = context.network(build, dropout=self.dropout)
        assert isinstance(network, ClusteredNetwork)
        pretrain(context, network, self._pretraining(), temperature=temperature)
        known, _ = class_means(context.embed(network), context.y.to(context.device), context.n_known)
        rows = torch.arange(len(context.y), device=context.device)
        cluster = partial(cluster_rows, context, network, rows, restarts=self.restarts)
        cluster(when="first", reference=known)
        with torch.no_grad():
            network.classifier.weight.copy_(F.normalize(network.centres, dim=-1))

        def step(batch: Batch) -> Losses:
            network.classifier.normalize_()
            logits = network.classifier(network(context.features, batch))
            return {"loss": F.cross_entropy(logits.float() / temperature, network.pseudo[batch.rows])}

        def cluster_again(epoch: int) -> dict[str, float]:
            before = network.pseudo.clone()
            if context.tune.layers:  # over a frozen encoder the vectors, and so the clusters, do not change
                cluster(when=epoch, reference=network.centres)
            changed = float((network.pseudo != before).float().mean())
            return {"changed": changed, **context.watch(epoch_of(context, network, epoch))}

        context.fit("discovery", network, self._schedule(), rows.cpu(), step, after_epoch=cluster_again)
        _name_columns(context, network)
        return Discovery(network, temperature)


@torch.no_grad()
def _name_columns(context: FitContext, network: IntentNetwork) -> None:
    """Reorder the classifier's columns: each known intent gets the column that its utterances are predicted with."""
    rows = context.known_rows
    predicted = network.classifier(context.embed(network)[rows.to(context.device)]).argmax(1).cpu()
    matched = match_clusters(context.y[rows].numpy(), predicted.numpy())
    column_of = {intent: column for column, intent in matched.items()}
    free = [c for c in range(context.n_known + context.n_new) if c not in column_of.values()]
    order = [column_of[i] if i in column_of else free.pop(0) for i in range(context.n_known)] + free
    network.classifier.weight.copy_(network.classifier.weight[order].clone())
