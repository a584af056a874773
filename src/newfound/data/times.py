"""When utterances were said: which column of a file holds times, and the day that each of its values names.

A day is the one that is written in the file, whatever the time zone; numbers are counted in UTC. Where 3/4/2024 may be
in March or in April, the whole column decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from itertools import chain, islice
from typing import Any

from newfound.data.columns import plain_name
from newfound.data.rows import Record, Records, Source
from newfound.errors import ColumnMissing, DataError

ROWS_TO_LOOK_AT = 50
MIN_SHARE_OF_TIMES = 0.5  # of the values of a column that has a name of times
FIRST_YEAR, LAST_YEAR = 1970, 2100
TIME_NAMES = frozenset(("time", "timestamp", "datetime", "date time", "date", "day"))
BEGINNINGS = frozenset(("created", "sent", "received", "started", "start", "opened"))
LAST_WORDS = frozenset((*TIME_NAMES, "at", "on", "ts"))

_CLOCK = r"(?:[T ,]+\d.*)?"
YEAR_FIRST = re.compile(rf"(\d{{4}})([-/.])(\d{{1,2}})\2(\d{{1,2}}){_CLOCK}")
WITHOUT_DELIMITER = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T\d.*)?")
YEAR_LAST = re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2(\d{{4}}|\d{{2}}){_CLOCK}")
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
NAMED_MONTH = re.compile(
    rf"(?:[a-z]{{3,9}},? +)?(?:{_DAY}[ .-]+)?([a-z]{{3,9}})\.?[ ,-]+(?:{_DAY},? +)?(\d{{4}}){_CLOCK}", re.IGNORECASE
)
MONTHS = {name: i for i, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
EXCEL_BEGINS = date(1899, 12, 30)
EXCEL_DAYS = range(20_000, 80_000)  # from 1954 to 2119
EPOCH_SECONDS = range(10**8, 4 * 10**9)  # from 1973 to 2096
UNITS_PER_SECOND = (1, 10**3, 10**6, 10**9)


@dataclass(slots=True)
class DayReader:
    """Reads the days of a column. What can be read in two ways is settled when all values were seen."""

    dated: int = 0  # values that were read
    day_first: int = 0  # values that can be read with the day first only
    month_first: int = 0
    _unclear: set[tuple[int, int, int]] = field(default_factory=set)  # year, first and second number

    def read(self, value: object) -> str | None:
        """Return the day of a value, in ISO form or as `settle` names it; None if it is no time."""
        day = self._read(value)
        self.dated += day is not None
        return day

    def _read(self, value: object) -> str | None:
        if isinstance(value, date):
            return _iso(value.year, value.month, value.day)
        if value is None or isinstance(value, bool):
            return None
        text = str(value).strip()
        if match := YEAR_FIRST.fullmatch(text):
            return _iso(match[1], match[3], match[4])
        if match := YEAR_LAST.fullmatch(text):
            first, second = int(match[1]), int(match[3])
            return self._year_last(first, second, int(match[4]) + (2000 if len(match[4]) == 2 else 0))
        if match := WITHOUT_DELIMITER.fullmatch(text):
            return _iso(match[1], match[2], match[3])
        if match := NAMED_MONTH.fullmatch(text):
            return _iso(match[4], MONTHS.get(match[2][:3].lower(), 0), match[1] or match[3] or 0)
        return _day_of_number(text)

    def _year_last(self, first: int, second: int, year: int) -> str | None:
        if first > 12 or second > 12 or first == second:
            self.day_first += first > 12
            self.month_first += second > 12
            return _iso(year, second, first) or _iso(year, first, second)
        self._unclear.add((year, first, second))
        return _unclear_day(year, first, second)

    @property
    def reads_day_first(self) -> bool | None:
        """Whether the day precedes the month in values such as 3/4/2024; None if there are no such values.

        Values that can be read in one way only say so; without them it is the order in which the days lie closer.
        """
        if not self._unclear:
            return None
        if self.day_first != self.month_first:
            return self.day_first > self.month_first
        with_day_first = [(year, second, first) for year, first, second in self._unclear]
        return _span(with_day_first) <= _span(list(self._unclear))

    def settle(self) -> dict[str, str]:
        """Return the ISO day of every day that could be read in two ways, by what `read` has called it."""
        order = self.reads_day_first
        return {
            _unclear_day(year, first, second): _iso(year, *((second, first) if order else (first, second))) or ""
            for year, first, second in self._unclear
        }


def with_days(records: Records, source: Source) -> Iterator[tuple[int, Record, str | None]]:
    """Yield records with their days, from the column that the options name or that holds times.

    Raises:
        DataError: The column that the options name is not there, or there is no time in it.
    """
    ahead = list(islice(records, ROWS_TO_LOOK_AT))
    column = _find_column([record for _, record in ahead], source)
    reader, report = DayReader(), source.report
    report.days = None if column is None else reader
    for line, record in chain(ahead, records):
        value = None if column is None else record.get(column)
        day = reader.read(value)
        if day is None and value is not None and str(value).strip():
            report.count("undated", line)
        yield line, record, day
    if column is not None and not reader.dated:
        raise DataError(f"{source.name}: no time in the column {column!r}", "time_column")
    if reader.reads_day_first is not None:
        order = "day, month" if reader.reads_day_first else "month, day"
        report.note(f"dates such as 03/04/2024 are read as {order}, year, as the whole column suggests")


def _find_column(records: Sequence[Record], source: Source) -> str | None:
    names = list(dict.fromkeys(name for record in records for name in record)) if source.report.columns else []
    wanted = source.options.time_column
    if wanted is not None:
        if records and wanted not in names:
            raise ColumnMissing(source.name, wanted, "time", names)
        return wanted
    for name in sorted(names, key=_rank):
        values = [value for record in records if (value := record.get(name)) is not None and str(value).strip()]
        if not has_name_of_times(name):
            values = [None if _is_number(value) else value for value in values]  # it may be the number of anything
        dated = sum(DayReader().read(value) is not None for value in values)
        if dated and dated >= (MIN_SHARE_OF_TIMES if has_name_of_times(name) else 1) * len(values):
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


def _day_of_number(text: str) -> str | None:
    """Return the day of a number of seconds, or of parts of a second, since 1970, or of an Excel cell."""
    try:
        number = float(text)
    except ValueError:
        return None
    if EXCEL_DAYS.start <= number < EXCEL_DAYS.stop:
        return (EXCEL_BEGINS + timedelta(days=int(number))).isoformat()
    for unit in UNITS_PER_SECOND:
        if EPOCH_SECONDS.start <= number / unit < EPOCH_SECONDS.stop:
            return datetime.fromtimestamp(number / unit, UTC).date().isoformat()
    return None


def _iso(year: str | int, month: str | int, day: str | int) -> str | None:
    if not FIRST_YEAR <= int(year) <= LAST_YEAR:
        return None
    try:
        return date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return None


def _unclear_day(year: int, first: int, second: int) -> str:
    return f"{year}-{first:02}/{second:02}"


def _span(days: list[tuple[int, int, int]]) -> int:
    """Return the number of days from the first to the last; no day is after the 12th, so that all exist."""
    ordinals = [date(*day).toordinal() for day in days]
    return max(ordinals) - min(ordinals)
