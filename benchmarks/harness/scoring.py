"""Scores of a classifier on a task with gold labels. All experiments and studies use these functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import pdist

from newfound.algorithms.metrics import (
    Ids,
    Scores,
    Vectors,
    accuracy,
    adjusted_rand_index,
    map_clusters,
    paper_scores,
    strict_ids,
    strict_scores,
)
from newfound.data.task import DiscoveryTask


class Predictor(Protocol):
    """A classifier that can be scored: an `IntentModel`, or any other over known and new intents."""

    def predict_ids(self, texts: Sequence[str]) -> Ids:
        """Return one id per text: 0 to N-1 are the known intents in their order, ids from N on are clusters."""
        ...

    def outlier_scores(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return how unlike all intents each text is; larger values are more unlike."""
        ...


def score_predictor(predictor: Predictor, task: DiscoveryTask) -> dict[str, Any]:
    """Score a classifier on the test part of a task."""
    result = score_ids(task, predictor.predict_ids(task.test.texts))
    if task.out_of_scope:
        inside, outside = (predictor.outlier_scores(texts) for texts in (task.test.texts, task.out_of_scope))
        result["out_of_scope"] = round_values({"auroc": 100 * auroc(outside, inside)})
    if task.unlabelled and task.observed_train.intents:
        from sklearn.metrics import f1_score

        logs = [i for i, label in enumerate(task.observed_train.labels) if label is None]
        is_known = np.isin(logs, list(task.unlabelled))
        predicted_known = predictor.predict_ids([task.train.texts[i] for i in logs]) < len(task.known)
        result["logs"] = round_values({"known_f1": 100 * float(f1_score(is_known, predicted_known, zero_division=0))})
    return result


def score_ids(task: DiscoveryTask, predicted: Ids) -> dict[str, Any]:
    """Score predicted ids of the test part of a task."""
    gold = task.gold_ids(task.test)
    is_new = gold >= len(task.known)
    return {
        "scores": {
            protocol: round_values(asdict(score))
            for protocol, score in both_protocols(gold, predicted, len(task.known)).items()
        },
        "clustering": round_values(clustering_scores(gold[is_new], predicted[is_new])),
        "all_intents": round_values(
            {"acc": accuracy(gold, map_clusters(gold, predicted)), **clustering_scores(gold, predicted)}
        ),
    }


def strictly_correct(gold: Ids, predicted: Ids, n_known: int) -> npt.NDArray[np.bool_]:
    """Return which predictions [n] the strict protocol counts as correct."""
    correct: npt.NDArray[np.bool_] = strict_ids(gold, predicted, n_known) == gold
    return correct


def round_values(values: dict[str, float]) -> dict[str, float | None]:
    """Return the values as result files hold them: four decimals, and null for NaN, which JSON does not have."""
    return {name: None if value != value else round(value, 4) for name, value in values.items()}


def both_protocols(true: Ids, predicted: Ids, n_known: int) -> dict[str, Scores]:
    return {"paper": paper_scores(true, predicted, n_known), "strict": strict_scores(true, predicted, n_known)}


def clustering_scores(true: Ids, predicted: Ids) -> dict[str, float]:
    """Agreement that needs no matching: normalised mutual information and adjusted Rand index, in percent."""
    from sklearn.metrics import normalized_mutual_info_score

    return {
        "nmi": 100.0 * float(normalized_mutual_info_score(true, predicted)),
        "ari": 100.0 * adjusted_rand_index(true, predicted),
    }


def auroc(positive: npt.NDArray[np.floating[Any]], negative: npt.NDArray[np.floating[Any]]) -> float:
    """How often a positive scores above a negative, ties counting half: from 0 to 1."""
    from sklearn.metrics import roc_auc_score

    is_positive = np.concatenate([np.ones(len(positive)), np.zeros(len(negative))])
    return float(roc_auc_score(is_positive, np.concatenate([positive, negative])))


def compactness(vectors: Vectors, labels: Ids) -> float:
    """Inter-class over intra-class distance (paper, section 5.2): higher means clearer boundaries.

    Intra: mean Euclidean distance of a sample to its class centre. Inter: mean distance between class centres.
    """
    x = np.asarray(vectors, dtype=np.float64)
    names, label = np.unique(labels, return_inverse=True)
    if len(names) < 2:
        return float("nan")
    centres = np.stack([x[label == c].mean(0) for c in range(len(names))])
    intra = np.linalg.norm(x - centres[label], axis=1).mean()
    inter = pdist(centres).mean()
    return float(inter / intra) if intra > 0 else float("inf")
