"""Gentle fine-tuning of the encoder: supervised contrast on labelled rows, instance contrast on the logs.

A few epochs at a low rate pull utterances of one intent together without spoiling what the encoder knew of all the
others; training the last layer for a hundred epochs does spoil it (docs/recipe.md has the numbers).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.losses import instance_contrastive, supervised_contrastive
from newfound.encoders.ragged import Batch
from newfound.methods.context import FitContext
from newfound.model.network import IntentNetwork
from newfound.training.sampling import class_balanced_batches
from newfound.training.schedule import AdamWSchedule
from newfound.training.trainer import Losses

MAX_STEPS_PER_EPOCH = 400  # more labelled data than 100,000 rows are sampled


@dataclass(frozen=True, slots=True)
class ContrastiveSettings:
    """The batches and temperatures of the fine-tuning.

    Attributes:
        classes: Intents in a batch.
        per_class: Utterances of each.
        unlabelled: Utterances of the logs in a batch, each seen twice through dropout.
        tau: Temperature of the supervised contrast.
        tau_ins: Temperature of the instance contrast.
        instance_weight: Of the instance contrast beside the supervised one.
    """

    classes: int = 32
    per_class: int = 8
    unlabelled: int = 256
    tau: float = 0.1
    tau_ins: float = 0.05
    instance_weight: float = 1.0


DEFAULT_CONTRAST = ContrastiveSettings()


def epochs_for_steps(y: Tensor, steps: int, contrast: ContrastiveSettings = DEFAULT_CONTRAST) -> int:
    """Return how many epochs take at least that many steps; with few labels an epoch is only a few.

    Args:
        y: Labels of all rows, -1 for none.
        steps: Steps in all epochs.
        contrast: Batches.
    """
    return -(-steps // steps_of_epoch(y, contrast))


def steps_of_epoch(y: Tensor, contrast: ContrastiveSettings = DEFAULT_CONTRAST) -> int:
    """Return how many steps it takes to draw as many labelled rows as there are, at most `MAX_STEPS_PER_EPOCH`.

    Args:
        y: Labels of all rows, -1 for none.
        contrast: Batches.
    """
    labelled = y[y >= 0]
    batch = contrast.per_class * min(contrast.classes, len(set(labelled.tolist())))
    return min(MAX_STEPS_PER_EPOCH, max(1, -(-len(labelled) // max(1, batch))))


def fine_tune(
    context: FitContext,
    network: IntentNetwork,
    y: Tensor,
    schedule: AdamWSchedule,
    *,
    stage: str,
    contrast: ContrastiveSettings = DEFAULT_CONTRAST,
) -> None:
    """Train the encoder of a network; its classifier stays as it is.

    Args:
        context: The context of the fit, which records the history of the stage.
        network: Its tail is trained in place.
        y: Labels of all rows (CPU), -1 for none: known intents, and in later rounds pseudo-labels. With fewer than two
            classes the instance contrast is left alone: there is nothing to tell apart.
        schedule: Epochs and learning rates.
        stage: The name of this training, unique within the fit.
        contrast: Batches and temperatures.
    """
    y = context.run.of_main(y)
    if len(set(y[y >= 0].tolist())) < 2:
        y = torch.full_like(y, -1)
    target = y.to(context.device)
    logs = context.unlabelled_rows
    n_logs = min(contrast.unlabelled, len(logs))
    if n_logs < 2 and not bool((y >= 0).any()):
        return  # a single utterance has nothing to be compared with
    _note_sampling(context, y, contrast)
    n_labelled = 0

    def batches(epoch: int) -> Tensor:
        nonlocal n_labelled
        drawn = class_balanced_batches(
            y,
            logs,
            classes=contrast.classes,
            per_class=contrast.per_class,
            n_others=n_logs,
            max_steps=MAX_STEPS_PER_EPOCH,
            seed=context.seed,
            stage=stage,
            epoch=epoch,
        )
        n_labelled = drawn.shape[1] - n_logs
        return torch.cat([drawn, drawn[:, n_labelled:]], dim=1)  # the logs' rows twice: dropout makes two views

    def step(batch: Batch) -> Losses:
        z = F.normalize(network(context.features, batch).float(), dim=-1)  # [B, d]
        labelled, first, second = torch.split(z, [n_labelled, n_logs, n_logs])
        losses: Losses = {}
        if n_labelled:
            losses["supervised"] = supervised_contrastive(labelled, target[batch.rows[:n_labelled]], contrast.tau)
        if n_logs > 1:
            same = target[batch.rows[n_labelled : n_labelled + n_logs]]
            losses["instance"] = instance_contrastive(first, second, contrast.tau_ins, same=same)
        weight = {"supervised": 1.0, "instance": contrast.instance_weight}
        return {"loss": torch.stack([weight[name] * loss for name, loss in losses.items()]).sum(), **losses}

    classifier = network.classifier
    frozen = [p for p in classifier.parameters() if p.requires_grad]
    for p in frozen:
        p.requires_grad_(False)
    context.fit(stage, network, schedule, batches, step)
    for p in frozen:
        p.requires_grad_(True)


def _note_sampling(context: FitContext, y: Tensor, contrast: ContrastiveSettings) -> None:
    """Say so if an epoch looks at a part of the data only."""
    labelled, logs = int((y >= 0).sum()), len(context.unlabelled_rows)
    if not labelled:
        return  # then an epoch is as long as the logs
    steps = steps_of_epoch(y, contrast)
    seen = min(labelled, steps * contrast.classes * contrast.per_class), min(logs, steps * contrast.unlabelled)
    if seen[0] < labelled or seen[1] < logs // 2:
        context.run.reporter.note(
            f"an epoch of the fine-tuning draws {seen[0]:,} of {labelled:,} labelled and {seen[1]:,} of {logs:,} "
            "unlabelled utterances"
        )
