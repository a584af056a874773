"""From round to round: ids stay with intents, and two models are compared by their utterances."""

from __future__ import annotations

import json

import pytest

import newfound
from commands import newfound as command
from conftest import themed_corpus
from newfound.errors import DataError, ModelError
from newfound.model.types import intent_id
from newfound.review.decisions import Decision
from newfound.review.store import ReviewStore


def ids_of(folder, encoder):
    return {intent.name: intent.id for intent in newfound.load(folder, encoder=encoder).intents}


@pytest.fixture(scope="module")
def rounds(tiny_encoder, tmp_path_factory):
    """Three rounds with one new intent each; those of the first two are renamed and accepted, one of them twice."""
    from newfound.methods.kmeans import KMeans

    folder, corpus = tmp_path_factory.mktemp("rounds"), themed_corpus(unlabelled=())
    rows = {name: [i for i, label in enumerate(corpus.labels) if label == name] for name in set(corpus.labels)}
    texts = {name: list(corpus.take(own).texts) for name, own in rows.items()}
    known = corpus.hiding(("move", "solar", "leak")).labelled()
    method = KMeans(n_new=1, encoder=tiny_encoder, tune="heads", epochs=20, device="cpu")
    fitted = method.fit([*known.texts, *texts["move"]], [*known.labels, *(None for _ in texts["move"])])
    fitted.save(folder / "one")
    settings = {"encoder": tiny_encoder, "device": "cpu", "n_new": 1}
    first = _accept(folder / "one", "moving")
    newfound.update(folder / "one", texts["solar"], folder / "two", **settings)
    second = _accept(folder / "two", "solar", Decision("rename", {"intent": "moving", "to": "move_house"}))
    newfound.update(folder / "two", texts["leak"], folder / "three", **settings)
    return folder, first, second


def _accept(folder, name, *others):
    """Give the new intent of a model a name, accept it, and return the name that it had."""
    (found,) = (i.name for i in ReviewStore(folder).intents if not i.known)
    decisions = [Decision("rename", {"intent": found, "to": name}), Decision("accept", {"intent": name})]
    ReviewStore(folder).decide([*others, *decisions], author="ana")
    return found


def test_ids_stay_from_the_first_round_to_the_third(rounds, tiny_encoder):
    folder, first, second = rounds
    one, two, three = (ids_of(folder / name, tiny_encoder) for name in ("one", "two", "three"))
    assert one["moving"] == two["move_house"] == three["move_house"] == intent_id(first)
    assert two["solar"] == three["solar"] == intent_id(second)
    assert all(one[name] == two[name] == three[name] for name in ("pay", "meter"))
    assert len(set(three.values())) == len(three) == 5
    stored = {i["name"]: i["id"] for i in json.loads((folder / "three" / "model.json").read_text())["intents"]}
    assert stored == three


def test_two_rounds_are_compared_by_their_utterances(rounds, tiny_folder, tiny_encoder):
    folder = rounds[0]
    result = newfound.diff(folder / "one", folder / "three")
    found = {(c.change, tuple(i.name for i in c.before), tuple(i.name for i in c.after)) for c in result.changes}
    (last,) = (i.name for i in ReviewStore(folder / "three").intents if not i.known)
    assert found == {
        *(("kept", (name,), (name,)) for name in ("pay", "meter")),
        ("renamed", ("moving",), ("move_house",)),
        ("new", (), ("solar",)),
        ("new", (), (last,)),
    }
    renamed = next(c for c in result.changes if c.change == "renamed")
    assert renamed.before[0].id == renamed.after[0].id
    assert 0 < renamed.shared <= renamed.after[0].size
    assert renamed.after[0].examples
    assert sum(result.counts.values()) == len(result.changes)
    assert result.shared == result.utterances_before < result.utterances_after
    printed = command("diff", folder / "one", folder / "three", "--json")
    assert json.loads(printed.stdout)["counts"] == result.counts
    assert json.loads(printed.stdout)["changes"][0]["after"][0]["id"] == result.changes[0].after[0].id
    table = command("diff", folder / "one", folder / "three", COLUMNS="80").stdout
    assert "renamed" in table
    assert "meter" not in table, "kept intents are counted, and shown with --all"
    assert max(map(len, table.splitlines())) <= 80
    assert "meter" in command("diff", folder / "one", folder / "three", "--all").stdout


def test_splits_and_merges_of_a_review_are_told(saved, folder, tiny_encoder):
    first, second = (i for i in newfound.load(saved, encoder=tiny_encoder).intents if not i.known)
    into = {"near": list(first.exemplars[:2]), "far": list(first.border[-1:])}
    ReviewStore(folder).decide([Decision("split", {"intent": first.name, "into": into})], author="ana")
    split = newfound.diff(saved, folder, encoder=tiny_encoder)
    assert split.counts["split"] == 1
    (change,) = (c for c in split.changes if c.change == "split")
    assert {i.id for i in change.after} == {f"{first.id}.0", f"{first.id}.1"}
    back = newfound.diff(folder, saved, encoder=tiny_encoder)
    assert back.counts["merged"] == 1
    ReviewStore(folder).decide([Decision("reject", {"intent": second.name})], author="ana")
    gone = newfound.diff(saved, folder, encoder=tiny_encoder)
    assert [c.before[0].name for c in gone.changes if c.change == "gone"] == [second.name]


def test_models_without_common_utterances_are_refused_in_one_line(saved, tiny_encoder, tmp_path):
    from newfound.methods.kmeans import KMeans

    other = themed_corpus(seed=7)
    texts = [f"{text} again" for text in other.texts]
    KMeans(n_new=2, encoder=tiny_encoder, tune="heads", epochs=2, device="cpu").fit(texts, other.labels).save(
        tmp_path / "other"
    )
    with pytest.raises(DataError, match="share 0 of 152 and 150 utterances, too few"):
        newfound.diff(saved, tmp_path / "other")
    newfound.load(saved, encoder=tiny_encoder).reviewed.model.save(tmp_path / "bare", with_utterances=False)
    with pytest.raises(ModelError, match="bare: the model was saved without its utterances"):
        newfound.diff(saved, tmp_path / "bare")
    done = command("diff", saved, tmp_path / "bare")
    assert (done.returncode, len(done.stderr.strip().splitlines())) == (2, 1)
