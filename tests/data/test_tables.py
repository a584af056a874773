"""Tables as people have them: delimiters, encodings, headers, compressed files and workbooks."""

from __future__ import annotations

import contextlib
import csv
import datetime
import gzip
import io
import sys
import zipfile
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newfound.data.delimited import read_csv
from newfound.data.rows import ReadOptions, ReadReport, Row, Source
from newfound.data.validation import open_rows, read_corpus
from newfound.errors import ColumnMissing, DataError, MissingExtra

read_logs, read_combined = (partial(read_corpus, labels=labels) for labels in ("ignored", "optional"))
TWO = [("pay, now", "pay"), ("leak", "leak")]


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def pairs(path, *, labels="required", **options):
    return [(row.text, row.label) for row in open_rows(path, ReadOptions(**options), labels)[0]]


def notes_of(path, labels="required", **options):
    rows, report = open_rows(path, ReadOptions(**options), labels)
    return list(rows), report.notes


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "text;label\npay, now;pay\nleak;leak\n"),
        ("a.csv", "text\tlabel\npay, now\tpay\nleak\tleak\n"),
        ("a.csv", "text|label\npay, now|pay\nleak|leak\n"),
        ("a.csv", "sep=;\ntext;label\npay, now;pay\nleak;leak\n"),
        ("a.csv", "\n\nText;Label\npay, now;pay\nleak;leak\n"),
        ("a.csv", "id;text;label;;\n1,5;pay, now;pay;;\n2,5;leak;leak;;\n"),
        ("a.csv", "wording;label\npay, now;pay\nleak;leak\n"),
        ("a.csv", "text;label\r\npay, now;pay\r\nleak;leak\r\n".encode("utf-8-sig")),
        ("a.csv", "text\tlabel\r\npay, now\tpay\r\nleak\tleak\r\n".encode("utf-16")),
        ("a.txt", "text\tlabel\r\npay, now\tpay\r\nleak\tleak\r\n".encode("utf-16")),
        ("a.txt", "text\tlabel\npay, now\tpay\nleak\tleak\n".encode("utf-16-be").join([b"\xfe\xff", b""])),
        ("a.csv.gz", gzip.compress(b"text;label\npay, now;pay\nleak;leak\n")),
        ("a.tsv.gz", gzip.compress(b"label\ttext\npay\tpay, now\nleak\tleak\n")),
        ("a.txt.gz", gzip.compress("text\tlabel\npay, now\tpay\nleak\tleak\n".encode("utf-16"))),
        ("a.jsonl.gz", gzip.compress(b'{"text": "pay, now", "label": "pay"}\n{"text": "leak", "label": "leak"}\n')),
        ("packed.csv", gzip.compress(b'text,label\n"pay, now",pay\nleak,leak\n')),
    ],
    ids=lambda value: value if isinstance(value, str) else "",  # bytes of an archive hold the time
)
def test_delimiters_encodings_and_compression_are_found_out(tmp_path, name, content):
    columns = {"text_column": "wording"} if "wording" in str(content) else {}
    assert pairs(write(tmp_path / name, content), **columns) == TWO


def test_a_text_with_commas_does_not_mislead(tmp_path):
    path = write(tmp_path / "a.csv", "text\nwell, i want to pay\nhello\nno, not, this\na;b\n")
    assert read_logs(path)[0].texts == ("well, i want to pay", "hello", "no, not, this", "a;b")
    path = write(tmp_path / "b.csv", 'text\n"one, two"\nthree\n')
    assert read_logs(path)[0].texts == ("one, two", "three")
    path = write(tmp_path / "c.csv", "wording;label\nyes, please;a\nno, never;b\noh, well;a\n")
    assert pairs(path, text_column="wording")[0] == ("yes, please", "a")


def test_rows_of_nothing_but_delimiters_are_skipped(tmp_path):
    path = write(tmp_path / "a.csv", "text;label;\npay, now;pay;\n;;\nleak;leak;\n;;\n")
    assert [(row.line, row.text) for row in open_rows(path)[0]] == [(2, "pay, now"), (4, "leak")]


