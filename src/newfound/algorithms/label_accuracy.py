"""How many labels that an ensemble of clusterings gave are right, estimated without gold labels.

Clusterings agree more than they are right. Known intents, clustered as if they had no labels, show by how much. Where
too few rows are labelled for that, the share of clusterings that agree with the consensus is multiplied by how
consistent they are with each other: over 26 clusterings of 13 corpora this was off by 0.06 on average, and the share
alone by 0.19, always too high (benchmarks/everyday/agreement.py).
"""

from __future__ import annotations

import torch
from torch import Tensor

from newfound.algorithms.ensembles import Seeds, consensus_clustering, share_agreeing
from newfound.algorithms.metrics import accuracy, map_clusters
from newfound.algorithms.ways import cluster_ensemble

TRIAL_RUNS = 2  # of each view
MAX_TRIAL_ROWS = 5_000
MIN_ACCURACY = 0.05
MIN_KNOWN_INTENTS, MIN_LABELS_PER_INTENT = 8, 15  # to learn from


def estimate_label_accuracy(
    agreement: float,
    consistency: float,
    x: Tensor,
    y: Tensor,
    n_new: int,
    seeds: Seeds,
    *,
    mixed: bool,
    trained: bool,
    neighbours: int = 10,
) -> float:
    """Return the estimated share of the labels of new intents that are right.

    Args:
        agreement: Mean share of the clusterings that agree with their consensus on these labels.
        consistency: How alike the clusterings are (adjusted Rand index).
        x: Vectors of all rows from the frozen encoder, [n, d] of unit length.
        y: Known intents of all rows, [n] (CPU), -1 for none. With too few of them, nothing corrects the agreement.
        n_new: How many new intents there are.
        seeds: Gives a seed for each purpose.
        mixed: Whether the logs hold known intents, too. Those that are not recognised fall among the new ones, which
            the known intents alone do not show: the lower of both estimates is returned.
        trained: Whether the vectors that were clustered come from an encoder that was fine-tuned on the known intents.
        neighbours: Over which the second view averages.
    """
    n_known = int(y.max()) + 1 if len(y) else 0
    if n_known < MIN_KNOWN_INTENTS or int((y >= 0).sum()) < MIN_LABELS_PER_INTENT * n_known:
        return max(MIN_ACCURACY, agreement * consistency)
    generator = torch.Generator().manual_seed(seeds("trial"))
    chosen = torch.randperm(n_known, generator=generator)[:n_new]
    rows = torch.isin(y, chosen).nonzero().squeeze(1)
    rows = rows[torch.randperm(len(rows), generator=generator)[:MAX_TRIAL_ROWS]]
    points, gold = x[rows.to(x.device)], torch.unique(y[rows], return_inverse=True)[1]
    k = int(gold.max()) + 1
    ensemble = cluster_ensemble(points, k, TRIAL_RUNS, seeds, neighbours=neighbours)
    labels = consensus_clustering(ensemble, k, seed=seeds("trial", "known"))
    right = accuracy(gold.numpy(), map_clusters(gold.numpy(), labels.cpu().numpy())) / 100
    estimate = expected_accuracy(agreement, float(share_agreeing(ensemble, labels).mean()), right, trained=trained)
    return min(estimate, max(MIN_ACCURACY, agreement * consistency)) if mixed else estimate


def expected_accuracy(on_logs: float, on_known: float, right_on_known: float, *, trained: bool) -> float:
    """Estimate the share of labels that are right from how far clusterings agree with their consensus.

    Known intents show how accuracy relates to agreement, and errors to disagreement; both readings are averaged. An
    encoder that was trained on the known intents needs about half of that correction (benchmarks/messy/reliability.py).

    Args:
        on_logs: Mean agreement with the consensus on the logs.
        on_known: Mean agreement when known intents are clustered without their labels.
        right_on_known: The share of rows of known intents whose cluster matches their label.
        trained: Whether the encoder was fine-tuned.
    """
    by_agreement = min(1.0, on_logs * right_on_known / max(on_known, 1e-9))
    by_disagreement = max(0.0, 1 - (1 - on_logs) * (1 - right_on_known) / max(1 - on_known, 1e-3))
    corrected = (by_agreement + by_disagreement) / 2
    estimate = (corrected + on_logs) / 2 if trained else corrected
    return min(max(estimate, MIN_ACCURACY), 1.0)
