"""Compare estimates of how many labels are right, without any label, with the truth.

export NEWFOUND_DATA=...
python -m benchmarks.everyday.agreement

Clusters at most 2,500 rows of each corpus of `shapes.py` into the true number of intents and into the number that the
tree counts, and prints the share of clusterings that agree with their consensus, how consistent they are with each
other, the product of both, and the share of labels that is right after optimal matching.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from benchmarks.everyday.shapes import shapes

from newfound.algorithms.ensembles import cluster_ensemble, consensus_clustering, consistency, share_agreeing
from newfound.algorithms.metrics import accuracy, map_clusters
from newfound.algorithms.tree_cuts import count_new
from newfound.bench.studies import frozen_vectors, study_encoder
from newfound.training.seeding import derive

MAX_ROWS = 2_500
RUNS = 2


def main() -> None:
    """Print a line for each clustering, and the mean errors."""
    encoder, errors = study_encoder(), []
    for shape in shapes():
        if None in shape.gold or shape.name == "clinc domains":  # no clustering can know that domains are wanted
            continue
        rows = np.random.default_rng(0).permutation(len(shape.texts))[:MAX_ROWS]
        gold = np.unique([str(shape.gold[i]) for i in rows], return_inverse=True)[1]
        x = F.normalize(frozen_vectors(encoder, [shape.texts[i] for i in rows]).float(), dim=-1)
        counted = count_new(x, torch.full((len(x),), -1)).n_new
        for k in (int(gold.max()) + 1, max(2, round(counted))):
            ensemble = cluster_ensemble(x, k, RUNS, partial(derive, 0))
            labels = consensus_clustering(ensemble, k, seed=1)
            agreement, alike = float(share_agreeing(ensemble, labels).mean()), consistency(ensemble)
            right = accuracy(gold, map_clusters(gold, labels.numpy())) / 100
            errors.append((agreement - right, agreement * alike - right))
            print(f"{shape.name:20s} {k:4d}  {agreement:.2f}  {alike:.2f}  {agreement * alike:.2f}  right {right:.2f}")
    off = np.array(errors)
    print("mean error of agreement and product:", off.mean(0).round(3), "absolute:", np.abs(off).mean(0).round(3))


if __name__ == "__main__":
    main()