def test_rows_with_more_fields_than_the_header_are_still_refused(tmp_path):
    with pytest.raises(DataError, match="line 2: 2 fields where the header has 1"):
        read_logs(write(tmp_path / "a.csv", "text\npay now,pay\nleak,leak\nmove,move\n"))


def test_a_delimiter_can_be_named(tmp_path):
    path = write(tmp_path / "a.csv", "text~label\npay, now~pay\nleak~leak\n")
    assert pairs(path, delimiter="~") == TWO
    assert pairs(write(tmp_path / "b.csv", "text\tlabel\nx, y\tz\n"), delimiter="tab") == [("x, y", "z")]
    for wrong in (";;", "", "\n", '"'):
        with pytest.raises(DataError, match="is not one character"):
            pairs(path, delimiter=wrong)


def test_a_file_in_windows_1252_is_read_with_a_warning(tmp_path):
    content = "text;label\nWo ist meine Überweisung?;geld\nKarte gesperrt;karte\n"
    path = write(tmp_path / "a.csv", content.encode("cp1252"))
    corpus, report = read_corpus(path)
    assert corpus.texts[0] == "Wo ist meine Überweisung?"
    assert report.warnings() == [f"{path}: 1 row not UTF-8, read as Windows-1252 (first: line 2)"]
    russian = "text;label\nгде мои деньги;деньги\nкарта;карта\n".encode("cp1251")
    with pytest.raises(DataError, match="name its encoding"):
        read_corpus(write(tmp_path / "b.csv", russian))
    assert read_corpus(tmp_path / "b.csv", ReadOptions(encoding="cp1251"))[0].texts[0] == "где мои деньги"


@pytest.mark.parametrize(
    ("header", "text", "label"),
    [
        ("Utterance,Intent", "Utterance", "Intent"),
        ("id,message,category", "message", "category"),
        ("user_message,intent name,id", "user_message", "intent name"),
        ("message,text,label,intent", "text", "label"),
        ("userInput,IntentName", "userInput", "IntentName"),
        ("id,Customer message,Category", "Customer message", "Category"),
        ("message_id,message_text,intent", "message_text", "intent"),
        ("Agent message,Customer message,label", "Customer message", "label"),
        ("Subject,Body,Topic", "Body", "Topic"),
        ("example,caller utterance,label", "caller utterance", "label"),
        ("Client Comment,Intent,message count", "Client Comment", "Intent"),
    ],
)
def test_columns_are_found_by_their_names_and_said(tmp_path, header, text, label):
    names = header.split(",")
    rows = [",".join(f"{name} {i}" for name in names) for i in range(3)]
    path = write(tmp_path / "a.csv", "\n".join([header, *rows]) + "\n")
    rows, notes = notes_of(path)
    assert [(row.text, row.label) for row in rows] == [(f"{text} {i}", f"{label} {i}") for i in range(3)]
    said = " ".join(notes)
    assert (f"column {text!r}" in said) == (text != "text")
    assert (f"column {label!r}" in said) == (label != "label")


def test_several_likely_columns_are_not_guessed_among(tmp_path):
    with pytest.raises(ColumnMissing, match="message, query could each hold the text; say which"):
        pairs(write(tmp_path / "a.csv", "message,query,label\nx,y,z\n"))
    assert pairs(tmp_path / "a.csv", text_column="query") == [("y", "z")]
    with pytest.raises(ColumnMissing, match="first message, last message could each hold the text; say which"):
        pairs(write(tmp_path / "b.csv", "first message,last message,label\nx,y,z\n"))
    with pytest.raises(ColumnMissing, match="no column 'text'"):
        pairs(write(tmp_path / "c.csv", "bot message,message id,label\nx,y,z\n"))


