"""Printing texts in which several characters are seen as one, and which texts hold a word."""

from __future__ import annotations

import pytest

from newfound.cli.show import examples, print_table, printable
from newfound.data.validation import Conflict
from newfound.model.types import Intent
from newfound.text import is_wordless

FAMILY = "👨\u200d👩\u200d👧\u200d👦"  # seven characters
THUMB = "👍🏽"  # two
FLAG = "🇩🇪"  # two
SCOTLAND = "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"  # seven
HINDI = "क्षि"  # four


@pytest.mark.parametrize("seen", [FAMILY, THUMB, FLAG, SCOTLAND, HINDI, "می\u200cخواهم"])
def test_joined_characters_are_printed_whole(seen, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    assert printable(seen) == seen
    intent = Intent("a", known=False, size=1, exemplars=("pay", f"hello {seen} " * 20))
    print_table(("intent", "text"), [("x", examples(intent, width=200))])
    shown = capsys.readouterr().out
    assert seen in shown
    assert shown.count("\N{REPLACEMENT CHARACTER}") == 0
    assert seen in str(Conflict(f"pay {seen}", ((2, "a"), (3, "b"))))


def test_control_characters_are_still_replaced():
    assert printable("a\x1b[31m\u202eb\u200e\n") == "a\N{REPLACEMENT CHARACTER}[31m" + "\N{REPLACEMENT CHARACTER}b" + (
        "\N{REPLACEMENT CHARACTER}\n"
    )


@pytest.mark.parametrize(
    "text", ["", "1", "12 34", "3.50", "٣", "k", "?!", "-", "_", ":-)", FAMILY, f"{THUMB} 2", "#1 @ 5"]
)
def test_digits_signs_smileys_and_single_letters_are_no_words(text):
    assert is_wordless(text)


@pytest.mark.parametrize("text", ["ok", "no 1", "A1", "4th", "मैं", "是", "はい", "и да", f"ja {FLAG}", "it's"])
def test_one_word_in_any_script_is_enough(text):
    assert not is_wordless(text)
