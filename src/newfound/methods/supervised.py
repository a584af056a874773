"""Training the network on given labels: pre-training on the known intents, and the last stage of pipelines."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.encoders.encoder import Bounds
from newfound.methods.job import Job
from newfound.network import IntentNetwork
from newfound.training.schedule import Schedule
from newfound.training.trainer import Losses, Trainer

TEMPERATURE = 0.1  # the released code's
FROZEN_TEMPERATURE = 0.05  # vectors that cannot move need a sharper softmax: +3 points of IND ACC (fresh partitions)


def default_temperature(job: Job) -> float:
    return TEMPERATURE if job.tune.layers else FROZEN_TEMPERATURE


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

    def step(rows: Tensor, bounds: Bounds) -> Losses:
        network.classifier.normalize_()
        logits = network.classifier(network(job.features, rows, bounds))[:, :columns]
        return {"loss": F.cross_entropy(logits.float() / temperature, target[rows])}

    trainer = Trainer(stage, network, schedule, seed=job.seed, device=job.device, run=job.run)
    job.history[stage] = trainer.fit((y >= 0).nonzero().squeeze(1), job.lengths, step, title=stage)


def pretrain(job: Job, network: IntentNetwork, schedule: Schedule, *, temperature: float) -> None:
    """IND pre-training: the tail learns the known intents. With nothing of the encoder to train, it is skipped."""
    if job.tune.layers:
        train_on_labels(
            job, network, job.y, schedule, stage="pre-training", columns=job.n_known, temperature=temperature
        )


@torch.no_grad()
def start_classifier(network: IntentNetwork, x: Tensor, y: Tensor) -> None:
    """Set every column of the classifier to the mean direction of the rows labelled with it."""
    weight = network.classifier.weight
    y = y.to(x.device)
    member = F.one_hot(y.clamp(min=0), len(weight)).to(x.dtype) * (y >= 0)[:, None]  # [n, N + M]
    means = member.T @ F.normalize(x, dim=-1)
    filled = member.sum(0) > 0  # a column without rows keeps its random start
    weight[filled] = F.normalize(means[filled], dim=-1).to(weight.dtype)
