"""Values that are read without complaint and would break something later."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import newfound
from newfound.data.rows import ReadOptions
from newfound.data.validation import read_corpus
from newfound.errors import DataError
from newfound.workflows.sources import open_source


@pytest.mark.parametrize(
    ("label", "said"),
    [("x" * 1_001, "a label of 1,001 characters"), ("\\ud800", "half a character")],
    ids=["long", "half a character"],
)
def test_labels_that_a_model_could_not_keep_are_refused_before_training(tmp_path, label, said):
    path = tmp_path / "known.jsonl"
    path.write_text('{"text": "a b", "label": "one"}\n{"text": "c d", "label": "' + label + '"}\n')
    with pytest.raises(DataError, match=said):
        read_corpus(path)


def test_values_of_a_program_are_checked_too():
    def read_labelled(values):
        return list(open_source(values, ReadOptions(), "required")[0])

    with pytest.raises(DataError, match="known, text 2: half a character"):
        read_labelled((["a", "\ud800"], ["x", "y"]))
    with pytest.raises(DataError, match="known, label 1: a label of 2,000"):
        read_labelled((["a", "b"], ["x" * 2_000, "y"]))


@pytest.mark.parametrize("encoding", ["utf16", "UTF-16", "utf_16"])
def test_an_encoding_has_several_names(tmp_path, encoding):
    path = tmp_path / "logs.csv"
    path.write_text("text\nhällo\n", encoding="utf-16")
    assert read_corpus(path, ReadOptions(encoding=encoding), labels="ignored")[0].texts == ("hällo",)
    assert read_corpus(path, ReadOptions(encoding="UTF-8"), labels="ignored")[0].texts == (
        "hällo",
    )  # the byte-order mark says what it is


@pytest.mark.parametrize("encoding", ["utf-16xx", "no such", "a\0b", "punycode", "hex"])
def test_what_is_no_encoding_is_one_line(tmp_path, encoding):
    path = tmp_path / "logs.csv"
    path.write_bytes(b"text\nh\xe4llo\n")
    with pytest.raises(DataError, match=r"unknown encoding|not readable|is not"):
        read_corpus(path, ReadOptions(encoding=encoding), labels="ignored")


@pytest.mark.parametrize("columns", [{"label_column": "1"}, {"text_column": "1", "label_column": "1"}])
def test_one_column_cannot_be_both(tmp_path, columns):
    path = tmp_path / "known.csv"
    path.write_text("hello there\nhow are you\n")
    with pytest.raises(DataError, match="cannot hold both"):
        read_corpus(path, ReadOptions(header=False, **columns))


def test_a_note_about_a_file_is_said_once(tmp_path):
    path = tmp_path / "logs.jsonl"
    path.write_text('{"utterance": "a b"}\n' * 50)
    _, report = read_corpus(path, labels="ignored")
    assert len(report.notes) == len(set(report.notes))


def test_arrays_are_texts(saved):
    texts = np.array(["my bill is too high", "move house"])
    assert len(newfound.predict(saved, texts)) == 2
    assert newfound.predict(saved, texts[:0]) == []


def test_threads_may_share_a_tokenizer():
    """Cutting is a setting of the tokenizer itself; one thread's must not reach another's texts."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    from newfound.encoders.tokenizer import LightTokenizer

    backend = Tokenizer(WordLevel({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))
    backend.pre_tokenizer = Whitespace()
    tokenizer = LightTokenizer(backend, "[UNK]", 0, 0)
    text, wrong = "a " * 50, []

    def work(cut):
        for _ in range(200):
            ids = tokenizer([text], truncation=True, max_length=8) if cut else tokenizer([text])
            if len(ids["input_ids"][0]) != (8 if cut else 50):
                wrong.append(cut)

    threads = [threading.Thread(target=work, args=(i % 2 == 0,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_masks_come_before_anything_is_shown_and_what_they_make_equal_is_a_conflict(tmp_path, tiny_encoder):
    known = (["call 0176 12345678 now", "call 0176 12345678 now", "pay me", "pay my bill"], ["a", "b", "pay", "pay"])
    with pytest.raises(DataError, match="<phone>") as error:
        newfound.discover(known, ["x y", "z w"], tmp_path / "m", redact=True, encoder=tiny_encoder)
    assert "12345678" not in str(error.value)
    known[0][1] = "call 0176 87654321 now"  # another number: the same text once it is masked
    with pytest.raises(DataError, match="known, line 2: 'call <phone> now' is labelled 'b', but 'a' on line 1"):
        newfound.discover(known, ["x y", "z w"], redact=True, encoder=tiny_encoder)
