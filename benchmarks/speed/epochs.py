"""Seconds per epoch of a method, and how much faster that is than a plain implementation of the same equations.

python -m benchmarks.speed.epochs [--method dpl] [--benchmark GID-SD] [--tune last] [--device cpu] [--epochs 5]

python -m benchmarks.speed.epochs --cells benchmarks/results [--tune last] [--device cuda]

The first prints JSON. The second runs the missing cells of the experiment `speed`, with the ratio; those that
`python -m benchmarks run speed` makes hold the seconds alone. The plain implementation of DPL is kept here for this
comparison, in the same run and on the same machine: it runs the whole encoder on padded batches in every step, and
moves prototypes sample by sample in a Python loop.
"""

from __future__ import annotations

import argparse
import copy
import json
import time
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from benchmarks.harness.cells import missing_cells, task_of, write_result
from benchmarks.harness.experiments import EXPERIMENTS
from benchmarks.harness.partitions import load_benchmark
from benchmarks.harness.provenance import with_code_hash
from benchmarks.harness.running import measure, run_cell
from torch import Tensor

from newfound.algorithms.assignment import align, disambiguate
from newfound.algorithms.losses import cross_entropy
from newfound.data.corpus import Corpus
from newfound.data.task import DiscoveryTask
from newfound.encoders.cache import FeatureCache
from newfound.encoders.encoder import Encoder, load_encoder
from newfound.encoders.families import family_of
from newfound.paths import feature_cache_dir
from newfound.training.devices import pick_device
from newfound.training.seeding import derive, epoch_batches


