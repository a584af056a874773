"""Gentle fine-tuning on fresh partitions: epochs, rounds, and what tells a good run from a bad one without gold labels.

python benchmarks/recipe/trained.py run FRESH-BANKING77:1000 --seeds 0,1,2 --out FILE   one JSON line per state
python benchmarks/recipe/trained.py table FILE ...                                      means, and the criteria

A state is an encoder after so many epochs or rounds. Of each the consensus labels of the logs are scored against the
gold labels, beside criteria that need none: how far the votes agree, and how well known intents are found again that
were hidden among the logs. Everything is measured on the logs and on dev rows; no test row is read.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.assignment import class_means
from newfound.algorithms.ensembles import (
    consensus_clustering,
    consistency,
    diffuse,
    label_freely,
    select_labellings,
    share_agreeing,
)
from newfound.algorithms.metrics import accuracy, both_protocols, map_clusters, silhouette_on_device
from newfound.bench.cells import load_partition
from newfound.bench.studies import append_row, study_encoder
from newfound.data.task import DiscoveryTask
from newfound.methods.consensus import MIN_AGREEMENT_TO_TEACH, Consensus
from newfound.methods.context import FitContext, Recording
from newfound.methods.finetuning import fine_tune
from newfound.model.network import IntentNetwork, embed
from newfound.training.run import Run
from newfound.training.schedule import AdamWSchedule
from newfound.training.seeding import derive

HIDDEN_SHARE = 0.2  # of the known intents
MAX_SILHOUETTE_ROWS = 4_000


@dataclass(kw_only=True, eq=False, repr=False)
class Study(Consensus):
    """Runs the stages of `Consensus` and records every state on the way.

    Attributes:
        epoch_choices: Numbers of epochs of the fine-tuning to try, each from the pretrained encoder.
        hide: Whether to hide known intents as well, in runs of their own.
        gold: True ids of the dev rows.
        rows: What was recorded.
        vectors: A file for the vectors after the fine-tuning, or None.
    """

    epoch_choices: tuple[int, ...] = (1, 2, 3)
    hide: bool = True
    gold: Any = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    vectors: Path | None = None

    def _discover(self, context: FitContext) -> tuple[IntentNetwork, float]:
        network = context.network()
        self._record(context, network, context.y, "frozen", 0.0)
        for epochs in self.epoch_choices:
            network, seconds = self._tuned(context, context.y, epochs)
            self._record(context, network, context.y, f"{epochs} epochs", seconds)
            if epochs == self.finetune_epochs:
                self._dump(context, network)
                self._tune_in_rounds(context, network)
        if self.hide:
            hidden = self._hidden(context)
            for epochs in self.epoch_choices:
                network, seconds = self._tuned(context, hidden, epochs)
                self._record(context, network, hidden, f"{epochs} epochs, hiding", seconds)
        return network, 0.05

    def _tuned(self, context: FitContext, y: Tensor, epochs: int) -> tuple[IntentNetwork, float]:
        network = context.network()
        started = time.perf_counter()
        schedule = AdamWSchedule(epochs=epochs, lr=self.finetune_lr)
        fine_tune(_with_labels(context, y), network, y, schedule, stage=f"fine-tuning {epochs}")
        return network, time.perf_counter() - started

    def _hidden(self, context: FitContext) -> Tensor:
        """The labels with some known intents taken away."""
        generator = torch.Generator().manual_seed(derive(context.seed, "hidden"))
        chosen = torch.randperm(context.n_known, generator=generator)[: round(HIDDEN_SHARE * context.n_known)]
        return torch.where(torch.isin(context.y, chosen), -1, context.y)

    def _tune_in_rounds(self, context: FitContext, network: IntentNetwork) -> None:
        for number in range(int(self.rounds)):
            x = F.normalize(context.embed(network).float(), dim=-1)
            y, agreed = self._label(context, x, number)
            taught = torch.where((context.y >= 0) | (agreed >= MIN_AGREEMENT_TO_TEACH), y, -1)
            started = time.perf_counter()
            schedule = AdamWSchedule(epochs=self.round_epochs, lr=self.finetune_lr)
            fine_tune(context, network, taught, schedule, stage=f"round {number + 1}")
            self._record(context, network, context.y, f"round {number + 1}", time.perf_counter() - started)

    def _record(self, context: FitContext, network: IntentNetwork, y: Tensor, state: str, seconds: float) -> None:
        """Cluster what has no label in `y`, score it, and note the criteria."""
        x = F.normalize(context.embed(network).float(), dim=-1)
        logs = (y < 0).nonzero().squeeze(1)
        n_hidden = context.n_known - len(set(y[y >= 0].tolist()))
        k = context.n_new + n_hidden
        points = x[logs.to(x.device)]
        votes = [
            label_freely(view, k, seed=derive(context.seed, "vote", 0, i, run))
            for i, view in enumerate((points, diffuse(points, neighbours=self.neighbours)))
            for run in range(self.runs)
        ]
        counted = select_labellings(votes)
        labels = consensus_clustering(counted, k, seed=derive(context.seed, "agree", 0))
        assert context.recording.gold is not None
        gold = context.recording.gold[logs.numpy()]
        matched = map_clusters(gold, labels.cpu().numpy())
        is_new = gold >= context.n_known
        sample = points[:MAX_SILHOUETTE_ROWS]
        self.rows.append(
            {
                "state": state,
                "seconds": round(seconds, 3),
                "logs": round(accuracy(gold[is_new], matched[is_new]), 2),
                "dev": self._dev(context, network, x, y, logs, labels),
                "unanimity": round(consistency(counted), 4),
                "plain unanimity": round(consistency([v.kmeans for v in votes]), 4),
                "agreement": round(float(share_agreeing(counted, labels).mean()), 4),
                "silhouette": round(float(silhouette_on_device(sample, labels[: len(sample)], k)), 4),
                **({"hidden": round(accuracy(gold[~is_new], matched[~is_new]), 2)} if n_hidden else {}),
            }
        )

    def _dev(
        self, context: FitContext, network: IntentNetwork, x: Tensor, y: Tensor, logs: Tensor, labels: Tensor
    ) -> dict[str, float]:
        """Strict scores of the dev rows by the nearest class mean."""
        ids = context.y.clone()  # hidden intents are known again
        hidden = (y < 0) & (context.y >= 0)
        found = torch.full_like(ids, -1)
        found[logs] = labels.cpu()
        ids[~hidden & (ids < 0)] = context.n_known + found[~hidden & (context.y < 0)]
        means, _ = class_means(x, ids.to(x.device), int(ids.max()) + 1)
        dev = F.normalize(embed(network, context.validation.features, context.validation.batches).float(), dim=-1)
        predicted = (dev @ means.T).argmax(1).cpu().numpy()
        strict = both_protocols(self.gold, predicted, context.n_known)["strict"]
        return {"ind": round(strict.ind_acc, 2), "ood": round(strict.ood_acc, 2)}

    def _dump(self, context: FitContext, network: IntentNetwork) -> None:
        if self.vectors is None or context.recording.gold is None:
            return
        x: npt.NDArray[np.float16] = context.embed(network).half().cpu().numpy()
        np.savez_compressed(self.vectors, x=x, y=context.y.numpy(), gold=context.recording.gold)


def _with_labels(context: FitContext, y: Tensor) -> FitContext:
    """The context of a fit in which only the rows labelled in `y` are known; all others are the logs."""
    return replace(context, train=replace(context.train, y=y))


def run(options: argparse.Namespace) -> None:
    encoder = study_encoder(options.encoder)
    done = {(r["task"], r["seed"]) for r in _read([options.out])} if options.out.is_file() else set()
    for spec in options.partitions:
        benchmark, _, split = spec.partition(":")
        task = load_partition(benchmark, ratio=options.ratio, split=int(split))
        for seed in map(int, options.seeds.split(",")):
            if (task.name, seed) in done:
                continue
            study = _study(task, encoder, seed, options)
            for row in study.rows:
                append_row(options.out, {"task": task.name, "encoder": options.name, "seed": seed, **row})
            print(task.name, seed, [(r["state"], r["logs"], r["dev"]["ood"]) for r in study.rows], flush=True)


def _study(task: DiscoveryTask, encoder: Any, seed: int, options: argparse.Namespace) -> Study:
    observed = task.observed_train
    study = Study(
        encoder=encoder,
        tune="layers",
        n_new=len(task.new),
        logs="novel",
        seed=seed,
        device=options.device,
        rounds=options.rounds,
        epoch_choices=tuple(map(int, options.epochs.split(","))),
        hide=options.hide,
        gold=task.gold_ids(task.dev),
        vectors=None if options.vectors is None or seed else options.vectors / f"{task.name.replace('/', '-')}.npz",
    )
    study.fit(
        observed.texts,
        observed.labels,
        validation=task.dev,
        run=Run(memory={}),
        recording=Recording(gold=task.gold_ids(task.train)),
    )
    return study


def _read(paths: list[Path]) -> Iterator[dict[str, Any]]:
    for path in paths:
        for line in path.read_text().splitlines():
            yield json.loads(line)


def table(options: argparse.Namespace) -> None:
    """Print means by kind of partition and state, and how well each criterion picks the best seed."""
    rows = list(_read(options.files))
    kinds = sorted({r["task"].split("/")[0] + "/" + r["task"].split("/")[1] for r in rows})
    states = list(dict.fromkeys(r["state"] for r in rows))
    for kind in kinds:
        print(f"\n{kind}: consensus labels on the logs / strict OOD ACC on dev rows / IND ACC on dev rows")
        for state in states:
            own = [r for r in rows if r["task"].startswith(kind) and r["state"] == state]
            if own:
                means = [
                    np.mean([r["logs"] for r in own]),
                    *(np.mean([r["dev"][k] for r in own]) for k in ("ood", "ind")),
                ]
                spread = np.mean([np.std(v) for v in _by_task(own)])
                print(
                    f"  {state:20} {means[0]:5.1f} / {means[1]:5.1f} / {means[2]:5.1f}   over seeds ± {spread:.1f}"
                    f"   n={len(own)}"
                )
    print("\nPicking one seed of a partition by a criterion: gain over the mean seed, on the logs (best possible)")
    for state in states:
        own = [r for r in rows if r["state"] == state]
        for criterion in ("unanimity", "plain unanimity", "agreement", "silhouette", "hidden"):
            gains, best = _gains([r for r in own if criterion in r], criterion)
            if gains:
                print(f"  {state:20} {criterion:16} {np.mean(gains):+5.2f} ({np.mean(best):+.2f})  n={len(gains)}")


def _by_task(rows: list[dict[str, Any]]) -> list[list[float]]:
    tasks: dict[str, list[float]] = {}
    for row in rows:
        tasks.setdefault(row["task"], []).append(row["logs"])
    return list(tasks.values())


def _gains(rows: list[dict[str, Any]], criterion: str) -> tuple[list[float], list[float]]:
    by_task: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_task.setdefault(row["task"], []).append(row)
    gains, best = [], []
    for own in by_task.values():
        if len(own) > 1:
            mean = float(np.mean([r["logs"] for r in own]))
            gains.append(max(own, key=lambda r: r[criterion])["logs"] - mean)
            best.append(max(r["logs"] for r in own) - mean)
    return gains, best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run")
    running.add_argument("partitions", nargs="+", help="as FRESH-BANKING77:1000")
    running.add_argument("--seeds", default="0,1,2")
    running.add_argument("--epochs", default="1,2,3")
    running.add_argument("--rounds", type=int, default=3)
    running.add_argument("--hide", action=argparse.BooleanOptionalAction, default=True)
    running.add_argument("--ratio", type=int, default=40)
    running.add_argument("--encoder", default="minilm", help="where it lies")
    running.add_argument("--name", default="minilm", help="what the rows call it")
    running.add_argument("--device", default="auto")
    running.add_argument("--out", type=Path, required=True)
    running.add_argument("--vectors", type=Path, help="a folder for the vectors of seed 0")
    running.set_defaults(run=run)
    showing = commands.add_parser("table")
    showing.add_argument("files", nargs="+", type=Path)
    showing.set_defaults(run=table)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
