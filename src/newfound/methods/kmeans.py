"""k-means: cluster the unlabelled utterances, then train one classifier on known labels and cluster labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from newfound.methods.base import Discoverer
from newfound.methods.context import Discovery, FitContext
from newfound.methods.settings import Count, NonNegativeInt, Positive
from newfound.methods.supervised import cluster, default_temperature, pretrain, start_classifier, train_on_labels


@dataclass(kw_only=True, eq=False, repr=False)
class KMeans(Discoverer):
    """The pipeline baseline of the paper (appendix B): pre-train on the known intents, cluster, train jointly.

    Without known intents it clusters what the encoder gives, and trains the classifier on the clusters.

    Attributes:
        temperature: Temperature of the cosine classifier's softmax in training; lower is sharper. None is 0.1 where the
            encoder trains, else 0.05.
        restarts: Starts of k-means, of which the one with the lowest inertia is taken.
        epochs: Epochs of the training on known labels and cluster labels together.
    """

    temperature: Positive | None = None
    restarts: Count = 10
    epochs: NonNegativeInt = 50

    NEEDS_KNOWN: ClassVar[bool] = False

    def _discover(self, context: FitContext) -> Discovery:
        network = context.network()
        temperature = self.temperature or default_temperature(context)
        pretrain(context, network, self._pretraining(), temperature=temperature)

        x = context.embed(network)  # [n, d]
        y = cluster(x, context, restarts=self.restarts)

        start_classifier(network, x, y)
        stage, columns = "joint training", context.n_known + context.n_new
        train_on_labels(context, network, y, self._schedule(), stage=stage, columns=columns, temperature=temperature)
        return Discovery(network, temperature)
