"""Decisions, their store, and a model that heeds them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from commands import newfound
from newfound.errors import ConflictError, DecisionError, ModelError
from newfound.files import REVIEW_FILE
from newfound.methods.kmeans import KMeans
from newfound.review.decisions import Decision, parse
from newfound.review.entries import events
from newfound.review.reviewed import load
from newfound.review.state import WHOLE, Review
from newfound.review.store import ReviewStore

NAMES = ["pay", "leak", "solar", "move"]


def decide(review, kind, **arguments):
    review.apply(Decision(kind, arguments))
    return review


@pytest.fixture
def review():
    return Review.begin(NAMES, ["pay", "leak"])


def test_renaming(review):
    decide(review, "rename", intent="solar", to="solar_panels")
    assert review.names == ["pay", "leak", "solar_panels", "move"]
    decide(review, "rename", intent="pay", to="pay_bill")
    assert review.known == {"pay_bill", "leak"}


def test_merging_new_into_known_and_accepted_into_new(review):
    decide(review, "merge", intents=["solar"], into="pay")
    assert review.slots[2, WHOLE] == "pay"
    decide(review, "accept", intent="move")
    assert review.status("move") == "accepted"
    assert review.status("pay") == "known"


def test_a_stored_merger_of_an_intent_with_itself_can_be_told():
    assert Decision("merge", {"intents": ["pay"], "into": "pay"}).words == "merged pay into pay"


def test_a_merged_intent_is_accepted_if_one_of_its_parts_was(review):
    decide(review, "accept", intent="solar")
    decide(review, "merge", intents=["solar", "move"], into="move")
    assert review.status("move") == "accepted"
    assert "solar" not in review.names


def test_rejecting_takes_the_name_and_what_was_moved_to_it(review):
    decide(review, "move", texts=["a"], to="solar")
    decide(review, "reject", intent="solar")
    assert review.slots[2, WHOLE] is None
    assert review.assigned == {"a": ()}


def test_splitting_a_part_again(review):
    decide(review, "split", intent="move", into={"move_in": ["a"], "move_out": ["b"]})
    assert review.slots[3, 0] == "move_in"
    decide(review, "split", intent="move_out", into={"move_out": ["b"], "move_away": ["c"]})
    assert {slot: name for slot, name in review.slots.items() if slot[0] == 3} == {
        (3, 0): "move_in",
        (3, 2): "move_out",
        (3, 3): "move_away",
    }
    assert review.parts[3] == (("a",), (), ("b",), ("c",))


def test_moving_to_an_intent_of_its_own(review):
    decide(review, "move", texts=["a"], to="fresh", create=True)
    assert review.names[-1] == "fresh"
    decide(review, "merge", intents=["fresh"], into="solar")
    assert review.assigned == {"a": ("solar",)}
    assert review.names == NAMES


def test_parts_may_be_numbers(review):
    decide(review, "divide", text="cancel 12345", parts={"12345": "pay", "cancel": "leak"})
    assert review.assigned["12345"] == ("pay",)


def test_dividing_puts_parts_into_intents_until_the_utterance_is_moved(review):
    decide(review, "divide", text="a and b", parts={"a": "pay", "b": "leak"})
    assert review.assigned == {"a and b": (), "a": ("pay",), "b": ("leak",)}
    assert review.divided == {"a and b": ("a", "b")}
    decide(review, "rename", intent="leak", to="burst")
    decide(review, "move", texts=["a and b"], to="burst")
    assert review.assigned == {"a and b": ("burst",)}
    assert review.divided == {}


@pytest.mark.parametrize(
    ("kind", "arguments", "message"),
    [
        ("divide", {"text": "a and b", "parts": {"a": "pay"}}, "at least two texts"),
        ("divide", {"text": "a and b", "parts": {"a": "pay", "b": "nope"}}, "no intent 'nope'"),
        ("divide", {"text": "a and b", "parts": {"a": "pay", "a and": "leak"}}, "'a and' does not follow"),
        ("divide", {"text": "a and b", "parts": {"a": "pay", "c": "leak"}}, "'c' does not follow"),
        ("burn", {}, "no decision 'burn'"),
        ("rename", {"intent": "nope", "to": "x"}, "no intent 'nope'"),
        ("rename", {"intent": "pay", "to": "leak"}, "already"),
        ("rename", {"intent": "pay", "to": "  "}, "name needs"),
        ("rename", {"intent": "pay"}, "'to' is missing"),
        ("rename", {"intent": "pay", "to": "x", "why": "y"}, "unknown argument 'why'"),
        ("merge", {"intents": ["solar"], "into": "solar"}, "besides"),
        ("merge", {"intents": ["pay"], "into": "solar"}, "known intent"),
        ("merge", {"intents": "solar", "into": "pay"}, "list"),
        ("split", {"intent": "solar", "into": {"one": ["a"]}}, "at least two"),
        ("split", {"intent": "solar", "into": {"one": ["a"], "two": []}}, "list"),
        ("split", {"intent": "solar", "into": {"one": ["a"], "pay": ["b"]}}, "already"),
        ("reject", {"intent": "pay"}, "known intent"),
        ("move", {"texts": ["a"], "to": "nope"}, "create"),
        ("move", {"texts": ["a"]}, "missing or not a text"),
        ("move", {"texts": ["a"], "to": "pay", "create": [[]]}, "true or false"),
        ("rename", {"intent": "pay", "to": "\ud800"}, "half a character"),
    ],
)
def test_what_cannot_be_decided_changes_nothing(review, kind, arguments, message):
    with pytest.raises(DecisionError, match=message):
        decide(review, kind, **arguments)
    assert review == Review.begin(NAMES, ["pay", "leak"])


def test_decisions_as_a_file_writes_them():
    assert parse({"accept": "solar"}) == Decision("accept", {"intent": "solar"})
    for wrong in ("accept", {"accept": "a", "reject": "b"}, {"accept": ["a"]}, {"rename": "a"}, {1: {}}):
        with pytest.raises(DecisionError, match="a decision is one of"):
            parse(wrong)


@pytest.fixture(scope="module")
def fitted(tiny_encoder, themed):
    return KMeans(n_new=2, encoder=tiny_encoder, tune="heads", epochs=20, device="cpu").fit(themed.texts, themed.labels)


@pytest.fixture
def folder(fitted, tmp_path):
    fitted.save(tmp_path / "m")
    return tmp_path / "m"


def new_names(folder):
    store = ReviewStore(folder)
    return [name for name in store.names if name not in store.known]


def test_decisions_are_kept_with_author_and_time_and_can_be_undone(folder):
    store = ReviewStore(folder)
    first, second = new_names(folder)
    assert len(events(store.entries())) == 0
    assert not store.exists or store.entries() == []
    store.decide([Decision("rename", {"intent": first, "to": "solar"})], author="ana")
    store.decide([Decision("merge", {"intents": ["solar"], "into": second})], author="ben")
    entries = ReviewStore(folder).entries()
    assert [(e.id, e.author, e.kind) for e in entries] == [(1, "ana", "rename"), (2, "ben", "merge")]
    with pytest.raises(DecisionError, match=r"decision 2 \(ben merged solar into .*\) builds on it"):
        store.undo(author="ana", id=1)
    assert [entry.id for entry in store.undo(author="cleo")] == [2]
    assert "solar" in store.review().names
    assert [entry.id for entry in store.undo(author="cleo")] == [1]
    assert store.review().names == store.names
    assert [e.undone_by for e in store.entries()] == ["cleo", "cleo"]
    with pytest.raises(DecisionError, match="no decision to undo"):
        store.undo(author="cleo")
    with pytest.raises(ConflictError, match="cleo has undone decision 1 already"):
        store.undo(author="ana", id=1)


def test_a_batch_is_recorded_whole_or_not_at_all(folder):
    store = ReviewStore(folder)
    first, _ = new_names(folder)
    batch = [Decision("accept", {"intent": first}), Decision("accept", {"intent": "nope"})]
    with pytest.raises(DecisionError, match=r"decision 2, accept: .*: no intent 'nope'"):
        store.decide(batch, author="ana")
    assert store.entries() == []


def test_many_writers_lose_nothing(folder, themed):
    first, _ = new_names(folder)
    texts = list(dict.fromkeys(themed.texts))

    def write(number):
        ReviewStore(folder).decide([Decision("move", {"texts": [texts[number]], "to": first})], author=f"w{number}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(40)))
    assert len(ReviewStore(folder).review().assigned) == 40


WRITER = """
import sys
from newfound.review.decisions import Decision
from newfound.review.store import ReviewStore
store = ReviewStore(sys.argv[1])
name = [n for n in store.names if n not in store.known][0]
for number in range(10_000):
    pair = [Decision("move", {"texts": [f"{sys.argv[2]} {number} {side}"], "to": name}) for side in "ab"]
    store.decide(pair, author="x")
    print(number, flush=True)
