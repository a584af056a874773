"""Gentle fine-tuning of the encoder: supervised contrast on labelled rows; if asked for, instance contrast on the logs.

A few dozen steps at a low rate pull utterances of one intent together without spoiling what the encoder knew of all the
others. More steps, or an instance contrast of full weight, do spoil it on small corpora (docs/notebook/consensus.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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

TAU, TAU_INS = 0.1, 0.05  # temperatures of the supervised and of the instance contrast
STEPS_PER_EPOCH = 10  # of the progress bar
MAX_TIMES_SEEN = 30.0  # a labelled row: more of a few rows brings intents together that were apart


@dataclass(frozen=True, slots=True)
class FineTuning:
    """How an encoder is fine-tuned.

    Attributes:
        steps: The number of steps.
        lr: The highest learning rate of the encoder (AdamW).
        classes: The number of intents in a step.
        rows_per_class: The number of labelled rows of each of them.
        logs: The number of rows of the logs in a step, if they count; each is seen twice, through dropout.
        instance_weight: The weight of the instance contrast on the logs, beside 1 for the supervised contrast. In logs
            that hold known intents too it gained nothing, and took two thirds of the time.
    """

    steps: int = 60
    lr: float = 5e-5
    classes: int = 16
    rows_per_class: int = 4
    logs: int = 64
    instance_weight: float = 0.0

    @classmethod
    def of_the_paper(cls, labels: int) -> FineTuning:
        """Return the settings for training all layers in the paper's setting, where all known rows have a label.

        Two epochs with a full instance contrast gained 2 to 3 points on CLINC150 there; small mixed logs suffer.
        """
        large = cls(lr=2e-5, classes=32, rows_per_class=8, logs=256, instance_weight=1.0)
        return replace(large, steps=max(40, -(-2 * labels // (large.classes * large.rows_per_class))))

    def bounded(self, labels: int, intents: int) -> FineTuning:
        """Return the settings with fewer steps for few labels, so that no row is seen too often."""
        rows_of_step = min(self.classes, intents) * self.rows_per_class
        return replace(self, steps=min(self.steps, max(1, round(MAX_TIMES_SEEN * labels / rows_of_step))))


def fine_tune(context: FitContext, network: IntentNetwork, settings: FineTuning) -> None:
    """Train the encoder of a network in place, on at least two known intents; its classifier stays as it is."""
    stage, target, logs = "fine-tuning", context.y.to(context.device), context.unlabelled_rows
    n_logs = min(settings.logs, len(logs)) if settings.instance_weight else 0
    n_labelled = 0

    def batches(epoch: int) -> Tensor:
        nonlocal n_labelled
        drawn = class_balanced_batches(
            context.y,
            logs,
            classes=settings.classes,
            per_class=settings.rows_per_class,
            n_others=n_logs,
            steps=min(STEPS_PER_EPOCH, settings.steps),
            seed=derive(context.seed, stage, "rows", epoch),
        )
        n_labelled = drawn.shape[1] - n_logs
        return torch.cat([drawn, drawn[:, n_labelled:]], dim=1)  # the logs' rows twice: dropout makes two views

    def step(batch: Batch) -> Losses:
        z = F.normalize(network(context.features, batch).float(), dim=-1)  # [B, d]
        labelled, first, second = torch.split(z, [n_labelled, n_logs, n_logs])
        supervised = supervised_contrastive(labelled, target[batch.rows[:n_labelled]], TAU)
        if n_logs < 2:
            return {"loss": supervised}
        same = target[batch.rows[n_labelled : n_labelled + n_logs]]
        instance = instance_contrastive(first, second, TAU_INS, same=same)
        return {
            "loss": supervised + settings.instance_weight * instance,
            "supervised": supervised,
            "instance": instance,
        }

    epochs = -(-settings.steps // STEPS_PER_EPOCH)
    network.classifier.requires_grad_(False)
    with network.tail.without_attention_dropout():  # it gained nothing, and is slow on a CPU
        context.fit(stage, network, AdamWSchedule(epochs=epochs, lr=settings.lr), batches, step)
    network.classifier.requires_grad_(True)
