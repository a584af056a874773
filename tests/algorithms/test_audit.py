"""Accuracy from a sample of answers."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from newfound.algorithms.audit import Estimate, accuracy_of_sample, choose_questions, more_questions, strata_of


def test_strata_divide_the_spread_and_not_the_rows():
    """1,000 utterances at 0.98 have a spread of 0.14 each, 100 at 0.5 of 0.5 each: 140 against 50."""
    strata = strata_of(np.array([0.5] * 100 + [0.98] * 1_000))
    assert strata.max() == 5
    assert set(strata[:100]) == {0, 1}  # a quarter of the spread is in the first hundred


@given(st.integers(0, 10**6), st.integers(1, 80), st.integers(1, 300))
@settings(max_examples=60)
def test_as_many_questions_as_asked_for_and_none_twice(seed, n, utterances):
    certainty = np.random.default_rng(seed).uniform(0, 1, utterances)
    rows = choose_questions(certainty, n, seed=seed)
    assert len(rows) == len(set(rows)) == min(n, utterances)
    more = choose_questions(certainty, n + 20, asked=rows, seed=seed + 1)
    assert not set(rows) & set(more)
    assert len(more) >= min(20, utterances - len(rows))


def test_the_interval_holds_the_truth_as_often_as_it_says():
    """Certainties that are right on average: 150 samples of 60 questions; 90 % is 135, and chance stays above 125."""
    generator = np.random.default_rng(5)
    certainty = generator.beta(4, 1, 3_000)
    right = generator.random(3_000) < certainty
    held, after, widths = 0, 0, []
    for seed in range(150):
        rows = choose_questions(certainty, 60, seed=seed)
        estimate = accuracy_of_sample(certainty, rows, right[rows], n_draws=2_000)
        held += estimate.low <= right.mean() <= estimate.high
        widths.append(estimate.half_width)
        better = accuracy_of_sample(certainty, rows, right[rows], settled=~right[rows], n_draws=2_000)
        after += better.low <= right.mean() + (~right[rows]).sum() / 3_000 <= better.high
    assert held >= 125
    assert after >= 125, "when what was found wrong is corrected"
    simple = 1.645 * np.sqrt(right.mean() * (1 - right.mean()) / 60)
    assert np.mean(widths) < 0.95 * simple


def test_an_intent_follows_its_answers_and_not_the_doubt_of_those_asked():
    """Of 40 utterances at 0.95 and 10 at 0.4, only the doubtful ones are asked about, and 4 of 10 are right.

    The model is right about its doubt, so that the interval holds (40 * 0.95 + 10 * 0.4) / 50 = 0.84, not 0.4.
    """
    certainty = np.array([0.95] * 40 + [0.4] * 10)
    right = np.arange(10) < 4
    estimate = accuracy_of_sample(certainty, range(40, 50), right)
    assert estimate.value > 0.7
    assert estimate.low < 0.84 < estimate.high
    unasked = accuracy_of_sample(certainty, [], right[:0])
    assert unasked.half_width > estimate.half_width


def test_half_the_width_needs_four_times_the_questions():
    assert more_questions(Estimate(0.8, 0.74, 0.86), 60, half_width=0.03) == 180
    assert more_questions(Estimate(0.8, 0.79, 0.81), 60, half_width=0.03) == 0
