from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from newfound.encoders.ragged import lay_out
from newfound.errors import SettingsError
from newfound.training.run import Run
from newfound.training.schedule import Schedule
from newfound.training.seeding import derive, epoch_batches
from newfound.training.trainer import Trainer

CPU = torch.device("cpu")
BATCHES = partial(lay_out, torch.ones(10, dtype=torch.int64), device=CPU)


class Line(nn.Module):
    """y = w x, with dropout so that the random state matters."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.zeros(4))
        self.frozen = nn.Parameter(torch.ones(4), requires_grad=False)
        self.seen = nn.Buffer(torch.zeros(()))


def fit(epochs, run=None, seed=0, stop_after=None, score=None, module=None, batch_size=4):
    module = module or Line()
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(10, 4))).float()
    y = x @ torch.tensor([1.0, -2.0, 3.0, 0.5])

    def step(batch):
        module.seen += 1
        out = nn.functional.dropout(x[batch.rows], 0.2, module.training) @ module.w
        return {"loss": ((out - y[batch.rows]) ** 2).mean()}

    def after_epoch(epoch):
        if stop_after is not None and epoch == stop_after:
            raise KeyboardInterrupt
        return {}

    schedule = Schedule(epochs=epochs, batch_size=batch_size, lr=0.05, warmup_epochs=2)
    trainer = Trainer("stage", module, schedule, seed=seed, device=CPU, run=run or Run())
    history = trainer.fit(torch.arange(10), BATCHES, step, after_epoch=after_epoch, score=score)
    return module, history


def test_schedule_by_hand():
    """Two epochs of warm-up from 0.1 to 1.1, then half a cosine down over four: 1.1, ..."""
    schedule = Schedule(epochs=6, lr=1.1, min_lr=0.1, warmup_epochs=2)
    expected = [0.1, 0.6, 1.1, 0.1 + (1 + math.cos(math.pi / 4)) / 2, 0.6, 0.1 + (1 + math.cos(3 * math.pi / 4)) / 2]
    assert [schedule.rate(e) for e in range(6)] == pytest.approx(expected)


@given(st.integers(1, 300), st.integers(2, 64), st.integers(0, 5))
@settings(max_examples=80)
def test_batches_have_one_size_and_cover_all_rows(n, size, epoch):
    rows = torch.arange(100, 100 + n)
    batches = epoch_batches(rows, size, 7, "stage", epoch)
    counts = torch.bincount(batches.flatten() - 100, minlength=n)
    assert batches.shape[1] <= size
    assert counts.min() >= 1
    assert counts.max() <= 2
    assert counts.sum() - n < batches.shape[0]
    assert torch.equal(batches, epoch_batches(rows, size, 7, "stage", epoch))


def test_derived_seeds_are_fixed_for_all_time():
    assert derive(0, "k-means") == 424980816
    assert derive(0, "a", 1) != derive(0, "a", 2)


def test_training_matches_plain_sgd():
    """The same updates as a loop written out by hand, without dropout."""
    module, _ = fit(1, batch_size=10, module=(m := Line()).eval())
    assert m.training, "the loop trains in training mode"
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(10, 4))).float()
    torch.manual_seed(derive(0, "stage", "dropout", 0))
    rows = epoch_batches(torch.arange(10), 10, 0, "stage", 0)[0]
    dropped = nn.functional.dropout(x[rows], 0.2)
    y = (x @ torch.tensor([1.0, -2.0, 3.0, 0.5]))[rows]
    gradient = 2 * (dropped.T @ (0 - y)) / 10
    assert torch.allclose(module.w, -0.05 * gradient, atol=1e-6)


def test_an_interrupted_run_goes_on_to_the_same_result(tmp_path):
    whole, history = fit(6)
    with pytest.raises(KeyboardInterrupt):
        fit(6, run=Run(folder=tmp_path / "r", seconds_between_checkpoints=0), stop_after=4)
    resumed, resumed_history = fit(6, run=Run(folder=tmp_path / "r", resume=True, seconds_between_checkpoints=0))
    assert torch.equal(whole.w, resumed.w)
    assert [r["loss"] for r in history] == [r["loss"] for r in resumed_history]
    assert whole.seen == resumed.seen == 18
    again, _ = fit(6, run=Run(folder=tmp_path / "r", resume=True))
    assert torch.equal(again.w, whole.w), "a finished stage is not trained again"


def test_the_best_epoch_is_kept_and_survives_a_resume(tmp_path):
    def scores():
        values = iter([1.0, 5.0, 2.0, 3.0])
        return lambda: next(values)

    best, history = fit(4, score=scores())
    assert [record["score"] for record in history] == [1.0, 5.0, 2.0, 3.0]
    states, module = [], Line()
    fit(4, score=lambda: states.append(module.w.detach().clone()) or 0.0, module=module)
    assert torch.equal(best.w, states[1])
    with pytest.raises(KeyboardInterrupt):
        fit(4, run=Run(folder=tmp_path, seconds_between_checkpoints=0), stop_after=3, score=scores())
    rest = iter([3.0])
    resumed, _ = fit(4, run=Run(folder=tmp_path, resume=True), score=lambda: next(rest))
    assert torch.equal(resumed.w, best.w)


def test_resuming_something_else_is_refused(tmp_path):
    Run(folder=tmp_path / "r").begin({"method": "A", "seed": 0})
    Run(folder=tmp_path / "r", resume=True).begin({"method": "A", "seed": 0})
    with pytest.raises(SettingsError, match="begun with other seed"):
        Run(folder=tmp_path / "r", resume=True).begin({"method": "A", "seed": 1})


def test_starting_anew_forgets_old_checkpoints(tmp_path):
    run = Run(folder=tmp_path / "r", seconds_between_checkpoints=0)
    run.begin({"seed": 0})
    fit(2, run=run)
    assert list((tmp_path / "r").glob("*.safetensors"))
    with pytest.raises(SettingsError, match="unfinished run"):
        Run(folder=tmp_path / "r").begin({"seed": 0})
    Run(folder=tmp_path / "r", anew=True).begin({"seed": 0})
    assert not list((tmp_path / "r").glob("*.safetensors"))
    run.finish()
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("name", [".discovery.safetensors-x1y2", ".run.json-x1y2"])
def test_what_a_killed_run_had_half_written_is_neither_in_the_way_nor_left_behind(tmp_path, name):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / name).write_bytes(b"half")
    run = Run(folder=tmp_path / "r")
    run.begin({"seed": 0})
    run.finish()
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_dropout_is_on_even_if_the_module_came_in_eval_mode(device):
    """A graph replays the mode it was captured in. With all inputs alike, only dropout can make losses differ."""
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU here")
    where = torch.device(device)
    module = Line().to(where)
    with torch.no_grad():
        module.w.fill_(1.0)
    module.eval()
    seen = []

    def step(batch):
        seen.append(module.training)
        return {"loss": nn.functional.dropout(torch.ones(4, device=where), 0.5, module.training).matmul(module.w)}

    schedule = Schedule(epochs=6, batch_size=10, lr=1e-9, min_lr=0.0, weight_decay=0.0)
    history = Trainer("stage", module, schedule, seed=0, device=where, run=Run()).fit(torch.arange(10), BATCHES, step)
    assert all(seen)
    assert len({round(record["loss"], 3) for record in history}) > 1


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_a_captured_step_equals_the_step_itself():
    """Without dropout, replaying a graph must train like calling the step: same losses, same weights."""
    device = torch.device("cuda")
    x = torch.randn(10, 4, generator=torch.Generator().manual_seed(0)).to(device)
    weights = []
    for captured in (True, False):
        module = Line().to(device)
        schedule = Schedule(epochs=4, batch_size=4, lr=0.05, warmup_epochs=1)
        trainer = Trainer("stage", module, schedule, seed=0, device=device, run=Run())
        if not captured:
            trainer._make_captured_epoch = lambda step, plan, lengths, t=trainer: t._make_eager_epoch(step, lengths)
        trainer.fit(
            torch.arange(10), BATCHES, lambda batch, m=module: {"loss": ((x[batch.rows] @ m.w - 1) ** 2).mean()}
        )
        weights.append(module.w.detach())
    assert torch.allclose(weights[0], weights[1], atol=1e-4)
