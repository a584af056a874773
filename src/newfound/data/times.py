"""When utterances were said: which column of a file holds times, and the day that each of its values names.

A day is the one that is written in the file, whatever the time zone; numbers are seconds or milliseconds in UTC. Where
3/4/2024 may be in March or in April, the other values of the column decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime
from itertools import chain, islice
from typing import Any

from newfound.data.columns import plain_name
from newfound.data.rows import Record, Records, Source
from newfound.errors import ColumnMissing, DataError

ROWS_TO_LOOK_AT = 50  # for the column
ROWS_FOR_THE_ORDER = 10_000  # of day and month
MIN_SHARE_OF_TIMES = 0.5  # of the values of a column that has a name of times
FIRST_YEAR, LAST_YEAR = 1970, 2100
TIME_NAMES = frozenset(("time", "timestamp", "datetime", "date time", "date", "day"))
BEGINNINGS = frozenset(("created", "sent", "received", "started", "start", "opened"))
LAST_WORDS = frozenset((*TIME_NAMES, "at", "on", "ts"))

_CLOCK = r"(?:[T ,]+\d.*)?"
YEAR_FIRST = re.compile(rf"(\d{{4}})([-/.]?)(\d{{1,2}})\2(\d{{1,2}}){_CLOCK}")
YEAR_LAST = re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2(\d{{4}}|\d{{2}}){_CLOCK}")
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
NAMED_MONTH = re.compile(
    rf"(?:[a-z]{{3,9}},? +)?(?:{_DAY}[ .-]+)?([a-z]{{3,9}})\.?[ ,-]+(?:{_DAY},? +)?(\d{{4}}){_CLOCK}", re.IGNORECASE
)
MONTHS = {name: i for i, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
SINCE_1970 = re.compile(r"(\d{9,10}?)(?:\d{3})?(?:\.\d*)?")  # seconds or milliseconds, from 1973 on


def day_of(value: object, *, day_first: bool = True) -> str | None:
    """Return the day of a value in ISO form; None if it is no time.

    With `day_first`, 3/4/2024 is in April; 3/14/2024 is in March in any case.
    """
    if isinstance(value, date):
        return _iso(value.year, value.month, value.day)
    text = str(value).strip()
    if match := YEAR_FIRST.fullmatch(text):
        return _iso(match[1], match[3], match[4])
    if match := YEAR_LAST.fullmatch(text):
        year, first, second = _numbers(match)
        month, day = (second, first) if day_first else (first, second)
        return _iso(year, month, day) or _iso(year, day, month)
    if match := NAMED_MONTH.fullmatch(text):
        return _iso(match[4], MONTHS.get(match[2][:3].lower(), 0), match[1] or match[3] or 0)
    if match := SINCE_1970.fullmatch(text):
        return day_of(datetime.fromtimestamp(int(match[1]), UTC))
    return None


def reads_day_first(values: Iterable[object]) -> bool | None:
    """Return whether the day precedes the month in values such as 3/4/2024; None if there are no such values.

    Values that can be read in one way only say so. Without them, the day comes first.
    """
    numbers = [_numbers(match)[1:] for value in values if (match := YEAR_LAST.fullmatch(str(value).strip()))]
    if all(first == second or max(first, second) > 12 for first, second in numbers):
        return None
    return sum(first > 12 for first, _ in numbers) >= sum(second > 12 for _, second in numbers)


def with_days(records: Records, source: Source) -> Iterator[tuple[int, Record, str | None]]:
    """Yield records with their days, from the column that the options name or that holds times.

    Raises:
        DataError: The column that the options name is not there, or there is no time in it.
    """
    ahead, report = list(islice(records, ROWS_TO_LOOK_AT)), source.report
    column = _find_column([record for _, record in ahead], source)
    if column is None:
        yield from ((line, record, None) for line, record in chain(ahead, records))
        return
    ahead.extend(islice(records, ROWS_FOR_THE_ORDER - len(ahead)))
    day_first = reads_day_first(record.get(column) for _, record in ahead)
    if day_first is not None:
        order = "day, month" if day_first else "month, day"
        report.note(f"dates such as 03/04/2024 are read as {order}, year")
    dated = 0
    for line, record in chain(ahead, records):
        value = record.get(column)
        day = day_of(value, day_first=day_first is not False)
        dated += day is not None
        if day is None and value is not None and str(value).strip():
            report.count("undated", line)
        yield line, record, day
    if not dated:
        raise DataError(f"{source.name}: no time in the column {column!r}", "time_column")


def _find_column(records: Sequence[Record], source: Source) -> str | None:
    names = list(dict.fromkeys(name for record in records for name in record)) if source.report.columns else []
    wanted = source.options.time_column
    if wanted is not None:
        if records and wanted not in names:
            raise ColumnMissing(source.name, wanted, "time", names)
        return wanted
    for name in sorted(names, key=_rank):
        is_named = has_name_of_times(name)
        values = [value for record in records if (value := record.get(name)) is not None and str(value).strip()]
        # In a column of another name, a number may be that of anything.
        dated = sum(day_of(value) is not None and (is_named or not _is_number(value)) for value in values)
        if dated and dated >= (MIN_SHARE_OF_TIMES if is_named else 1) * len(values):
            source.report.note(f"the times are read from the column {name!r}")
            return name
    return None


def has_name_of_times(name: str) -> bool:
    """Return whether a column is called like one that holds times."""
    return _rank(name) < 3


def _rank(name: str) -> int:
    plain = plain_name(name)
    words = plain.split() or [""]
    return 0 if plain in TIME_NAMES else 1 if BEGINNINGS & set(words) else 2 if words[-1] in LAST_WORDS else 3


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) or re.fullmatch(r"[\d.]+", str(value).strip()) is not None


def _iso(year: str | int, month: str | int, day: str | int) -> str | None:
    if not FIRST_YEAR <= int(year) <= LAST_YEAR:
        return None
    try:
        return date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return None


def _numbers(match: re.Match[str]) -> tuple[int, int, int]:
    """Return the year, the first and the second number of a date whose year comes last."""
    return int(match[4]) + (2000 if len(match[4]) == 2 else 0), int(match[1]), int(match[3])
