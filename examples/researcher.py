"""Add a discovery method and score it beside k-means on the demo task.

    python examples/researcher.py

The method pre-trains on the known intents, clusters the logs with Ward's hierarchical clustering, and trains one
classifier on labels and clusters. Only the clustering is its own; the other stages come from `newfound.methods`.
One seed on a small corpus does not rank methods: `newfound bench run` compares them over splits and seeds.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
import torch.nn.functional as F
from sklearn.cluster import AgglomerativeClustering

from newfound import KMeans
from newfound.algorithms.metrics import both_protocols
from newfound.data.demo_corpus import load_demo
from newfound.methods.base import Discoverer
from newfound.methods.context import FitContext
from newfound.methods.supervised import default_temperature, pretrain, start_classifier, train_on_labels
from newfound.model.network import IntentNetwork


@dataclass(kw_only=True, eq=False, repr=False)
class Ward(Discoverer):
    """Ward's hierarchical clustering of the logs; its clusters and the known labels train one classifier.

    Attributes:
        linkage: How the distance of two clusters is computed.
        epochs: Of the training on known labels and cluster labels together.
    """

    linkage: Literal["ward", "complete", "average"] = "ward"
    epochs: int = 50

    def _discover(self, context: FitContext) -> tuple[IntentNetwork, float]:
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
        return network, temperature


def main(encoder: str = "minilm", folder: Path | None = None) -> None:
    task = load_demo()
    train = task.observed_train  # the labels of the new intents are None here
    gold = task.gold_ids(task.test)  # for scoring only
    for method in (KMeans(n_new=len(task.new), encoder=encoder), Ward(n_new=len(task.new), encoder=encoder)):
        method.fit(train.texts, train.labels)
        scores = both_protocols(gold, method.model_.predict_ids(task.test.texts), len(task.known))
        for protocol, score in scores.items():
            print(
                f"{type(method).__name__:7} {protocol:7} IND ACC {score.ind_acc:.1f}  OOD ACC {score.ood_acc:.1f}  "
                f"OOD F1 {score.ood_f1:.1f}  ALL ACC {score.all_acc:.1f}"
            )
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            method.model_.save(folder / type(method).__name__.lower())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", default="minilm", help="minilm, mpnet, bert, a folder, or owner/name")
    parser.add_argument("--folder", type=Path, help="where to save the two models; they are not saved otherwise")
    arguments = parser.parse_args()
    main(arguments.encoder, arguments.folder)
