"""Short labels of utterances, several to a request."""

from __future__ import annotations

import json
import re

import pytest
from server import error, says, says_by, serving

from newfound.algorithms.ensembles import share_agreeing
from newfound.llm import LanguageModelSettings
from newfound.llm.asking import LanguageModel
from newfound.llm.labels import short_labels
from newfound.methods import asking, consensus
from newfound.methods.consensus import Consensus

TEXTS = [f"message {letter}" for letter in "abcdefghijklmnopqrstuvwxyz"[:23]]


def numbered(prompt):
    return re.findall(r"^(\d+): (.*)$", prompt, re.M)


def by_json(prompt):
    return json.dumps({number: f"label of {text[-1]}" for number, text in numbered(prompt)})


@pytest.fixture
def endpoint():
    with serving(says_by(by_json)) as server:
        yield server


def labels(endpoint, texts, told=None, **settings):
    settings = LanguageModelSettings(endpoint.url, "m", remember=False, **settings)
    with LanguageModel(settings, warn=(told if told is not None else []).append, sleep=lambda _: None) as llm:
        return short_labels(texts, llm)


def test_every_utterance_gets_its_label_in_batches(endpoint):
    repeated = [*TEXTS, TEXTS[0]]
    assert labels(endpoint, repeated) == [f"label of {text[-1]}" for text in repeated]
    assert sorted(len(numbered(prompt)) for prompt in endpoint.prompts) == [3, 10, 10]
    assert labels(endpoint, []) == []


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('```json\n{"1": "Get refund.", "2": "lost_card"}\n```', ["get refund", "lost card", None]),
        ('{"2": "lost card", "7": "who?", "x": "?", "1": 3, "3": ""}', [None, "lost card", None]),
        ("1. get refund\n2) lost card\n\n**3:** late bill", ["get refund", "lost card", "late bill"]),
        ("Here they are:\n3: late bill", [None, None, "late bill"]),
        ('{"1": "' + "very " * 30 + '", "2": "a\\nb", "3": "?!"}', [None, "a b", None]),
        ("{{{", [None, None, None]),
        ("no idea", [None, None, None]),
    ],
)
def test_answers_may_lack_lines_or_have_more(endpoint, answer, expected):
    endpoint.answer = says(answer)
    assert labels(endpoint, ["one", "two", "three"]) == expected


def test_numbers_in_messages_are_masked_and_the_messages_keep_theirs(endpoint):
    labels(endpoint, ["0171 2345678 is mine", "two\nlines"])
    assert numbered(endpoint.prompts[0]) == [("1", "<phone> is mine"), ("2", "two lines")]


def fails_first(times):
    """Answer each prompt only when it comes again."""
    seen = {}

    def answer(handler, prompt):
        seen[prompt] = seen.get(prompt, 0) + 1
        again = error(503, "busy") if seen[prompt] <= times else says('{"1": "some label"}')
        again(handler, prompt)

    return answer


@pytest.mark.parametrize("at_once", [1, 4])
def test_repeated_requests_count_against_the_share(at_once):
    told = []
    with serving(fails_first(2)) as endpoint:
        settings = LanguageModelSettings(endpoint.url, "m", remember=False, retries=2, budget=40, at_once=at_once)
        with LanguageModel(settings, warn=told.append, sleep=lambda _: None) as llm:
            given = short_labels([f"text {i}" for i in range(200)], llm, share=0.2)
            assert len(given) == 200
            assert llm.calls == len(endpoint.asked) == 8
            assert sum(label is not None for label in given) == (2 if at_once == 1 else 0)
            assert llm.calls_left == 32
    assert not [line for line in told if "budget" in line], "the budget is not spent"


@pytest.mark.slow
def test_labels_are_asked_for_only_where_votes_disagree(themed, tiny_encoder, monkeypatch):
    shares, texts = [], []

    def noted(votes, clusters):
        shares.append(share_agreeing(votes, clusters))
        return shares[-1]

    def labeller(doubtful):
        texts.extend(doubtful)
        return [text.split()[0] for text in doubtful]

    monkeypatch.setattr(consensus, "share_agreeing", noted)
    # Four in place of two, so that votes disagree on some utterances.
    settings = {"n_new": 4, "encoder": tiny_encoder, "tune": "heads", "device": "cpu", "epochs": 2}
    Consensus(**settings).fit(themed.texts, themed.labels, labeller=labeller)
    assert set(texts) <= set(themed.unlabelled().texts)
    assert 0 < len(texts) == int((shares[0] < asking.MIN_AGREEMENT_UNLABELLED).sum()) < len(themed.unlabelled())
