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
    match_clusters,
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
    """Score a classifier on the test part of a task.

    Args:
        predictor: A classifier that was fitted on the training part.
        task: Has the test part and the gold labels.

    Returns:
        `scores` by protocol, `clustering` and `all_intents`; `out_of_scope` if the task has utterances of no intent to
        recognise, and `logs` if its logs hold utterances of known intents and some intents are known.
    """
    result = score_ids(task, predictor.predict_ids(task.test.texts))
    if task.out_of_scope:
        inside, outside = (predictor.outlier_scores(texts) for texts in (task.test.texts, task.out_of_scope))
        result["out_of_scope"] = round_values({"auroc": 100 * auroc(outside, inside)})
    if task.unlabelled and task.observed_train.intents:
        logs = [i for i, label in enumerate(task.observed_train.labels) if label is None]
        is_known = np.isin(logs, list(task.unlabelled))
        predicted_known = predictor.predict_ids([task.train.texts[i] for i in logs]) < len(task.known)
        result["logs"] = round_values({"known_f1": binary_f1(is_known, predicted_known)})
    return result


def score_ids(task: DiscoveryTask, predicted: Ids) -> dict[str, Any]:
    """Score predicted ids of the test part of a task.

    Args:
        task: Has the gold labels of the test part.
        predicted: The predicted id of each test utterance.

    Returns:
        `scores` by protocol, `clustering` scores of the new intents' utterances, and `all_intents`: the same of all
        utterances, with the accuracy after the best matching of all intents, known ones included.
    """
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
    """Return which predictions [n] the strict protocol counts as correct.

    A known intent must be predicted exactly; predicted clusters are matched to the new intents one to one.

    Args:
        gold: Gold ids, [n].
        predicted: Predicted ids, [n].
        n_known: Number of known intents.
    """
    in_new = (gold >= n_known) & (predicted >= n_known)
    matched = match_clusters(gold[in_new] - n_known, predicted[in_new] - n_known)
    intent_of = {cluster + n_known: intent + n_known for cluster, intent in matched.items()}
    meaning = [p if p < n_known else intent_of.get(p, -1) for p in predicted.tolist()]
    correct: npt.NDArray[np.bool_] = np.array(meaning) == gold
    return correct


def round_values(values: dict[str, float]) -> dict[str, float | None]:
    """Return the values as result files hold them: four decimals, and null for NaN, which JSON does not have."""
    return {name: None if value != value else round(value, 4) for name, value in values.items()}


def binary_f1(actual: npt.NDArray[np.bool_], predicted: npt.NDArray[np.bool_]) -> float:
    """Return F1 in percent; 0 if neither has a positive."""
    return 200 * int((actual & predicted).sum()) / max(1, int(actual.sum() + predicted.sum()))
