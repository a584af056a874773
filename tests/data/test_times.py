"""Days of utterances: which column holds times, what its values mean, and that repeats keep them."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from newfound.data.corpus import FROM_LOGS, Corpus, Origin
from newfound.data.duplicates import DistinctSample, add_counts, distinct
from newfound.data.rows import ReadOptions
from newfound.data.times import day_of
from newfound.data.validation import read_corpus
from newfound.errors import ColumnMissing, DataError


def _read(path, **options):
    corpus, report = read_corpus(path, ReadOptions(**options), "ignored")
    return [origin.days[0][0] if origin.days else None for origin in corpus.origins], report


def _csv(path, column, values):
    path.write_text(f"id,message,{column}\n" + "".join(f"{i},hello {i},{v}\n" for i, v in enumerate(values)), "utf-8")
    return path


@pytest.mark.parametrize(
    ("value", "day"),
    [
        ("2024-03-05", "2024-03-05"),
        ("2024-03-05T23:59:59Z", "2024-03-05"),
        ("2024-03-05T00:30:00+02:00", "2024-03-05"),  # the day that is written
        ("2024-03-05 10:15:00.123456789 UTC", "2024-03-05"),
        ("2024/3/5 9:15", "2024-03-05"),
        ("20240305T101500Z", "2024-03-05"),
        ("20240305", "2024-03-05"),
        ("25.12.2024", "2024-12-25"),
        ("12/25/24 3:15 PM", "2024-12-25"),
        ("Tue, 05 Mar 2024 10:00:00 +0000", "2024-03-05"),
        ("March 5th, 2024", "2024-03-05"),
        ("5-Mar-2024", "2024-03-05"),
        ("1709632800", "2024-03-05"),
        (1709632800.5, "2024-03-05"),
        ("1709632800000", "2024-03-05"),
        (datetime(2024, 3, 5, 12, tzinfo=UTC), "2024-03-05"),
        (date(2024, 3, 5), "2024-03-05"),
        ("2024-02-30", None),
        ("tomorrow", None),
        ("10:15:00", None),
        ("2024", None),
        ("1024-01-01", None),
        (True, None),
        (None, None),
        ("nan", None),
    ],
)
def test_values(value, day):
    assert day_of(value) == day


def test_column_is_found_by_its_name_or_its_values(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("updated_on,timestamp,text\n2024-05-05,2024-03-05 10:00,hello\n")
    days, report = _read(path)
    assert days == ["2024-03-05"], "the name that says most is preferred"
    assert f"{path}: the times are read from the column 'timestamp'" in report.notes
    assert _read(path, time_column="updated_on")[0] == ["2024-05-05"]
    assert _read(_csv(path, "when", ["2024-03-05", "2024-03-06"]))[0] == ["2024-03-05", "2024-03-06"]
    assert _read(_csv(path, "ticket", ["1709632800", "1709632801"]))[0] == [None, None], "any numbers"
    assert _read(_csv(path, "when", ["2024-03-05", "no"]))[0] == [None, None], "not all are times"


@pytest.mark.parametrize(
    ("values", "days", "order"),
    [
        (["03/04/2024", "25/04/2024"], ["2024-04-03", "2024-04-25"], "day, month"),
        (["03/04/2024", "04/25/2024"], ["2024-03-04", "2024-04-25"], "month, day"),
        (["03/04/2024", "04/04/2024", "05/04/2024"], ["2024-04-03", "2024-04-04", "2024-04-05"], "day, month"),
    ],
)
def test_the_column_decides_what_comes_first(tmp_path, values, days, order):
    found, report = _read(_csv(tmp_path / "a.csv", "date", values))
    assert found == days
    assert any(f"read as {order}, year" in note for note in report.notes)


def test_unreadable_times_are_counted_and_the_rows_stay(tmp_path):
    values = ["2024-03-05", "soon", "2024-03-06", "", "later"]
    days, report = _read(_csv(tmp_path / "a.csv", "time", values))
    assert days == ["2024-03-05", None, "2024-03-06", None, None]
    assert report.warnings() == [
        f"{tmp_path / 'a.csv'}: 2 rows with a time that cannot be read, kept without it (first: line 3)"
    ]


def test_named_column_must_be_there_and_hold_a_time(tmp_path):
    path = _csv(tmp_path / "a.csv", "time", ["soon", "later"])
    assert _read(path)[0] == [None, None]
    with pytest.raises(DataError, match="no time in the column 'time'; say which column holds the times"):
        _read(path, time_column="time")
    with pytest.raises(ColumnMissing, match=r"no column 'when' \(found: id, message, time\)"):
        _read(path, time_column="when")
    (tmp_path / "a.txt").write_text("hello\nthere\n")
    with pytest.raises(ColumnMissing, match="no column 'when'"):
        _read(tmp_path / "a.txt", time_column="when")


def test_excel(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (("text", "sent"), ("a", datetime(2024, 3, 5, 9)), ("b", "2024-03-06"), ("c", None)):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    assert _read(tmp_path / "a.xlsx")[0] == ["2024-03-05", "2024-03-06", None]


def test_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    times = [datetime(2024, 3, 5, 12, tzinfo=UTC), None]
    table = pa.table({"text": ["a", "b"], "when": pa.array(times, pa.timestamp("ms", "UTC")), "n": [1, 2]})
    pq.write_table(table, tmp_path / "a.parquet")
    assert _read(tmp_path / "a.parquet")[0] == ["2024-03-05", None]


def test_labelled_examples_have_no_days(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,label,date\na,x,2024-03-05\nb,y,2024-03-05\nc,,2024-03-05\n")
    known, _ = read_corpus(path, labels="optional")
    assert [len(origin.days) for origin in known.origins] == [1, 1, 1], "one file with logs in it"
    path.write_text("text,label,date\na,x,2024-03-05\nb,y,2024-03-05\n")
    known, report = read_corpus(path)
    assert [origin.days for origin in known.origins] == [(), ()]
    assert not report.notes


def test_repeats_keep_their_days(tmp_path):
    values = ["2024-03-05", "2024-03-06", "2024-03-05", ""]
    path = tmp_path / "a.csv"
    path.write_text("text,time\n" + "".join(f"Hello!,{v}\n" for v in values))
    corpus, _ = read_corpus(path, ReadOptions(), "ignored")
    merged = distinct(corpus)
    assert merged.origins == (Origin(False, count=4, days=(("2024-03-05", 2), ("2024-03-06", 1))),)
    sample, _ = read_corpus(path, ReadOptions(), "ignored", max_logs=1)
    assert sample.origins == merged.origins
    newer = Corpus.of(["hello"], None, [Origin(False, days=(("2024-03-06", 1),))])
    assert add_counts(merged, newer)[0].origins[0].days == (("2024-03-05", 2), ("2024-03-06", 2))


def test_a_sample_without_times_has_none():
    sample = DistinctSample(2)
    sample.add_all(["a", "b", "a"], [FROM_LOGS] * 3)
    assert sample.corpus().origins == (Origin(False, count=2), FROM_LOGS)
