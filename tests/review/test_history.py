"""A trained model keeps what was decided before its training."""

from __future__ import annotations

import json
import shutil

import pytest

from newfound.errors import ModelError
from newfound.review.decisions import Decision
from newfound.review.store import ReviewStore, read_history
from newfound.workflows.updating import refit, update


def accept_one(folder, author):
    store = ReviewStore(folder)
    name = next(name for name in store.names if name not in store.known)
    store.decide([Decision("accept", {"intent": name})], author=author)
    return f"accepted {name}"


def test_decisions_are_carried_over_through_a_chain_of_trainings(saved, tiny_encoder, tmp_path):
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    shutil.copytree(saved, first)
    decided = [accept_one(first, "ana")]
    refit(first, second, encoder=tiny_encoder, tune="heads", device="cpu")
    assert ReviewStore(second).entries() == [], "they are no decisions about the trained model"
    decided.append(accept_one(second, "bo"))
    ReviewStore(second).undo(author="ana")
    accept_one(second, "bo")
    logs = ["where is my refund", "pay my bill today"]
    update(second, logs, third, encoder=tiny_encoder, device="cpu", accept_all=True)

    assert read_history(first) == ()
    trainings = read_history(third)
    assert [(one.kind, one.model) for one in trainings] == [("refit", "first"), ("update", "second")]
    assert [one.entries[0].words for one in trainings] == decided
    assert [one.entries[0].author for one in trainings] == ["ana", "bo"]
    assert trainings[1].entries == tuple(ReviewStore(second).entries()), "with what was undone, and by whom"
    assert trainings[1].entries[0].undone_by == "ana"


@pytest.mark.parametrize(
    "trainings",
    [
        3,
        [3],
        [{"kind": "refit"}],
        [{"kind": 1, "model": "m", "at": "", "author": None, "entries": []}],
        [{"entries": [{}]}],
    ],
)
def test_a_damaged_history_is_named(folder, trainings):
    (folder / "history.json").write_text(json.dumps({"version": 1, "trainings": trainings}))
    with pytest.raises(ModelError, match=r"history\.json: damaged"):
        read_history(folder)
