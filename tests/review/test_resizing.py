"""Coarser and finer: the preview is what happens, a person's decisions stay, and one undo takes it back."""

from __future__ import annotations

import json
import shutil

import pytest

import newfound
from commands import newfound as command
from conftest import themed_corpus
from newfound.errors import ConflictError, DecisionError
from newfound.methods.kmeans import KMeans
from newfound.review.decisions import Decision
from newfound.review.session import ReviewSession
from newfound.review.store import ReviewStore
from newfound.review.views import EstimatedNumber


@pytest.fixture(scope="module")
def many(tiny_encoder, themed, tmp_path_factory):
    """A model folder with five new intents; not to be changed."""
    folder = tmp_path_factory.mktemp("many") / "model"
    method = KMeans(n_new=5, encoder=tiny_encoder, tune="heads", epochs=20, device="cpu")
    method.fit(themed.texts, themed.labels).save(folder)
    return folder


@pytest.fixture
def session(many, tiny_encoder, tmp_path):
    return ReviewSession(shutil.copytree(many, tmp_path / "model"), encoder=tiny_encoder)


def sizes(session):
    return {intent.name: intent.size for intent in session.view().state.intents}


def new_intents(session):
    return [intent.name for intent in session.view().state.intents if not intent.known]


@pytest.mark.parametrize("wanted", [2, 3, 4, 6, 8])
def test_the_preview_is_what_happens_and_one_undo_takes_it_back(session, wanted):
    before = sizes(session)
    preview = session.view().resizer.preview(wanted)
    kind = "merge" if wanted < 5 else "split"
    assert (preview.present, preview.n_new, {change.kind for change in preview.changes}) == (5, wanted, {kind})
    session.store.decide([Decision("comment", {"intent": "pay", "text": "hm"})], author="bo")
    entries = session.resize(wanted, author="ana", expected_version=preview.version)
    assert [entry.decision for entry in entries] == list(preview.decisions), (
        "a comment of another person is no conflict"
    )
    after = sizes(session)
    gone = {part.name for change in preview.changes for part in change.before}
    come = {part.name: part.size for change in preview.changes for part in change.after}
    assert set(after) == set(before) - gone | set(come)
    assert {name: after[name] for name in come} == come
    assert session.view().resizer.preview().present == wanted
    for change in preview.changes:
        assert all(0 < len(part.utterances) <= 2 for part in (*change.before, *change.after))
        if kind == "merge":
            assert change.after[0].name == change.before[0].name
            assert change.before[0].size == max(part.size for part in change.before), "the largest keeps its name"
    assert session.store.undo(author="ana", only_own=True) == entries
    assert sizes(session) == before


def test_what_a_person_decided_on_stays(session):
    first, second = new_intents(session)[:2]
    session.store.decide([Decision("accept", {"intent": name}) for name in (first, second)], author="ana")
    moved = [u.text for u in session.view().describer.utterances if u.intent == first][:3]
    session.store.decide([Decision("move", {"texts": moved, "to": second})], author="ana")
    slots = session.view().reviewed.review.slots
    fixed = {"pay", "meter", "leak", first, second}
    assert session.view().resizer.preview().fewest == 3, "two accepted ones, and one of all others"
    for wanted in (3, 4, 7):
        preview = session.view().resizer.preview(wanted)
        touched = {part.name for change in preview.changes for part in change.before}
        assert touched
        assert not touched & fixed
    session.resize(3, author="ana")
    review = session.view().reviewed.review
    assert {s: n for s, n in review.slots.items() if n in fixed} == {s: n for s, n in slots.items() if n in fixed}
    assert review.assigned == dict.fromkeys(moved, (second,))
    assert review.accepted == {first, second}


def test_previews_are_nested_and_names_do_not_depend_on_what_was_asked_before(session, many, tiny_encoder):
    resizer = session.view().resizer
    last = resizer.preview(10).decisions
    other = ReviewSession(many, encoder=tiny_encoder).view().resizer
    for wanted in range(6, 11):
        found = other.preview(wanted)
        assert sum(len(c.after) - len(c.before) for c in found.changes) == wanted - 5
        assert found.decisions == resizer.preview(wanted).decisions
    assert found.decisions == last


def test_an_intent_of_moved_utterances_is_merged_but_not_split(session):
    texts = [u.text for u in session.view().describer.utterances if u.intent == new_intents(session)[0]][:9]
    session.store.decide([Decision("move", {"texts": texts, "to": "by hand", "create": True})], author="ana")
    resizer = session.view().resizer
    assert all(c.before[0].name != "by hand" for c in resizer.preview(resizer.preview().most).changes)
    session.resize(2, author="ana")
    assert len(new_intents(session)) == 2


def test_conflicts_and_numbers_that_are_not_possible(session):
    first = new_intents(session)[0]
    seen = session.view().version
    for wanted in (1, 100):
        with pytest.raises(DecisionError, match=r"choose a number from 2 to \d+"):
            session.resize(wanted, author="ana")
    with pytest.raises(DecisionError, match="there are 5 new intents already"):
        session.resize(5, author="ana")
    session.store.decide([Decision("accept", {"intent": first})], author="bo")
    with pytest.raises(ConflictError, match=f"bo accepted {first} in the meantime; look at the preview again"):
        session.resize(4, author="ana", expected_version=seen)
    with pytest.raises(ConflictError, match="begun anew"):
        session.resize(4, author="ana", expected_version=99)
    assert len(session.store.entries()) == 1
    with pytest.raises(DecisionError, match="no decision of ana to undo"):
        session.store.undo(author="ana", only_own=True)


