from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from newfound.training.seeding import class_balanced_batches


def draw(y, others, **settings):
    defaults = {"classes": 3, "per_class": 2, "n_others": 4, "steps": 4, "seed": 0}
    return class_balanced_batches(torch.tensor(y), torch.tensor(others), **{**defaults, **settings})


@given(
    st.lists(st.integers(-1, 5), min_size=2, max_size=60).filter(lambda y: max(y) >= 0 and min(y) < 0),
    st.integers(1, 8),
    st.integers(1, 5),
    st.integers(0, 9),
)
def test_batches_are_balanced_and_of_one_size(y, classes, per_class, n_others):
    logs = [i for i, label in enumerate(y) if label < 0]
    batches = draw(y, logs, classes=classes, per_class=per_class, n_others=n_others)
    used = min(classes, len({label for label in y if label >= 0}))
    assert batches.shape[1] == used * per_class + n_others
    for batch in batches.tolist():
        labels = [y[i] for i in batch[: used * per_class]]
        assert min(labels) >= 0
        assert sorted(labels.count(label) for label in set(labels)) == [per_class] * used
        assert set(batch[used * per_class :]) <= set(logs)


def test_steps_rows_and_seeds():
    y = [0] * 10 + [1] * 10 + [2] * 4 + [-1] * 20
    logs = list(range(24, 44))
    batches = draw(y, logs)
    assert len(batches) == 4
    assert len(draw(y, logs, steps=2)) == 2
    for batch in batches.tolist():
        assert len(set(batch)) == len(batch), "without replacement where there are enough"
    assert (draw(y, logs) == batches).all()
    assert (draw(y, logs, seed=1) != batches).any()
