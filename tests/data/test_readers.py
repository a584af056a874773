from __future__ import annotations

import csv
import io
import json
import os
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newfound.data.corpus import Corpus
from newfound.data.delimited import read_csv
from newfound.data.duplicates import add_counts, distinct
from newfound.data.platforms import read_rasa
from newfound.data.readers import format_of, read_jsonl
from newfound.data.rows import MAX_TEXT_LENGTH, ReadOptions, ReadReport, Source
from newfound.data.validation import open_rows, read_corpus
from newfound.errors import DataError


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def rows_of(path, **options):
    return list(open_rows(path, ReadOptions(**options))[0])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", 'text,label\n"pay, now",pay\nleak,leak\n'),
        ("a.tsv", "label\ttext\npay\tpay, now\nleak\tleak\n"),
        ("a.jsonl", '{"text": "pay, now", "label": "pay"}\n\n{"text": "leak", "label": "leak", "x": 1}\n'),
        (
            "a.yml",
            'version: "3.1"\nnlu:\n- intent: pay\n  examples: |\n    - pay, [now](when)\n'
            '- intent: leak\n  examples: |\n    - [leak]{"entity": "fault"}\n- synonym: x\n  examples: |\n    - y\n',
        ),
    ],
)
def test_every_text_format_reads_the_same_rows(tmp_path, name, content):
    rows = rows_of(write(tmp_path / name, content))
    assert [(row.text, row.label) for row in rows] == [("pay, now", "pay"), ("leak", "leak")]


def test_plain_text_is_for_logs_only(tmp_path):
    path = write(tmp_path / "a.txt", "one\n\ntwo\n")
    corpus, report = read_corpus(path, labels="ignored")
    assert corpus.texts == ("one", "two")
    assert report.counts["empty"] == 1
    with pytest.raises(DataError, match="has no labels"):
        read_corpus(path)


def test_lines_are_counted_through_quoted_line_ends(tmp_path):
    path = write(tmp_path / "a.csv", 'text,label\n"two\nlines",a\nplain,b\n')
    assert [row.line for row in rows_of(path)] == [2, 4]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        ("wording,label\nx,a\n", r"line 1: no column 'text' \(found: wording, label\); .*holds the text"),
        ("text,meaning\nx,a\n", "which column holds the label"),
        ("text,label\nx,a\ny\n", "line 3: 1 fields where the header has 2"),
        ("text,label\nx,a\n ,b\n", "line 3: the text is empty"),
        ("text,label\nx,a\ny, \n", "line 3: the label is empty"),
        ("text,label\n", "no labelled utterance"),
        ("text,label\nsame,a\nother,b\nsame,b\n", "line 4: 'same' is labelled 'b', but 'a' on line 2"),
        (b"text,label\nok,a\n\xef\xee\xe9,b\n", "line 3: byte 0xef is not UTF-8.*; .*name its encoding"),
        ('text,label\nx,a\n"never closed,b\n', "check the quotes"),
        ("text,text,label\nx,y,a\n", "'text' stands there twice"),
        (b"\x1f\x8b\x08rest", "damaged gzip file"),
    ],
)
def test_bad_known_files_name_the_line_and_the_remedy(tmp_path, content, message):
    with pytest.raises(DataError, match=message):
        read_corpus(write(tmp_path / "known.csv", content))


def test_duplicates_are_kept_and_counted(tmp_path):
    corpus, report = read_corpus(write(tmp_path / "l.csv", "text\nx\nx\ny\nx\n"), labels="ignored")
    assert corpus.texts == ("x", "x", "y", "x")
    note = "2 rows with the text of an earlier row, learned once (first: line 3)"
    assert report.warnings() == [f"{tmp_path / 'l.csv'}: {note}"]


def test_absurdly_long_lines_are_cut_and_counted(tmp_path):
    corpus, report = read_corpus(write(tmp_path / "l.csv", "text\n" + "word " * 40_000 + "\nshort\n"), labels="ignored")
    assert [len(text) for text in corpus.texts] == [MAX_TEXT_LENGTH, 5]
    assert report.counts["truncated"] == 1
    assert "1 row longer than 2,000 characters, cut there (first: line 2)" in report.warnings()[0]