@pytest.mark.parametrize(
    "content",
    [
        "how do i pay my bill,pay\nwater leaks,leak\n",
        "where is my card?;card\nwater leaks;leak\n",
        "pay,how do i pay my bill\nleak,water leaks\n",
    ],
)
def test_a_file_without_a_header_is_recognised_and_nothing_is_lost(tmp_path, content):
    path = write(tmp_path / "a.csv", content)
    with pytest.raises(DataError, match="looks like an utterance, not like column names"):
        pairs(path)
    rows, notes = notes_of(path, header=False)
    found = [(row.text, row.label) for row in rows]
    assert {label for _, label in found} in ({"pay", "leak"}, {"card", "leak"})
    assert len(found) == 2
    assert "holds the utterances" in notes[0]


def test_columns_without_a_header_are_named_by_position(tmp_path):
    path = write(tmp_path / "a.csv", '7,"two\nlines",pay\n\n8,leak,leak\n')
    rows, _ = notes_of(path, text_column="2", label_column="3", header=False)
    assert rows == [Row(1, "two\nlines", "pay"), Row(4, "leak", "leak")]
    with pytest.raises(ColumnMissing, match="found: 1, 2, 3"):
        pairs(path, header=False)
    with pytest.raises(ColumnMissing):
        pairs(path, text_column="4", label_column="3", header=False)
    logs = write(tmp_path / "logs.csv", "where is my card, please\nhello\n")
    assert read_logs(logs, ReadOptions(header=False))[0].texts == ("where is my card, please", "hello")


def test_a_one_word_first_line_of_a_log_is_not_lost(tmp_path):
    with pytest.raises(ColumnMissing, match=r"found: refund.*or say that there is no header line"):
        read_logs(write(tmp_path / "a.csv", "refund\nmy card is gone\n"))
    assert read_logs(tmp_path / "a.csv", ReadOptions(header=False))[0].texts == ("refund", "my card is gone")


PIPED = {
    "text": ("one utterance\nanother\n", ["one utterance", "another"]),
    "csv": ("text,label\nhello,a\nbye,b\n", ["hello", "bye"]),
    "semicolons": ("id;Message\n1;hello, you\n2;bye\n", ["hello, you", "bye"]),
    "one column": ("text\nhello, you\nbye\n", ["hello, you", "bye"]),
    "jsonl": ('{"text": "hello"}\n{"text": "bye"}\n', ["hello", "bye"]),
    "prose": ("question, please\nanother\n", ["question, please", "another"]),
    "a word": ("text\n", ["text"]),
    "compressed": (gzip.compress(b"text,label\nhello,a\n"), ["hello"]),
}


@pytest.mark.parametrize("case", PIPED)
def test_what_is_piped_in_is_recognised(monkeypatch, case):
    content, expected = PIPED[case]
    raw = content if isinstance(content, bytes) else content.encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    rows, notes = notes_of("-", "ignored")
    assert [row.text for row in rows] == expected
    assert bool(notes) == (case not in ("text", "prose", "a word"))


def test_plain_text_is_plain_if_the_caller_says_so(tmp_path):
    path = write(tmp_path / "a.txt", "text,label\nhello,a\n")
    assert pairs(path, labels="ignored", format="text") == [("text,label", None), ("hello,a", None)]
    assert pairs(path, labels="ignored") == [("hello", None)]


def test_compressed_files_are_bounded_and_damage_is_one_line(tmp_path, monkeypatch):
    bomb = gzip.compress(b"text\n" + b"a" * 300_000)
    monkeypatch.setattr("newfound.data.rows.MAX_UNPACKED_BYTES", 100_000)
    with pytest.raises(DataError, match="unpacks to more than"):
        read_logs(write(tmp_path / "a.csv.gz", bomb))
    with pytest.raises(DataError, match="damaged gzip"):
        read_logs(write(tmp_path / "b.csv.gz", gzip.compress(b"text\nhello\n" * 50)[:-12]))
    with pytest.raises(DataError, match="is compressed; unpack it first"):
        read_logs(write(tmp_path / "c.yml", gzip.compress(b"nlu: []")))
    content = "text\n" + "Grüße aus Köln\n" * 3
    corpus, _ = read_logs(write(tmp_path / "d.csv.gz", gzip.compress(content.encode("cp1252"))))
    assert corpus.texts[0] == "Grüße aus Köln", "looking for the encoding rewinds a compressed file"


