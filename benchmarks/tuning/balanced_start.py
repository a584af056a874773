"""Accuracy of k-means clusters and of balanced ones on frozen MiniLM vectors; fresh partitions only.

NEWFOUND_DATA=... python benchmarks/tuning/balanced_start.py
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from newfound.clustering import balance, kmeans
from newfound.data.benchmarks import fresh_task
from newfound.encoders.cache import FeatureCache
from newfound.encoders.encoder import default_cache_dir, load_encoder
from newfound.metrics import accuracy, map_clusters


def main() -> None:
    encoder = load_encoder("minilm", cache=FeatureCache(default_cache_dir()))
    for dataset in ("banking77", "clinc150"):
        for partition in (1000, 1001, 1002):
            task = fresh_task(dataset, ood_ratio=0.4, seed=partition)
            hidden = torch.tensor([label is None for label in task.observed_train.labels])
            vectors = encoder.features(task.train.texts, encoder.tune("heads")).data.flat
            x, gold = F.normalize(vectors[hidden], dim=-1), task.gold_ids(task.train)[hidden.numpy()]
            for seed in (0, 1):
                found = kmeans(x, len(task.new), seed=seed)
                plain, even = found.labels.numpy(), balance(x, found.centres).numpy()
                scores = [accuracy(gold, map_clusters(gold, labels)) for labels in (plain, even)]
                print(f"{task.name} seed {seed}: k-means {scores[0]:.1f}, balanced {scores[1]:.1f}", flush=True)


if __name__ == "__main__":
    main()
