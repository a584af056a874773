"""Which utterances of mixed logs belong to known intents.

Three witnesses are heard, each a number from 0 to 1 for every row:

    neighbours    where the logs hold a known intent, labelled and unlabelled utterances mingle; a new intent has few
                  labelled neighbours. How many labelled neighbours a known intent's own utterances have says what to
                  expect of its utterances in the logs; the ratio of the two is near 1 for a known intent.
    clusterings   k-means from several starts, in which the labelled rows of a known intent stay together and new
                  intents have clusters of their own: the share of clusterings that put a row into a known intent.
    classifier    a ridge regression on the labelled rows, which knows nothing but known intents: the share of labelled
                  rows that it is less sure of, each as if it had not been learned from.

With few labels there are too few labelled neighbours to count, and the other two decide. On eight corpora all together
told known from new better than any of them (docs/notebook/consensus.md).

Vectors x are [n, d] of unit length; y [n] are known intents, -1 for a row without a label. There are n_known known
intents and about n_new new ones. `neighbours` is how many nearest rows of each row are looked at. `pretrained` [n, d]
are vectors of the encoder before it was fine-tuned on the labels, which a classifier can be compared on.
"""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from newfound.algorithms.assignment import one_hot_or_zero
from newfound.algorithms.ensembles import Seeds, cluster_around, views
from newfound.algorithms.neighbours import nearest

DRAWS = 4  # of logs that are larger than the labelled data, so that both have a say
WEIGHT_OF_NEIGHBOURS, WEIGHT_OF_CLUSTERINGS, WEIGHT_OF_CLASSIFIER = 0.375, 0.25, 0.375
MIN_TESTIMONY, MIN_TESTIMONY_OF_TWO = 0.49, 0.34  # from which on a row belongs to a known intent
MIN_RATIO = 0.4  # of labelled neighbours: fewer speak against a known intent, whatever the others say
RIDGE = 0.3
MIN_LEFT_OUT = 1e-3  # of a row's own weight in its prediction: one that decides alone says nothing about others
MAX_ROWS_TO_LEARN_FROM = 3_000  # which known intent a row has, once it is known to have one
MIN_LABELS_FOR_NEIGHBOURS = 8  # of the typical known intent
MIN_SIZE_OF_A_GROUP = 5
MAX_LABELLED_RATIO = 0.25  # labelled rows of a group without labels, as a share of what a known intent's would have
MAX_SHARE_OVERLOOKED = 2 / 3  # of the rows in groups without labels that may be taken for known intents
MIN_SHARE_IN_GROUPS = 0.1  # of the logs, for groups without labels to say anything


def recognise_known(
    x: Tensor,
    y: Tensor,
    n_known: int,
    n_new: int,
    runs: int,
    seeds: Seeds,
    *,
    neighbours: int = 10,
    pretrained: Tensor | None = None,
) -> Tensor:
    """Return y in which rows of the logs that belong to known intents have them."""
    share, intent = known_votes(x, y, n_known, n_new, runs, seeds, neighbours=neighbours)
    sureness, guess = known_sureness(x if pretrained is None else pretrained, y, n_known)
    if typical_labels(y, n_known) < MIN_LABELS_FOR_NEIGHBOURS:
        testimony = (1 - WEIGHT_OF_CLASSIFIER) * share + WEIGHT_OF_CLASSIFIER * sureness
        is_known = (y < 0) & (testimony > MIN_TESTIMONY_OF_TWO)
        return torch.where(is_known, torch.where(share > 0, intent, guess), y)
    ratio = known_ratio(x, y, n_known, neighbours=neighbours, seed=seeds("draws"))
    testimony = WEIGHT_OF_NEIGHBOURS * ratio.clamp(max=1) + WEIGHT_OF_CLUSTERINGS * share
    testimony = testimony + WEIGHT_OF_CLASSIFIER * sureness
    is_known = (y < 0) & (ratio >= MIN_RATIO) & (testimony >= MIN_TESTIMONY)
    recognised = y.clone()
    recognised[is_known] = classify_known(x, y, is_known, seed=seeds("classifier"))
    return recognised


def known_sureness(x: Tensor, y: Tensor, n_known: int) -> tuple[Tensor, Tensor]:
    """Return the share of labelled rows that a classifier of known intents is less sure of than of each row, [n].

    And the intent that it gives to each row. It is a ridge regression in which all intents weigh the same. Labelled
    rows are predicted as if they had not been learned from: leaving a row out divides its error by 1 minus its
    leverage.
    """
    labelled = (y >= 0).nonzero().squeeze(1)
    target = one_hot_or_zero(y[labelled], n_known).double()  # [m, n_known]
    points = x[labelled].double()
    weight = (1 / target.sum(0).clamp(min=1))[y[labelled]][:, None]
    weight = weight / weight.mean()
    centre, base = ((weight * v).sum(0) / weight.sum() for v in (points, target))
    points = points - centre
    inverse = torch.linalg.inv(points.T @ (weight * points) + RIDGE * torch.eye(x.shape[1], device=x.device))
    scores = (x.double() - centre) @ (inverse @ (points.T @ (weight * (target - base)))) + base  # [n, n_known]
    leverage = weight.squeeze(1) * (((points @ inverse) * points).sum(1) + 1 / weight.sum())
    left_out = (1 - leverage).clamp(min=MIN_LEFT_OUT)[:, None]
    highest, intent = scores.max(1)
    of_labelled = (target - (target - scores[labelled]) / left_out).amax(1)
    below = torch.searchsorted(of_labelled.sort().values, highest, right=True)
    return below / len(labelled), intent


