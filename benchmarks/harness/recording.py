"""What an analysis records of a training: the accuracy of its pseudo-labels, and its vectors after some epochs.

Gold labels of new intents are compared with, and never trained on.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from newfound.algorithms.metrics import accuracy, map_clusters
from newfound.data.task import DiscoveryTask
from newfound.methods.context import Epoch


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Embeddings and prototypes after one epoch."""

    vectors: npt.NDArray[np.float32]  # [n, d] in the space of the prototypes
    prototypes: npt.NDArray[np.float32]  # [N + M, d]


@dataclass(frozen=True, slots=True)
class Recorder:
    """Watches the fit of a method that leaves the rows of the task in their order."""

    task: DiscoveryTask
    snapshot_epochs: Collection[int] = ()
    snapshots: dict[int, Snapshot] = field(default_factory=dict)

    def __call__(self, epoch: Epoch) -> dict[str, float]:
        """Return the accuracy of the pseudo-labels of the logs, after the best matching."""
        if epoch.number in self.snapshot_epochs:
            vectors, prototypes = (x.float().cpu().numpy() for x in (epoch.vectors(), epoch.prototypes))
            self.snapshots[epoch.number] = Snapshot(vectors, prototypes)
        logs = [i for i, label in enumerate(self.task.observed_train.labels) if label is None]
        gold = self.task.gold_ids(self.task.train)[logs]
        return {"pseudo_label_acc": accuracy(gold, map_clusters(gold, epoch.pseudo_labels().cpu().numpy()[logs]))}
