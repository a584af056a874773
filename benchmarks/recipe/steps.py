"""What each step of the recipe adds: labels of the new intents by each, and a linear head on frozen vectors after it.

python benchmarks/recipe/steps.py      writes steps.json beside this file (fresh partitions, seeds 1000 and 1001)
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from fresh import tasks

from newfound.assignment import class_means
from newfound.clustering import balance, kmeans
from newfound.consensus import _lloyd, agree, diffuse, vote
from newfound.encoders.cache import FeatureCache
from newfound.encoders.encoder import default_cache_dir, load_encoder
from newfound.metrics import both_protocols

Label = Callable[[torch.Tensor, int, int], torch.Tensor]


def plain(x: torch.Tensor, k: int, seed: int) -> torch.Tensor:
    return kmeans(x, k, restarts=10, seed=seed).labels


def evened(x: torch.Tensor, k: int, seed: int) -> torch.Tensor:
    return balance(x, kmeans(x, k, restarts=10, seed=seed).centres, rounds=20)


def freed(x: torch.Tensor, k: int, seed: int) -> torch.Tensor:
    return _lloyd(x, class_means(x, evened(x, k, seed), k)[0])[0]


def consensus(one: Label, neighbours: bool) -> Label:
    def label(x: torch.Tensor, k: int, seed: int) -> torch.Tensor:
        views = (x, diffuse(x)) if neighbours else (x,)
        runs = 12 // len(views)
        votes = [one(view, k, 1000 * seed + 100 * i + run) for i, view in enumerate(views) for run in range(runs)]
        return agree(votes, k, seed=seed)

    return label


def once(x: torch.Tensor, k: int, seed: int) -> torch.Tensor:
    return kmeans(x, k, restarts=1, seed=seed).labels


STEPS: dict[str, Label] = {
    "k-means, 10 restarts": plain,
    "evened out": evened,
    "evened out, freed": freed,
    "consensus of 12 k-means": consensus(once, neighbours=False),
    "consensus of 12 k-means over two views": consensus(once, neighbours=True),
    "consensus of 12 evened out and freed over two views": consensus(
        lambda x, k, seed: vote(x, k, seed=seed).freed, neighbours=True
    ),
}


def head(x: torch.Tensor, y: torch.Tensor, columns: int, temperature: float = 0.05, steps: int = 60) -> torch.Tensor:
    """A cosine classifier [columns, d], started at the class means."""
    weight = class_means(x, y, columns)[0].clone().requires_grad_()
    optimizer = torch.optim.Adam([weight], lr=0.01)
    for _ in range(steps):
        loss = F.cross_entropy(x @ F.normalize(weight, dim=-1).T / temperature, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return F.normalize(weight.detach(), dim=-1)


def main() -> None:
    encoder = load_encoder("minilm", cache=FeatureCache(default_cache_dir()))
    rows = []
    for task in tasks([1000, 1001]):
        x, test = (encoder.features(part.texts, encoder.tune("heads")).data.flat for part in (task.train, task.test))
        gold, n_known, n_new = task.gold_ids(task.train), len(task.known), len(task.new)
        logs = torch.from_numpy(gold >= n_known)
        for name, label in STEPS.items():
            for seed in (0, 1):
                y = torch.from_numpy(gold.copy())
                y[logs] = n_known + label(F.normalize(x[logs], dim=-1), n_new, seed)
                predicted = (test @ head(x, y, n_known + n_new).T).argmax(1).numpy()
                score = both_protocols(task.gold_ids(task.test), predicted, n_known)["strict"].ood_acc
                rows.append({"task": task.name, "step": name, "seed": seed, "strict_ood_acc": round(score, 2)})
            print(task.name, name, [row["strict_ood_acc"] for row in rows[-2:]], flush=True)
    (Path(__file__).parent / "steps.json").write_text(json.dumps(rows, indent=1) + "\n")
    for name in STEPS:
        kinds = ("banking77/fresh", "clinc150/fresh", "clinc150/domains")
        own = {k: [r["strict_ood_acc"] for r in rows if r["step"] == name and r["task"].startswith(k)] for k in kinds}
        print(f"| {name} | " + " | ".join(f"{np.mean(v):.1f}" for v in own.values()) + " |")


if __name__ == "__main__":
    main()
