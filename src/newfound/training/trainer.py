"""The step loop. A method gives a step (rows of the corpus -> losses); the loop does the rest.

On a GPU the whole step (forward, backward, optimiser) is captured once as a CUDA graph and replayed: nothing in
an epoch waits for the host. On a CPU the same step runs as it is, on batches without padding.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import TypeVar

import torch
from torch import Tensor, nn

from newfound.errors import SettingsError
from newfound.training.run import Run, StageState
from newfound.training.schedule import Groups, Optimization
from newfound.training.seeding import epoch_batches, seed_torch

Losses = dict[str, Tensor]
Batch = TypeVar("Batch")
History = list[dict[str, float]]
LayOut = Callable[[Tensor], tuple[Tensor, Callable[[Tensor], Batch]]]
"""Lays out batches [steps, B] of row numbers alike.

It returns the numbers [steps, ...] that describe each batch, and the function that makes a batch of a buffer of them.
"""
WARM_UP_STEPS = 3  # before a capture: lets libraries choose kernels and allocate their workspaces


class Trainer:
    """Trains the parameters of a module for one stage of a method.

    Seeds and checkpoints go by the name of the stage, which is unique within a fit. Parameters under `tail` are the
    encoder's, all others are heads.
    """

    def __init__(
        self, stage: str, module: nn.Module, schedule: Optimization, *, seed: int, device: torch.device, run: Run
    ) -> None:
        self.stage = stage
        self.module = module
        self.schedule = schedule
        self.seed = seed
        self.device = device
        self.run = run
        self._names = {p: name for name, p in module.named_parameters() if p.requires_grad}
        parameters: dict[str, list[nn.Parameter]] = {"encoder": [], "heads": []}
        for p, name in self._names.items():
            parameters["encoder" if name.startswith("tail.") else "heads"].append(p)
        on_gpu = device.type == "cuda"  # where a captured step reads its rates from tensors
        groups: Groups = [
            {"params": own, "name": name, "lr": torch.tensor(0.0, device=device) if on_gpu else 0.0}
            for name, own in parameters.items()
            if own
        ]
        self._step = 0
        self._current_rates: dict[str, float] = {}
        self._optimizer = schedule.optimizer(groups, fused=on_gpu)

    def fit(
        self,
        rows: Tensor | Callable[[int], Tensor],
        lay_out: LayOut[Batch],
        step: Callable[[Batch], Losses],
        *,
        after_epoch: Callable[[int], dict[str, float]] | None = None,
        score: Callable[[], float] | None = None,
        patience: int | None = None,
        waits_for_host: bool = False,
    ) -> History:
        """Train for the epochs of the schedule.

        Args:
            rows: Row numbers to train on (CPU), or a function that gives the batches [steps, B] of an epoch.
            lay_out: Lays out batches; see `LayOut`.
            step: Computes the losses of a batch; "loss" is minimised.
            after_epoch: Called after every epoch; what it returns goes into the history.
            score: Asked after every epoch; the module ends in the state that had the highest score.
            patience: Stop after this many epochs in a row without a better score; None never stops early.
            waits_for_host: Whether the step reads numbers off the device, so that it cannot be captured.
        """
        state = self.run.restore(self.stage)
        if state is None:
            state = StageState()
        else:
            self._load(state)
        last = state.epoch if _is_exhausted(state, patience) else self.schedule.epochs
        if isinstance(rows, Tensor):
            rows = partial(epoch_batches, rows, self.schedule.batch_size, self.seed, self.stage)
        plan = [rows(epoch) for epoch in range(state.epoch, last)]
        self.module.train()  # before a capture: the mode a graph was captured in is the mode it replays
        capture = self.device.type == "cuda" and plan and not waits_for_host
        advance = self._make_captured_epoch(step, plan, lay_out) if capture else self._make_eager_epoch(step, lay_out)
        with self.run.reporter.task(self.stage, self.schedule.epochs) as task:
            if state.epoch:
                task.advance(steps=state.epoch)
            for epoch, order in enumerate(plan, start=state.epoch):
                self._step = epoch * len(order)
                seed_torch(self.seed, self.stage, "dropout", epoch)
                self.module.train()
                started = time.perf_counter()
                record = {"epoch": float(epoch), **advance(order)}
                record["seconds"] = time.perf_counter() - started  # reading the losses has waited for the device
                if after_epoch is not None:
                    record |= after_epoch(epoch)
                if score is not None:
                    record["score"] = latest = score()
                    if state.best_score is None or latest > state.best_score:
                        state.best_score, state.best_epoch = latest, epoch
                        state.tensors |= {f"best.{name}": t.clone() for name, t in self._trained_state().items()}
                state.history.append(record)
                state.epoch = epoch + 1
                is_last = state.epoch == self.schedule.epochs or _is_exhausted(state, patience)
                if self.run.is_checkpoint_due() or (is_last and self.run.folder is not None):
                    checkpoint = replace(state, tensors={**self._tensors(), **state.tensors})
                    self.run.save_checkpoint(self.stage, checkpoint)
                task.advance(f"loss {record['loss']:.3f}")
                if _is_exhausted(state, patience):
                    break
        if state.best_score is not None:
            for name, tensor in self._trained_state().items():
                tensor.copy_(state.tensors[f"best.{name}"])
        return state.history

    def _make_eager_epoch(
        self, step: Callable[[Batch], Losses], lay_out: LayOut[Batch]
    ) -> Callable[[Tensor], dict[str, float]]:
        def run_epoch(order: Tensor) -> dict[str, float]:
            totals: Losses = {}
            for rows in order:
                self._set_rates(len(order))
                numbers, batch_of = lay_out(rows[None])
                losses = self._one_step(step, batch_of(numbers[0]))
                totals = {name: totals.get(name, 0.0) + value for name, value in losses.items()}
            return {name: float(total) / len(order) for name, total in totals.items()}

        return run_epoch

    def _one_step(self, step: Callable[[Batch], Losses], batch: Batch) -> Losses:
        on_gpu = self.device.type == "cuda"  # the cast cache would hold tensors of one capture beyond it
        with torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=False) if on_gpu else nullcontext():
            losses = step(batch)
        self._optimizer.zero_grad(set_to_none=True)
        losses["loss"].backward()  # type: ignore[no-untyped-call]
        if self.schedule.clip is not None:
            nn.utils.clip_grad_norm_(self._names, self.schedule.clip)
        self._optimizer.step()
        return {name: value.detach() for name, value in losses.items()}

    def _make_captured_epoch(
        self, step: Callable[[Batch], Losses], plan: list[Tensor], lay_out: LayOut[Batch]
    ) -> Callable[[Tensor], dict[str, float]]:
        """The step as a CUDA graph over one buffer; the layout holds for every batch of the plan."""
        numbers_of_all, batch_of = lay_out(torch.cat(plan))
        epochs = iter(torch.split(numbers_of_all, [len(order) for order in plan]))
        current = numbers_of_all[0].clone()
        batch = batch_of(current)
        before = {name: t.clone() for name, t in self._tensors().items()}
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UP_STEPS):
                losses = self._one_step(step, batch)
        torch.cuda.current_stream().wait_stream(side)
        totals = {name: torch.zeros((), device=self.device) for name in losses}
        graph = torch.cuda.CUDAGraph()
        self._optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            for name, value in self._one_step(step, batch).items():
                totals[name] += value.float()
        for name, tensor in self._tensors().items():  # the warm-up has trained; take that back
            tensor.copy_(before[name])

        def run_epoch(order: Tensor) -> dict[str, float]:
            for total in totals.values():
                total.zero_()
            for numbers in next(epochs):
                self._set_rates(len(order))
                current.copy_(numbers)
                graph.replay()
            return {name: float(total) / len(order) for name, total in totals.items()}

        return run_epoch

    def _set_rates(self, steps_per_epoch: int) -> None:
        """Set the rates of the next step, where they change."""
        rates = self.schedule.rates(self._step, steps_per_epoch)
        self._step += 1
        if rates == self._current_rates:
            return
        self._current_rates = rates
        for group in self._optimizer.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rates[group["name"]])
            else:
                group["lr"] = rates[group["name"]]

    def _tensors(self) -> dict[str, Tensor]:
        """Everything that training changes: parameters, buffers and the optimiser's state. Live tensors, not copies."""
        tensors = {f"module.{name}": t for name, t in self._trained_state().items()}
        for p, name in self._names.items():
            for key, value in self._optimizer.state[p].items():
                tensors[f"optimizer.{key}.{name}"] = value
        return tensors

    def _trained_state(self) -> dict[str, Tensor]:
        frozen = {name for name, p in self.module.named_parameters() if not p.requires_grad}
        return {name: t for name, t in self.module.state_dict().items() if name not in frozen}

    def _load(self, state: StageState) -> None:
        wanted = self._tensors()
        if not set(wanted) <= set(state.tensors):
            raise SettingsError(f"{self.run.folder}: the checkpoint was written by another version of newfound", "anew")
        with torch.no_grad():
            for name, tensor in wanted.items():
                tensor.copy_(state.tensors[name])
        state.tensors = {name: t.to(self.device) for name, t in state.tensors.items() if name.startswith("best.")}


def _is_exhausted(state: StageState, patience: int | None) -> bool:
    """Whether the score has not risen for `patience` epochs."""
    if patience is None or state.best_epoch is None:
        return False
    return state.epoch - 1 - state.best_epoch >= patience
