"""What `test_parallel.py` runs in one process and in each of two: `python several_processes.py ENCODER OUT [cuda]`."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))

from conftest import themed_corpus
from newfound import DPL, E2E, Consensus, DeepAligned, DeepAlignedMix
from newfound.encoders.encoder import load_encoder
from newfound.errors import ProcessLost, RunMismatch
from newfound.training import devices
from newfound.training.launch import current_launch
from newfound.training.parallel import Processes, join
from newfound.training.run import Run

# 145 utterances in batches of 49: an odd number, which two processes cannot divide evenly.
NO_DROPOUT = {"dropout": 0.0, "trunk_views": 0}
SHORT = {"n_new": 2, "device": "cpu", "epochs": 3, "pretrain_epochs": 2, "batch_size": 64, "seed": 3}
EVERY_ROW = {"no_intent": "none"}  # a row at the limit would fall to either side by rounding
OF_THE_PAPER = {"start": "random", "prototype_norm": "sample", "loss": "sum", "select": "new", "lr": 0.02}
METHODS = {
    "dpl": (DPL, {**SHORT, **NO_DROPOUT, "tune": "last", "lr": 0.01, "pretrain_lr": 0.01, "select": "new"}),
    "dpl of the paper": (DPL, {**SHORT, **OF_THE_PAPER, **NO_DROPOUT, "tune": "last:2", "dense": True}),
    "fine-tuning": (
        Consensus,
        {
            **{**SHORT, "trunk_views": 0, "tune": "layers", "logs": "mixed", **EVERY_ROW},
            **{"finetune_lr": 1e-3, "finetune_steps": 4},
        },
    ),
    "frozen": (Consensus, {**SHORT, "trunk_views": 0, "tune": "heads", "n_new": "auto", **EVERY_ROW}),
    "e2e": (E2E, {**SHORT, **NO_DROPOUT, "tune": "last"}),
    "deepaligned": (DeepAligned, {**SHORT, **NO_DROPOUT, "tune": "last", "joint_epochs": 2}),
    "deepaligned-mix": (DeepAlignedMix, {**SHORT, **NO_DROPOUT, "tune": "last"}),
}


def gradients(processes: Processes) -> dict[str, list[float]]:
    """Of a loss over all pairs of a batch of seven rows in two views, with parameters before and after the gather."""
    torch.manual_seed(0)
    x, before, after = torch.randn(2, 7, 3), nn.Linear(3, 4), nn.Linear(4, 4)
    own = x[:, processes.share(torch.arange(7))]
    z = after(processes.gather(torch.tanh(before(own)), 7)).flatten(0, 1)
    loss = torch.logsumexp(z @ z.T, dim=1).mean()
    loss.backward()
    parameters = [before.weight, before.bias, after.weight, after.bias]
    processes.average_gradients(parameters)
    return {"loss": [loss.item()], "gradients": torch.cat([p.grad.flatten() for p in parameters]).tolist()}


def fits(encoder, device: str = "cpu") -> dict[str, dict]:
    """Losses by stage, labels and probabilities of each method."""
    corpus = themed_corpus(per_theme=29)
    found = {}
    for name, (method, settings) in METHODS.items():
        fitted = method(encoder=encoder, **{**settings, "device": device}).fit(corpus.texts, corpus.labels)
        stages = {stage: [r["loss"] for r in rows if "loss" in r] for stage, rows in fitted.history_.items()}
        found[name] = {
            "losses": stages,
            "labels": fitted.labels_.tolist(),
            "probabilities": fitted.predict_proba(corpus.texts).tolist(),
        }
    return found


def noise(processes: Processes) -> list[float]:
    """What dropout draws in a training of this process; it must differ from that of the others."""
    from newfound.training.trainer import Trainer

    drawn: list[float] = []
    module = nn.Linear(1, 1)

    def step(batch):
        drawn.append(float(torch.rand(())))
        return {"loss": module.weight.sum()}

    from newfound.encoders.ragged import RaggedBatches
    from newfound.training.schedule import Schedule

    run = Run()
    run.divide_among(processes)
    cpu = torch.device("cpu")
    trainer = Trainer("noise", module, Schedule(epochs=1), seed=0, device=cpu, run=run)
    trainer.fit(torch.arange(4), RaggedBatches(torch.ones(4, dtype=torch.int64), cpu), step)
    return drawn


def resumed(encoder, processes: Processes, folder: Path) -> dict[str, object]:
    """A fit with checkpoints, the same resumed from them, and what is said if not all processes see them."""
    corpus = themed_corpus(per_theme=29)

    def fit(run: Run) -> DPL:
        return DPL(encoder=encoder, **METHODS["dpl"][1]).fit(corpus.texts, corpus.labels, run=run)

    first = fit(Run(folder=folder, seconds_between_checkpoints=0))
    processes.wait_for_all()
    again = fit(Run(folder=folder, resume=True))
    own = folder if processes.is_main else folder.with_name("elsewhere")
    try:
        fit(Run(folder=own, resume=True))
        message = ""
    except RunMismatch as error:
        message = str(error)
    same = again.predict_proba(corpus.texts).tolist() == first.predict_proba(corpus.texts).tolist()
    return {"same": same, "files": sorted(path.name for path in folder.iterdir()), "message": message}


def death_of_another(encoder, processes: Processes) -> dict[str, object]:
    """The last process ends in the middle of a training; what the others say, and after how many seconds."""
    corpus = themed_corpus(per_theme=29)
    if processes.rank == processes.count - 1:
        Processes.average_gradients = lambda self, parameters: os._exit(9)
    started = time.monotonic()
    try:
        DPL(encoder=encoder, **METHODS["dpl"][1]).fit(corpus.texts, corpus.labels)
    except ProcessLost as error:
        return {"message": str(error), "seconds": time.monotonic() - started}
    return {}


def share_one_gpu() -> None:
    """Let two processes train on one GPU: NCCL refuses that, gloo does not."""
    devices._take_own_gpu = lambda: None
    if current_launch().count > 1:
        torch.distributed.init_process_group("gloo")


def main(encoder_folder: str, out: str, device: str = "cpu") -> None:
    encoder = load_encoder(encoder_folder)
    if device == "cuda":
        share_one_gpu()
    processes = join(torch.device(device))
    path = Path(out) / f"{processes.rank}-of-{processes.count}.json"
    found: dict[str, object] = {"count": processes.count, "fits": fits(encoder, device)}
    if device == "cpu":
        found |= {"gradients": gradients(processes), "noise": noise(processes)}
    if device == "cpu" and processes.count > 1:
        found["resumed"] = resumed(encoder, processes, Path(out) / "run")
        processes.wait_for_all()
        path.write_text(json.dumps(found))
        found["lost"] = death_of_another(encoder, processes)
    path.write_text(json.dumps(found))


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(*sys.argv[1:])
