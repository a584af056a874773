"""A language model answers questions about doubtful utterances, over real HTTP."""

from __future__ import annotations

import json
import re

import pytest
from server import error, says, says_by, serving

from newfound.algorithms.ensembles import share_agreeing
from newfound.errors import SettingsError
from newfound.llm import LanguageModelSettings
from newfound.llm.asking import LanguageModel
from newfound.methods import asking, consensus
from newfound.methods.consensus import Consensus
from newfound.methods.kmeans import KMeans
from newfound.questions.annotators import Answer, PosedQuestion
from newfound.questions.language_model import ModelAnnotator, ModelLabeller, parse_answer, prompt_for

pytestmark = pytest.mark.slow  # dozens of fits

QUESTION = PosedQuestion("where is my card", (("card has not come", "no card yet"), ("block my card",)))


@pytest.mark.parametrize(
    ("answer", "choice"),
    [
        ('{"group": 1}', Answer(0)),
        ('```json\n{"group": "2"}\n```', Answer(1)),
        ('{"group": 0}', Answer(None)),
        ("2", Answer(1)),
        ("Group 1.", Answer(0)),
        ('{"group": 3}', None),
        ('{"group": -1}', None),
        ("card 1 or 2", None),
        ("", None),
        ("x" * 1_000 + '{"group": 1}', None),
        ('{"group": 99999999999999999999999999}', None),
    ],
)
def test_answers_are_read_or_left_aside(answer, choice):
    assert parse_answer(answer, 2) == choice


def test_a_prompt_holds_the_utterance_and_the_examples_and_nothing_else():
    prompt = prompt_for(QUESTION)
    assert re.findall(r"^- (.*)$", prompt, re.M) == ["card has not come", "no card yet", "block my card"]
    assert "Another user wrote: where is my card\n" in prompt
    assert len(prompt_for(PosedQuestion("x" * 5_000, (("y" * 5_000,),)))) < 1_500


def opened(endpoint, **settings):
    settings = LanguageModelSettings(endpoint.url, "m", remember=False, retries=0, **settings)
    return LanguageModel(settings, warn=lambda message: None, sleep=lambda _: None)


def fails_first(times):
    """Answer each prompt only when it comes again."""
    seen = {}

    def answer(handler, prompt):
        seen[prompt] = seen.get(prompt, 0) + 1
        again = error(503, "busy") if seen[prompt] <= times else says('{"group": 1, "1": "some label"}')
        again(handler, prompt)

    return answer


@pytest.mark.parametrize("at_once", [1, 4])
def test_repeated_requests_count_against_the_shares(at_once):
    told = []
    with serving(fails_first(2)) as endpoint:
        settings = LanguageModelSettings(endpoint.url, "m", remember=False, retries=2, budget=40, at_once=at_once)
        with LanguageModel(settings, warn=told.append, sleep=lambda _: None) as llm:
            labels = ModelLabeller(llm).labels([f"text {i}" for i in range(200)])
            assert llm.calls == len(endpoint.asked) == 8
            assert sum(label is not None for label in labels) == (2 if at_once == 1 else 0)
            annotator = ModelAnnotator(llm)
            answers = [annotator.answer(PosedQuestion(f"text {i}", QUESTION.candidates)) for i in range(20)]
            assert answers == [Answer(0)] * 8 + [None] * 12
            assert llm.calls_left == 8
            assert llm.ask("a name?", purpose="x") is not None
    assert not [line for line in told if "budget" in line], "the budget is not spent"


