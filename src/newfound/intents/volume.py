"""How often intents occur from week to week, and which of them rise or fade. Weeks begin on Monday."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import cache

import numpy as np

from newfound.algorithms.trends import weekly_trends
from newfound.model.types import Volume

MAX_WEEKS = 520  # earlier ones are left out: ten years, unless a day is wrong


def weekly_volumes(days: Sequence[Sequence[tuple[str, int]]]) -> list[Volume | None]:
    """Return the volume of each intent from the days of its utterances with their counts; None without any day."""
    weeks = {week_of(day) for own in days for day, _ in own}
    if not weeks:
        return [None] * len(days)
    first = max(min(weeks), max(weeks) - MAX_WEEKS + 1)
    counts = np.zeros((len(days), max(weeks) - first + 1), dtype=np.int64)  # [intents, weeks]
    for intent, own in enumerate(days):
        for day, count in own:
            if week_of(day) >= first:
                counts[intent, week_of(day) - first] += count
    trends = weekly_trends(counts) if counts.shape[1] > 1 else [None] * len(days)
    monday = date.fromordinal(7 * first + 1).isoformat()
    return [Volume(monday, tuple(row), trend) for row, trend in zip(counts.tolist(), trends, strict=True)]


@cache
def week_of(day: str) -> int:
    """Return the number of the week of an ISO day; the first day of the calendar, 1 January of year 1, is a Monday."""
    return (date.fromisoformat(day).toordinal() - 1) // 7
