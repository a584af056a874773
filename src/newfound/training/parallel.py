"""Several processes that train one network together, each on its share of every batch.

All of them hold the whole corpus and the whole network, and draw the same batches from the same seed. A process runs
the encoder on its share of the rows, and `Processes.gather` makes the vectors of the whole batch out of the shares.
What comes after it (classifier, Sinkhorn, contrasts, prototypes) sees the whole batch and is computed by every process
alike. With one process nothing is divided, and every function here returns what it was given.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from newfound.errors import MissingExtra, ProcessLost, SettingsError
from newfound.training.launch import current_launch

TIMEOUT_VARIABLE = "NEWFOUND_PROCESS_TIMEOUT"
DEFAULT_TIMEOUT_SECONDS = 1_800.0  # others wait while the main process writes the model or asks for names


@dataclass(frozen=True, slots=True)
class Processes:
    """The processes of a fit, and which of them this one is."""

    rank: int = 0  # the number of this process
    count: int = 1
    device: torch.device | str = "cpu"  # where tensors must be that are sent to the others

    @property
    def is_main(self) -> bool:
        """Whether this is the process that prints and writes."""
        return self.rank == 0

    def share(self, rows: Tensor) -> Tensor:
        """Return the share of this process in the rows [B] of a batch: every `count`-th of them.

        All shares have one size: where B is not a multiple of `count`, the first rows are taken a second time, and
        `gather` leaves out what comes of them.
        """
        places = torch.arange(-(-len(rows) // self.count) * self.count) % len(rows)
        return rows[places[self.rank :: self.count]]

    def gather(self, x: Tensor, size: int) -> Tensor:
        """Return [views, B, ...]: what all processes have computed for the B rows of a batch, each [views, share, ...].

        The gradient of the result is that of a loss which every process computes alike. Only the part for the own share
        goes back, multiplied by the number of processes: the average over the processes (`average_gradients`) is then
        the gradient that one process has with the whole batch, for parameters before the gather as well as after it.
        """
        if self.count == 1:
            return x
        whole: Tensor = _Gather.apply(x, self)  # type: ignore[no-untyped-call]
        return whole[:, :size]

    def average_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replace the gradients by their mean over the processes, in one message."""
        if self.count == 1:
            return
        gradients = [p.grad for p in parameters if p.grad is not None]
        mean = self.total(torch.cat([g.flatten() for g in gradients])) / self.count
        for gradient, part in zip(gradients, torch.split(mean, [g.numel() for g in gradients]), strict=True):
            gradient.copy_(part.view_as(gradient))

    def total(self, x: Tensor) -> Tensor:
        """Return the sum over the processes; x itself is overwritten by it."""
        if self.count > 1:
            with self._or_lost():
                dist.all_reduce(x)
        return x

    def from_main(self, x: Tensor) -> Tensor:
        """Return the tensor of the main process, so that all go on with the same."""
        if self.count == 1:
            return x
        sent = x.detach().to(self.device, copy=True).contiguous()
        with self._or_lost():
            dist.broadcast(sent, src=0)
        return sent.to(x.device)

    def all_of(self, number: int) -> list[int]:
        """Return the numbers of all processes."""
        numbers = torch.zeros(self.count, dtype=torch.int64, device=self.device)
        numbers[self.rank] = number
        return self.total(numbers).tolist()

    def wait_for_all(self) -> None:
        """Return when all processes have come here."""
        self.all_of(0)

    @contextmanager
    def _or_lost(self) -> Iterator[None]:
        try:
            yield
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            raise ProcessLost(self.count) from error


ALONE = Processes()


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, processes: Processes) -> Tensor:
        """[views, share, ...] of each process -> [views, share x count, ...], the shares interleaved again."""
        ctx.processes = processes
        own = x.contiguous()
        parts = [torch.empty_like(own) for _ in range(processes.count)]
        with processes._or_lost():
            dist.all_gather(parts, own)
        return torch.stack(parts, dim=2).flatten(1, 2)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        processes: Processes = ctx.processes
        return gradient[:, processes.rank :: processes.count] * processes.count, None


def join(device: torch.device) -> Processes:
    """Return the processes that this one was started with, connected to each other; `ALONE` if there are no others."""
    launch = current_launch()
    if launch.count == 1:
        return ALONE
    try:
        from accelerate import PartialState
    except ModuleNotFoundError:
        raise MissingExtra("training in several processes", "accelerate", "gpus") from None
    timeout = timedelta(seconds=_seconds_to_wait())
    with Processes(launch.rank, launch.count)._or_lost():
        state = PartialState(cpu=device.type == "cpu", timeout=timeout)
    return Processes(state.process_index, state.num_processes, device)


def leave() -> None:
    """Disconnect from the other processes, after the work is done."""
    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()


def _seconds_to_wait() -> float:
    text = os.environ.get(TIMEOUT_VARIABLE, "")
    try:
        seconds = float(text) if text else DEFAULT_TIMEOUT_SECONDS
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise SettingsError(f"{TIMEOUT_VARIABLE}={text!r} must be a number of seconds above 0")
    return seconds
