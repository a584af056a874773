"""Refit: train the classifier on given labels alone, once a person has decided what the intents are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, Self

import torch
from torch import Tensor

from newfound.data.corpus import Corpus
from newfound.defaults import LOGS_HOLD, LogsHold
from newfound.encoders.encoder import Encoder
from newfound.encoders.registry import hash_of
from newfound.errors import DataError
from newfound.methods.base import Discoverer
from newfound.methods.checking import KnownTrial
from newfound.methods.consensus import Consensus
from newfound.methods.context import Discovery, FitContext
from newfound.methods.finetuning import FineTuning, fine_tune
from newfound.methods.settings import NonNegativeInt, NotNegative, check_types
from newfound.methods.supervised import FROZEN_TEMPERATURE, start_classifier, train_head
from newfound.model.network import IntentNetwork
from newfound.training.run import Run


@dataclass(kw_only=True, eq=False, repr=False)
class Refit(Discoverer):
    """A supervised classifier over the intents of the labels; utterances without a label belong to no intent.

    Attributes:
        expected_accuracy: The expected share of the labels that are right, of those that no person gave. Training on
            them is no evidence that they are, so the classifier is made to be no surer than that.
    """

    SORTS_ROWS: ClassVar[bool] = True
    epochs: NonNegativeInt = 50
    expected_accuracy: NotNegative | None = None
    trunk_views: NonNegativeInt | Literal["auto"] = 0

    def __post_init__(self) -> None:
        self._start: Mapping[str, Tensor] | None = None

    def starting_from(self, network: IntentNetwork) -> Self:
        """Go on from the trained layers of a network that was fine-tuned before, and not from the pretrained ones."""
        self._start = {name: t.detach().clone() for name, t in network.tail.state_dict().items()}
        return self

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

    def _identity(self, corpus: Corpus, encoder: Encoder) -> dict[str, Any]:
        start = {} if self._start is None else {"start": hash_of(dict(self._start))}
        return {**super()._identity(corpus, encoder), **start}

    def _discover(self, context: FitContext) -> Discovery:
        network, trial = context.network(), KnownTrial.draw(context)
        of_no_intent = context.y < 0
        whole, context = context, trial.hide_labels(context)
        frozen = context.unit_vectors(network)
        if self._start is not None:
            network.tail.load_state_dict(self._start)
        if context.tune.layers:
            fine_tune(context, network, FineTuning())
        x = context.unit_vectors(network)
        start_classifier(network, x, context.y)
        train = partial(train_head, network=network, x=x, schedule=self._schedule(), temperature=FROZEN_TEMPERATURE)
        train(context, y=context.y)
        check = trial.compare(context, network, frozen, x, seen_before=self._start is not None)
        if trial.rows.numel():
            train(whole, y=whole.y, stage="training on all labels")
        return Discovery(
            network,
            FROZEN_TEMPERATURE,
            vectors=x,
            no_intent=of_no_intent,
            is_final=True,
            known_check=check,
            expected_accuracy=self.expected_accuracy,
        )
