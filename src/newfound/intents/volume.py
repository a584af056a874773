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
    all_days = {day for own in days for day, _ in own}
    if not all_days:
        return [None] * len(days)
    weeks = {week_of(day) for day in all_days}
    first = max(min(weeks), max(weeks) - MAX_WEEKS + 1)
    counts = np.zeros((len(days), max(weeks) - first + 1), dtype=np.int64)  # [intents, weeks]
    for intent, own in enumerate(days):
        for day, count in own:
            if week_of(day) >= first:
                counts[intent, week_of(day) - first] += count
    trends = weekly_trends(counts) if counts.shape[1] > 1 else [None] * len(days)
    monday, partial = date.fromordinal(7 * first + 1).isoformat(), _partial_weeks(sorted(all_days), counts.shape[1])
    return [Volume(monday, tuple(row), trend, partial) for row, trend in zip(counts.tolist(), trends, strict=True)]


def _partial_weeks(days: Sequence[str], n_weeks: int) -> tuple[int, ...]:
    """Return whether the logs begin or end within a week, where other weeks have earlier or later days."""
    weekdays = [date.fromisoformat(day).weekday() for day in days]
    return (0,) * (weekdays[0] > min(weekdays)) + (n_weeks - 1,) * (weekdays[-1] < max(weekdays))


@cache
def week_of(day: str) -> int:
    """Return the number of the week of an ISO day; the first day of the calendar, 1 January of year 1, is a Monday."""
    return (date.fromisoformat(day).toordinal() - 1) // 7
