"""Neighbours as positives after the gentle fine-tuning, on fresh partitions: does contrast with neighbours add to it?

python benchmarks/recipe/neighbours.py FRESH-BANKING77:1000 --seeds 0 --out FILE       one JSON line per state

Published neighbour contrast (CLNN: Zhang et al., ACL 2022; LOOP: An et al., 2024) differs from ours in three parts:
several positives from the list of nearest neighbours, another second view in which tokens are replaced at random, and
lists that are made anew every few epochs. After two epochs of the recipe's own fine-tuning, four epochs follow with
each part. Labels of the logs are scored against the gold labels, the nearest class mean on dev rows, no test row.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor
from trained import Study, _read  # type: ignore[import-not-found]

from newfound.algorithms.losses import supervised_contrastive
from newfound.algorithms.neighbours import nearest
from newfound.bench.cells import load_partition
from newfound.bench.studies import append_row, study_encoder, whole_numbers
from newfound.data.task import DiscoveryTask
from newfound.encoders.encoder import Encoder
from newfound.encoders.ragged import Batch, Ragged, RaggedBatches
from newfound.encoders.tail import Features
from newfound.methods.context import FitContext, Recording
from newfound.methods.finetuning import CLASSES, LOGS, ROWS_PER_CLASS, TAU, TAU_INS, fine_tune
from newfound.model.network import IntentNetwork
from newfound.training.run import Run
from newfound.training.schedule import AdamWSchedule
from newfound.training.seeding import class_balanced_batches, derive
from newfound.training.trainer import Losses, Trainer

REPLACED = 0.25  # share of the tokens
EPOCHS_OF_A_LIST = 2  # before the neighbours are looked up again


@dataclass(frozen=True)
class Parts:
    """What the epochs after the fine-tuning have; neither is the recipe's own instance contrast again."""

    neighbours: int = 0
    replaced: bool = False


STATES = {
    "more of the same": Parts(),
    "tokens replaced": Parts(replaced=True),
    "50 neighbours": Parts(neighbours=50),
    "50 neighbours, tokens replaced": Parts(neighbours=50, replaced=True),
}


