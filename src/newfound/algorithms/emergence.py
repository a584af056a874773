"""Groups of similar utterances that are frequent in newer logs and rare in earlier ones: intents that have come up."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
MIN_UTTERANCES = 6  # of an intent that has come up
MAX_P_VALUE = 0.01  # of a group as frequent in newer logs, divided by the number of groups that are looked at
QUANTILE_OF_CLOSENESS = 0.25  # of the intents, as close as which the utterances of a group are on average
QUANTILE_OF_MEMBERS = 0.25  # of the similarities of a group's members to its centre, from which on others are near


def closeness_of_intents(x: Floats, label: npt.NDArray[np.int64]) -> float:
    """Return a mean similarity of the utterances of an intent that most intents exceed.

    Args:
        x: Vectors of utterances at unit length, [n, d].
        label: Their intents, [n]; -1 for none.
    """
    means = []
    for intent in np.unique(label[label >= 0]):
        own = x[label == intent]
        if len(own) > 1:
            total = own.sum(0)
            means.append((float(total @ total) - len(own)) / (len(own) * (len(own) - 1)))
    return float(np.quantile(means, QUANTILE_OF_CLOSENESS)) if means else 1.0


def emerging_groups(
    x: Floats, earlier: Floats, n_newer: int, n_earlier: int, closeness: float
) -> list[npt.NDArray[np.int64]]:
    """Return the rows of each group of unusual utterances that newer logs have and earlier logs hardly have.

    Unusual utterances of an intent that the model has are as frequent in the earlier logs; those of an intent that has
    come up are not there.

    Args:
        x: Vectors of the unusual utterances of newer logs at unit length, [n, d].
        earlier: Vectors of utterances of the earlier logs, [m, d], all of them or a sample.
        n_newer: The number of utterances of the newer logs, unusual or not.
        n_earlier: The number of utterances that `earlier` has.
        closeness: The mean similarity of the utterances of an intent.
    """
    from scipy.stats import binom
    from sklearn.cluster import AgglomerativeClustering

    if len(x) < MIN_UTTERANCES:
        return []
    clustering = AgglomerativeClustering(
        n_clusters=None, metric="cosine", linkage="average", distance_threshold=max(1e-6, 1 - closeness)
    )
    label = clustering.fit_predict(x)
    groups = [np.flatnonzero(label == group) for group in range(label.max() + 1)]
    groups = [rows for rows in groups if len(rows) >= MIN_UTTERANCES]
    emerged = []
    for rows in groups:
        centre = x[rows].mean(0)
        similarity = x[rows] @ centre
        limit = np.quantile(similarity, QUANTILE_OF_MEMBERS)
        newer, before = int((similarity >= limit).sum()), int((earlier @ centre >= limit).sum())
        p_value = binom.sf(newer - 1, newer + before, n_newer / max(1, n_newer + n_earlier))
        if p_value * len(groups) <= MAX_P_VALUE:
            emerged.append(rows)
    return sorted(emerged, key=len, reverse=True)