def main() -> None:
    """Measure, and print the result as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", default="dpl")
    parser.add_argument("--benchmark", default="GID-SD", help="GID-SD, GID-CD or GID-MD")
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--tune", default="last")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--epochs", type=int, default=5, help="epochs to time in each stage")
    parser.add_argument("--trunk-dropout", action="store_true", help="run the frozen layers in every step")
    parser.add_argument("--cells", type=Path, help="a folder of result files: run the missing cells of `speed`")
    chosen = parser.parse_args()
    # The plain loop runs the whole encoder of transformers.
    encoder = load_encoder(chosen.encoder, cache=FeatureCache(feature_cache_dir()), whole=True)
    settings = {"epochs": chosen.epochs, "trunk_dropout": chosen.trunk_dropout}
    if chosen.cells is not None:
        for cell in missing_cells(EXPERIMENTS["speed"].cells(chosen.encoder, chosen.tune), chosen.cells):
            result = with_plain_loop(run_cell(cell, encoder, chosen.device), task_of(cell), encoder, chosen.device)
            print(write_result(cell, result, chosen.cells))
        return
    task = load_benchmark(chosen.benchmark)
    measured = measure(chosen.method, task, encoder, tune=chosen.tune, device=chosen.device, **settings)
    result = with_plain_loop(measured, task, encoder, chosen.device)
    print(json.dumps(with_code_hash(result), indent=2))


def with_plain_loop(
    result: dict[str, Any], task: DiscoveryTask, encoder: Encoder, device: str, *, steps: int = 2
) -> dict[str, Any]:
    """Return what was measured of a fit, and for DPL the ratio to the plain loop."""
    if result["method"] != "dpl" or result["tune"] == "heads":
        return result
    plain = plain_epoch_seconds(encoder, task.observed_train, len(task.new), device=device, steps=steps)
    return {
        **result,
        "plain loop, seconds per epoch": round(plain, 4),
        "times faster than the plain loop": round(plain / result["seconds per epoch"]["discovery"], 1),
    }


def plain_epoch_seconds(encoder: Encoder, corpus: Corpus, n_new: int, *, device: str, steps: int) -> float:
    """Return the seconds of one epoch of DPL in the plain implementation, from the time of a few steps."""
    step, n_steps = plain_dpl_steps(encoder, corpus, n_new, device=device)
    step(0)  # not timed
    seconds = []
    for number in range(1, steps + 1):
        started = time.perf_counter()
        step(number)
        if pick_device(device).type == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - started)
    return min(seconds) * n_steps


def plain_dpl_steps(
    encoder: Encoder, corpus: Corpus, n_new: int, *, device: str, batch_size: int = 512
) -> tuple[Callable[[int], float], int]:
    """Return a step of DPL in the plain implementation, and the number of steps of an epoch."""
    torch_device = pick_device(device)
    model = copy.deepcopy(encoder.to(torch_device).model)  # it is trained in place
    intent_ids = {name: i for i, name in enumerate(corpus.intents)}
    y = torch.tensor([-1 if label is None else intent_ids[label] for label in corpus.labels], device=torch_device)
    torch.manual_seed(derive(0, "plain"))
    heads = _PlainHeads(encoder.width, len(intent_ids), n_new).to(torch_device)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    last_layer = list(attrgetter(family_of(model).layers)(model)[-1].parameters())
    for parameter in last_layer:
        parameter.requires_grad_(True)
    optimizer = torch.optim.SGD([*last_layer, *heads.parameters()], lr=0.01, momentum=0.9, weight_decay=1.5e-4)
    batches = epoch_batches(torch.arange(len(corpus)), batch_size, 0, "plain", 0)

    def pooled(rows: list[int]) -> Tensor:
        texts = [corpus.texts[i] for i in rows]
        batch = encoder.tokenizer(
            texts, padding=True, max_length=encoder.max_length, truncation=True, return_tensors="pt"
        ).to(torch_device)
        h = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).last_hidden_state
        mask = batch["attention_mask"][..., None].float()
        return F.normalize((h * mask).sum(1) / mask.sum(1), dim=-1)

    def step(number: int) -> float:
        model.train()
        rows = batches[number % len(batches)].tolist()
        x1, x2 = pooled(rows), pooled(rows)
        loss = heads.loss(x1, x2, y[rows])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        return float(loss.detach())

    return step, len(batches)


class _PlainHeads(torch.nn.Module):
    """Classifier, projection and prototypes of the plain implementation."""

    def __init__(self, width: int, n_known: int, n_new: int) -> None:
        super().__init__()
        self.n_known = n_known
        self.classifier = torch.nn.Linear(width, n_known + n_new, bias=False)
        self.projection = torch.nn.Sequential(
            torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, 128)
        )
        self.mu = torch.nn.Buffer(torch.zeros(n_known + n_new, 128))

    def loss(self, x1: Tensor, x2: Tensor, y: Tensor, tau: float = 0.1, gamma: float = 0.9) -> Tensor:
        z1, z2 = (F.normalize(self.projection(x), dim=-1) for x in (x1, x2))
        l1, l2 = (x @ F.normalize(self.classifier.weight, dim=-1).T for x in (x1, x2))
        mu = self.mu.clone()
        q1, q2 = (align(v[:, self.n_known :].detach(), y, self.n_known, epsilon=0.05, iterations=3) for v in (l1, l2))
        pcl = (cross_entropy(z1 @ mu.T, q2, tau) + cross_entropy(z2 @ mu.T, q1, tau)) / 2
        both = torch.cat([z1, z2])
        similarity = both @ both.T / 0.5
        similarity.fill_diagonal_(float("-inf"))
        ins = F.cross_entropy(similarity, torch.arange(len(both), device=both.device).roll(len(z1)))
        labels = [disambiguate(z, mu, y, self.n_known) for z in (z1, z2)]
        ce = (F.cross_entropy(l1 / tau, labels[1]) + F.cross_entropy(l2 / tau, labels[0])) / 2
        for z, q in ((z1, q1), (z2, q2)):  # this loop takes most of the released code's time
            for vector, c in zip(z.detach(), q.argmax(-1).tolist(), strict=True):
                self.mu[c] = gamma * self.mu[c] + (1 - gamma) * vector
        self.mu.copy_(F.normalize(self.mu, dim=-1))
        return (pcl + ins + ce) / 3


if __name__ == "__main__":
    main()
