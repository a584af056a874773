"""What fine-tuning and the cluster ensemble add, on fresh partitions: accuracy of the labels of the logs.

python -m benchmarks.recipe.ablation [--partitions 1000,1001] [--device cuda]    adds to ablation.jsonl
python -m benchmarks.recipe.ablation --table                                      prints the means

Vectors are those of the frozen encoder, of one that was fine-tuned (effort `standard`), and of three that were, side by
side (effort `best`). No test row is read.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from benchmarks.harness.partitions import FRESH_PARTITIONS, load_partition
from benchmarks.harness.studies import Row, append_row, frozen_vectors, read_rows, study_encoder, whole_numbers
from benchmarks.harness.tables import Line, as_markdown
from torch import Tensor

from newfound.algorithms.clustering import kmeans
from newfound.algorithms.ensembles import cluster_ensemble, consensus_clustering
from newfound.algorithms.metrics import accuracy, map_clusters
from newfound.data.task import DiscoveryTask
from newfound.encoders.encoder import Encoder
from newfound.methods.consensus import Consensus
from newfound.methods.context import FitContext
from newfound.model.network import IntentNetwork
from newfound.training.seeding import derive

RESULTS = Path(__file__).parent / "ablation.jsonl"
KINDS = {"banking77/fresh": "BANKING77", "clinc150/fresh": "CLINC150", "clinc150/domains": "domains"}
RUNS = 6
PARTS = {
    ("frozen", "k-means"): "frozen vectors, one k-means",
    ("frozen", "votes"): "+ cluster ensemble (`quick`)",
    ("tuned", "k-means"): "fine-tuned, one k-means",
    ("tuned", "votes"): "+ cluster ensemble (`standard`)",
}


@dataclass(kw_only=True, eq=False, repr=False)
class WatchedConsensus(Consensus):
    """Consensus that keeps the vectors [n, d] of the fine-tuned encoder."""

    def _fine_tune(self, context: FitContext, network: IntentNetwork) -> Tensor:
        self.vectors_ = super()._fine_tune(context, network)
        return self.vectors_


def vectors_of(task: DiscoveryTask, encoder: Encoder, device: str, seed: int) -> dict[str, Tensor]:
    """Return unit vectors [n, d] of the training rows of a task."""
    corpus, settings = task.observed_train, Consensus.EFFORTS["standard"]
    frozen = F.normalize(frozen_vectors(encoder, corpus.texts).float(), dim=-1)
    method = WatchedConsensus(
        encoder=encoder, n_new=len(task.new), logs="novel", device=device, seed=seed, epochs=0, **settings
    ).fit(corpus.texts, corpus.labels)
    return {"frozen": frozen, "tuned": method.vectors_.float().cpu()}


def label(x: Tensor, k: int, how: str, seed: int) -> Tensor:
    """Label rows [n] by one k-means or by the consensus of an ensemble."""
    if how == "k-means":
        return kmeans(x, k, restarts=10, seed=derive(seed, "k-means")).labels
    ensemble = cluster_ensemble(x, k, RUNS, partial(derive, seed, "vote"))
    return consensus_clustering(ensemble, k, seed=derive(seed, "agree"))


def run(options: argparse.Namespace) -> None:
    """Label the logs of every partition that the file does not have yet."""
    encoder = study_encoder()
    finished = {(row["task"], row.get("seed", 0)) for row in read_rows(options.out)}
    for partition, benchmark, seed in product(options.partitions, FRESH_PARTITIONS, options.seeds):
        task = load_partition(benchmark, split=partition)
        if (task.name, seed) in finished:
            continue
        vectors = vectors_of(task, encoder, options.device, seed)
        gold = task.gold_ids(task.train)
        logs = gold >= len(task.known)
        for name, how in PARTS:
            labels = label(vectors[name][torch.from_numpy(logs)], len(task.new), how, seed).numpy()
            right = round(accuracy(gold[logs], map_clusters(gold[logs], labels)), 2)
            append_row(options.out, {"task": task.name, "seed": seed, "vectors": name, "labels": how, "logs": right})
            print(task.name, name, how, right, flush=True)


def table(rows: list[Row]) -> str:
    """Return the means over the partitions of each kind, part by part, as a Markdown table."""
    lines: list[Line] = []
    for part, words in PARTS.items():
        own = [row for row in rows if (row["vectors"], row["labels"]) == part]
        by_kind = ([row["logs"] for row in own if row["task"].startswith(kind)] for kind in KINDS)
        lines += [(words, *(f"{np.mean(v):.1f} ({len(v)})" if v else "–" for v in by_kind))] if own else []
    return as_markdown(("labels", *KINDS.values()), lines)


def main() -> None:
    """Run the study, or print its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=whole_numbers, default=[1000, 1001], help="seeds of the partitions")
    parser.add_argument("--seeds", type=whole_numbers, default=[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the result file")
    options = parser.parse_args()
    if options.table:
        print(table(read_rows(options.out)))
    else:
        run(options)


if __name__ == "__main__":
    main()