@dataclass(kw_only=True, eq=False, repr=False)
class NeighbourStudy(Study):  # type: ignore[misc]
    """Records the state after the fine-tuning, and after four epochs more with each of the parts."""

    def _discover(self, context: FitContext) -> tuple[IntentNetwork, float]:
        for state, parts in {"2 epochs": None, **STATES}.items():
            network = context.network()
            fine_tune(context, network, context.y, AdamWSchedule(epochs=2), stage="fine-tuning 2")
            if parts is not None:
                for part in range(self.round_epochs // EPOCHS_OF_A_LIST):
                    _contrast(context, network, parts, f"{state} {part}")
            self._record(context, network, context.y, state, 0.0)
        return network, 0.05


def _contrast(context: FitContext, network: IntentNetwork, parts: Parts, stage: str) -> None:
    """Train with supervised contrast on the known intents, and contrast of neighbours and views on the logs."""
    n = len(context.y)
    features, lengths = context.features, context.train.lengths
    if parts.replaced:
        features, lengths = _with_replaced(context, derive(context.seed, stage))
    batches = RaggedBatches(lengths, context.device)
    logs, target = context.unlabelled_rows, context.y.to(context.device)
    n_logs, n_labelled = min(LOGS, len(logs)), 0
    lists = _neighbours(context, network, parts.neighbours)

    def draw(epoch: int) -> Tensor:
        nonlocal n_labelled
        drawn = class_balanced_batches(
            context.y,
            logs,
            classes=CLASSES,
            per_class=ROWS_PER_CLASS,
            n_others=n_logs,
            max_steps=400,
            seed=derive(context.seed, stage, "rows", epoch),
        )
        n_labelled = drawn.shape[1] - n_logs
        return torch.cat([drawn, drawn[:, n_labelled:] + (n if parts.replaced else 0)], dim=1)

    def step(batch: Batch) -> Losses:
        z = F.normalize(network(features, batch).float(), dim=-1)
        labelled, first, second = torch.split(z, [n_labelled, n_logs, n_logs])
        supervised = supervised_contrastive(labelled, target[batch.rows[:n_labelled]], TAU)
        rows = batch.rows[n_labelled : n_labelled + n_logs]
        instance = _with_positives(first, second, _positives(lists, rows))
        return {"loss": supervised + instance, "supervised": supervised, "instance": instance}

    for p in network.classifier.parameters():
        p.requires_grad_(False)
    schedule = AdamWSchedule(epochs=EPOCHS_OF_A_LIST, lr=1e-5)
    trainer = Trainer(stage, network, schedule, seed=context.seed, device=context.device, run=context.run)
    trainer.fit(draw, batches, step)


def _neighbours(context: FitContext, network: IntentNetwork, count: int) -> Tensor | None:
    """Rows of the nearest neighbours of every row of the logs among the logs, [n, count]; -1 elsewhere."""
    if not count:
        return None
    logs = context.unlabelled_rows.to(context.device)
    x = F.normalize(context.embed(network)[logs].float(), dim=-1)
    _, index = nearest(x, count)
    lists = torch.full((len(context.y), index.shape[1]), -1, device=context.device)
    lists[logs] = logs[index]
    return lists


def _positives(lists: Tensor | None, rows: Tensor) -> Tensor:
    """Which rows of a batch are neighbours of which, either way round, [B, B]; none without lists."""
    if lists is None:
        return torch.zeros(len(rows), len(rows), dtype=torch.bool, device=rows.device)
    near = (lists[rows][:, :, None] == rows[None, None]).any(1)
    return near | near.T


def _with_positives(first: Tensor, second: Tensor, near: Tensor) -> Tensor:
    """Contrast over both views with a row's own second view and its neighbours as positives."""
    both = torch.cat([first, second])
    itself = torch.eye(len(both), dtype=torch.bool, device=both.device)
    log_p = F.log_softmax(((both @ both.T) / TAU_INS).masked_fill(itself, -1e30), dim=-1)
    own = torch.eye(len(first), dtype=torch.bool, device=both.device)
    positive = (near | own).repeat(2, 2) & ~itself
    return -(log_p * positive).sum(1).div(positive.sum(1)).mean()


def _with_replaced(context: FitContext, seed: int) -> tuple[Features, Tensor]:
    """The token ids of all rows, then of a copy of each with tokens replaced by others of the corpus; and lengths."""
    data = context.features.data
    generator = torch.Generator(device=context.device).manual_seed(seed)
    flat, offsets = data.flat, data.offsets
    inner = torch.ones(len(flat), dtype=torch.bool, device=context.device)
    inner[offsets[:-1]] = False  # the special tokens at both ends stay
    inner[offsets[1:] - 1] = False
    chosen = inner & (torch.rand(len(flat), generator=generator, device=context.device) < REPLACED)
    others = flat[inner][torch.randint(int(inner.sum()), (len(flat),), generator=generator, device=context.device)]
    copied = torch.where(chosen, others, flat)
    doubled = Ragged(torch.cat([flat, copied]), torch.cat([offsets, offsets[1:] + len(flat)]))
    return Features(doubled), torch.cat([context.train.lengths, context.train.lengths])


def _run(task: DiscoveryTask, encoder: Encoder, seed: int, device: str) -> NeighbourStudy:
    observed = task.observed_train
    study = NeighbourStudy(
        encoder=encoder,
        tune="layers",
        n_new=len(task.new),
        logs="novel",
        seed=seed,
        device=device,
        gold=task.gold_ids(task.dev),
    )
    recording = Recording(gold=task.gold_ids(task.train))
    study.fit(observed.texts, observed.labels, validation=task.dev, run=Run(memory={}), recording=recording)
    return study


def main() -> None:
    """Run the study on the partitions of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("partitions", nargs="+")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--encoder", default="minilm", help="where it lies")
    parser.add_argument("--name", default="minilm", help="what the rows call it")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    encoder = study_encoder(options.encoder)
    done = {(r["task"], r["seed"]) for r in _read([options.out])} if options.out.is_file() else set()
    for spec in options.partitions:
        benchmark, _, split = spec.partition(":")
        task = load_partition(benchmark, split=int(split))
        for seed in whole_numbers(options.seeds):
            if (task.name, seed) not in done:
                study = _run(task, encoder, seed, options.device)
                for row in study.rows:
                    append_row(options.out, {"task": task.name, "encoder": options.name, "seed": seed, **row})
                print(task.name, seed, [(r["state"], r["logs"], r["dev"]["ood"]) for r in study.rows], flush=True)


if __name__ == "__main__":
    main()
