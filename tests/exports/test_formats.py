"""Every exported file is read back by the reader of its format, and has the fields its consumer asks for."""

from __future__ import annotations

import csv
import io
import json
import re
import uuid
import zipfile
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from newfound.data.corpus import Corpus, Origin
from newfound.data.rows import ReadOptions
from newfound.data.validation import read_corpus
from newfound.errors import DataError, SettingsError
from newfound.exports.formats import Project, by_intent, zip_files
from newfound.exports.registry import EXPORTS, check_language, export_format, renamed_intents

CORPUS = Corpus.of(
    [
        "where is my card?",
        "Wo ist meine Karte – schon wieder weg?",
        'she said "pay", then: left, [twice](really) #1',
        "- not a list item",
        "<script>alert(1)</script> & more",
        "two\nlines",
        "emoji 🎉",
        "where is my card?",
    ],
    ["lost_card", "lost_card", "pay bill/now", "pay bill/now", "odd: name", "odd: name", "pay bill/now", "lost_card"],
)
NOT_READABLE = ("csv-safe", "label-studio", "semantic-router")
READABLE = [name for name in EXPORTS if name not in NOT_READABLE]


@pytest.mark.parametrize("format", READABLE)
def test_what_was_exported_is_imported_again(format, tmp_path):
    if format == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"file{EXPORTS[format].suffix}"
    path.write_bytes(EXPORTS[format].content(CORPUS, Project("my bot")))
    back, _ = read_corpus(path, ReadOptions(format=format))
    expected, found = by_intent(CORPUS), by_intent(back)
    if format == "botpress":  # whose intents' names are file names
        assert list(map(sorted, found.values())) == list(map(sorted, expected.values()))
        return
    if format == "rasa":  # a bracket that would mark an entity is taken apart
        expected["pay bill/now"][0] = 'she said "pay", then: left, [twice] (really) #1'
        expected["pay bill_now"] = expected.pop("pay bill/now")  # Rasa would read the intent `pay bill`
    assert {k: sorted(v) for k, v in found.items()} == {k: sorted(v) for k, v in expected.items()}


@given(st.lists(st.text(min_size=1, max_size=30).filter(lambda t: t.split()), min_size=1, max_size=8))
def test_rasa_survives_any_text(texts):
    """Line ends, quotes, brackets, control characters: YAML stays YAML, one example a line."""
    printable = ["".join(c for c in text if c.isprintable()).strip() or "x" for text in texts]
    content = EXPORTS["rasa"].content(Corpus.of(printable, ["a"] * len(printable)), Project())
    (block,) = yaml.safe_load(content)["nlu"]
    lines = block["examples"].splitlines()
    assert len(lines) == len(by_intent(Corpus.of(printable, ["a"] * len(printable)))["a"])
    assert all(line.startswith("- ") for line in lines)


SCHEMAS = json.loads(Path(__file__).with_name("vendor_schemas.json").read_text())
"""Written from the vendors' documentation of what an import accepts; nothing else may be in a file."""


@pytest.mark.parametrize("format", ["clu", "dialogflow-cx", "botpress"])
def test_what_is_written_is_what_the_vendor_documents(format):
    jsonschema = pytest.importorskip("jsonschema")
    written = json.loads(EXPORTS[format].write(CORPUS, Project()))
    jsonschema.validate(written, SCHEMAS[format])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**written, "stray": 1}, SCHEMAS[format])


def test_an_utterance_that_azure_would_refuse_is_cut():
    project = json.loads(EXPORTS["clu"].write(Corpus.of(["a" * 600], ["x"]), Project(language="en-us")))
    (utterance,) = project["assets"]["utterances"]
    assert (len(utterance["text"]), utterance["language"]) == (500, "en-us")


def test_an_agent_is_what_the_vendor_documents():
    jsonschema = pytest.importorskip("jsonschema")
    once, again = (EXPORTS["dialogflow-es"].write(CORPUS, Project()) for _ in range(2))
    assert once == again
    archive = zipfile.ZipFile(io.BytesIO(once))
    files = {name: json.loads(archive.read(name)) for name in archive.namelist()}
    assert files.pop("package.json") == {"version": "1.0.0"}
    assert files.pop("agent.json")["language"] == "en"
    assert len(files) == 2 * len(CORPUS.intents)
    for name, content in files.items():
        is_phrases = name.endswith("_usersays_en.json")
        jsonschema.validate(content, SCHEMAS[f"dialogflow-es {'phrases' if is_phrases else 'intent'}"])
        assert is_phrases or uuid.UUID(content["id"])
        assert "/" not in name.removeprefix("intents/")
        assert ":" not in name


def test_a_table_for_spreadsheets_holds_no_formula():
    texts = [
        '=HYPERLINK("http://evil", "a")',
        "+1",
        "-1",
        "@x",
        "\tx",
        "\rx",
        "\nx",
        *"＝＋－＠",
        "'=x",
        "a\r=b",
        "where is my card?",
    ]
    corpus = Corpus.of([*texts, "pay"], [*["a"] * len(texts), "=b"])

    written = EXPORTS["csv-safe"].write(corpus, Project()).decode()
    rows = list(csv.reader(io.StringIO(written, newline="")))
    assert rows[0] == ["text", "label"]
    assert [text for text, _ in rows[1:]] == ["'" + text for text in texts[:11]] + [*texts[11:], "pay"]
    assert [label for _, label in rows[1:]] == ["a"] * len(texts) + ["'=b"]


