"""The context of one fit, as the methods see it: features on the device, labels as ids (-1 for none), the seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from newfound.algorithms.languages import assign_languages, without_languages
from newfound.algorithms.metrics import accuracy, map_clusters, silhouette_on_device
from newfound.encoders.encoder import Encoder, Features, Tune
from newfound.encoders.ragged import Batch, RaggedBatches
from newfound.model.network import IntentNetwork, embed
from newfound.questions.annotators import Annotator, Labeller
from newfound.training.run import Run
from newfound.training.seeding import seed_torch
from newfound.training.trainer import History, Losses, Optimization, Trainer

MAX_VALIDATION_ROWS = 4_000  # the silhouette compares every pair


@dataclass(frozen=True, slots=True)
class Recording:
    """What an analysis wants to record of a training. Gold labels are compared with, and never trained on.

    Attributes:
        gold: True ids of all training rows, known ones first; None for no pseudo-label accuracy.
        snapshots: Epochs after which embeddings and prototypes are kept.
    """

    gold: npt.NDArray[np.int64] | None = None
    snapshots: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Embeddings and prototypes after one epoch."""

    vectors: npt.NDArray[np.float32]  # [n, d] in the space of the prototypes
    prototypes: npt.NDArray[np.float32]  # [N + M, d]


@dataclass(frozen=True, slots=True)
class EncodedCorpus:
    """A corpus for the network: features and batches on the device, token counts and labels on the CPU."""

    features: Features
    batches: Sequence[Batch]
    lengths: Tensor  # [n]
    y: Tensor  # [n] known id or -1
    texts: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class FitContext:
    """Everything that a method's `_discover` needs.

    Attributes:
        encoder: The pretrained encoder.
        tune: Which layers of the encoder train.
        train: The corpus to learn from.
        validation: The corpus for choosing a checkpoint.
        n_known: How many known intents there are; their ids come first.
        n_new: How many new intents to look for.
        seed: The seed of the fit; each purpose derives its own from it.
        device: Where tensors live.
        run: Shows progress and keeps checkpoints.
        trunk_dropout: Whether the frozen layers run with dropout in every step.
        recording: What an analysis wants to record.
        annotator: Answers questions about doubtful utterances, for a method that asks some; None for nobody.
        labeller: Gives short labels to doubtful utterances; None for nobody.
        history: Losses by stage and epoch, filled while training.
        snapshots: What `recording` asked to keep.
        estimates: What the method has estimated about its own result: `label_accuracy` is the share of the labels of
            new intents that it believes to be right.
        choices: What the method has chosen by what the data show, and why; kept in the model's provenance.
        languages: The likely language of each row, [n], -1 where it is not told; None if all are in one.
    """

    encoder: Encoder
    tune: Tune
    train: EncodedCorpus
    validation: EncodedCorpus
    n_known: int
    n_new: int
    seed: int
    device: torch.device
    run: Run
    trunk_dropout: bool = False
    recording: Recording = field(default_factory=Recording)
    annotator: Annotator | None = None
    labeller: Labeller | None = None
    history: dict[str, History] = field(default_factory=dict)
    snapshots: dict[int, Snapshot] = field(default_factory=dict)
    estimates: dict[str, float] = field(default_factory=dict)
    choices: dict[str, str] = field(default_factory=dict)
    languages: Tensor | None = None

    @property
    def features(self) -> Features:
        return self.train.features

    @property
    def batches(self) -> RaggedBatches:
        """Makes the batches of the training corpus."""
        division = self.run.division if self.tune.layers else None  # vectors that are only looked up are not worth it
        return RaggedBatches(self.train.lengths, self.device, division)

    @property
    def y(self) -> Tensor:
        return self.train.y

    @property
    def known_rows(self) -> Tensor:
        return (self.train.y >= 0).nonzero().squeeze(1)

    @property
    def unlabelled_rows(self) -> Tensor:
        return (self.train.y < 0).nonzero().squeeze(1)

    def network(
        self, build: Callable[..., IntentNetwork] = IntentNetwork, *, dense: bool = False, dropout: float = 0.0
    ) -> IntentNetwork:
        """A fresh network over known and new intents; its tail is a copy of the pretrained encoder's."""
        seed_torch(self.seed, "network")
        tail = self.encoder.tail(self.tune, trunk_dropout=self.trunk_dropout)
        network = build(tail, self.encoder.width, self.n_known + self.n_new, dense=dense, dropout=dropout)
        return network.to(self.device)

    def embed(self, network: IntentNetwork) -> Tensor:
        """Vectors of the whole corpus, [n, d]."""
        return embed(network, self.train.features, self.train.batches, self.run.processes)

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
        x = embed(network, self.validation.features, self.validation.batches, self.run.processes)
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
        batches: RaggedBatches | None = None,
        **more: Any,
    ) -> None:
        """Train a module for one stage of the method; its losses go into the history.

        Args:
            stage: Its name, unique within a fit: seeds and checkpoints go by it.
            module: What is trained.
            schedule: Optimiser and learning rates.
            rows: Row numbers to train on, or a function that gives the batches of an epoch.
            step: Computes the losses of a batch.
            batches: Makes batches out of row numbers; by default those of the training corpus.
            **more: Further arguments of `Trainer.fit`.
        """
        trainer = Trainer(stage, module, schedule, seed=self.seed, device=self.device, run=self.run)
        self.history[stage] = trainer.fit(rows, batches or self.batches, step, **more)

    def pseudo_label_accuracy(self, ids: Tensor) -> dict[str, float]:
        """Of pseudo-labels [n] on the unlabelled rows, after the best matching; empty without gold labels."""
        if self.recording.gold is None:
            return {}
        rows = self.unlabelled_rows.numpy()
        gold, pseudo_labels = self.recording.gold[rows], ids.cpu().numpy()[rows]
        return {"pseudo_label_acc": accuracy(gold, map_clusters(gold, pseudo_labels))}

    def snapshot(self, epoch: int, vectors: Callable[[], Tensor], prototypes: Tensor) -> None:
        if epoch in self.recording.snapshots:
            self.snapshots[epoch] = Snapshot(vectors().float().cpu().numpy(), prototypes.float().cpu().numpy())
