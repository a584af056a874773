"""Do probabilities mean what they say? Expected calibration error of the default recipe, heads only.

python benchmarks/messy/calibration.py

A prediction counts as right as in the strict protocol: known intents exactly, new ones through their matching.
"""

from __future__ import annotations

import numpy as np

from newfound.data.benchmarks import load_benchmark
from newfound.data.demo_corpus import load_demo
from newfound.encoders.cache import FeatureCache
from newfound.encoders.encoder import default_cache_dir, load_encoder
from newfound.methods.consensus import Consensus
from newfound.metrics import match_clusters

BINS = 10


def calibration_error(probability: np.ndarray, right: np.ndarray) -> float:
    """Mean distance between probability and share of right answers over ten bins, by how full they are; percent."""
    bins = np.minimum((probability * BINS).astype(int), BINS - 1)
    gaps = [abs((probability - right)[bins == b].sum()) for b in range(BINS)]
    return 100 * float(sum(gaps)) / len(right)


def main() -> None:
    encoder = load_encoder("minilm", cache=FeatureCache(default_cache_dir()))
    tasks = [load_demo(), *(load_benchmark(name, ratio=40, split=1) for name in ("GID-SD", "GID-CD", "GID-MD"))]
    print("| | accuracy | mean probability | calibration error | of known | of new |\n|---|---|---|---|---|---|")
    for task in tasks:
        seen, known = task.observed_train, len(task.known)
        method = Consensus(encoder=encoder, tune="heads", device="cpu", n_new=len(task.new))
        every = method.fit(seen.texts, seen.labels).predict_proba(task.test.texts)
        probability, predicted, gold = every.max(1), every.argmax(1), task.gold_ids(task.test)
        is_new = gold >= known
        landed = is_new & (predicted >= known)
        meaning = match_clusters(gold[landed] - known, predicted[landed] - known)
        right = np.array([p if p < known else meaning.get(p - known, -1) + known for p in predicted]) == gold
        errors = [calibration_error(probability[rows], right[rows]) for rows in (is_new | True, ~is_new, is_new)]
        cells = [100 * right.mean(), 100 * probability.mean(), *errors]
        print(f"| {task.name} | " + " | ".join(f"{cell:.1f}" for cell in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
