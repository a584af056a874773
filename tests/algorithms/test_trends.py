"""Trends of volumes, and intents that have come up."""

import numpy as np
import pytest

from newfound.algorithms.trends import alarms, emerging_groups, shift_test, trend_test, weekly_trends


def test_a_trend_by_hand():
    """Two weeks of 100, shares 0.2 and 0.4: z = 0.2 / sqrt(2 * 0.3 * 0.7 / 100), the test of two proportions."""
    counts = np.array([[20.0, 40.0], [80.0, 60.0]])
    p_value, ratio = trend_test(counts, counts.sum(0), np.array([0.0, 1.0]))
    z = 0.2 / np.sqrt(2 * 0.3 * 0.7 / 100)
    assert z == pytest.approx(3.086, abs=1e-3)
    assert p_value[0] == pytest.approx(0.00203, rel=0.01)
    assert ratio[0] == pytest.approx(2.0)


def test_rising_fading_new_and_steady():
    rise = np.arange(20, 100, 10)
    counts = np.array([rise, rise[::-1], [0, 0, 0, 0, 0, 30, 60, 90], np.full(8, 200), np.full(8, 150)])
    assert weekly_trends(counts) == ["rising", "fading", "new", "steady", "steady"]


def test_one_week_and_one_intent_have_no_trend():
    assert weekly_trends(np.array([[5], [9]])) == ["steady", "steady"]
    assert weekly_trends(np.array([[5, 500]])) == ["steady"]
    assert weekly_trends(np.zeros((3, 4), dtype=np.int64)) == ["steady"] * 3


@pytest.mark.parametrize("weeks", [2, 8, 26])
def test_shuffled_times_seldom_raise_an_alarm(weeks):
    """200 shuffles of the weeks of 3,000 utterances: at most 5 % of them, 10, may; chance alone stays below 20."""
    generator = np.random.default_rng(1)
    intent = generator.choice(40, 3_000, p=generator.dirichlet(np.full(40, 0.7)))
    week = np.sort(generator.integers(0, weeks, 3_000))
    raised = 0
    for _ in range(200):
        counts = np.zeros((40, weeks), dtype=np.int64)
        np.add.at(counts, (intent, generator.permutation(week)), 1)
        raised += any(trend != "steady" for trend in weekly_trends(counts))
    assert raised < 20


def test_a_shift_between_two_logs():
    p_value, ratio = shift_test(np.array([100.0, 900.0, 3.0]), np.array([200.0, 800.0, 2.0]))
    assert p_value[0] < 1e-8
    assert ratio[0] == pytest.approx(2.0, rel=0.02)
    assert p_value[2] == 1.0  # too few to say anything
    assert list(alarms(p_value)) == [True, True, False]


def test_shares_that_all_differ_a_little_are_no_shift_and_a_large_one_is():
    """Twenty intents go up and down by a tenth, as those of a model that has not learned from the newer logs."""
    before = np.full(21, 1_000.0)
    after = before * np.array([*[1.1, 0.9] * 10, 3.0])
    p_value, _ = shift_test(before, after)
    assert list(alarms(p_value)) == [False] * 20 + [True]


def _topics(generator, count, size):
    """Utterances about many things, each close to its centre: [count * size, 32]."""
    x = np.repeat(generator.standard_normal((count, 32)), size, axis=0) + 0.5 * generator.standard_normal(
        (count * size, 32)
    )
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_dividing_one_log_by_lot_makes_no_new_intent(share):
    """One in 100 divisions may; of 10, chance stays below 2."""
    generator = np.random.default_rng(2)
    x = _topics(generator, 20, 10)
    everything = np.ones(len(x), dtype=np.bool_)
    assert sum(bool(emerging_groups(x, generator.random(len(x)) < share, everything)) for _ in range(10)) < 2


def test_an_intent_that_came_up_is_found_and_one_that_is_only_more_frequent_is_not():
    generator = np.random.default_rng(3)
    x = _topics(generator, 40, 20)
    is_newer = generator.random(len(x)) < 0.2
    is_newer[-20:] = True
    is_unusual = is_newer & (np.arange(len(x)) >= len(x) - 20)
    (group,) = emerging_groups(x, is_newer, is_unusual)
    assert set(group) == set(range(len(x) - 20, len(x)))
    assert emerging_groups(x, is_newer, is_unusual & (np.arange(len(x)) % 3 == 0)) == []
