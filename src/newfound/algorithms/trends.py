"""Which intents rise, fade, or have shifted: tests on counts per week that seldom raise a false alarm.

The share of an intent in each week is tested for a trend (Cochran and Armitage). Real weeks differ more than chance
alone would make them; the excess that a straight line leaves is estimated for each intent, and the test allows for it.
Of all alarms at most 5 % are false (Benjamini and Hochberg); where nothing changes, there is one in at most 5 % of the
cases. A change must also be large enough to matter.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
FALSE_ALARM_RATE = 0.05
MIN_RATIO = 1.25  # of the share at the end to that at the beginning, or the other way round
MIN_COUNT = 10  # utterances of an intent that is tested
MIN_INTENTS_FOR_EXCESS = 10  # that are tested, for the one in the middle to be steady
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


def alarms(p_value: Floats) -> npt.NDArray[np.bool_]:
    """Return which tests are significant when all are looked at together (Benjamini and Hochberg), [n]."""
    from scipy.stats import false_discovery_control

    is_alarm: npt.NDArray[np.bool_] = false_discovery_control(p_value) <= FALSE_ALARM_RATE
    return is_alarm
