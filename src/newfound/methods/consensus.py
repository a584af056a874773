"""Consensus: newfound's own recipe, and the default of `newfound discover`.

It keeps DPL's idea that labels come from prototypes and not from the classifier that learns them, and repairs where
it starts: prototypes and heads begin at what many clusterings agree on. docs/recipe.md says what each part adds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.assignment import class_means
from newfound.consensus import Vote, agree, believed, diffuse, recognise_known, vote
from newfound.data.corpus import Corpus
from newfound.encoders.encoder import Tune
from newfound.methods.base import Discoverer, check_choice, check_positive
from newfound.methods.job import Job
from newfound.methods.supervised import default_temperature, pretrain, start_classifier, train_on_labels
from newfound.network import IntentNetwork
from newfound.training.seeding import derive

MOST_ROWS = 20_000  # that vote; in larger logs the others follow the prototypes of these


@dataclass(kw_only=True, eq=False, repr=False)
class Consensus(Discoverer):
    """Cluster two views of the logs many times, take what the clusterings agree on, and train one classifier on it.

    logs         "novel": every utterance of the logs is of a new intent (the paper's setting); "mixed": it may also be
                 of a known one, which its labelled neighbours tell
    sizes        of the new intents: "estimated" from how far the clusterings agree, or taken to be "equal"
    runs         clusterings of each view
    neighbours   over which the second view averages, and that tell known from new in mixed logs
    rounds       of clustering and training in turn, where the encoder trains
    temperature  of the cosine classifier's cross-entropy; dropout: on the vector
    """

    logs: Literal["novel", "mixed"] = "novel"
    sizes: Literal["estimated", "equal"] = "estimated"
    runs: int = 6
    neighbours: int = 10
    rounds: int = 3
    temperature: float | None = None
    dropout: float = 0.0
    epochs: int = 50

    def check_settings(self, corpus: Corpus) -> None:
        super().check_settings(corpus)
        check_positive(self, "runs", "neighbours", "rounds", "temperature")
        check_choice(self, "logs", "novel", "mixed")
        check_choice(self, "sizes", "estimated", "equal")

    def _logs_hold(self) -> Literal["novel", "mixed"]:
        return self.logs

    def _stored_views(self, tune: Tune, device: torch.device) -> int:
        return super()._stored_views(tune, device) if tune.layers else 0  # heads see one view

    def _discover(self, job: Job) -> tuple[IntentNetwork, float]:
        temperature = self.temperature or default_temperature(job)
        network = job.network(dropout=self.dropout)
        pretrain(job, network, self._pretraining(), temperature=temperature)
        columns = job.n_known + job.n_new
        for number in range(self.rounds if job.tune.layers else 1):  # frozen vectors cluster alike every time
            x = F.normalize(job.embed(network).float(), dim=-1)  # [n, d]
            y = self._label(job, x, number)
            start_classifier(network, x, y)
            job.history.setdefault("consensus", []).append({"epoch": number, **job.pseudo_label_accuracy(y)})
            stage = f"training {number + 1}" if job.tune.layers else "training"
            train_on_labels(job, network, y, self._schedule(), stage=stage, columns=columns, temperature=temperature)
        return network, temperature

    def _label(self, job: Job, x: Tensor, number: int) -> Tensor:
        """Ids [n] of all rows (CPU): known labels as they are; for the logs, known intents and new ones."""
        y = job.y.clone()
        logs = job.unlabelled_rows
        if self.logs == "mixed":
            seed = derive(job.seed, "known", number)
            y[logs] = recognise_known(x, job.y.to(x.device), job.n_known, neighbours=self.neighbours, seed=seed).cpu()
            logs = (y < 0).nonzero().squeeze(1)
        if len(logs) > job.n_new:
            y[logs] = job.n_known + self._cluster(job, x[logs.to(x.device)], number).cpu()
        return y

    def _cluster(self, job: Job, x: Tensor, number: int) -> Tensor:
        """New intents [n] among vectors [n, d]."""
        voters = x
        if len(x) > MOST_ROWS:
            generator = torch.Generator().manual_seed(derive(job.seed, "voters", number))
            voters = x[torch.randperm(len(x), generator=generator)[:MOST_ROWS].to(x.device)]
        votes = [
            vote(view, job.n_new, seed=derive(job.seed, "vote", number, i, run))
            for i, view in enumerate((voters, diffuse(voters, neighbours=self.neighbours)))
            for run in range(self.runs)
        ]
        agreed = agree(self._counted(votes), job.n_new, seed=derive(job.seed, "agree", number))
        if len(voters) == len(x):
            return agreed
        return (x @ class_means(voters, agreed, job.n_new)[0].T).argmax(1)

    def _counted(self, votes: list[Vote]) -> list[Tensor]:
        return [v.even for v in votes] if self.sizes == "equal" else believed(votes)
