"""What newer logs show: intents that rise, fade or have shifted, and intents that have come up; false alarms are rare.

The share of an intent in each week is tested for a trend (Cochran and Armitage). Real weeks differ more than chance
alone would make them; the excess that a straight line leaves is estimated for each intent, and the test allows for it.
Of all alarms at most 5 % are false (Benjamini and Hochberg); where nothing changes, there is one in at most 5 % of the
cases. A change must also be large enough to matter.

Utterances that are frequent in newer logs and rare in earlier ones are intents that have come up. Newer and earlier
utterances are put together. If nothing has come up, it is as if lots had been drawn which of them are newer, so that
each neighbourhood has its share of newer ones but for chance. Around every utterance, neighbourhoods of several sizes
are looked at. How rich in newer ones the richest of them all is by chance is learned by drawing such lots again and
again (a permutation test of the whole search). So false alarms are as rare as wanted, however many neighbourhoods there
are; choosing among the rich ones afterwards, by whatever the model thinks of them, only makes them rarer.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
import torch

from newfound.algorithms.neighbours import nearest

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
FALSE_ALARM_RATE = 0.05  # of trends and shifts
MIN_RATIO = 1.25  # of the share at the end to that at the beginning, or the other way round
MIN_COUNT = 10  # utterances of an intent that is tested
MIN_INTENTS_FOR_EXCESS = 10  # that are tested, for the one in the middle to be steady
MIN_UTTERANCES = 6  # of an intent that has come up
SIZES = (8, 12, 16, 24, 32, 48, 64)  # of the neighbourhoods, the utterance in the middle included
FALSE_ALARM_RATE_OF_NEW_INTENTS = 0.01
N_LOTS = 199
Trend = Literal["rising", "fading", "new", "steady"]


def weekly_trends(counts: npt.NDArray[np.integer]) -> list[Trend]:
    """Return the trend of each intent.

    Args:
        counts: Utterances of each intent in each week, [intents, weeks].
    """
    weeks = np.flatnonzero(counts.sum(0))
    if len(weeks) < 2 or len(counts) < 2:
        return ["steady"] * len(counts)
    volume = counts[:, weeks].astype(np.float64)
    p_value, ratio = trend_test(volume, volume.sum(0), weeks.astype(np.float64))
    is_alarm = alarms(np.where(volume.sum(1) < MIN_COUNT, 1.0, p_value))
    is_small = (ratio > 1 / MIN_RATIO) & (ratio < MIN_RATIO)
    first = (volume > 0).argmax(1)
    is_late = (first > 0) & (first >= len(weeks) / 4)
    cases = [~is_alarm | is_small, ratio < 1, is_late]
    trends: list[Trend] = np.select(cases, ["steady", "fading", "new"], "rising").tolist()
    return trends


def trend_test(counts: Floats, total: Floats, week: Floats) -> tuple[Floats, Floats]:
    """Return the p-value of a linear trend of each share, and the share at the end over that at the beginning.

    Args:
        counts: Utterances of each intent in each week, [intents, weeks].
        total: Utterances of each week, [weeks].
        week: The number of each week, [weeks].
    """
    from scipy.stats import norm, t

    share = counts.sum(1, keepdims=True) / total.sum()  # [intents, 1]
    centred = week - (week * total).sum() / total.sum()
    room = (share * (1 - share))[:, 0].clip(1e-12)
    moment = (total * centred**2).sum()
    slope = (counts @ centred) / moment  # of the share per week
    z = slope * np.sqrt(moment / room)
    left = ((counts - total * (share + slope[:, None] * centred)) ** 2 / (total * room[:, None])).sum(1)
    p_value, freedom = 2 * norm.sf(np.abs(z)), len(week) - 2
    if freedom > 0:
        p_value = np.where(
            left > freedom, 2 * t.sf(np.abs(z) / np.sqrt(np.maximum(1.0, left / freedom)), freedom), p_value
        )
    ends = (share + slope[:, None] * centred[[0, -1]]).clip(share / 100 + 1e-12)
    return p_value, ends[:, 1] / ends[:, 0]


def shift_test(before: Floats, after: Floats) -> tuple[Floats, Floats]:
    """Return the p-value of a different share of each intent, and the later share over the earlier one.

    A model assigns the logs that it has learned from otherwise than newer ones, so that all shares differ a little. By
    how much more than by chance is read off the intent in the middle, as few intents really shift.

    Args:
        before: Utterances of each intent, [intents].
        after: The same, of other logs.
    """
    from scipy.stats import chi2

    counts = np.stack([before, after], axis=1).astype(np.float64)
    total = counts.sum(0).clip(1)
    p_value, _ = trend_test(counts, total, np.array([0.0, 1.0]))
    tested = counts.sum(1) >= MIN_COUNT
    if tested.sum() >= MIN_INTENTS_FOR_EXCESS:
        squares = chi2.isf(p_value, 1)
        p_value = chi2.sf(squares / max(1.0, float(np.median(squares[tested])) / chi2.median(1)), 1)
    share = (counts + 0.5) / (total + 0.5 * len(counts))
    return np.where(tested, p_value, 1.0), share[:, 1] / share[:, 0]


def alarms(p_value: Floats) -> Flags:
    """Return which tests are significant when all are looked at together (Benjamini and Hochberg), [n]."""
    from scipy.stats import false_discovery_control

    is_alarm: Flags = false_discovery_control(p_value) <= FALSE_ALARM_RATE
    return is_alarm


def emerging_groups(x: npt.NDArray[np.float32], is_newer: Flags, is_unusual: Flags) -> list[npt.NDArray[np.int64]]:
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
    generator = np.random.default_rng(0)
    most = np.stack([_counts(around, generator.permutation(is_newer), sizes).max(0) for _ in range(N_LOTS)])
    by_chance = np.sort(_richness(most, is_newer, sizes).max(1))  # of the richest neighbourhood of each lot
    limit = by_chance[-round(FALSE_ALARM_RATE_OF_NEW_INTENTS * (N_LOTS + 1))]
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
