"""Files as people have them: few labels, logs of one kind, repeats, two languages, numbers. Each gives a sane model."""

from __future__ import annotations

import csv
import random
import re
from dataclasses import dataclass
from itertools import product

import pytest

from commands import newfound
from conftest import THEMES
from newfound.model.classifier import IntentModel
from newfound.model.folder import load

NUMBERS = ["1", "2", "42", "7 8", "!!", "?", "😀", "👍", "😡😡", *map(str, range(100, 120))]
SMILEYS = ["".join(parts) for parts in product(":;=x", ["", "-", "^", "'"], ")(/|<>")][:55]
WORDS = ["pay my bill late", "read the meter", "brown water leak", "move house when", "solar power refund"]
GERMAN = [f"rechnung {word} bezahlen bitte" for word in "eins zwei drei vier fuenf sechs sieben acht neun".split()]
GERMAN += [f"wo ist meine karte {word}" for word in "heute morgen gestern jetzt bald nun schon".split()]


def utterances(theme: str, count: int, seed: int = 0) -> list[str]:
    rng = random.Random(f"{theme} {seed}")
    return [" ".join(rng.choices(THEMES[theme], k=rng.randint(3, 8))) for _ in range(count)]


def labelled(per_intent: int, *themes: str) -> list[tuple[str, str]]:
    return [(text, theme) for theme in themes for text in utterances(theme, per_intent)]


@dataclass(frozen=True)
class Discovered:
    code: int
    printed: str
    model: IntentModel | None

    @property
    def found(self) -> dict[str, str | None]:
        """The intent of each utterance of the logs."""
        return {u.text: u.intent for u in self.model.utterances if not u.labelled}

    @property
    def new(self) -> list[str]:
        return [intent.name for intent in self.model.intents if not intent.known]