def test_a_step_is_undone_whole_and_its_decisions_one_by_one(session):
    store, names = session.store, new_intents(session)
    store.decide([Decision("accept", {"intent": name}) for name in names[:3]], author="ana")
    store.decide([Decision("accept", {"intent": names[3]})], author="bo")
    store.undo(author="ana", id=2)
    assert [entry.id for entry in session.store.undo(author="ana", only_own=True, id=3, step=True)] == [1, 3], (
        "what is left of it"
    )
    assert store.review().accepted == {names[3]}
    assert [entry.id for entry in store.undo(author="ana")] == [4]


@pytest.fixture(scope="module")
def two(tiny_encoder, tmp_path_factory):
    """A model folder with two new intents of more than a hundred utterances each; not to be changed."""
    corpus = themed_corpus(120)
    folder = tmp_path_factory.mktemp("two") / "model"
    method = KMeans(n_new=2, encoder=tiny_encoder, tune="heads", epochs=5, device="cpu")
    method.fit(corpus.texts, corpus.labels).save(folder)
    return folder


def test_as_many_as_the_utterances_allow_and_every_one_has_some(two, tiny_encoder, tmp_path):
    session = ReviewSession(shutil.copytree(two, tmp_path / "model"), encoder=tiny_encoder)
    most = session.view().resizer.preview().most
    assert most >= 24, "two dozen of 240 utterances"
    preview = session.view().resizer.preview(most)
    assert min(part.size for change in preview.changes for part in change.after) > 0
    with pytest.raises(DecisionError, match=f"choose a number from 2 to {most}"):
        session.resize(most + 1, author="ana")


def test_utterances_that_repeat_allow_no_more_intents(tiny_encoder, themed, tmp_path):
    """Ninety utterances, of which nine differ, can be two intents, and not ten."""
    texts, labels = list(themed.texts[:90]), list(themed.labels[:90])
    repeated = [text for text in themed.texts[90:99] for _ in range(10)]
    method = KMeans(n_new=1, encoder=tiny_encoder, tune="heads", epochs=2, device="cpu")
    method.fit(texts + repeated, labels + [None] * 90).save(tmp_path / "m")
    preview = ReviewSession(tmp_path / "m", encoder=tiny_encoder).view().resizer.preview()
    assert (preview.present, preview.fewest, preview.most) == (1, 1, 2)


def test_command_and_python_do_the_same(many, tmp_path, tiny_folder):
    folder = shutil.copytree(many, tmp_path / "model")
    expected = newfound.resize(folder, to=3, preview=True, encoder=str(tiny_folder))
    assert not expected.entries
    options = ("--encoder", tiny_folder, "--author", "ana")
    shown = command("review", "resize", folder, "--to", 3, "--preview", *options)
    assert "Nothing was recorded" in shown.stdout
    assert not ReviewStore(folder).exists
    done = command("review", "resize", folder, "--to", 3, *options)
    assert done.returncode == 0, done.stderr
    decisions = [entry.decision for entry in ReviewStore(folder).entries()]
    assert decisions == list(expected.resizing.decisions)
    undone = command("review", "undo", folder, "--author", "ana")
    assert undone.stdout.count("Took back decision") == len(decisions)
    assert ReviewStore(folder).review().names == ReviewStore(folder).names
    refused = command("review", "resize", folder, "--to", 99, *options)
    assert refused.returncode == 2
    assert "choose a number from 2 to" in refused.stderr
    recorded = newfound.resize(folder, to=3, author="ana", encoder=str(tiny_folder))
    assert [entry.decision for entry in recorded.entries] == decisions


def test_the_estimate_is_kept_with_the_model(tiny_encoder, themed, tmp_path):
    method = KMeans(n_new="auto", encoder=tiny_encoder, tune="heads", epochs=2, device="cpu")
    method.fit(themed.texts, themed.labels).save(tmp_path / "m")
    about = json.loads((tmp_path / "m" / "model.json").read_text())
    found = about["provenance"]["estimate"]
    assert found == {key: getattr(method.estimate_, key) for key in ("n_new", "low", "high")}
    estimate = ReviewSession(tmp_path / "m", encoder=tiny_encoder).view().resizer.preview().estimate
    assert (estimate.n_new, estimate.low, estimate.high) == tuple(found.values())
    given = KMeans(n_new=2, encoder=tiny_encoder, tune="heads", epochs=2, device="cpu").fit(themed.texts, themed.labels)
    assert "estimate" not in given.model_.provenance


def test_how_sure_an_estimate_is():
    assert EstimatedNumber.of({"estimate": {"n_new": 31, "low": 24, "high": 40}}).is_unsure
    assert not EstimatedNumber.of({"estimate": {"n_new": 31, "low": 27, "high": 35}}).is_unsure
    for damaged in (
        {},
        {"estimate": 31},
        {"estimate": {"n_new": 31}},
        {"estimate": {"n_new": "x", "low": 1, "high": 2}},
    ):
        assert EstimatedNumber.of(damaged) is None
