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

from newfound.algorithms.assignment import class_means
from newfound.algorithms.consensus import Vote, agree, believed, diffuse, recognise_known, vote
from newfound.defaults import LOGS_HOLD, LogsHold
from newfound.encoders.encoder import Tune
from newfound.methods.base import Discoverer
from newfound.methods.context import FitContext
from newfound.methods.settings import Count, CountOrNone, DropoutRate, Positive
from newfound.methods.supervised import default_temperature, pretrain, start_classifier, train_on_labels
from newfound.model.network import IntentNetwork
from newfound.training.seeding import derive

MAX_VOTERS = 20_000  # that vote; in larger logs the others follow the prototypes of these


@dataclass(kw_only=True, eq=False, repr=False)
class Consensus(Discoverer):
    """Cluster two views of the logs many times, take what the clusterings agree on, and train one classifier on it.

    Attributes:
        logs: What the logs hold: "mixed", utterances of known intents too, which their labelled neighbours tell; or
            "novel", new intents only (the paper's setting).
        sizes: Of the new intents: "estimated" from how far the clusterings agree, or taken to be "equal".
        runs: Clusterings of each view.
        neighbours: Over which the second view averages, and that tell known from new in mixed logs.
        rounds: Of clustering and training in turn, where the encoder trains.
        temperature: Of the cosine classifier's cross-entropy; None is 0.1 where the encoder trains, else 0.05.
        dropout: On the vector.
        epochs: Of the training in each round.
    """

    logs: LogsHold = LOGS_HOLD
    sizes: Literal["estimated", "equal"] = "estimated"
    runs: Count = 6
    neighbours: Count = 10
    rounds: Count = 3
    temperature: Positive | None = None
    dropout: DropoutRate = 0.0
    epochs: CountOrNone = 50

    def _logs_hold(self) -> LogsHold:
        return self.logs

    def _stored_views(self, tune: Tune, device: torch.device) -> int:
        return super()._stored_views(tune, device) if tune.layers else 0  # heads see one view

    def _discover(self, context: FitContext) -> tuple[IntentNetwork, float]:
        temperature = self.temperature or default_temperature(context)
        network = context.network(dropout=self.dropout)
        pretrain(context, network, self._pretraining(), temperature=temperature)
        columns = context.n_known + context.n_new
        for number in range(self.rounds if context.tune.layers else 1):  # frozen vectors cluster alike every time
            x = F.normalize(context.embed(network).float(), dim=-1)  # [n, d]
            y = self._label(context, x, number)
            start_classifier(network, x, y)
            context.history.setdefault("consensus", []).append({"epoch": number, **context.pseudo_label_accuracy(y)})
            stage = f"training {number + 1}" if context.tune.layers else "training"
            train_on_labels(
                context, network, y, self._schedule(), stage=stage, columns=columns, temperature=temperature
            )
        return network, temperature

    def _label(self, context: FitContext, x: Tensor, number: int) -> Tensor:
        """Ids [n] of all rows (CPU): known labels as they are; for the logs, known intents and new ones."""
        y = context.y.clone()
        logs = context.unlabelled_rows
        if self.logs == "mixed":
            seed = derive(context.seed, "known", number)
            y[logs] = recognise_known(
                x, context.y.to(x.device), context.n_known, neighbours=self.neighbours, seed=seed
            ).cpu()
            logs = (y < 0).nonzero().squeeze(1)
        if len(logs) > context.n_new:
            y[logs] = context.n_known + self._cluster(context, x[logs.to(x.device)], number).cpu()
        return y

    def _cluster(self, context: FitContext, x: Tensor, number: int) -> Tensor:
        """New intents [n] among vectors [n, d]."""
        voters = x
        if len(x) > MAX_VOTERS:
            generator = torch.Generator().manual_seed(derive(context.seed, "voters", number))
            voters = x[torch.randperm(len(x), generator=generator)[:MAX_VOTERS].to(x.device)]
        votes = [
            vote(view, context.n_new, seed=derive(context.seed, "vote", number, i, run))
            for i, view in enumerate((voters, diffuse(voters, neighbours=self.neighbours)))
            for run in range(self.runs)
        ]
        agreed = agree(self._counted(votes), context.n_new, seed=derive(context.seed, "agree", number))
        if len(voters) == len(x):
            return agreed
        return (x @ class_means(voters, agreed, context.n_new)[0].T).argmax(1)

    def _counted(self, votes: list[Vote]) -> list[Tensor]:
        return [v.even for v in votes] if self.sizes == "equal" else believed(votes)
