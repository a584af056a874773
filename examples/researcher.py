"""Add a discovery method, and compare it with k-means by a paired test.

    python examples/researcher.py

The method pre-trains on the known intents, clusters the logs with Ward's hierarchical clustering, and trains one
classifier on labels and clusters. Only the clustering is its own; the other stages come from `newfound.methods`.
Both methods are fitted on the same partitions of the demo corpus into known and new intents, with the same seeds.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from statistics import mean
from typing import Literal

import torch
import torch.nn.functional as F
from scipy.stats import wilcoxon
from sklearn.cluster import AgglomerativeClustering

from newfound import KMeans, partition
from newfound.algorithms.metrics import Scores, strict_scores
from newfound.data.demo_corpus import load_demo
from newfound.data.task import DiscoveryTask, make_task
from newfound.methods.base import Discoverer
from newfound.methods.context import Discovery, FitContext
from newfound.methods.supervised import default_temperature, pretrain, start_classifier, train_on_labels


@dataclass(kw_only=True, eq=False, repr=False)
class Ward(Discoverer):
    """Ward's hierarchical clustering of the logs; its clusters and the known labels train one classifier.

    Attributes:
        linkage: How the distance of two clusters is computed.
        epochs: Of the training on known labels and cluster labels together.
    """

    linkage: Literal["ward", "complete", "average"] = "ward"
    epochs: int = 50

    def _discover(self, context: FitContext) -> Discovery:
        network = context.network()
        temperature = default_temperature(context)
        pretrain(context, network, self._pretraining(), temperature=temperature)

        x = F.normalize(context.embed(network).float(), dim=-1)  # [n, d]
        logs = context.unlabelled_rows
        clusters = AgglomerativeClustering(context.n_new, linkage=self.linkage).fit_predict(x.cpu()[logs].numpy())

        y = context.y.clone()  # [n]: ids of the known intents, -1 in the logs
        y[logs] = context.n_known + torch.from_numpy(clusters)
        start_classifier(network, x, y)
        train_on_labels(
            context,
            network,
            y,
            self._schedule(),
            stage="joint training",
            columns=context.n_known + context.n_new,
            temperature=temperature,
        )
        return Discovery(network, temperature)


def score(method: Discoverer, task: DiscoveryTask) -> Scores:
    """Fit a method on a task, and score its predictions of the test utterances by the strict protocol."""
    train = task.observed_train  # the labels of the new intents are None here
    method.fit(train.texts, train.labels)
    gold = task.gold_ids(task.test)  # for scoring only
    return strict_scores(gold, method.model_.predict_ids(task.test.texts), len(task.known))


def main(encoder: str = "minilm", partitions: int = 6) -> None:
    demo = load_demo()
    differences = []
    for seed in range(partitions):
        known, new = partition(demo.train, 0.4, seed)
        task = make_task("demo", known, new, train=demo.train, dev=demo.dev, test=demo.test)
        kmeans = score(KMeans(n_new=len(new), encoder=encoder, seed=seed), task)
        ward = score(Ward(n_new=len(new), encoder=encoder, seed=seed), task)
        differences.append(ward.ood_acc - kmeans.ood_acc)
        print(f"partition {seed}: OOD ACC of k-means {kmeans.ood_acc:.1f}, of Ward {ward.ood_acc:.1f}", flush=True)
    p = wilcoxon(differences).pvalue
    print(f"Ward - k-means: {mean(differences):+.1f} points, p = {p:.3f} (Wilcoxon, {len(differences)} pairs)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", default="minilm", help="minilm, mpnet, bert, a folder, or owner/name")
    parser.add_argument("--partitions", type=int, default=6, help="how often intents are divided into known and new")
    arguments = parser.parse_args()
    main(arguments.encoder, arguments.partitions)