def workbook(path, **sheets):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_the_first_sheet_with_the_columns_of_a_workbook_is_read(tmp_path):
    about = [["About this file"], ["made by", "ana"]]
    data = [[], ["id", "Utterance", "intent"], [1, "pay, now", "pay"], [], [None, None, None], [2, "leak", "leak"]]
    path = workbook(tmp_path / "a.xlsx", about=about, data=data, more=[["text", "label"], ["x", "y"]])
    rows, notes = notes_of(path)
    assert rows == [Row(3, "pay, now", "pay"), Row(6, "leak", "leak")]
    assert notes[0] == f"{path}: reading the sheet 'data' (not 'about', 'more')"
    assert any("'Utterance'" in note for note in notes)
    with pytest.raises(ColumnMissing, match="sheet 'data', line 2: no column 'wording'"):
        pairs(path, text_column="wording")
    with pytest.raises(ColumnMissing, match="sheet 'logs', line 1: no column 'label'"):
        pairs(workbook(tmp_path / "c.xlsx", logs=[["Customer message"], ["leak"]]))
    plain = workbook(tmp_path / "b.xlsx", only=[["how do i pay", "pay"], ["it leaks here", "leak"]])
    assert pairs(plain, header=False) == [("how do i pay", "pay"), ("it leaks here", "leak")]


def test_numbers_dates_and_truth_values_in_a_workbook_are_text(tmp_path):
    when = datetime.datetime(2024, 5, 1)
    rows = [["text", "label"], [42, 1], [2.5, 2.0], [when, True], [datetime.datetime(2024, 5, 1, 9, 30), "x"]]
    assert pairs(workbook(tmp_path / "a.xlsx", data=rows)) == [
        ("42", "1"),
        ("2.5", "2"),
        ("2024-05-01", "TRUE"),
        ("2024-05-01 09:30:00", "x"),
    ]


def test_formulas_in_a_workbook_are_their_values(tmp_path):
    path = workbook(tmp_path / "a.xlsx", data=[["text", "label"], ["hello", "a"], ['=CONCATENATE("a", "b")', "b"]])
    with pytest.raises(DataError, match="line 3: the text is empty"):  # no program ever computed it
        pairs(path)
    packed = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(packed, "w") as new:  # what a spreadsheet program would store
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("sheet1.xml"):
                content = content.replace(b'<c r="A3">', b'<c r="A3" t="str">').replace(b"<v />", b"<v>ab</v>")
                content = content.replace(b"<v></v>", b"<v>ab</v>")
            new.writestr(name, content)
    assert pairs(write(tmp_path / "b.xlsx", packed.getvalue())) == [("hello", "a"), ("ab", "b")]
    with pytest.raises(DataError, match="line 2: the cell has the error #N/A"):
        pairs(workbook(tmp_path / "c.xlsx", data=[["text", "label"], ["#N/A", "a"]]))


def test_workbooks_that_cannot_be_read_get_one_line(tmp_path, monkeypatch):
    path = workbook(tmp_path / "a.xlsx", data=[["text", "label"], ["x", "y"]])
    with pytest.raises(DataError, match="not an xlsx workbook"):
        pairs(write(tmp_path / "b.xlsx", "text,label\n"))
    with pytest.raises(DataError, match="workbook is empty"):
        pairs(workbook(tmp_path / "c.xlsx", data=[]))
    with zipfile.ZipFile(tmp_path / "d.xlsx", "w") as archive:
        archive.writestr("nothing.xml", "<a/>")
    with pytest.raises(DataError, match="not a readable xlsx workbook"):
        pairs(tmp_path / "d.xlsx")
    monkeypatch.setattr("newfound.data.rows.MAX_UNPACKED_BYTES", 100)
    with pytest.raises(DataError, match="unpacks to more than"):
        pairs(path)
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtra, match=r"reading Excel files needs openpyxl; .*newfound\[excel\]"):
        pairs(path)


