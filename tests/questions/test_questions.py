"""Which questions are asked, and what answers change."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from newfound.algorithms.ensembles import label_freely
from newfound.algorithms.metrics import accuracy, map_clusters
from newfound.questions.annotators import Answer, ask
from newfound.questions.selection import next_question
from newfound.questions.state import AnswerState, OutsideIntent, resolve_labels


def blobs(centres: int, each: int, *, noise: float = 0.25, seed: int = 0):
    """Unit vectors around random directions, and the number of the direction of each."""
    generator = torch.Generator().manual_seed(seed)
    gold = torch.arange(centres).repeat_interleave(each)
    directions = F.normalize(torch.randn(centres, 12, generator=generator), dim=-1)
    return F.normalize(directions[gold] + noise * torch.randn(len(gold), 12, generator=generator), dim=-1), gold


def two_intents_taken_for_one():
    """Four groups of ten; the consensus joins the last two, on which half of the votes disagree."""
    x, gold = blobs(4, 10, noise=0.05)
    joined = gold.clamp(max=2)
    return x, gold, [gold, joined], joined


def an_intent_taken_for_two():
    """Three groups of twelve; half of the rows of the last one are taken for a fourth."""
    x, gold = blobs(3, 12, noise=0.05)
    return x, gold, torch.where((gold == 2) & (torch.arange(36) % 2 == 0), 3, gold)


def answer_by(gold, question):
    fits = [i for i, rows in enumerate(question.candidates) if gold[rows[0]] == gold[question.row]]
    return fits[0] if fits else None


def test_the_first_question_is_about_the_part_on_which_votes_disagree_and_its_answer_decides_for_all_of_it():
    x, gold, votes, joined = two_intents_taken_for_one()
    state = AnswerState(x, votes, joined)
    question = next_question(state)
    assert joined[question.row] == 2
    assert question.intents[0] == 2  # the present intent is the first candidate
    assert question.rows == 10
    assert question.is_about is None
    state.answer(question, None)
    labels = resolve_labels(state)
    assert accuracy(gold.numpy(), map_clusters(gold.numpy(), labels.numpy())) == 100


def test_expected_gain_is_the_size_of_the_part_times_the_probability_that_it_is_another_intent():
    x, _, votes, joined = two_intents_taken_for_one()
    question = next_question(AnswerState(x, votes, joined))
    # One vote puts the parts together (cosine 1), one apart (cosine 0): co-association 0.5, log odds 4.07 - 3.36.
    assert question.gain == pytest.approx(10 / (1 + torch.tensor(-0.71).exp().item()), rel=1e-4)


def test_an_intent_that_was_taken_for_two_is_joined_by_one_answer():
    x, gold, split = an_intent_taken_for_two()
    state = AnswerState(x, [gold, gold, split], split)
    question = next_question(state)
    assert question.is_about in (2, 3)
    state.answer(question, answer_by(gold, question))
    assert len(resolve_labels(state).unique()) == 3


def test_intents_that_are_fixed_are_not_joined_with_each_other():
    x, gold, split = an_intent_taken_for_two()
    state = AnswerState(x, [gold, gold, split], split, fixed=(2, 3))
    asked = []
    while (question := next_question(state)) is not None and len(asked) < 50:
        asked.append(question.is_about)
        state.answer(question, 0 if question.is_about is None else None)
    assert not any(about in (2, 3) for about in asked)
    assert set(resolve_labels(state).tolist()) == {0, 1, 2, 3}
    # Others are joined instead.
    forced = resolve_labels(AnswerState(x, [gold, gold, split], split, fixed=(2, 3)), 3)
    assert {2, 3} < set(forced.tolist())
    assert len(forced.unique()) == 3


def test_right_answers_to_all_questions_lead_to_the_right_clusters():
    x, gold = blobs(20, 12, noise=0.15, seed=1)
    votes = [label_freely(x, 20, seed=s).kmeans for s in range(4)]
    state = AnswerState(x, votes, votes[0])

    def right() -> float:
        return accuracy(gold.numpy(), map_clusters(gold.numpy(), resolve_labels(state, 20).numpy()))

    before = right()
    for _ in range(60):
        question = next_question(state)
        if question is None:
            break
        state.answer(question, answer_by(gold, question))
    # Every question was answered rightly: at least half of what was wrong is right now.
    assert 100 - right() < (100 - before) / 2, (before, right())


def test_a_skipped_question_is_not_asked_again_and_changes_nothing():
    x, _, votes, joined = two_intents_taken_for_one()
    state = AnswerState(x, votes, joined)
    seen = set()
    while (question := next_question(state)) is not None:
        key = question.row, question.intents
        assert key not in seen
        seen.add(key)
        state.skip(question)
    assert torch.equal(resolve_labels(state), joined)


def test_a_row_that_is_told_takes_along_the_part_around_it():
    x, gold, votes, joined = two_intents_taken_for_one()
    state = AnswerState(x, votes, joined)
    row = int((gold == 3).nonzero()[4])
    state.assign(row, 7)
    assert torch.equal(resolve_labels(state) == 7, gold == 3)
    state.assign(row + 1, 2)  # its neighbour stays, and is all that goes back
    assert torch.equal((resolve_labels(state) == 2).nonzero().squeeze(1)[:10], (gold == 2).nonzero().squeeze(1))
    assert int(resolve_labels(state)[row]) == 7
    assert int(resolve_labels(state)[row + 1]) == 2


def test_a_row_of_a_pure_intent_that_is_told_goes_alone():
    x, gold = blobs(3, 60, noise=0.3)
    for row in range(0, 60, 7):
        state = AnswerState(x, [gold, gold], gold)
        state.assign(row, 9)
        if resolve_labels(state)[row] == 9 and int((resolve_labels(state) == 9).sum()) > 1:
            assert row == AnswerState(x, [gold, gold], gold).pieces[0].medoid, (
                "only what is asked about stands for others"
            )


def test_there_are_never_more_intents_than_wanted_whatever_answers_tell_apart():
    x, gold = blobs(4, 10, noise=0.05)
    state = AnswerState(x, [gold, gold.clamp(max=1)], gold.clamp(max=1))
    while (question := next_question(state)) is not None:
        state.answer(question, answer_by(gold, question))
    assert len(resolve_labels(state).unique()) == 4
    assert len(resolve_labels(state, 2).unique()) == 2
    assert len(resolve_labels(state, 1).unique()) == 1


def test_an_intent_whose_centre_was_confirmed_is_not_compared_again_from_the_other_side():
    x, gold, split = an_intent_taken_for_two()
    state = AnswerState(x, [gold, gold, split], split)
    question = next_question(state)
    assert {question.is_about, question.intents[0]} == {2, 3}
    again = AnswerState(x, [gold, gold, split], split)
    again.assign(question.row, question.is_about)
    asked = []
    while (question := next_question(again)) is not None:
        asked.append({question.is_about, question.intents[0]})
        again.skip(question)
    assert {2, 3} not in asked


def test_rows_may_belong_to_an_intent_from_outside_which_is_not_counted():
    x, gold, votes, joined = two_intents_taken_for_one()
    outside = {-1: OutsideIntent(F.normalize(x[gold == 3].mean(0), dim=-1), (100, 101))}
    state = AnswerState(x, votes, joined, outside=outside)
    question = next_question(state)
    assert question.intents[-1] == -1
    assert question.candidates[-1] == (100, 101)
    state.answer(question, len(question.intents) - 1)
    part = gold == gold[question.row]
    assert torch.equal(resolve_labels(state) == -1, part)
    forced = resolve_labels(state, 2)
    assert torch.equal(forced == -1, part)
    assert len(forced[~part].unique()) == 2
    for _ in range(20):
        question = next_question(state)
        if question is None:
            break
        state.skip(question)


@settings(max_examples=20)
@given(told=st.dictionaries(st.integers(0, 47), st.integers(0, 6), max_size=20), seed=st.integers(0, 3))
def test_what_is_told_holds_whatever_else_is_told(told, seed):
    x, _ = blobs(4, 12, noise=0.5, seed=seed)
    votes = [label_freely(x, 4, seed=s).kmeans for s in range(2)]
    state = AnswerState(x, votes, votes[0])
    for row, intent in told.items():
        state.assign(row, intent)
    labels = resolve_labels(state)
    assert all(int(labels[row]) == intent for row, intent in told.items())
    assert bool((labels >= 0).all())
    for _ in range(10):
        question = next_question(state)
        if question is None:
            break
        assert question.row not in told or question.is_about is not None
        state.answer(question, None if question.is_about is None else 0)
    k = len(torch.unique(resolve_labels(state)))
    assert len(torch.unique(resolve_labels(state, k))) == k


def test_nothing_is_asked_about_nothing():
    state = AnswerState(torch.zeros(0, 4), [torch.zeros(0, dtype=torch.int64)], torch.zeros(0, dtype=torch.int64))
    assert next_question(state) is None
    assert len(resolve_labels(state)) == 0


@pytest.mark.parametrize(("reliability", "contradicts", "needed"), [(1.0, False, 1), (0.7, False, 2), (0.7, True, 0)])
def test_answers_that_may_be_wrong_are_made_sure_of_on_the_same_part(reliability, contradicts, needed):
    x, gold, votes, joined = two_intents_taken_for_one()

    class Annotator:
        def __init__(self):
            self.reliability, self.asked = reliability, []

        def answer(self, question):
            self.asked.append(int(question.text))
            fits = [i for i, own in enumerate(question.candidates) if gold[int(own[0])] == gold[int(question.text)]]
            return Answer(0 if contradicts and len(self.asked) % 2 else fits[0] if fits else None)

    annotator, state = Annotator(), AnswerState(x, votes, joined)
    assert ask(state, [str(i) for i in range(40)], annotator, needed or 4) == len(annotator.asked) == (needed or 4)
    assert len({int(gold[row]) for row in annotator.asked}) == 1
    assert torch.equal(resolve_labels(state), gold if needed else joined)
