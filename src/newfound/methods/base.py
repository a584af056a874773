"""`Discoverer`: what every method is to its user, a scikit-learn estimator over texts and partial labels."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from sklearn.base import BaseEstimator, ClassifierMixin
from torch import Tensor

from newfound import defaults
from newfound.data.corpus import Corpus, Origin
from newfound.defaults import LogsHold
from newfound.encoders.cache import FeatureCache
from newfound.encoders.encoder import (
    MAX_LENGTH,
    Encoder,
    Features,
    Pooling,
    Tune,
    load_encoder,
    whole_corpus,
)
from newfound.encoders.languages import language_warning
from newfound.encoders.ragged import Batch
from newfound.errors import DataError, NoKnownIntents, SettingsError
from newfound.intents.description import IntentDescriber
from newfound.intents.naming import name_intents
from newfound.intents.questions import Answerer, Labeller
from newfound.methods.context import EncodedCorpus, FitContext, Watch
from newfound.methods.estimation import estimate_for
from newfound.methods.settings import Count, CountOrNone, NotNegative, Positive, check_types
from newfound.model.classifier import IntentModel, stamped
from newfound.model.estimator import Names, text_classifier_tags
from newfound.model.network import CosineClassifier, IntentNetwork
from newfound.model.probabilities import reliability_of, with_reliability
from newfound.model.types import AssignedUtterance, Intent, Status, Utterance
from newfound.paths import feature_cache_dir
from newfound.training.devices import pick_device
from newfound.training.parallel import join
from newfound.training.run import Run
from newfound.training.schedule import Schedule
from newfound.training.seeding import derive

QUANTILE_ROWS = 1_000_000  # torch.quantile takes no more than some millions
MIN_INTENTS = 2  # of a classifier
MIN_TYPICAL_ROWS = 100  # labelled ones that say what is typical; if there are fewer, those of the logs say it too
SAME_DIRECTION = 0.99  # cosine of two columns that stand for one intent


@dataclass(kw_only=True, eq=False, repr=False)
class Discoverer(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the methods: settings that all share, and the way from texts to a fitted `IntentModel`.

    Training is SGD with momentum, with linear warm-up and cosine decay from `lr` to `min_lr`.

    Attributes:
        n_new: How many new intents to look for, or "auto" to estimate it.
        encoder: A short name (minilm, mpnet, bert), a folder, owner/name on the hub, or a loaded `Encoder`.
        tune: How much of the encoder trains: heads, last, last:K or all; "auto" is last on a GPU, else heads.
        trunk_views: Stored runs of the frozen layers with dropout, from which training draws; 0 is one run without
            dropout; "auto" is 16 on a GPU and 4 on a CPU.
        trunk_dropout: Run the frozen layers with fresh dropout in every step, as the released code does (slower).
        pooling: mean, cls or padded-mean (as released); None is the encoder's own.
        max_length: Tokens kept of an utterance.
        device: auto, cpu or cuda.
        seed: Same seed, same device: the same result.
        pretrain_epochs: Epochs on the known intents alone, before the discovery (skipped with tune="heads").
        pretrain_lr: Learning rate of the pre-training.
        epochs: Epochs of the training after it.
        lr: Its highest learning rate.
        min_lr: Its lowest learning rate.
        warmup_epochs: Epochs in which the learning rate rises.
        momentum: Of the optimiser.
        weight_decay: Of the optimiser.
        batch_size: Utterances per step.
        pretrain_batch_size: Utterances per step of the pre-training; None is `batch_size`.

    After `fit`, `model_` is the fitted model, `classes_` has the intents in the order of the columns of
    `predict_proba`, and `labels_` the intent of each training text.
    """

    n_new: Count | Literal["auto"] = "auto"
    encoder: str | Encoder = defaults.ENCODER
    tune: str = defaults.TUNE
    trunk_views: CountOrNone | Literal["auto"] = "auto"
    trunk_dropout: bool = False
    pooling: Pooling | None = None
    max_length: Count = MAX_LENGTH
    device: str = defaults.DEVICE
    seed: CountOrNone = defaults.SEED
    pretrain_epochs: CountOrNone = 100
    pretrain_lr: Positive = 0.1
    epochs: CountOrNone = 100
    lr: Positive = 0.1
    min_lr: NotNegative = 0.001
    warmup_epochs: CountOrNone = 10
    momentum: NotNegative = 0.9
    weight_decay: NotNegative = 1.5e-4
    batch_size: Count = 512
    pretrain_batch_size: Count | None = None

    ASKS_QUESTIONS: ClassVar[bool] = False
    """Whether the method asks an answerer about doubtful utterances."""

    EFFORTS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"tune": "heads"},
        "standard": {"tune": "last"},
        "best": {"tune": "last"},
    }
    """The settings that each effort stands for."""

    NEEDS_KNOWN: ClassVar[bool] = True
    """Whether the method learns from known intents, at least two of them; others can do without any."""

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Groups of published settings by name."""

    PRESETS_BY_CORPUS: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = {}
    """What a preset sets differently on one corpus, by the names of preset and corpus."""

    @classmethod
    def preset_settings(cls, name: str, corpus: str = "") -> dict[str, Any]:
        """Return the settings of a preset.

        Args:
            name: One of the method's `PRESETS`.
            corpus: `banking77` or `clinc150`, for what was published differently for it.

        Raises:
            SettingsError: The method has no such preset.
        """
        if name not in cls.PRESETS:
            known = f"one of {', '.join(cls.PRESETS)}" if cls.PRESETS else f"{cls.__name__} has none"
            raise SettingsError(f"no preset {name!r}; {known}")
        return {**cls.PRESETS[name], **cls.PRESETS_BY_CORPUS.get((name, corpus), {})}

    @classmethod
    def preset(cls, name: str, *, corpus: str = "", **settings: Any) -> Self:
        """Return the method with the settings of a preset; single ones can be overruled.

        Args:
            name: One of the method's `PRESETS`.
            corpus: `banking77` or `clinc150`, for what was published differently for it.
            **settings: Settings that differ from the preset's.
        """
        return cls(**{**cls.preset_settings(name, corpus), **settings})

    def fit(
        self,
        texts: Sequence[str],
        labels: Sequence[str | int | None] | None = None,
        *,
        origins: Sequence[Origin] = (),
        validation: Corpus | None = None,
        run: Run | None = None,
        watch: Watch | None = None,
        answerer: Answerer | None = None,
        labeller: Labeller | None = None,
    ) -> Self:
        """Discover new intents among the texts whose label is None, and fit one classifier over known and new.

        Args:
            texts: The utterances.
            labels: Their intents; None for an unlabelled one. Whole numbers become their digits as text. Without labels
                no intent is known, and all are discovered.
            origins: Where each utterance came from, and how often it occurred; kept in the model.
            validation: Utterances for choosing a checkpoint, labelled or not; the training data otherwise.
            run: Shows progress and keeps checkpoints.
            watch: What to record for an analysis.
            answerer: Answers questions about doubtful utterances, for a method that asks some (consensus).
            labeller: Gives short labels to doubtful utterances, for the same method.
        """
        if (answerer is not None or labeller is not None) and not self.ASKS_QUESTIONS:
            raise SettingsError(f"{type(self).__name__} asks no questions; use consensus with an answerer")
        started = time.perf_counter()
        corpus = Corpus.of(texts, labels, origins)
        self.check_settings(corpus)
        device = pick_device(self.device)
        run = run or Run()
        run.divide_among(join(device))
        context = self._context(corpus, validation, device, run, watch or Watch())
        context = replace(context, answerer=answerer, labeller=labeller)
        encoded = time.perf_counter()
        network, temperature = self._discover(context)
        self.history_, self.snapshots_ = context.history, context.snapshots
        self.n_new_ = context.n_new
        self.parameters_ = _count_parameters(context.encoder, network)
        self.model_ = self._model(corpus, context, network, temperature)
        self.timings_ = {"encode": encoded - started, "discover": time.perf_counter() - encoded}
        self.model_.provenance["timings"] = self.timings_
        self.classes_, self.labels_ = self.model_.classes_, self.model_.labels_
        return self

    def fit_predict(self, texts: Sequence[str], labels: Sequence[str | None] | None = None, **more: Any) -> Names:
        """Fit, and return the intent of each text, [n]: its label, or what was discovered.

        Args:
            texts: The utterances.
            labels: Their intents; None for an unlabelled one, or for all.
            **more: Further arguments of `fit`.
        """
        return self.fit(texts, labels, **more).labels_

    def score(self, texts: Sequence[str], labels: Sequence[str | None]) -> float:
        """Return the share of texts, from 0 to 1, whose label is predicted by name; texts without a label do not count.

        Args:
            texts: The texts.
            labels: Their intents; None for a text that does not count.
        """
        return self._fitted().score(texts, labels)

    def __sklearn_tags__(self) -> Any:
        return text_classifier_tags(super().__sklearn_tags__())

    def _discover(self, context: FitContext) -> tuple[IntentNetwork, float]:
        """The method itself: a trained network, and the temperature of its softmax."""
        raise NotImplementedError

    def check_settings(self, corpus: Corpus) -> None:
        """Refuse what cannot work, before anything is loaded or trained."""
        n_known, unlabelled = len(corpus.intents), len(corpus.unlabelled())
        if self.NEEDS_KNOWN and n_known < 2:
            raise NoKnownIntents(type(self).__name__, n_known)
        if not unlabelled:
            raise DataError("no unlabelled utterance; there is nothing to discover new intents in")
        check_types(self)
        self._schedule()
        self._pretraining()
        if self.n_new == "auto":
            if n_known + len(set(corpus.unlabelled().texts)) < MIN_INTENTS:
                raise DataError("a single utterance and no known intents; there is nothing to tell apart")
            return
        if self.n_new > unlabelled:
            raise SettingsError(f"n_new={self.n_new} is more than the {unlabelled} unlabelled utterances; lower it")
        if n_known + self.n_new < MIN_INTENTS:
            raise SettingsError(f"n_new={self.n_new} without known intents leaves nothing to tell apart; raise it")
        distinct = len(set(corpus.unlabelled().texts))
        if self.n_new > distinct:
            raise SettingsError(f"n_new={self.n_new}, but only {distinct} unlabelled utterances differ; lower it")

    def _schedule(self) -> Schedule:
        """The settings of the training after pre-training."""
        return Schedule(
            epochs=self.epochs,
            batch_size=self.batch_size,
            lr=self.lr,
            min_lr=self.min_lr,
            warmup_epochs=self.warmup_epochs,
            momentum=self.momentum,
            weight_decay=self.weight_decay,
        )

    def _pretraining(self) -> Schedule:
        least = min(0.001, self.pretrain_lr)
        return replace(
            self._schedule(),
            epochs=self.pretrain_epochs,
            lr=self.pretrain_lr,
            min_lr=least,
            batch_size=self.pretrain_batch_size or self.batch_size,
        )

    def _context(
        self, corpus: Corpus, validation: Corpus | None, device: torch.device, run: Run, watch: Watch
    ) -> FitContext:
        encoder = self._encoder().to(device)
        tune = encoder.tune(resolve_tune(self.tune, device))
        warning = language_warning(encoder, corpus.labelled().texts, corpus.unlabelled().texts)
        if warning is not None:
            run.reporter.warn(warning)
        run.begin(self._identity(corpus, encoder))
        ids = {intent: i for i, intent in enumerate(corpus.intents)}
        views = self.trunk_views if self.trunk_views != "auto" else self._stored_views(tune, device)

        def encoded(part: Corpus, views: int = 0) -> EncodedCorpus:
            def make() -> tuple[Features, list[Batch], Tensor]:
                features = encoder.features(part.texts, tune, trunk_dropout=self.trunk_dropout)
                on_device = features.to(device, torch.bfloat16 if device.type == "cuda" and tune.layers else None)
                if views and not self.trunk_dropout:
                    seeds = [derive(0, "trunk view", view) for view in range(views)]
                    on_device = encoder.with_noise(on_device, part.texts, tune, seeds=seeds)
                lengths = features.data.lengths
                return on_device, whole_corpus(lengths, device), lengths

            texts = Corpus.of(part.texts).fingerprint()
            same_encoder = [run.identity["encoder"], encoder.max_length]
            key = repr([texts, *same_encoder, tune, self.trunk_dropout, views, str(device)])
            features, batches, lengths = run.shared(key, make)
            y = torch.tensor([-1 if label is None else ids.get(label, -1) for label in part.labels])
            return EncodedCorpus(features, batches, lengths, y, part.texts)

        with run.reporter.task("encoding", len(corpus)) as task:
            train = encoded(corpus, views)
            task.advance(steps=len(corpus))
        return FitContext(
            encoder=encoder,
            tune=tune,
            train=train,
            validation=train if validation is None or not len(validation) else encoded(validation),
            n_known=len(ids),
            n_new=self._n_new(encoder, corpus, run),
            seed=self.seed,
            device=device,
            run=run,
            trunk_dropout=self.trunk_dropout,
            watch=watch,
        )

    def _stored_views(self, tune: Tune, device: torch.device) -> int:
        """How many noisy runs of the frozen layers are worth their time."""
        return 16 if device.type == "cuda" else 4

    def _encoder(self) -> Encoder:
        if isinstance(self.encoder, Encoder):
            return self.encoder.variant(pooling=self.pooling, max_length=self.max_length)
        cache = FeatureCache(feature_cache_dir())
        return load_encoder(self.encoder, pooling=self.pooling, max_length=self.max_length, cache=cache)

    def _n_new(self, encoder: Encoder, corpus: Corpus, run: Run) -> int:
        if self.n_new != "auto":
            return self.n_new
        logs = self._logs_hold()
        key = repr(["n_new", corpus.fingerprint(), run.identity["encoder"], encoder.max_length, self.seed, logs])
        found = run.shared(key, lambda: estimate_for(corpus, encoder, logs_hold=logs, seed=self.seed))
        run.reporter.note(f"estimated number of new intents: {found.n_new} (between {found.low} and {found.high})")
        if len(corpus.labelled()) < 5 * len(corpus.intents) or len(corpus.unlabelled()) < 30:
            run.reporter.note("with so few utterances the estimate is unreliable; better give the number (n_new)")
        elif not corpus.intents:
            run.reporter.note(
                "without known intents this number is a rough guess: look at the intents, and give it (n_new) if they "
                "are too fine or too coarse"
            )
        n_new = int(run.processes.from_main(torch.tensor(found.n_new)))
        return max(n_new, MIN_INTENTS - len(corpus.intents))

    def _logs_hold(self) -> LogsHold:
        """What a method takes the logs for; most know nothing but new intents in them."""
        return "novel"

    def _identity(self, corpus: Corpus, encoder: Encoder) -> dict[str, Any]:
        settings = {k: v for k, v in self.get_params(deep=False).items() if k != "encoder"}
        return {
            "method": type(self).__name__,
            "settings": settings,
            "data": corpus.fingerprint(),
            "encoder": encoder.weights_hash(),
        }

    def _model(self, corpus: Corpus, context: FitContext, network: IntentNetwork, temperature: float) -> IntentModel:
        x = context.embed(network)
        network.tail.trunk = None  # from here on its frozen layers run without dropout, like any encoder's
        self._drop_surplus(context, network, x)
        with torch.inference_mode():
            taught = (network.classifier(x) / temperature).softmax(1)
            is_new = torch.arange(taught.shape[1], device=taught.device) >= context.n_known
            reliability = self._reliability(context, taught, is_new)
            probabilities = with_reliability(taught, is_new, reliability).cpu()
        identity = context.run.identity
        provenance = {
            **{key: identity[key] for key in ("method", "settings")},
            "data": {
                "fingerprint": identity["data"],
                "labelled": len(context.known_rows),
                "unlabelled": len(context.unlabelled_rows),
            },
            "device": str(context.device),
            "precision": context.encoder.precision,
        }
        utterances = _utterances(corpus, context.y, probabilities)
        embed = IntentModel(context.encoder, context.tune, network, (), temperature, {}).transform
        intents = _described(corpus.intents, utterances, x.float().cpu(), probabilities, embed)
        typical = _typical(context, network, x)
        return IntentModel(
            context.encoder,
            context.tune,
            network,
            intents,
            temperature,
            stamped(provenance),
            utterances,
            typical,
            reliability,
        )

    def _reliability(self, context: FitContext, probabilities: Tensor, is_new: Tensor) -> float:
        """The share of the probability of new intents that is to stay with them; all of it without an estimate."""
        if "label_accuracy" not in context.estimates:
            return 1.0
        logs = probabilities[context.unlabelled_rows.to(probabilities.device)]
        return round(reliability_of(logs, is_new, context.estimates["label_accuracy"]), 4)

    def _drop_surplus(self, context: FitContext, network: IntentNetwork, x: Tensor) -> None:
        """Where more new intents were asked for than there are: drop columns without utterances, and doubles."""
        empty, double = surplus_columns(network.classifier, x[context.unlabelled_rows.to(x.device)], context.n_known)
        keep = [c for c in range(context.n_known + context.n_new) if c not in {*empty, *double}]
        if len(keep) < max(context.n_known + 1, MIN_INTENTS):  # all utterances look known: keep what was asked for
            return
        for columns, why in ((empty, "got no utterance"), (double, "repeated another")):
            if columns:
                context.run.reporter.note(f"{len(columns)} of {context.n_new} new intents {why} and were dropped")
        network.classifier.weight = torch.nn.Parameter(network.classifier.weight.detach()[keep])

    # What a fitted method can do is what its model can do.

    @property
    def intents(self) -> tuple[Intent, ...]:
        return self._fitted().intents

    def predict(self, texts: Sequence[str]) -> list[str]:
        return self._fitted().predict(texts)

    def predict_proba(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return self._fitted().predict_proba(texts)

    def transform(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return self._fitted().transform(texts)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        self._fitted().save(folder, overwrite=overwrite)

    def _fitted(self) -> IntentModel:
        if not hasattr(self, "model_"):
            raise SettingsError(f"{type(self).__name__} is not fitted yet; call fit(texts, labels) first")
        return self.model_


@torch.inference_mode()
def _typical(context: FitContext, network: IntentNetwork, x: Tensor) -> list[float]:
    """Quantiles of how close labelled utterances lie to the nearest intent; all utterances, where few are labelled."""
    rows = context.known_rows if len(context.known_rows) >= MIN_TYPICAL_ROWS else torch.arange(len(x))
    closest = network.classifier(x[rows.to(x.device)].float()).amax(1).double().cpu()
    return [round(float(q), 6) for q in torch.quantile(closest[:QUANTILE_ROWS], torch.linspace(0, 1, 101).double())]


@torch.inference_mode()
def surplus_columns(classifier: CosineClassifier, x: Tensor, n_known: int) -> tuple[list[int], list[int]]:
    """New columns that no row of x is predicted with, and new columns that all but repeat a larger one."""
    columns = len(classifier.weight)
    size = torch.bincount(classifier(x).argmax(1), minlength=columns).tolist()
    unit = torch.nn.functional.normalize(classifier.weight, dim=-1)
    alike = (unit @ unit.T > SAME_DIRECTION).tolist()
    new = range(n_known, columns)
    empty = [c for c in new if not size[c]]
    double = [c for c in new if size[c] and any(alike[c][d] and (size[d], -d) > (size[c], -c) for d in new)]
    return empty, double


def _count_parameters(encoder: Encoder, network: IntentNetwork) -> dict[str, int]:
    """Trainable, total (with the frozen encoder) and what inference runs of the trainable ones."""
    trainable = sum(p.numel() for p in network.parameters() if p.requires_grad)
    tail = sum(t.numel() for t in network.tail.trained().values())
    whole = sum(p.numel() for p in encoder.model.parameters())
    inference = sum(t.numel() for t in network.classifier_branch().values())
    return {"trainable": trainable, "total": whole - tail + trainable, "inference": inference}


def resolve_tune(tune: str, device: torch.device) -> str:
    if tune != "auto":
        return tune
    return "last" if device.type == "cuda" else "heads"


def _utterances(corpus: Corpus, y: Tensor, probabilities: Tensor) -> list[Utterance]:
    """The training utterances with their intents: as labelled by a person, and as predicted where none did."""
    probability, predicted = probabilities.max(1)
    rows = zip(corpus.texts, corpus.origins, y.tolist(), predicted.tolist(), probability.tolist(), strict=True)
    return [
        Utterance(
            text,
            known if known >= 0 and origin.labelled else column,
            origin.labelled,
            round(p, 4),
            origin.count,
            origin.source,
        )
        for text, origin, known, column, p in rows
    ]


def _described(
    known: Sequence[str],
    utterances: Sequence[Utterance],
    x: Tensor,
    probabilities: Tensor,
    embed: Callable[[Sequence[str]], npt.NDArray[np.float32]],
) -> list[Intent]:
    """The description of every intent, known ones first; new ones get their names here."""
    columns = probabilities.shape[1]
    texts: list[list[str]] = [[] for _ in range(columns)]
    for u in utterances:
        texts[u.intent].append(u.text)
    column = torch.tensor([u.intent for u in utterances])
    unit = F.normalize(x, dim=-1)
    centres = F.normalize(torch.zeros(columns, x.shape[1]).index_add_(0, column, unit), dim=-1)[len(known) :]

    def likeness(phrases: Sequence[str]) -> npt.NDArray[np.float32]:
        near: npt.NDArray[np.float32] = (F.normalize(torch.from_numpy(embed(phrases)), dim=-1) @ centres.T).numpy()
        return near

    found = name_intents(texts[len(known) :], taken=known, others=texts[: len(known)], likeness=likeness)
    names = [*known, *found]
    statuses: dict[str, Status] = {name: "known" if i < len(known) else "new" for i, name in enumerate(names)}
    assigned = [
        AssignedUtterance(u.text, names[u.intent], u.labelled, 1.0 if u.labelled else u.probability, u.count, u.source)
        for u in utterances
    ]
    return IntentDescriber(statuses, assigned, x, lambda: probabilities).describe_all()