"""


def test_a_killed_writer_leaves_every_acknowledged_decision_and_no_half_of_one(folder):
    (folder / "utterances.jsonl").unlink()  # so that any text can be moved
    for attempt in range(5):
        process = subprocess.Popen([sys.executable, "-c", WRITER, folder, str(attempt)], stdout=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(0.05 * attempt)
        os.kill(process.pid, signal.SIGKILL)
        acknowledged = 1 + len([line for line in process.stdout.read().split(b"\n") if line])
        process.wait()
        moved = [text for text in ReviewStore(folder).review().assigned if text.startswith(f"{attempt} ")]
        assert len(moved) % 2 == 0
        assert acknowledged <= len(moved) // 2 <= acknowledged + 1


def test_a_damaged_store_is_named(folder):
    (folder / REVIEW_FILE).write_bytes(b"no database at all, and long enough to look like one" * 40)
    with pytest.raises(ModelError, match="cannot be used"):
        ReviewStore(folder).entries()


def test_decisions_change_answers_at_once(folder, fitted, themed, tiny_encoder):
    first, second = new_names(folder)
    before = fitted.predict(themed.texts)
    of_first = [text for text, name in zip(themed.texts, before, strict=True) if name == first]
    store = ReviewStore(folder)
    store.decide(
        [
            Decision("rename", {"intent": first, "to": "solar"}),
            Decision("reject", {"intent": second}),
            Decision("move", {"texts": [of_first[0]], "to": "pay"}),
        ],
        author="ana",
    )
    after = load(folder, encoder=tiny_encoder).predict(themed.texts)
    for text, old, new in zip(themed.texts, before, after, strict=True):
        if text == of_first[0]:
            assert new == "pay"
        elif old == first:
            assert new == "solar"
        elif old == second:
            assert new is None or new in ("pay", "meter", "leak", "solar")  # merged mass of the others may win
    assert len(store.undo(author="ana")) == 3, "they are one step"
    assert load(folder, encoder=tiny_encoder).predict(themed.texts) == before


def test_a_split_divides_by_the_utterances_that_describe_its_parts(folder, fitted, themed, tiny_encoder):
    first, _ = new_names(folder)
    of_first = [t for t, name in zip(themed.texts, fitted.predict(themed.texts), strict=True) if name == first]
    into = {"one": of_first[:1], "two": of_first[-1:]}
    ReviewStore(folder).decide([Decision("split", {"intent": first, "into": into})], author="ana")
    opened = load(folder, encoder=tiny_encoder)
    assert opened.predict([of_first[0], of_first[-1]]) == ["one", "two"]
    assert set(opened.predict(of_first)) <= {"one", "two", *fitted.predict(themed.texts)}
    assert opened.predict_proba(of_first).sum(1) == pytest.approx(1, abs=1e-4)


def test_a_loaded_model_is_what_a_fit_returns_and_is_not_saved_without_its_decisions(folder, fitted, tiny_encoder):
    opened = load(folder, encoder=tiny_encoder)
    assert type(opened) is type(fitted.model_)
    with pytest.raises(ModelError, match="copy its folder"):
        opened.save(folder.with_name("other"))


def test_the_commands(folder, tiny_folder, tmp_path):
    first, second = new_names(folder)
    decisions = tmp_path / "decisions.yaml"
    decisions.write_text(f"- rename: {{intent: {first}, to: solar}}\n- accept: solar\n")
    refit = ("--author", "ana", "--refit", "--out", tmp_path / "n", "--encoder", tiny_folder)
    done = newfound("review", "apply", folder, decisions, *refit)
    assert done.returncode == 0, done.stderr
    assert "Recorded 2 decisions" in done.stdout
    assert (tmp_path / "n" / "model.json").is_file()
    assert "solar" in newfound("inspect", folder, "--encoder", tiny_folder).stdout
    log = newfound("review", "log", folder).stdout
    assert "ana" in log
    assert "rename" in log
    assert "Took back decision 2" in newfound("review", "undo", folder).stdout
    assert newfound("review", "apply", folder, tmp_path / "absent.yaml").returncode == 2
    assert len(ReviewStore(folder).entries()) == 2
    assert second in newfound("inspect", folder, "--encoder", tiny_folder).stdout


def test_utterances_are_needed_and_damaged_ones_named(fitted, tmp_path, tiny_encoder):
    fitted.model_.save(tmp_path / "bare", with_utterances=False)
    with pytest.raises(ModelError, match="without its utterances"):
        load(tmp_path / "bare", encoder=tiny_encoder).utterances  # noqa: B018
    fitted.save(tmp_path / "odd")
    (tmp_path / "odd" / "utterances.jsonl").write_text('{"text": "a"}\n')
    opened = load(tmp_path / "odd", encoder=tiny_encoder)
    assert opened.predict(["a"]), "who only predicts does not read them"
    with pytest.raises(ModelError, match="line 1: damaged"):
        opened.utterances  # noqa: B018


def test_what_is_refused_leaves_no_file_behind(folder):
    """A folder with a review in it is not replaced; one in which nothing was decided may be."""
    with pytest.raises(DecisionError):
        ReviewStore(folder).decide([Decision("accept", {"intent": "nosuch"})], author="ana")
    with pytest.raises(DecisionError, match="no decision to undo"):
        ReviewStore(folder).undo(author="ana")
    assert not (folder / REVIEW_FILE).exists()
