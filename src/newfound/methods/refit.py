"""Refit: train the classifier on given labels alone, once a person has decided what the intents are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from newfound.data.corpus import Corpus
from newfound.encoders.encoder import Encoder
from newfound.errors import DataError
from newfound.methods.base import Discoverer
from newfound.methods.context import FitContext
from newfound.methods.settings import NonNegativeInt, check_types
from newfound.methods.supervised import default_temperature, start_classifier, train_on_labels
from newfound.model.network import IntentNetwork
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

    def _discover(self, context: FitContext) -> tuple[IntentNetwork, float]:
        network = context.network()
        temperature = default_temperature(context)
        start_classifier(network, context.embed(network), context.y)
        y, columns = context.y, context.n_known
        train_on_labels(
            context, network, y, self._schedule(), stage="training", columns=columns, temperature=temperature
        )
        return network, temperature