def test_rows_stream(tmp_path):
    """Reading stops where the reader stops: a fault below the lines that are looked at first is never reached."""
    path = write(tmp_path / "l.csv", b"text\nfirst\n" + 100 * b"second\n" + b"\xff\xff\xff\n")
    rows, _ = open_rows(path, labels="ignored")
    assert next(rows).text == "first"
    with pytest.raises(DataError, match="line 103"):
        list(rows)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"text": "x", "label": "a"}\nnope\n', "line 2: not JSON"),
        ("a.jsonl", "[1]\n", "line 1: expected a JSON object"),
        ("a.jsonl", '{"text": 3, "label": "a"}\n', "is not a string but int"),
        ("a.jsonl", '{"text": "x", "label": ' + "9" * 5000 + "}\n", "line 1: not JSON"),
        ("a.jsonl", '{"text": "x", "label": ["a"]}\n', "the label is not a string but list"),
        ("a.jsonl", '{"text": "\\ud800 alone", "label": "a"}\n', "line 1: half a character"),
        ("a.yml", "nlu: [unclosed\n", "not valid YAML"),
        ("a.yml", "nlu: []\nx: 2001-99-99\n", "not valid YAML"),
        ("a.yml", "nlu:\n- intent:\n  examples: |\n    - one\n", "has no name"),
        ("a.yml", "version: 1\n", "no `nlu:` list"),
        ("a.yml", "nlu:\n- intent: a\n  examples: |\n    - one\n    two\n", "line 5: an example of intent 'a' does"),
    ],
    ids=lambda value: value[:20],
)
def test_bad_json_and_yaml(tmp_path, name, content, message):
    with pytest.raises(DataError, match=message):
        rows_of(write(tmp_path / name, content))


def test_yaml_cannot_build_objects(tmp_path):
    with pytest.raises(DataError, match="could not determine a constructor"):
        rows_of(write(tmp_path / "a.yml", "nlu: !!python/object/apply:os.system ['true']\n"))


def test_unknown_files_and_formats(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        rows_of(tmp_path / "absent.csv")
    with pytest.raises(DataError, match="say which format it has"):
        format_of("data.ods")
    with pytest.raises(DataError, match="the old Excel format"):
        format_of("data.xls")
    with pytest.raises(DataError, match="unknown format"):
        format_of("data.csv", "xml")
    assert rows_of(write(tmp_path / "odd", "text,label\nx,a\n"), format="csv")[0].label == "a"


field = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=30)


@given(st.lists(st.tuples(field, field), min_size=1, max_size=20))
@settings(max_examples=60, deadline=None)
def test_csv_and_jsonl_give_back_what_was_written(pairs):
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([("text", "label"), *pairs])
    lines = "".join(json.dumps({"text": t, "label": label}) + "\n" for t, label in pairs)
    for reader, content in ((read_csv, text.getvalue()), (read_jsonl, lines)):
        records = reader(Source(ReadReport("x"), io.BytesIO(content.encode())))
        assert [(record["text"], record["label"]) for _, record in records] == pairs


def test_rasa_list_examples():
    content = "nlu:\n- intent: greet\n  examples:\n  - text: hello\n  - text: hi there\n"
    records = read_rasa(Source(ReadReport("x"), io.BytesIO(content.encode())))
    assert [tuple(record.values()) for _, record in records] == [("hello", "greet"), ("hi there", "greet")]


def test_a_pipe_is_read_once_and_whole(tmp_path):
    """A named pipe cannot be opened twice: looking at its first bytes must not eat them."""
    pipe = tmp_path / "logs.txt"
    os.mkfifo(pipe)
    lines = "".join(f"utterance number {n}\n" for n in range(3000))
    writer = threading.Thread(target=lambda: pipe.write_text(lines))
    writer.start()
    corpus, _ = read_corpus(pipe, labels="ignored")
    writer.join()
    assert len(corpus) == 3000
    assert corpus.texts[0] == "utterance number 0"


def test_single_lines_in_another_encoding_are_read(tmp_path):
    path = tmp_path / "logs.csv"
    path.write_bytes("text\ncafé\n".encode() + b"caf\xe9 again\nplain\n")
    corpus, report = read_corpus(path, labels="ignored")
    assert corpus.texts == ("café", "café again", "plain")
    assert report.warnings() == [f"{path}: 1 row not UTF-8, read as Windows-1252 (first: line 3)"]
    with pytest.raises(DataError, match="line 2"):  # an explicit encoding is meant
        read_corpus(path, ReadOptions(encoding="ascii"), labels="ignored")


def test_repeats_are_one_utterance_that_counts_more():
    logs = Corpus.of(["Hello!", "where is my card", "hello", "HELLO ...", "???", "Where is my card?", "!!"])
    found = distinct(logs.from_source("chat.csv"))
    assert found.texts == ("hello", "where is my card", "???", "!!")
    assert [origin.count for origin in found.origins] == [3, 2, 1, 1]
    assert {(origin.labelled, origin.source) for origin in found.origins} == {(False, "chat.csv")}


def test_what_an_earlier_corpus_has_is_counted_there():
    earlier = Corpus.of(["Hello!", "pay my bill"], [None, "pay"])
    logs = distinct(Corpus.of(["hello", "HELLO", "pay my bill", "a new thing"]))
    earlier, fresh = add_counts(earlier, logs)
    assert [origin.count for origin in earlier.origins] == [3, 2]
    assert earlier.labels == (None, "pay")
    assert fresh.texts == ("a new thing",)
