"""Refit: train the classifier on given labels alone, once a person has decided what the intents are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch

from newfound.data.corpus import Corpus
from newfound.defaults import LOGS_HOLD, LogsHold
from newfound.encoders.encoder import Encoder
from newfound.errors import DataError
from newfound.methods.base import Discoverer
from newfound.methods.checking import KnownTrial
from newfound.methods.consensus import Consensus
from newfound.methods.context import Discovery, FitContext
from newfound.methods.finetuning import FineTuning, fine_tune
from newfound.methods.settings import NonNegativeInt, check_types
from newfound.methods.supervised import FROZEN_TEMPERATURE, start_classifier, train_head
from newfound.training.run import Run


@dataclass(kw_only=True, eq=False, repr=False)
class Refit(Discoverer):
    """A supervised classifier over the intents of the labels; utterances without one are left out of the training."""

    epochs: NonNegativeInt = 50
    trunk_views: NonNegativeInt | Literal["auto"] = 0

    def check_settings(self, corpus: Corpus) -> None:
        if len(corpus.intents) < 2:
            raise DataError("fewer than two intents are left; there is nothing to tell apart")
        check_types(self)
        self._schedule()

    def _n_new(self, encoder: Encoder, corpus: Corpus, run: Run) -> int:
        return 0

    @classmethod
    def auto_tune(cls, corpus: Corpus, device: torch.device, logs: LogsHold = LOGS_HOLD) -> str:
        """Return how much of the encoder trains by default: as in a discovery in mixed logs."""
        return Consensus.auto_tune(corpus, device)

    def _discover(self, context: FitContext) -> Discovery:
        network, trial = context.network(), KnownTrial.draw(context)
        whole, context = context, trial.hide_labels(context)
        frozen = context.unit_vectors(network)
        if context.tune.layers:
            fine_tune(context, network, context.y, FineTuning(), stage="fine-tuning")
        x = context.unit_vectors(network)
        start_classifier(network, x, context.y)
        train = partial(train_head, network=network, x=x, schedule=self._schedule(), temperature=FROZEN_TEMPERATURE)
        train(context, y=context.y)
        check = trial.compare(context, network, frozen, x)
        if trial.rows.numel():
            train(whole, y=whole.y, stage="training on all labels")
        return Discovery(network, FROZEN_TEMPERATURE, known_check=check)