def test_a_model_that_knows_the_intents_is_asked_controls_first_and_then_about_the_logs(themed, tiny_encoder):
    gold = {t: t.split()[0] for t in themed.texts}  # one theme, one word: what a perfect model would see

    def answer(prompt):
        if '{"group"' not in prompt:
            return "{}"
        text = re.search(r"Another user wrote: (.*)", prompt).group(1)
        groups = re.findall(r"Group \d+:\n- (.*)", prompt)
        fits = [i for i, example in enumerate(groups, 1) if gold.get(example) == gold.get(text)]
        return json.dumps({"group": fits[0] if fits else 0})

    known = {t for t, label in zip(themed.texts, themed.labels, strict=True) if label is not None}
    settings = {"n_new": 2, "encoder": tiny_encoder, "tune": "heads", "device": "cpu", "epochs": 2, "questions": 16}
    with serving(says_by(answer)) as endpoint, opened(endpoint, budget=100) as llm:
        Consensus(**settings).fit(themed.texts, themed.labels, annotator=ModelAnnotator(llm))
    texts = [re.search(r"Another user wrote: (.*)", prompt).group(1) for prompt in endpoint.prompts]
    controls = [text in known for text in texts]
    assert controls[0]
    assert controls == sorted(controls, reverse=True)


class Always:
    """Answers the same whatever is asked."""

    reliability = None

    def __init__(self, choice):
        self.choice = choice

    def answer(self, question):
        return Answer(self.choice)


@pytest.mark.parametrize("choice", [0, None])
@pytest.mark.parametrize("labelled", [True, False])
def test_who_always_answers_the_same_changes_nothing(choice, labelled, themed, tiny_encoder):
    labels = themed.labels if labelled else [None] * len(themed)
    settings = {"n_new": 4, "encoder": tiny_encoder, "tune": "heads", "device": "cpu", "epochs": 2, "questions": 40}
    plain = Consensus(**settings).fit(themed.texts, labels)
    asked = Consensus(**settings).fit(themed.texts, labels, annotator=Always(choice))
    assert list(asked.labels_) == list(plain.labels_)


class GoldAnnotator:
    """Knows the theme of each text by its first word."""

    reliability = 1.0

    def answer(self, question):
        theme = question.text.split()[0]
        fits = [i for i, examples in enumerate(question.candidates) if examples[0].split()[0] == theme]
        return Answer(fits[0] if fits else None)


def test_answers_may_name_known_intents_in_mixed_logs_and_more_intents_than_columns(themed, tiny_encoder):
    for n_new in (1, 2, 6):
        settings = {"n_new": n_new, "encoder": tiny_encoder, "tune": "heads", "device": "cpu", "epochs": 2}
        fitted = Consensus(**settings, logs="mixed").fit(themed.texts, themed.labels, annotator=GoldAnnotator())
        assert len(fitted.labels_) == len(themed)


def test_methods_that_ask_nothing_say_so(themed, tiny_encoder):
    with (
        serving(says("1")) as endpoint,
        opened(endpoint) as llm,
        pytest.raises(SettingsError, match="asks no questions"),
    ):
        KMeans(n_new=2, encoder=tiny_encoder).fit(themed.texts, themed.labels, annotator=ModelAnnotator(llm))


class GoldLabeller:
    def __init__(self):
        self.texts = []

    def labels(self, texts):
        self.texts += texts
        return [text.split()[0] for text in texts]


def test_labels_are_asked_for_only_where_votes_disagree(themed, tiny_encoder, monkeypatch):
    shares = []

    def noted(votes, clusters):
        shares.append(share_agreeing(votes, clusters))
        return shares[-1]

    monkeypatch.setattr(consensus, "share_agreeing", noted)
    labeller = GoldLabeller()
    # Four in place of two, so that votes disagree on some utterances.
    settings = {"n_new": 4, "encoder": tiny_encoder, "tune": "heads", "device": "cpu", "epochs": 2}
    Consensus(**settings).fit(themed.texts, themed.labels, labeller=labeller)
    logs = [t for t, label in zip(themed.texts, themed.labels, strict=True) if label is None]
    assert labeller.texts
    assert set(labeller.texts) <= set(logs)
    assert len(labeller.texts) == int((shares[0] < asking.MIN_AGREEMENT_UNLABELLED).sum()) < len(logs)