def test_plain_csv_keeps_every_cell_as_it_is():
    corpus = Corpus.of(['=HYPERLINK("http://evil", "a")', "-1", "pay"], ["a", "a", "=b"])
    expected = 'text,label\n"=HYPERLINK(""http://evil"", ""a"")",a\n-1,a\npay,=b\n'
    assert EXPORTS["csv"].write(corpus, Project()).decode() == expected


def test_a_slash_in_a_label_does_not_make_a_response_selector_of_it():
    intents = ["faq/hours", "faq_hours", "faq/hours/now", "plain"]
    corpus = Corpus.of(list("abcd"), intents)
    names = [block["intent"] for block in yaml.safe_load(EXPORTS["rasa"].content(corpus, Project()))["nlu"]]
    assert len(set(names)) == 4
    assert not any("/" in name for name in names)
    assert {"faq_hours", "faq_hours_now", "plain"} < set(names)
    renamed = renamed_intents(EXPORTS["rasa"], corpus)
    assert set(renamed) == {"faq/hours", "faq/hours/now"}
    assert set(renamed.values()) <= set(names)


@pytest.mark.parametrize("format", EXPORTS)
def test_a_quotation_as_a_name_is_kept_or_gets_a_safe_form(format):
    quoted = "“Where is my card…”"
    corpus, chosen = Corpus.of(list("abc"), [quoted, "where_is_my_card", "“…”"]), EXPORTS[format]
    if format == "parquet":
        pytest.importorskip("pyarrow")
    content = chosen.content(corpus, Project(descriptions={quoted: "Where is it?"}))
    names = renamed_intents(chosen, corpus)
    if chosen.names is None:
        assert not names
        return
    assert re.fullmatch(r"where_is_my_card_\w{6}", names[quoted]), "another intent has the name without the marks"
    assert re.fullmatch(r"intent_\w{6}", names["“…”"])
    if format == "dialogflow-es":
        archive = zipfile.ZipFile(io.BytesIO(content))
        content = b"".join(map(archive.read, archive.namelist()))
    assert not re.search("[“”…]", content.decode())
    assert names[quoted] in content.decode()
    assert ("Where is it?" in content.decode()) == (format == "dialogflow-cx")


def test_label_studio_gets_annotations_and_predictions():
    jsonschema = pytest.importorskip("jsonschema")
    origins = [Origin(labelled=i < 3) for i in range(len(CORPUS))]
    corpus = Corpus.of(CORPUS.texts, CORPUS.labels, origins)
    tasks = json.loads(EXPORTS["label-studio"].write(corpus, Project()))
    jsonschema.validate(tasks, SCHEMAS["label-studio"])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate([{**tasks[0], "stray": 1}], SCHEMAS["label-studio"])
    assert ["annotations" in task for task in tasks] == [True] * 3 + [False] * (len(tasks) - 3)
    assert ["predictions" in task for task in tasks] == [False] * 3 + [True] * (len(tasks) - 3)
    for task, label in zip(tasks, corpus.labels, strict=True):
        (marked,) = task.get("annotations") or task["predictions"]
        assert marked["result"][0]["value"]["choices"] == [label]
    assert tasks[5]["data"]["text"] == "two lines"


def test_semantic_router_gets_a_file_for_load_router():
    """The keys are those of semantic-router 1.1.1 (`semantic_router/config.py`), which refuses any other at the top."""
    corpus = Corpus.of(["pay", "pay\nnow", "move", "nothing"], ["a", "a", "b", None])
    project = Project("bot", "en", "owner/encoder", {"b": "new"}, {"a": 0.62}, {"b": "I move."})
    config = json.loads(EXPORTS["semantic-router"].write(corpus, project))
    assert config == {
        "router_type": "indexed",
        "encoder": {"type": "local", "name": "owner/encoder"},
        "routes": [
            {"name": "a", "utterances": ["pay", "pay now"], "metadata": {"status": "known", "threshold": 0.62}},
            {"name": "b", "utterances": ["move"], "description": "I move.", "metadata": {"status": "new"}},
        ],
    }


def test_bad_requests():
    with pytest.raises(SettingsError, match="no format"):
        export_format("floppy")
    with pytest.raises(SettingsError, match="language"):
        check_language("../en")


@pytest.mark.parametrize(
    ("format", "content", "message"),
    [
        ("clu", b"{", "not JSON"),
        ("clu", b'{"assets": {}}', r"no assets\.utterances"),
        ("clu", b'{"assets": {"utterances": [{"text": 1, "intent": "a"}]}}', "utterance 1"),
        ("dialogflow-cx", b'{"intents": 3}', "damaged"),
        ("dialogflow-cx", b'{"intents": [{"displayName": "a", "trainingPhrases": [{"parts": ["x"]}]}]}', "has no text"),
        ("dialogflow-es", b"not a zip", "not a zip"),
        ("dialogflow-es", zip_files({"intents/a.json": b"[]", "intents/a_usersays_en.json": b"[1]"}), "is damaged"),
        ("botpress", b"[]", "no intents"),
    ],
)
def test_damaged_platform_files_get_one_clear_line(format, content, message, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_corpus(path, ReadOptions(format=format))