def classify_known(x: Tensor, y: Tensor, rows: Tensor, *, seed: int) -> Tensor:
    """Return the known intents [m] that a logistic regression on labelled rows gives to some rows, a mask [n]."""
    from sklearn.linear_model import LogisticRegression

    if not bool(rows.any()) or len(torch.unique(y[y >= 0])) < 2:
        return y.max().expand(int(rows.sum()))
    labelled = (y >= 0).nonzero().squeeze(1)
    order = torch.randperm(len(labelled), generator=torch.Generator().manual_seed(seed))[:MAX_ROWS_TO_LEARN_FROM]
    labelled = labelled[order.to(x.device)]
    classifier = LogisticRegression(C=20, max_iter=200).fit(x[labelled].cpu().numpy(), y[labelled].cpu().numpy())
    return torch.from_numpy(classifier.predict(x[rows].cpu().numpy())).to(y.device)


def typical_labels(y: Tensor, n_known: int) -> float:
    """Return how many labelled rows the typical known intent has: the median."""
    return float(torch.bincount(y[y >= 0], minlength=n_known).float().median()) if n_known else 0.0


def known_votes(
    x: Tensor, y: Tensor, n_known: int, n_new: int, runs: int, seeds: Seeds, *, neighbours: int = 10
) -> tuple[Tensor, Tensor]:
    """Return the share of the clusterings around the labels that put each row into a known intent, and that intent."""
    cluster = partial(cluster_around, y=y, n_known=n_known, k=n_known + n_new)
    votes = torch.zeros(len(x), n_known + 1, device=x.device)
    for i, view in enumerate(views(x, neighbours=neighbours)):
        for run in range(runs):
            votes += one_hot_or_zero(cluster(view, seed=seeds("around", i, run)).clamp(max=n_known), n_known + 1)
    count, intent = votes[:, :n_known].max(1)
    return count / (2 * runs), intent


def known_ratio(x: Tensor, y: Tensor, n_known: int, *, neighbours: int = 10, seed: int = 0) -> Tensor:
    """Return each row's labelled neighbours over those of the nearest known intent's own rows, [n]."""
    labelled, logs = (y >= 0).nonzero().squeeze(1), (y < 0).nonzero().squeeze(1)
    generator = torch.Generator().manual_seed(seed)
    label = torch.where(y >= 0, y, n_known)  # the last column: neighbours without a label
    counts = torch.zeros(len(x), n_known + 1, device=x.device)  # labelled neighbours by intent, in all draws
    for _ in range(DRAWS if len(logs) > len(labelled) else 1):
        drawn = logs[torch.randperm(len(logs), generator=generator)[: len(labelled)].to(x.device)]
        rows = nearest(x, neighbours, among=torch.cat([labelled, drawn]))[1]
        counts.scatter_add_(1, label[rows], torch.ones_like(rows, dtype=counts.dtype))
    most, intent = counts[:, :n_known].max(1)  # [n]
    near = counts[:, :n_known].sum(1)
    own = torch.zeros(n_known, device=x.device).index_add_(0, y[labelled], near[labelled])
    expected = own / torch.bincount(y[labelled], minlength=n_known).clamp(min=1)
    return torch.where(most > 0, near / expected[intent].clamp(min=1e-9), 0.0)


def overlooks_new(clusters: Tensor, y: Tensor, recognised: Tensor) -> bool:
    """Return whether most rows of clear groups without labels were taken for known intents.

    `clusters` [n] are groups that were found without labels. Those with hardly any labelled row are probably new
    intents; where a recognition takes most of their rows for known intents, the labels did harm.
    """
    size = torch.bincount(clusters)
    labelled = torch.bincount(clusters[y >= 0], minlength=len(size))
    is_group = (size >= MIN_SIZE_OF_A_GROUP) & (labelled <= MAX_LABELLED_RATIO * (y >= 0).float().mean() * size)
    inside = is_group[clusters] & (y < 0)
    if int(inside.sum()) < MIN_SHARE_IN_GROUPS * int((y < 0).sum()):
        return False
    return float((recognised[inside] >= 0).float().mean()) > MAX_SHARE_OVERLOOKED
