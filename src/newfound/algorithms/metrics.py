"""Scores. Ids 0..N-1 are known intents, N..N+M-1 the new ones; predicted ids from N on are clusters.

Two protocols stand side by side:

- `paper`, as in the released code of DPL and E2E: Hungarian matching over all ids, known ones included, so an
  OOD utterance that was predicted as a known intent can still be matched to a class. It flatters every method.
- `strict`: a known intent must be predicted exactly; an OOD utterance must land in a new column, and only new
  columns are matched, one to one, to the unseen classes. ALL uses that same mapping.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

CALIBRATION_BINS = 10

Ids = npt.NDArray[np.int64]
Vectors = npt.NDArray[np.float32] | npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scores:
    """In percent, as the paper prints them."""

    ind_acc: float
    ood_acc: float
    ood_f1: float
    all_acc: float
    all_f1: float


def match_clusters(true: Ids, predicted: Ids) -> dict[int, int]:
    """Predicted id -> true id, one to one, with the most agreement (Hungarian algorithm); -1 is no cluster."""
    true, predicted = true[predicted >= 0], predicted[predicted >= 0]
    if not len(true):
        return {}
    n_true, n_predicted = int(true.max()) + 1, int(predicted.max()) + 1
    counts = np.bincount(true * n_predicted + predicted, minlength=n_true * n_predicted).reshape(n_true, n_predicted)
    rows, columns = linear_sum_assignment(counts, maximize=True)
    return {int(p): int(t) for t, p in zip(rows, columns, strict=True)}


def _map_ids(predicted: Ids, mapping: dict[int, int]) -> Ids:
    return np.array([mapping.get(int(p), -1) for p in predicted], dtype=np.int64)


def map_clusters(true: Ids, predicted: Ids) -> Ids:
    """Predicted ids renamed to the true ids they match best; -1 for a cluster that matches none, and for none."""
    return _map_ids(predicted, match_clusters(true, predicted))


def accuracy(true: Ids, predicted: Ids) -> float:
    """Percent; NaN for no rows."""
    return 100.0 * float(np.mean(true == predicted)) if len(true) else float("nan")


def mean_f1(true: Ids, predicted: Ids, average: Literal["weighted", "macro"]) -> float:
    """F1 per true class, averaged by how many rows it has ("weighted") or over the classes ("macro"); percent."""
    if not len(true):
        return float("nan")
    from sklearn.metrics import f1_score

    return 100.0 * float(f1_score(true, predicted, labels=np.unique(true), average=average, zero_division=0))


def calibration_error(probability: npt.NDArray[np.floating[Any]], correct: npt.NDArray[np.bool_]) -> float:
    """Return the expected calibration error in percent, over ten bins of equal width."""
    bins = np.minimum((probability * CALIBRATION_BINS).astype(int), CALIBRATION_BINS - 1)
    gaps = [abs(float((probability - correct)[bins == b].sum())) for b in range(CALIBRATION_BINS)]
    return 100 * sum(gaps) / len(correct)


def _check(true: Ids, predicted: Ids) -> None:
    if len(true) != len(predicted):
        raise ValueError(f"{len(true)} gold ids but {len(predicted)} predictions")
    if len(true) and true.min() < 0:
        raise ValueError("gold ids must be 0 or above; an unlabelled row cannot be scored")


def paper_scores(true: Ids, predicted: Ids, n_known: int) -> Scores:
    """The protocol of the released code."""
    _check(true, predicted)
    ood = true >= n_known
    return _scores(true, ood, predicted[~ood], map_clusters(true[ood], predicted[ood]), map_clusters(true, predicted))


def strict_scores(true: Ids, predicted: Ids, n_known: int) -> Scores:
    """Known intents exactly; only new columns are matched, and only to unseen classes."""
    _check(true, predicted)
    ood, renamed = true >= n_known, strict_ids(true, predicted, n_known)
    return _scores(true, ood, renamed[~ood], renamed[ood], renamed)


def strict_ids(true: Ids, predicted: Ids, n_known: int) -> Ids:
    """Predicted ids [n] as the strict protocol reads them: those from n_known on become the new intents they match."""
    landed = (true >= n_known) & (predicted >= n_known)
    matched = match_clusters(true[landed] - n_known, predicted[landed] - n_known)
    new = {p + n_known: t + n_known for p, t in matched.items()}
    return _map_ids(predicted, new | {i: i for i in range(n_known)})


def _scores(true: Ids, ood: npt.NDArray[np.bool_], of_ind: Ids, of_ood: Ids, of_all: Ids) -> Scores:
    return Scores(
        ind_acc=accuracy(true[~ood], of_ind),
        ood_acc=accuracy(true[ood], of_ood),
        ood_f1=mean_f1(true[ood], of_ood, "weighted"),
        all_acc=accuracy(true, of_all),
        all_f1=mean_f1(true, of_all, "weighted"),
    )


def adjusted_rand_index(a: Ids, b: Ids) -> float:
    """How far two clusterings agree beyond chance: 1 where they are the same.

    Equal to scikit-learn's to the last digit; that checks its input at length, where a fit compares hundreds of pairs.
    """
    low, high = b.min(initial=0), b.max(initial=0)
    both = a * (high - low + 1) + b - low  # a number for each pair of clusters
    n, of_both, of_a, of_b = len(a), _sum_of_squares(both), _sum_of_squares(a), _sum_of_squares(b)
    if of_both == of_a == of_b:
        return 1.0
    together, only_in_a, only_in_b, apart = of_both - n, of_a - of_both, of_b - of_both, n**2 - of_a - of_b + of_both
    chance = (together + only_in_a) * (only_in_a + apart) + (together + only_in_b) * (only_in_b + apart)
    return 2.0 * (together * apart - only_in_a * only_in_b) / chance


def _sum_of_squares(ids: Ids) -> int:
    return int((np.unique(ids, return_counts=True)[1] ** 2).sum())


def silhouette(vectors: Vectors | Tensor, labels: Ids | Tensor) -> float:
    """Mean silhouette coefficient, Euclidean; 0 where there are not at least two clusters."""
    x, label = torch.as_tensor(vectors), torch.as_tensor(labels)
    return float(silhouette_on_device(x, label.to(x.device), int(label.max()) + 1)) if len(label) else 0.0


def silhouette_on_device(x: Tensor, label: Tensor, clusters: int) -> Tensor:
    """The same as a scalar tensor, without waiting for the host: x [n, d], label [n] below `clusters`."""
    x = x.double() if x.device.type == "cpu" else x.float()
    distance = torch.cdist(x, x, compute_mode="use_mm_for_euclid_dist")  # [n, n]
    distance.fill_diagonal_(0.0)
    member = torch.nn.functional.one_hot(label, clusters).to(x.dtype)  # [n, k]
    return silhouette_of_sums(distance @ member, member.sum(0), label)


def silhouette_of_sums(summed: Tensor, size: Tensor, label: Tensor) -> Tensor:
    """Mean silhouette from summed distances to clusters [n, k], sizes [k] and labels [n]; single rows count as 0."""
    own = size[label]
    inside = summed.gather(1, label[:, None]).squeeze(1) / (own - 1).clamp(min=1)
    mean = (summed / size.clamp(min=1)).masked_fill(size == 0, torch.inf)  # [n, k]
    nearest = mean.scatter(1, label[:, None], torch.inf).amin(1)
    score = (nearest - inside) / torch.maximum(inside, nearest).clamp(min=1e-12)
    return torch.where((own > 1) & nearest.isfinite(), score, 0.0).mean()
