"""The context of one fit, as the methods see it: features on the device, labels as ids (-1 for none), the seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from newfound.algorithms.languages import assign_languages, without_languages
from newfound.algorithms.metrics import silhouette_on_device
from newfound.data.corpus import Corpus, fingerprint
from newfound.encoders.encoder import Encoder, Features, Tune
from newfound.encoders.ragged import Batch, lay_out
from newfound.encoders.tail import whole_corpus
from newfound.model.network import CosineClassifier, IntentNetwork, embed
from newfound.model.types import KnownCheck
from newfound.questions.annotators import Annotator
from newfound.training.run import Run
from newfound.training.schedule import Optimization
from newfound.training.seeding import derive, seed_torch
from newfound.training.trainer import History, Losses, Trainer

MAX_VALIDATION_ROWS = 4_000  # the silhouette compares every pair


@dataclass(frozen=True, slots=True)
class Epoch:
    """A training after one epoch, as an analysis may look at it; what takes time is computed when it is called."""

    number: int
    pseudo_labels: Callable[[], Tensor]  # [n] intent of every row, known ids first
    vectors: Callable[[], Tensor]  # [n, d] in the space of the prototypes
    prototypes: Tensor  # [intents, d]


Watch = Callable[[Epoch], dict[str, float]]


def watch_nothing(epoch: Epoch) -> dict[str, float]:
    """Add nothing to the history."""
    return {}


@dataclass(frozen=True, slots=True)
class EncodedCorpus:
    """A corpus for the network: features and batches on the device, token counts and labels on the CPU."""

    features: Features
    batches: Sequence[Batch]
    lengths: Tensor  # [n]
    y: Tensor  # [n] known id or -1
    by_person: Tensor  # [n] whether a person labelled the row; other labels come from an earlier model
    texts: Sequence[str] = ()


def encode_corpus(
    known: Sequence[str], encoder: Encoder, tune: Tune, run: Run, trunk_dropout: bool, part: Corpus, views: int = 0
) -> EncodedCorpus:
    """Return a corpus for the network, with features that fits of one run share if they have the same texts.

    Features are the output of the layers below those that train (`tune`), on the encoder's device, and `views` stored
    runs of the frozen layers; 0 is one without dropout.
    """
    device = encoder.device

    def encode() -> tuple[Features, list[Batch], Tensor]:
        features = encoder.features(part.texts, tune, trunk_dropout=trunk_dropout)
        halved = device.type == "cuda" and tune.layers
        on_device = features.to(device, torch.bfloat16 if halved else None)
        if views and not trunk_dropout:
            seeds = [derive(0, "trunk view", view) for view in range(views)]
            on_device = encoder.with_noise(on_device, part.texts, tune, seeds=seeds)
        lengths = features.data.lengths
        return on_device, whole_corpus(lengths, device), lengths

    same_encoder = [run.identity["encoder"], encoder.max_length]
    key = repr([fingerprint(part.texts), *same_encoder, tune, trunk_dropout, views, str(device)])
    features, batches, lengths = run.get_or_make(key, encode)
    by_person = torch.tensor([origin.labelled for origin in part.origins], dtype=torch.bool)
    return EncodedCorpus(features, batches, lengths, torch.tensor(part.ids(known)), by_person, part.texts)


@dataclass(frozen=True, slots=True)
class FitContext:
    """Everything that a method's `_discover` needs. Ids of known intents come before those of new ones."""

    encoder: Encoder
    tune: Tune  # which layers of the encoder train
    train: EncodedCorpus
    validation: EncodedCorpus  # for choosing a checkpoint
    n_known: int
    n_new: int  # how many new intents to look for
    seed: int  # each purpose derives its own from it
    device: torch.device
    run: Run  # shows progress and keeps checkpoints
    trunk_dropout: bool = False  # whether the frozen layers run with dropout in every step
    watch: Watch = watch_nothing  # looks at the training after an epoch
    annotator: Annotator | None = None  # answers questions about doubtful utterances
    history: dict[str, History] = field(default_factory=dict)  # losses by stage and epoch
    choices: dict[str, str] = field(default_factory=dict)  # by what the data show, and why; kept in the provenance
    languages: Tensor | None = None  # [n] likely language of each row, -1 for not told; None if all are in one

    @property
    def features(self) -> Features:
        return self.train.features

    @property
    def y(self) -> Tensor:
        return self.train.y

    @property
    def known_rows(self) -> Tensor:
        return (self.train.y >= 0).nonzero().squeeze(1)

    @property
    def unlabelled_rows(self) -> Tensor:
        return (self.train.y < 0).nonzero().squeeze(1)

    def network(self, build: Callable[..., IntentNetwork] = IntentNetwork, **settings: Any) -> IntentNetwork:
        """A fresh network over known and new intents; its tail is a copy of the pretrained encoder's."""
        seed_torch(self.seed, "network")
        tail = self.encoder.tail(self.tune, trunk_dropout=self.trunk_dropout)
        network = build(tail, self.encoder.width, self.n_known + self.n_new, **settings)
        return network.to(self.device)

    def with_number(self, network: IntentNetwork, n_new: int) -> FitContext:
        """Return the context with another number of new intents; the network gets fresh columns for them."""
        if n_new == self.n_new:
            return self
        seed_torch(self.seed, "columns")
        network.classifier = CosineClassifier(self.encoder.width, self.n_known + n_new).to(self.device)
        return replace(self, n_new=n_new)

    def embed(self, network: IntentNetwork) -> Tensor:
        """Vectors of the whole corpus, [n, d]."""
        return embed(network, self.train.features, self.train.batches)

    def unit_vectors(self, network: IntentNetwork) -> Tensor:
        """Vectors of the whole corpus, [n, d] of unit length."""
        return F.normalize(self.embed(network).float(), dim=-1)

    def language_free(self, x: Tensor) -> Tensor:
        """Return vectors [n, d] of the whole corpus without their language; x itself if there is only one."""
        return x if self.languages is None else without_languages(x, assign_languages(x, self.languages))

    def silhouette(self, network: IntentNetwork, of: str) -> float:
        """Silhouette of the validation data under their predicted intents; `of` is "new" (unlabelled rows) or "all".

        It needs no label: it says how compact and separate the predicted intents are.
        """
        x = embed(network, self.validation.features, self.validation.batches)
        rows = (self.validation.y < 0).nonzero().squeeze(1) if of == "new" else torch.arange(len(x))
        x = x[rows[:MAX_VALIDATION_ROWS].to(x.device)]
        with torch.inference_mode():
            predicted = network.classifier(x).argmax(1)
            return float(silhouette_on_device(x, predicted, self.n_known + self.n_new))

    def fit(
        self,
        stage: str,
        module: nn.Module,
        schedule: Optimization,
        rows: Tensor | Callable[[int], Tensor],
        step: Callable[[Batch], Losses],
        *,
        lengths: Tensor | None = None,
        **more: Any,
    ) -> None:
        """Train a module for one stage of the method (see `Trainer`); its losses go into the history.

        `lengths` are the token counts of all rows; by default those of the training corpus.
        """
        trainer = Trainer(stage, module, schedule, seed=self.seed, device=self.device, run=self.run)
        layout = partial(lay_out, self.train.lengths if lengths is None else lengths, device=self.device)
        self.history[stage] = trainer.fit(rows, layout, step, **more)


