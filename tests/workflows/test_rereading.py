"""Logs with long messages, and with messages that state several wishes: what of them is learned."""

from __future__ import annotations

import itertools

import pytest

import newfound
from newfound.data.corpus import Corpus
from newfound.data.demo_corpus import load_demo
from newfound.model.classifier import IntentModel
from newfound.preparation import Preparation
from newfound.training.progress import Reporter
from newfound.workflows.rereading import reread, with_second_look


class Notes(Reporter):
    def __init__(self):
        self.notes = []

    def note(self, message):
        self.notes.append(message)


def known_alone(per_intent):
    """Labelled utterances of the demo's known intents, and others of the same intents."""
    train, known = load_demo().train, set(load_demo().known)
    rows = {name: [t for t, label in zip(train.texts, train.labels, strict=True) if label == name] for name in known}
    given = [(text, name) for name in sorted(rows) for text in rows[name][:per_intent]]
    return given, {name: rows[name][per_intent:] for name in sorted(rows)}


@pytest.mark.real_encoder
def test_messages_that_join_two_known_intents_found_no_new_one():
    """A tenth of the logs joins the same two intents again and again."""
    given, rest = known_alone(15)
    names = list(rest)
    single = list(itertools.chain(*rest.values()))
    pairs = zip(rest[names[0]], rest[names[1]], strict=False)
    joined = [f"{first.rstrip('.?!')} and {second}" for first, second in pairs][: len(single) // 9]
    reporter = Notes()
    settings = {"effort": "quick", "encoder": "minilm", "device": "cpu"}
    pairs = ([text for text, _ in given], [name for _, name in given])
    result = newfound.discover(pairs, single + joined, reporter=reporter, **settings)
    assert result.n_new == 0
    assert any("state several wishes: their parts are learned" in note for note in reporter.notes)
    wholes = {u.said.message for u in result.model.utterances if u.said.message}
    assert len(wholes & set(joined)) >= 0.7 * len(joined)
    parts = [u for u in result.model.utterances if u.said.message in joined]
    assert sum(u.intent in names[:2] for u in parts) >= 0.65 * len(parts)  # 0.79


def test_logs_of_single_wishes_are_read_once(tiny_encoder, themed):
    def never(corpus: Corpus) -> IntentModel:
        raise AssertionError("no first model is needed")

    assert with_second_look(themed, Preparation(), never, several=None, reporter=Notes()) is themed
    assert with_second_look(themed, Preparation(), never, several=True, reporter=Notes()) is themed
    some = Corpus.of([f"{text}, please" for text in themed.texts], themed.labels)
    assert with_second_look(some, Preparation(), never, several=False, reporter=Notes()) is some


def test_parts_keep_their_message_and_labelled_ones_stay_whole(saved, tiny_encoder):
    model = newfound.load(saved, encoder=tiny_encoder)
    text = "pay the bill please today and water leak with brown smell"
    parts = newfound.predict(model, [text], several=True)[0].intents
    corpus = Corpus.of([text, text, "pay bill"], [None, "pay", None])
    divided = reread(corpus, model, several=True, reporter=Notes())
    assert divided.texts == (*(text[p.start : p.end] for p in parts), text, "pay bill")
    assert len(parts) == 2
    assert [origin.said.message for origin in divided.origins] == [text, text, "", ""]
    assert divided.labels == (None, None, "pay", None)
    assert reread(corpus, model, several=False, reporter=Notes()) is corpus
