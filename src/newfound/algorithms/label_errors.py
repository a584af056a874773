"""Likely label errors and intents that are nearly one, from out-of-sample predictions on frozen vectors.

The thresholds are those of confident learning (Northcutt, Jiang and Chuang, "Confident Learning: Estimating Uncertainty
in Dataset Labels", JAIR 70, 2021).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

INVERSE_REGULARISATION = 10.0  # of the classifier, for vectors of length 1
MIN_CONFUSION = 0.1  # share of each of two intents that is predicted as the other
MIN_SIMILARITY = 0.5  # cosine of the centroids of two intents, after the mean of all centroids is taken away


def out_of_sample_probabilities(x: Floats, y: Ints, *, n_classes: int, folds: int = 5, seed: int = 0) -> Floats:
    """Return probabilities [n, n_classes] of classifiers that were not fitted on the row they predict."""
    import warnings

    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold

    unit = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
    probabilities = np.zeros((len(y), n_classes))
    with warnings.catch_warnings():
        # Classes with fewer members than folds, and few iterations where classes are all but separable.
        warnings.simplefilter("ignore", UserWarning)
        for train, test in StratifiedKFold(folds, shuffle=True, random_state=seed).split(unit, y):
            if len(np.unique(y[train])) == 1:  # all other classes have one member, which is in the other part
                probabilities[test, y[train][0]] = 1.0
                continue
            classifier = LogisticRegression(C=INVERSE_REGULARISATION, max_iter=200).fit(unit[train], y[train])
            probabilities[np.ix_(test, classifier.classes_)] = classifier.predict_proba(unit[test])
    return probabilities


def likely_labels(p: Floats, y: Ints) -> Ints:
    """Return the label that each utterance most likely should have, [n].

    A class is possible for an utterance if its probability reaches the threshold of the class (eq. 1), which is the
    mean over the utterances that carry its label (eq. 2); the most probable of these is taken. If none reaches its
    threshold, the label stays. Where the result differs from y, the utterance lies off the diagonal of the confident
    joint, and its label is likely wrong.

    Two conditions are added: the class is more probable than the label, and has more than one member. Otherwise a small
    class, whose own utterances get low probabilities and which therefore has a low threshold, is likely for everything.
    """
    given, sizes = p[np.arange(len(y)), y], np.bincount(y, minlength=p.shape[1])
    thresholds = np.bincount(y, weights=given, minlength=p.shape[1]) / np.maximum(sizes, 1)
    possible = (p >= thresholds) & (sizes > 1) & (p >= given[:, None])
    best = np.where(possible, p, -1.0).argmax(1)
    return np.where(possible.any(1), best, y).astype(np.int64)


def near_duplicates(x: Floats, p: Floats, y: Ints) -> list[tuple[int, int, float, float]]:
    """Return pairs of intents that are nearly one, the most confused first, with their confusion and similarity.

    Two intents are, if at least a tenth of each is predicted as the other, and their centroids are alike.
    """
    n_classes = p.shape[1]
    sizes = np.bincount(y, minlength=n_classes)
    confused = np.zeros((n_classes, n_classes))
    np.add.at(confused, (y, p.argmax(1)), 1)
    rates = confused / np.maximum(sizes, 1)[:, None]
    similarity = centroid_similarity(x, y, n_classes)
    pairs = []
    for a, b in np.argwhere(np.triu(np.minimum(rates, rates.T) >= MIN_CONFUSION, 1)):
        if similarity[a, b] >= MIN_SIMILARITY:
            share = (confused[a, b] + confused[b, a]) / (sizes[a] + sizes[b])
            pairs.append((int(a), int(b), float(share), float(similarity[a, b])))
    return sorted(pairs, key=lambda pair: (-pair[2], -pair[3]))


def centroid_similarity(x: Floats, y: Ints, n_classes: int) -> Floats:
    """Return the cosines of the classes' centroids, [n_classes, n_classes], without what all have in common."""
    unit = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
    centroids = np.zeros((n_classes, x.shape[1]))
    np.add.at(centroids, y, unit)
    centroids /= np.maximum(np.bincount(y, minlength=n_classes), 1)[:, None]
    centroids -= centroids.mean(0)
    centroids /= np.maximum(np.linalg.norm(centroids, axis=1, keepdims=True), 1e-12)
    return np.asarray(centroids @ centroids.T)
