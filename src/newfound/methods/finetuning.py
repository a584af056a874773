"""Gentle fine-tuning of the encoder: supervised contrast on labelled rows, instance contrast on the logs.

A few epochs at a low rate pull utterances of one intent together without spoiling what the encoder knew of all the
others; training the last layer for a hundred epochs does spoil it (benchmarks/results).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.losses import instance_contrastive, supervised_contrastive
from newfound.encoders.ragged import Batch
from newfound.methods.context import FitContext
from newfound.model.network import IntentNetwork
from newfound.training.schedule import AdamWSchedule
from newfound.training.seeding import class_balanced_batches, derive
from newfound.training.trainer import Losses

CLASSES, ROWS_PER_CLASS, LOGS = 32, 8, 256  # in a batch; each row of the logs is seen twice, through dropout
TAU, TAU_INS = 0.1, 0.05  # temperatures of the supervised and of the instance contrast
MAX_STEPS_PER_EPOCH = 400  # more labelled data than 100,000 rows are sampled


def epochs_for_steps(y: Tensor, steps: int) -> int:
    """Return how many epochs take at least that many steps; with few labels an epoch is only a few."""
    return -(-steps // steps_of_epoch(y))


def steps_of_epoch(y: Tensor) -> int:
    """Return how many steps it takes to draw as many labelled rows as there are, at most `MAX_STEPS_PER_EPOCH`."""
    labelled = y[y >= 0]
    batch = ROWS_PER_CLASS * min(CLASSES, len(set(labelled.tolist())))
    return min(MAX_STEPS_PER_EPOCH, max(1, -(-len(labelled) // max(1, batch))))


def fine_tune(context: FitContext, network: IntentNetwork, y: Tensor, schedule: AdamWSchedule, *, stage: str) -> None:
    """Train the encoder of a network in place; its classifier stays as it is.

    y [n] (CPU, -1 for none) are known intents, and in later rounds pseudo-labels. With fewer than two classes the
    instance contrast is left alone: there is nothing to tell apart.
    """
    y = context.settle(y)
    if len(set(y[y >= 0].tolist())) < 2:
        y = torch.full_like(y, -1)
    target = y.to(context.device)
    logs = context.unlabelled_rows
    n_logs = min(LOGS, len(logs))
    if n_logs < 2 and not bool((y >= 0).any()):
        return  # a single utterance has nothing to be compared with
    _note_sampling(context, y)
    n_labelled = 0

    def batches(epoch: int) -> Tensor:
        nonlocal n_labelled
        drawn = class_balanced_batches(
            y,
            logs,
            classes=CLASSES,
            per_class=ROWS_PER_CLASS,
            n_others=n_logs,
            max_steps=MAX_STEPS_PER_EPOCH,
            seed=derive(context.seed, stage, "rows", epoch),
        )
        n_labelled = drawn.shape[1] - n_logs
        return torch.cat([drawn, drawn[:, n_labelled:]], dim=1)  # the logs' rows twice: dropout makes two views

    def step(batch: Batch) -> Losses:
        z = F.normalize(network(context.features, batch).float(), dim=-1)  # [B, d]
        labelled, first, second = torch.split(z, [n_labelled, n_logs, n_logs])
        losses: Losses = {}
        if n_labelled:
            losses["supervised"] = supervised_contrastive(labelled, target[batch.rows[:n_labelled]], TAU)
        if n_logs > 1:
            same = target[batch.rows[n_labelled : n_labelled + n_logs]]
            losses["instance"] = instance_contrastive(first, second, TAU_INS, same=same)
        return {"loss": torch.stack(list(losses.values())).sum(), **losses}

    network.classifier.requires_grad_(False)
    context.fit(stage, network, schedule, batches, step)
    network.classifier.requires_grad_(True)


def _note_sampling(context: FitContext, y: Tensor) -> None:
    """Say so if an epoch looks at a part of the data only."""
    labelled, logs = int((y >= 0).sum()), len(context.unlabelled_rows)
    if not labelled:
        return  # then an epoch is as long as the logs
    steps = steps_of_epoch(y)
    seen = min(labelled, steps * CLASSES * ROWS_PER_CLASS), min(logs, steps * LOGS)
    if seen[0] < labelled or seen[1] < logs // 2:
        context.run.reporter.note(
            f"an epoch of the fine-tuning draws {seen[0]:,} of {labelled:,} labelled and {seen[1]:,} of {logs:,} "
            "unlabelled utterances"
        )
