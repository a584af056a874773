"""Scores of a classifier on a task with gold labels. All experiments and studies use these functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from newfound.algorithms.metrics import (
    Ids,
    accuracy,
    auroc,
    both_protocols,
    clustering_scores,
    map_clusters,
    strict_ids,
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
            protocol: round_values(score.as_dict())
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
