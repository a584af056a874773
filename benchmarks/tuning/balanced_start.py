"""Compare the accuracy of k-means clusters with that of balanced ones, on frozen MiniLM vectors of fresh partitions.

NEWFOUND_DATA=... python benchmarks/tuning/balanced_start.py [--partitions 1000,1001,1002] [--seeds 0,1]
"""

from __future__ import annotations

import argparse
from itertools import product

import torch
import torch.nn.functional as F

from newfound.algorithms.clustering import balance, kmeans
from newfound.algorithms.metrics import accuracy, map_clusters
from newfound.bench.cells import load_partition
from newfound.bench.studies import frozen_vectors, study_encoder, whole_numbers


def main() -> None:
    """Print one line per partition and seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=whole_numbers, default=[1000, 1001, 1002], help="seeds of the partitions")
    parser.add_argument("--seeds", type=whole_numbers, default=[0, 1])
    options = parser.parse_args()
    encoder = study_encoder()
    for benchmark, partition in product(("FRESH-BANKING77", "FRESH-CLINC150"), options.partitions):
        task = load_partition(benchmark, ratio=40, split=partition)
        gold = task.gold_ids(task.train)
        is_new = gold >= len(task.known)
        x = F.normalize(frozen_vectors(encoder, task.train.texts)[torch.from_numpy(is_new)], dim=-1)
        for seed in options.seeds:
            clustering = kmeans(x, len(task.new), seed=seed)
            plain, balanced = (
                accuracy(gold[is_new], map_clusters(gold[is_new], labels.numpy()))
                for labels in (clustering.labels, balance(x, clustering.centres))
            )
            print(f"{task.name} seed {seed}: k-means {plain:.1f}, balanced {balanced:.1f}", flush=True)


if __name__ == "__main__":
    main()
