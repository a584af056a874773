"""k-means: cluster the unlabelled utterances, then train one classifier on known labels and cluster labels."""

from __future__ import annotations

from dataclasses import dataclass

from newfound.data.corpus import Corpus
from newfound.methods.base import Discoverer, check_positive
from newfound.methods.job import Job
from newfound.methods.supervised import cluster, default_temperature, pretrain, start_classifier, train_on_labels
from newfound.network import IntentNetwork


@dataclass(kw_only=True, eq=False, repr=False)
class KMeans(Discoverer):
    """The pipeline baseline of the paper (appendix B): pre-train on the known intents, cluster, train jointly.

    temperature      of the cosine classifier's cross-entropy; by default the paper's where the encoder trains
    restarts         of k-means; the one with the lowest inertia is taken
    epochs           on known labels and cluster labels together
    """

    temperature: float | None = None
    restarts: int = 10
    epochs: int = 50

    def check_settings(self, corpus: Corpus) -> None:
        super().check_settings(corpus)
        check_positive(self, "temperature", "restarts")

    def _discover(self, job: Job) -> tuple[IntentNetwork, float]:
        network = job.network()
        temperature = self.temperature or default_temperature(job)
        pretrain(job, network, self._pretraining(), temperature=temperature)

        x = job.embed(network)  # [n, d]
        y = cluster(x, job, restarts=self.restarts)

        start_classifier(network, x, y)
        columns = job.n_known + job.n_new
        train_on_labels(
            job, network, y, self._schedule(), stage="joint training", columns=columns, temperature=temperature
        )
        return network, temperature