@pytest.fixture
def discover(tmp_path, tiny_folder):
    def run(known: list[tuple[str, str]], logs: list[str], *options: object) -> Discovered:
        with (tmp_path / "logs.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("text",), *((text,) for text in logs)])
        with (tmp_path / "known.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("text", "label"), *known])
        files = [tmp_path / "known.csv"] * bool(known) + [tmp_path / "logs.csv"]
        done = newfound(
            *("discover", *files, "--out", tmp_path / "m", "--encoder", tiny_folder, "--device", "cpu", *options)
        )
        assert "Traceback" not in done.stderr
        errors = [line for line in done.stderr.splitlines() if line.startswith("newfound: error")]
        assert len(errors) == (done.returncode != 0)
        return Discovered(done.returncode, done.stdout + done.stderr, None if done.returncode else load(tmp_path / "m"))

    return run


def test_one_label_for_each_intent(discover):
    logs = [text for theme in ("pay", "move", "solar") for text in utterances(theme, 20, seed=1)]
    result = discover(labelled(1, "pay", "meter", "leak"), logs)
    assert result.code == 0
    without = sum(intent is None for intent in result.found.values())
    assert without <= 0.1 * len(logs), "too few labels to compare with: only what is far from everything is put aside"


def test_markup_and_texts_that_are_cut_are_counted(discover, tiny_folder, tmp_path):
    known = [*labelled(20, "pay", "leak"), *((f"<p>{text}</p>", "Pay") for text in utterances("pay", 3, seed=1))]
    logs = [*utterances("move", 30), "my card&nbsp;is lost", " ".join(["move house"] * 40), "<email> <3 AT&T a < b > c"]
    result = discover(known, logs, "--n-new", 1)
    printed = " ".join(result.printed.split())
    assert "Of 43 utterances, 3 without markup, quoted messages, greetings and signatures are read." in printed
    assert "Of 33 utterances, 1 without markup" in printed
    assert "1 of 76 texts longer than 64 tokens" in result.printed
    checked = newfound("check", tmp_path / "known.csv", "--encoder", tiny_folder).stderr
    assert "3 of 43 texts with HTML" in checked


@pytest.mark.parametrize("labels", [1, 20])
def test_one_known_intent(discover, labels):
    logs = [text for theme in ("pay", "move", "solar") for text in utterances(theme, 20, seed=1)]
    result = discover(labelled(labels, "pay"), logs, "--n-new", 2)
    assert result.code == 0
    assert result.new
    found = list(result.found.values())
    assert "pay" in found
    assert found.count(None) <= 0.1 * len(logs)


def test_logs_of_one_new_intent(discover):
    result = discover(labelled(20, "pay", "meter", "leak"), utterances("move", 40))
    assert result.code == 0
    assert sum(name in result.new for name in result.found.values()) > 20


def test_logs_of_one_known_intent(discover):
    result = discover(labelled(20, "pay", "meter", "leak"), utterances("pay", 40, seed=1))
    assert result.code == 0
    assert len(result.new) <= 3, "with some seeds and a random encoder, two or three small ones are split off"
    assert list(result.found.values()).count("pay") > 23


def test_logs_like_nothing_that_is_known(discover):
    rng = random.Random(0)
    letters = "bcdfghjklmnpqrstvwxz"
    logs = [" ".join("".join(rng.choices(letters, k=6)) for _ in range(rng.randint(1, 4))) for _ in range(40)]
    result = discover(labelled(20, "pay", "meter", "leak"), logs)
    assert result.code == 0
    assert not {"pay", "meter", "leak"} & set(result.found.values())


def test_nine_of_ten_rows_are_repeats(discover):
    often = "move my house today please"
    logs = [*utterances("pay", 20, seed=1), *utterances("move", 20, seed=1), *[often] * 360]
    known = labelled(20, "pay", "meter", "leak")
    result = discover([*known, *known[:7]], logs, "--n-new", 1)
    assert result.code == 0
    examples = sum(i.labelled for i in result.model.intents)
    assert examples == len(set(known)), "what is repeated is no further example"
    assert "with the text of an earlier row" in result.printed
    counts = {u.text: u.count for u in result.model.utterances if not u.labelled}
    assert counts[often] == 360
    assert result.found[often] is not None
    assert sum(intent is None for intent in result.found.values()) <= 0.2 * len(result.found)


def test_a_language_without_labels_is_no_pile(discover):
    logs = [*utterances("pay", 20, seed=1), *utterances("move", 20, seed=1), *GERMAN]
    result = discover(labelled(20, "pay", "meter", "leak"), logs, "--n-new", 2)
    assert result.code == 0
    assert sum(result.found[text] in result.new for text in GERMAN) > 0.6 * len(GERMAN)


def test_logs_of_numbers_and_smileys_belong_to_no_intent(discover):
    known = labelled(20, "pay", "meter", "leak")
    result = discover(known, NUMBERS)
    assert result.code == 0
    assert set(result.found.values()) == {None}
    assert "100 % of the logs, belong to no intent: “1”, “2”, “42”" in result.printed
    assert result.model.predict(["5", "🙂"]) == [None, None]
    asked_for = discover(known, NUMBERS, "--n-new", 2, "--force")
    assert asked_for.code == 0
    assert "all utterances of the logs belong to no intent. Give logs that hold words" in asked_for.printed


@pytest.mark.parametrize("share", ["none", "10%"])
def test_numbers_have_intents_where_fewer_are_to_be_put_aside(discover, share):
    """Before, new intents were made of them, and none of them was put into these."""
    result = discover(labelled(20, "pay", "meter", "leak"), NUMBERS, "--n-new", 1, "--no-intent", share)
    assert result.code == 0
    assert sum(name is None for name in result.found.values()) <= 0.1 * len(NUMBERS)


@pytest.mark.parametrize("logs", [NUMBERS, SMILEYS, [*SMILEYS, WORDS[0]]], ids=["numbers", "smileys", "one word"])
def test_logs_of_hardly_a_word_cannot_be_learned_from(discover, logs):
    for options in ((), ("--n-new", len(logs) // 3)):
        result = discover([], logs, *options)
        assert result.code == 2
        assert "hold no word or only small talk, such as " in result.printed
        assert "add --no-intent none to discover" in result.printed
    assert discover([], NUMBERS, "--n-new", 2, "--no-intent", "none").code == 0


def test_mostly_smileys_without_known_intents(discover):
    """Of 60 texts 5 hold words, and 20 new intents are wanted; beside so many smileys, words may look untypical."""
    assert discover([], [*SMILEYS, *WORDS], "--n-new", 20).code in (0, 2)
    result = discover([], [*SMILEYS, *WORDS], "--n-new", 20, "--no-intent", "none", "--force")
    assert result.code == 0
    assert 2 <= len(result.model.intents) <= 20


@pytest.mark.parametrize("labels", [1, 4, 30])
@pytest.mark.parametrize("words", [0, 1, 5])
def test_mostly_smileys_beside_known_intents(discover, words, labels):
    """Every known intent keeps its labelled utterances; new ones are at most as many as utterances with words."""
    known = labelled(labels, "pay", "meter", "leak")
    result = discover(known, [*SMILEYS, *WORDS[:words]], "--n-new", 20)
    assert {(u.text, u.intent) for u in result.model.utterances if u.labelled} == set(known)
    assert sum(not intent.known and intent.size > 0 for intent in result.model.intents) <= words


def test_numbers_with_labels_keep_their_intents(discover):
    """A menu that is answered with numbers: `1` and `2` are labelled, so that such texts are of an intent."""
    menu = [("1", "first"), ("1.", "first"), ("1)", "first"), ("2 2", "second"), ("2 2.", "second"), ("2 2)", "second")]
    logs = [*utterances("pay", 20, seed=1), *utterances("move", 20, seed=1), "1!", "2 2!"]
    result = discover([*labelled(20, "pay", "meter", "leak"), *menu], logs, "--n-new", 1)
    assert result.code == 0
    assert set(result.model.predict([text for text, _ in menu])) <= {"first", "second"}
    assert {intent.name for intent in result.model.intents if intent.known and intent.takes_wordless} == {
        "first",
        "second",
    }
    assert None not in (result.found["1!"], result.found["2 2!"])


@pytest.mark.parametrize("given", ["100%", "many", "-1%", "1.5", "", "nan"])
def test_what_is_no_share_is_refused(discover, given):
    result = discover(labelled(3, "pay", "meter"), utterances("move", 9), f"--no-intent={given}")
    assert result.code == 2
    assert re.search("no_intent=1.0 must|give a share, such as 5% or 0.05", result.printed)


def test_methods_that_give_every_utterance_an_intent_say_so(discover):
    result = discover(labelled(3, "pay", "meter"), utterances("move", 9), "--method", "kmeans", "--no-intent", "10%")
    assert result.code == 2
    assert "gives every utterance an intent" in result.printed
