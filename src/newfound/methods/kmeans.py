"""k-means: cluster the unlabelled utterances, then train one classifier on known labels and cluster labels."""

from __future__ import annotations

from dataclasses import dataclass

from newfound.methods.base import Discoverer
from newfound.methods.job import Job
from newfound.methods.supervised import cluster, default_temperature, pretrain, start_classifier, train_on_labels
from newfound.network import IntentNetwork
from newfound.training.schedule import Schedule


@dataclass(kw_only=True, eq=False, repr=False)
class KMeans(Discoverer):
    """The pipeline baseline of the paper (appendix B): pre-train on the known intents, cluster, train jointly.

    temperature      of the cosine classifier's cross-entropy; by default the paper's where the encoder trains
    restarts         of k-means; the one with the lowest inertia is taken
    pretrain_epochs  on the known intents alone; skipped with tune="heads"
    epochs           on known labels and cluster labels together
    """

    temperature: float | None = None
    restarts: int = 10
    pretrain_epochs: int = 100
    pretrain_lr: float = 0.1
    epochs: int = 50
    lr: float = 0.1
    batch_size: int = 512

    def _discover(self, job: Job) -> tuple[IntentNetwork, float]:
        network = job.network()
        temperature = self.temperature or default_temperature(job)
        warm_up = Schedule(epochs=self.pretrain_epochs, lr=self.pretrain_lr, batch_size=self.batch_size)
        pretrain(job, network, warm_up, temperature=temperature)

        x = job.embed(network)  # [n, d]
        y = cluster(x, job, restarts=self.restarts)

        start_classifier(network, x, y)
        joint = Schedule(epochs=self.epochs, lr=self.lr, batch_size=self.batch_size)
        columns = job.n_known + job.n_new
        train_on_labels(job, network, y, joint, stage="joint training", columns=columns, temperature=temperature)
        return network, temperature
