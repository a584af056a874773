"""Training the network on given labels: pre-training on the known intents, and the last stage of pipelines."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.assignment import class_means
from newfound.clustering import balance, kmeans
from newfound.encoders.ragged import Batch
from newfound.methods.job import Job
from newfound.network import IntentNetwork
from newfound.training.schedule import Schedule
from newfound.training.seeding import derive
from newfound.training.trainer import Losses, Trainer

TEMPERATURE = 0.1  # the released code's
FROZEN_TEMPERATURE = 0.05  # vectors that cannot move need a sharper softmax: +3 points of IND ACC (fresh partitions)


def default_temperature(job: Job) -> float:
    return TEMPERATURE if job.tune.layers else FROZEN_TEMPERATURE


def cluster(x: Tensor, job: Job, restarts: int = 10, *, balanced: bool = False) -> Tensor:
    """Ids of all rows: known labels as they are, k-means clusters of x [n, d] for the unlabelled rows (CPU).

    `balanced` evens out the clusters' sizes.
    """
    rows = job.unlabelled_rows
    points = F.normalize(x[rows.to(x.device)].float(), dim=-1)
    found = kmeans(points, job.n_new, restarts=restarts, seed=derive(job.seed, "k-means"))
    ids = job.y.clone()
    ids[rows] = job.n_known + (balance(points, found.centres) if balanced else found.labels).cpu()
    return ids


def train_on_labels(
    job: Job,
    network: IntentNetwork,
    y: Tensor,
    schedule: Schedule,
    *,
    stage: str,
    columns: int,
    temperature: float,
) -> None:
    """Cross-entropy of the first `columns` cosine logits on the rows that have a label in `y` (CPU, -1 for none)."""
    target = y.to(job.device)

    def step(batch: Batch) -> Losses:
        network.classifier.normalize_()
        logits = network.classifier(network(job.features, batch))[:, :columns]
        return {"loss": F.cross_entropy(logits.float() / temperature, target[batch.rows])}

    trainer = Trainer(stage, network, schedule, seed=job.seed, device=job.device, run=job.run)
    job.history[stage] = trainer.fit((y >= 0).nonzero().squeeze(1), job.lengths, step, title=stage)


def pretrain(job: Job, network: IntentNetwork, schedule: Schedule, *, temperature: float) -> None:
    """IND pre-training: the network learns the known intents. Over a frozen encoder their means say as much."""
    if not job.tune.layers:
        start_classifier(network, job.embed(network), job.y)
        return

    def train() -> dict[str, Tensor]:
        train_on_labels(
            job, network, job.y, schedule, stage="pre-training", columns=job.n_known, temperature=temperature
        )
        return {name: t.clone() for name, t in network.classifier_branch().items()}

    trained = job.run.shared(_pretraining_key(job, network, schedule, temperature), train)
    for name, tensor in network.classifier_branch().items():
        tensor.copy_(trained[name])


def _pretraining_key(job: Job, network: IntentNetwork, schedule: Schedule, temperature: float) -> str:
    """Everything that the result of pre-training depends on; methods differ only in what comes after it."""
    shared = [job.run.identity.get(name) for name in ("data", "encoder")]
    views = None if job.features.noisy is None else len(job.features.noisy)
    shape = [network.dense is not None, network.dropout.p, job.n_known, job.n_new, job.trunk_dropout, views]
    return repr([*shared, job.encoder.max_length, job.tune, job.seed, str(job.device), *shape, schedule, temperature])


@torch.no_grad()
def start_classifier(network: IntentNetwork, x: Tensor, y: Tensor) -> None:
    """Set every column of the classifier to the mean direction of the rows labelled with it."""
    weight = network.classifier.weight
    means, filled = class_means(x, y.to(x.device), len(weight))
    weight[filled] = means[filled].to(weight.dtype)  # a column without rows keeps its random start