@dataclass(frozen=True, slots=True)
class Discovery:
    """What a method returns.

    Attributes:
        network: The trained network over known and new intents.
        temperature: The temperature of the softmax that it was trained with.
        vectors: Its vectors of the whole corpus, [n, d], where the method has computed them; only directions count.
        no_intent: Which rows of the logs belong to no intent, [n] (CPU); None if the method gives every row one.
        share_of_no_intent: The share of the logs that a person wants to have no intent; None leaves it to the data.
        agreement: The mean share of the clusterings that agree with the labels of new intents; None if unknown.
        consistency: The mean adjusted Rand index of two of the clusterings.
        known_check: How well held-out labels of known intents are found again; None if none were held out.
        choices: What the method chose by the data, and why; kept in the provenance.
        is_final: Whether all rows have the label they are to have, and those without one belong to no intent.
        expected_accuracy: The expected share of the labels that are right, of those that no person gave; None if it
            follows from the agreement.
    """

    network: IntentNetwork
    temperature: float
    vectors: Tensor | None = None
    no_intent: Tensor | None = None
    share_of_no_intent: float | None = None
    agreement: float | None = None
    consistency: float = 1.0
    known_check: KnownCheck | None = None
    choices: Mapping[str, str] = field(default_factory=dict)
    is_final: bool = False
    expected_accuracy: float | None = None
