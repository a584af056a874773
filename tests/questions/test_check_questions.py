"""Questions to which the answer is known."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from newfound.questions.annotators import Answer, check_questions, measure_reliability
from newfound.questions.selection import MAX_CANDIDATES, MAX_EXAMPLES


def certain_rows(intents: int = 12, each: int = 6):
    """Texts `intent/number`, vectors around one direction for each intent, and their intents."""
    y = torch.arange(intents).repeat_interleave(each)
    noise = torch.randn(len(y), 16, generator=torch.Generator().manual_seed(0))
    x = F.normalize(F.one_hot(y, 16).float() + 0.1 * noise, dim=-1)
    return [f"{int(i)}/{n}" for n, i in enumerate(y)], x, y


def intent_of(text):
    return text.split("/")[0]


def test_the_right_choice_is_the_intent_of_the_utterance_or_none_if_it_is_not_shown():
    texts, x, y = certain_rows()
    checks = check_questions(texts, x, y, 12, seed=3)
    assert len(checks) == 12
    for question, right in checks:
        shown = [intent_of(examples[0]) for examples in question.candidates]
        own = intent_of(question.text)
        assert right.choice == (shown.index(own) if own in shown else None)
        assert len(shown) == len(set(shown)) == MAX_CANDIDATES
        for examples in question.candidates:
            assert len(examples) == MAX_EXAMPLES
            assert len({intent_of(text) for text in examples}) == 1
            assert question.text not in examples
    assert len({intent_of(question.text) for question, _ in checks}) == 12  # another intent each time


def test_over_many_questions_some_have_no_right_candidate_and_the_right_one_is_at_any_place():
    texts, x, y = certain_rows()
    checks = [check for seed in range(20) for check in check_questions(texts, x, y, 12, seed=seed)]
    assert {right.choice for _, right in checks} == {None, *range(MAX_CANDIDATES)}


def test_there_are_as_many_as_wanted_and_the_same_for_the_same_seed():
    texts, x, y = certain_rows()
    assert len(check_questions(texts, x, y, 5, seed=0)) == 5
    assert check_questions(texts, x, y, 5, seed=0) == check_questions(texts, x, y, 5, seed=0)
    assert check_questions(texts, x, y, 5, seed=0) != check_questions(texts, x, y, 5, seed=1)


def test_rows_that_are_not_certain_and_intents_with_few_rows_are_left_out():
    texts, x, y = certain_rows(intents=4)
    y[y == 3] = -1
    y[(y == 2).nonzero().squeeze(1)[2:]] = -1  # two rows are left, of which one would be the utterance
    checks = check_questions(texts, x, y, 10, seed=0)
    assert len(checks) == 2
    shown = {intent_of(t) for q, _ in checks for t in (q.text, *(e for g in q.candidates for e in g))}
    assert shown <= {"0", "1"}
    y[y == 1] = -1
    assert check_questions(texts, x, y, 10, seed=0) == []  # a single intent has nothing to be told from
    assert check_questions([], torch.zeros(0, 16), torch.zeros(0, dtype=torch.int64), 10, seed=0) == []


class Knows:
    """Answers rightly, except every third question."""

    reliability = None

    def __init__(self):
        self.asked = 0

    def answer(self, question):
        self.asked += 1
        shown = [intent_of(examples[0]) for examples in question.candidates]
        own = intent_of(question.text)
        right = shown.index(own) if own in shown else None
        return Answer(right if self.asked % 3 else (0 if right != 0 else 1))


def test_the_share_of_right_answers_is_measured():
    texts, x, y = certain_rows()
    checks = check_questions(texts, x, y, 12, seed=0)
    assert measure_reliability(Knows(), checks) == (8 + 1) / (12 + 2)
    assert measure_reliability(Knows(), []) is None
