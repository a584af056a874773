"""Known intents in mixed logs: rows that are not recognised one by one are recognised as a cluster."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from newfound.algorithms.estimation import estimate_n_new
from newfound.algorithms.recognition import absorb_into_known, known_ratio, recognise_known


def gaussian_logs(n_known, n_new, *, per=30, spread=0.22, seed=0):
    """Unit vectors around random centres: labelled rows of known intents, then logs of known and new ones."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_known + n_new, 24))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)

    def around(c):
        return centres[c] + spread * rng.normal(size=(per, 24))

    parts = [(around(c), c, c) for c in range(n_known)]
    parts += [(around(c), -1, c) for c in range(n_known + n_new)]
    x = F.normalize(torch.from_numpy(np.concatenate([rows for rows, _, _ in parts])).float(), dim=-1)
    y = torch.tensor([label for rows, label, _ in parts for _ in rows])
    return x, y, np.array([gold for rows, _, gold in parts for _ in rows])


def test_the_ratio_is_near_one_for_known_and_near_zero_for_new():
    x, y, gold = gaussian_logs(6, 3, spread=0.14)
    ratio, intent = known_ratio(x, y, 6)
    logs = (y < 0).numpy()
    assert ratio.numpy()[logs & (gold < 6)].mean() == pytest.approx(1, abs=0.15)
    assert ratio.numpy()[logs & (gold >= 6)].mean() < 0.1
    assert (intent.numpy()[logs & (gold < 6)] == gold[logs & (gold < 6)]).mean() > 0.95


@pytest.mark.parametrize("seed", range(3))
def test_logs_without_a_new_intent_have_none(seed):
    x, y, _ = gaussian_logs(8, 0, spread=0.3, seed=seed)
    logs = (y < 0).numpy()
    found = estimate_n_new(x[~logs].numpy(), y.numpy()[~logs], x[logs].numpy(), logs_hold="mixed", seed=seed)
    assert (found.n_new, found.low, found.high) == (0, 0, 0)


@pytest.mark.parametrize("seed", range(3))
def test_new_intents_are_not_absorbed(seed):
    x, y, gold = gaussian_logs(8, 4, spread=0.14, seed=seed)
    ids = y.clone()
    ids[y < 0] = recognise_known(x, y, 8)
    absorbed = absorb_into_known(x, ids, 8, 4).numpy()
    logs = (y < 0).numpy()
    assert (absorbed[logs & (gold >= 8)] < 0).mean() > 0.97
    assert (absorbed[logs & (gold < 8)] == gold[logs & (gold < 8)]).mean() > 0.95
    assert (ids.numpy()[logs & (gold < 8)] >= 0).mean() <= (absorbed[logs & (gold < 8)] >= 0).mean()
    found = estimate_n_new(x[~logs].numpy(), y.numpy()[~logs], x[logs].numpy(), logs_hold="mixed", seed=seed)
    assert abs(found.n_new - 4) <= 1


def test_a_model_without_a_new_intent_is_a_model(tiny_encoder, themed, tmp_path):
    import newfound

    known = themed.labelled()
    result = newfound.discover(known, list(known.texts), tmp_path / "m", encoder=tiny_encoder, device="cpu")
    assert result.n_new == 0
    assert [i.known for i in result.intents] == [True] * 3
    assert set(newfound.load(tmp_path / "m", encoder=tiny_encoder).predict(known.texts[:9])) <= {"pay", "meter", "leak"}