def test_a_combined_file_is_told_apart_by_its_labels(tmp_path):
    path = write(tmp_path / "all.csv", "text;intent\npay;a\nleak;b\nsolar, car; \nmove;\n ;a\n;\n")
    corpus, report = read_combined(path)
    assert corpus.labels == ("a", "b", None, None)
    assert corpus.texts[2] == "solar, car"
    assert report.counts["empty"] == 1
    for content in ("text\nx\ny\n", "text,label\nx,\ny,\n"):
        assert read_combined(write(tmp_path / "logs.csv", content))[0].labels == (None, None), "all of it are logs"
    assert read_combined(write(tmp_path / "one.csv", "text,label\nx,a\ny,\n"))[0].intents == ("a",)
    with pytest.raises(DataError, match="every utterance has a label"):
        read_combined(write(tmp_path / "known.csv", "text,label\nx,a\ny,b\n"))


def test_json_lines_of_which_only_later_ones_have_a_label(tmp_path):
    records = '{"text": "hello"}\n{"text": "x", "intent": "a"}\n{"text": "y", "intent": "b"}\n{"text": "z"}\n'
    corpus, _ = read_combined(write(tmp_path / "a.jsonl", records))
    assert corpus.labels == (None, "a", "b", None)


def test_a_workbook_named_csv_is_not_read_as_text(tmp_path):
    path = workbook(tmp_path / "a.xlsx", data=[["text", "label"], ["x", "y"]])
    renamed = path.rename(tmp_path / "a.csv")
    with pytest.raises(DataError, match="not text; say which format it has"):
        pairs(renamed)
    assert pairs(renamed, format="xlsx") == [("x", "y")]


field = st.text(st.sampled_from("ab ,;|\t\"'.?é\n"), min_size=1, max_size=20)


@given(st.lists(st.tuples(field, field), min_size=1, max_size=60), st.sampled_from(",;\t|"))
@settings(max_examples=150, deadline=None)
def test_a_table_gives_back_what_was_written_whatever_its_delimiter(rows, delimiter):
    sink = io.StringIO(newline="")
    csv.writer(sink, delimiter=delimiter, lineterminator="\n").writerows([("text", "label"), *rows])
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        options = ReadOptions(encoding=encoding.removesuffix("-sig"))
        source = Source(ReadReport("x"), io.BytesIO(sink.getvalue().encode(encoding)), options)
        assert [tuple(record.values()) for _, record in read_csv(source)] == rows
    sink = io.StringIO(newline="")
    csv.writer(sink, delimiter=delimiter, lineterminator="\n").writerows([("nr", "Message"), *rows])
    source = Source(ReadReport("x"), io.BytesIO(sink.getvalue().encode()), labels="ignored")
    assert [record["Message"] for _, record in read_csv(source)] == [row[1] for row in rows]


parts = st.sampled_from([*',;|\t"\r\n{}:', "text", "label", "sep=", "a b"])
messy = st.lists(parts, max_size=40).map("".join)
ENDINGS = (".csv", ".tsv", ".txt", ".jsonl", ".xlsx", ".csv.gz")


def test_a_quote_is_no_delimiter(tmp_path):
    """Python 3.13 refuses to read a table with it."""
    path = tmp_path / "odd.csv"
    path.write_text('sep="\ntext\npay my bill\n')
    with pytest.raises(DataError):
        read_corpus(path)


@given(st.binary(max_size=300) | messy.map(str.encode), st.sampled_from(ENDINGS))
@settings(max_examples=300, deadline=None)
def test_whatever_bytes_a_file_has_it_is_read_or_refused(tmp_path_factory, content, ending):
    path = write(tmp_path_factory.getbasetemp() / f"any{ending}", content)
    for read in (read_corpus, read_combined, read_logs):
        with contextlib.suppress(DataError):
            read(path)


def test_labels_that_are_numbers(tmp_path):
    path = write(tmp_path / "a.csv", "text,label\nx,0\ny,1\nz,0\n")
    assert read_corpus(path)[0].labels == ("0", "1", "0")
    path = write(tmp_path / "a.jsonl", '{"text": "x", "label": 0}\n{"text": "y", "label": 1.0}\n')
    assert read_corpus(path)[0].labels == ("0", "1")
