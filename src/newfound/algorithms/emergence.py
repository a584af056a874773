"""Utterances that are frequent in newer logs and rare in earlier ones: intents that have come up.

Newer and earlier utterances are put together. If nothing has come up, it is as if lots had been drawn which of them are
newer, so that each neighbourhood has its share of newer ones but for chance. Around every utterance, neighbourhoods of
several sizes are looked at. How rich in newer ones the richest of them all is by chance is learned by drawing such lots
again and again (a permutation test of the whole search). So false alarms are as rare as wanted, however many
neighbourhoods there are; choosing among the rich ones afterwards, by whatever the model thinks of them, only makes them
rarer.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from newfound.algorithms.neighbours import nearest

Array = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]
MIN_UTTERANCES = 6  # of an intent that has come up
SIZES = (8, 12, 16, 24, 32, 48, 64)  # of the neighbourhoods, the utterance in the middle included
FALSE_ALARM_RATE = 0.01
N_LOTS = 199


def emerging_groups(x: Array, is_newer: Flags, is_unusual: Flags) -> list[npt.NDArray[np.int64]]:
    """Return the rows of each group of unusual newer utterances where there are hardly any earlier ones.

    Args:
        x: Vectors of newer and earlier utterances at unit length, [n, d]; they must not depend on which are newer.
        is_newer: Which utterances are newer, [n].
        is_unusual: Which utterances hardly fit an intent of the model, [n]; of an intent that has only become more
            frequent, few do.
    """
    if len(x) < SIZES[0] or (is_newer & is_unusual).sum() < MIN_UTTERANCES:
        return []
    sizes = [size for size in SIZES if size <= len(x)]
    _, index = nearest(torch.from_numpy(x), sizes[-1] - 1)
    around = np.concatenate([np.arange(len(x))[:, None], index.numpy()], axis=1)  # each utterance and its nearest ones
    richness = _richness(_counts(around, is_newer, sizes), is_newer, sizes)  # [n, sizes]
    limit = _chance_limit(around, is_newer, sizes)
    groups: list[set[int]] = []
    for centre in np.argsort(-richness.max(1), kind="stable"):
        if richness[centre].max() <= limit:
            break
        near = around[centre, : sizes[richness[centre].argmax()]]
        near = near[is_newer[near]]
        if 2 * is_unusual[near].sum() <= len(near):
            continue
        members = set(near[is_unusual[near]].tolist())
        others = members.difference(*groups)
        if 2 * len(others) > len(members):
            groups.append(others)
        else:
            max(groups, key=lambda group: len(group & members)).update(others)
    return [np.array(sorted(group)) for group in sorted(groups, key=len, reverse=True) if len(group) >= MIN_UTTERANCES]


def _counts(around: npt.NDArray[np.int64], is_newer: Flags, sizes: list[int]) -> npt.NDArray[np.int64]:
    """Return the number of newer utterances in the neighbourhoods of each size, [n, sizes]."""
    return np.add.reduceat(is_newer[around], [0, *sizes[:-1]], axis=1, dtype=np.int64).cumsum(1)


def _richness(counts: npt.NDArray[np.int64], is_newer: Flags, sizes: list[int]) -> npt.NDArray[np.float64]:
    """Return how unlikely so many newer utterances are by chance, as a negative logarithm, [n, sizes]."""
    from scipy.stats import hypergeom

    total, newer = len(is_newer), int(is_newer.sum())
    tails = [-hypergeom.logsf(np.arange(size + 1) - 1, total, newer, size) for size in sizes]
    return np.stack([tail[own] for tail, own in zip(tails, counts.T, strict=True)], axis=1)


def _chance_limit(around: npt.NDArray[np.int64], is_newer: Flags, sizes: list[int]) -> float:
    """Return the richness that no neighbourhood exceeds by chance, but for the rate of false alarms."""
    generator = np.random.default_rng(0)
    most = np.stack([_counts(around, generator.permutation(is_newer), sizes).max(0) for _ in range(N_LOTS)])
    richest = _richness(most, is_newer, sizes).max(1)
    return float(np.sort(richest)[-round(FALSE_ALARM_RATE * (N_LOTS + 1))])
