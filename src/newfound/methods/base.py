"""`Discoverer`: what every method is to its user, a scikit-learn estimator over texts and partial labels."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError

from newfound import defaults
from newfound.algorithms.estimation import Estimate
from newfound.data.corpus import Corpus
from newfound.defaults import LogsHold
from newfound.encoders.cache import FeatureCache
from newfound.encoders.encoder import MAX_LENGTH, Encoder, Pooling, load_encoder
from newfound.encoders.languages import likely_languages, text_warnings
from newfound.errors import DataError, NoKnownIntents, SettingsError
from newfound.methods.context import Discovery, FitContext, Watch, encode_corpus, watch_nothing
from newfound.methods.estimation import estimate_for
from newfound.methods.fitted import MIN_INTENTS, build_model, count_parameters
from newfound.methods.settings import Count, NonNegativeInt, NotNegative, Positive, Range, Seed, check_types
from newfound.model.classifier import IntentModel
from newfound.model.head import Names, text_classifier_tags
from newfound.model.types import Intent
from newfound.paths import feature_cache_dir
from newfound.questions.annotators import Annotator
from newfound.training.devices import pick_device
from newfound.training.run import Run
from newfound.training.schedule import Schedule

BatchSize = Annotated[int, Range(2)]


class MethodNotFitted(SettingsError, NotFittedError):  # type: ignore[misc]
    """A method was asked to predict before it was fitted."""


@dataclass(kw_only=True, eq=False, repr=False)
class Discoverer(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the methods: settings that all share, and the way from texts to a fitted `IntentModel`.

    Training is SGD with momentum, with linear warm-up and cosine decay from `lr` to `min_lr`.

    Attributes:
        n_new: How many new intents to look for, or "auto" to estimate it.
        encoder: A short name (such as minilm), a folder, owner/name on the hub, or a loaded `Encoder`.
        tune: How much of the encoder trains: heads, last, last:K, upper (half of the layers), layers or all; "auto" is
            last on a GPU, else heads, unless the method says otherwise.
        trunk_views: Stored runs of the frozen layers with dropout, from which training draws; 0 is one run without
            dropout; "auto" is 16 on a GPU and 4 on a CPU.
        trunk_dropout: Run the frozen layers with fresh dropout in every step, as the released code does (slower).
        pooling: mean, cls or padded-mean (as released); None is the encoder's own.
        max_length: Tokens kept of an utterance.
        device: auto, cpu or cuda.
        seed: Seed of everything random; same seed and same device give the same result.
        pretrain_epochs: Epochs on the known intents alone, before the discovery (skipped with tune="heads").
        pretrain_lr: Learning rate of the pre-training.
        epochs: Epochs of the training after pre-training.
        lr: Highest learning rate of that training, reached after the warm-up.
        min_lr: Learning rate at the start of its warm-up and at its end.
        warmup_epochs: Epochs of pre-training and training in which the learning rate rises.
        momentum: Momentum of SGD in pre-training and training.
        weight_decay: L2 penalty of SGD on all weights that train, in pre-training and training.
        pretrain_weight_decay: The same in the pre-training; None is `weight_decay`.
        batch_size: Utterances per step.
        pretrain_batch_size: Utterances per step of the pre-training; None is `batch_size`.

    After `fit`, `model_` is the fitted model, `classes_` has the intents in the order of the columns of
    `predict_proba`, and `labels_` the intent of each training text.
    """

    n_new: Count | Literal["auto"] = "auto"
    encoder: str | Encoder = defaults.ENCODER
    tune: str = defaults.TUNE
    trunk_views: NonNegativeInt | Literal["auto"] = "auto"
    trunk_dropout: bool = False
    pooling: Pooling | None = None
    max_length: Count = MAX_LENGTH
    device: str = defaults.DEVICE
    seed: Seed = defaults.SEED
    pretrain_epochs: NonNegativeInt = 100
    pretrain_lr: Positive = 0.1
    epochs: NonNegativeInt = 100
    lr: Positive = 0.1
    min_lr: NotNegative = 0.001
    warmup_epochs: NonNegativeInt = 10
    momentum: Annotated[float, Range(0, 1)] = 0.9
    weight_decay: NotNegative = 1.5e-4
    pretrain_weight_decay: NotNegative | None = None
    batch_size: BatchSize = 512
    pretrain_batch_size: BatchSize | None = None

    ASKS_QUESTIONS: ClassVar[bool] = False
    """Whether the method asks an annotator about doubtful utterances."""

    SORTS_ROWS: ClassVar[bool] = False
    """Whether the rows are sorted by their content, so that their order does not matter; the paper's methods differ."""

    EFFORTS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"tune": "heads"},
        "standard": {"tune": "last"},
        "best": {"tune": "last"},
    }
    """The settings that each effort stands for."""

    STORED_VIEWS: ClassVar[Mapping[str, int]] = {"cuda": 16, "cpu": 4}
    """How many noisy runs of the frozen layers are worth their time."""

    NEEDS_KNOWN: ClassVar[bool] = True
    """Whether the method learns from known intents, at least two of them; others can do without any."""

    @classmethod
    def settings_of_effort(cls, effort: str, logs: LogsHold = "novel") -> Mapping[str, Any]:
        """Return the settings that an effort stands for, by what the logs hold."""
        return cls.EFFORTS[effort]

    @classmethod
    def auto_tune(cls, corpus: Corpus, device: torch.device, logs: LogsHold = "novel") -> str:
        """Return how much of the encoder trains by default: the last layer on a GPU, if there is something to learn."""
        return "last" if len(corpus.intents) > 1 and device.type == "cuda" else "heads"

    def fit(
        self,
        texts: Sequence[str] | Corpus,
        labels: Sequence[str | int | None] | None = None,
        *,
        validation: Corpus | None = None,
        run: Run | None = None,
        watch: Watch = watch_nothing,
        annotator: Annotator | None = None,
    ) -> Self:
        """Discover new intents among the texts whose label is None, and fit one classifier over known and new.

        Args:
            texts: Labelled and unlabelled utterances, in any order; or a corpus, which has labels and origins.
            labels: Their intents; None for an unlabelled one. Whole numbers become their digits as text. Without labels
                no intent is known, and all are discovered.
            validation: Utterances for choosing a checkpoint, labelled or not; the training data otherwise.
            run: Shows progress and keeps checkpoints.
            watch: Is called after every epoch, for an analysis; what it returns is added to the history.
            annotator: Answers questions about doubtful utterances, for a method that asks some (consensus).
        """
        if annotator is not None and not self.ASKS_QUESTIONS:
            raise SettingsError(f"{type(self).__name__} asks no questions; use consensus with an annotator")
        started = time.perf_counter()
        corpus = texts if isinstance(texts, Corpus) else Corpus.of(texts, labels)
        self.check_settings(corpus)
        order = corpus.by_content() if self.SORTS_ROWS else list(range(len(corpus)))
        corpus = corpus.take(order)
        device = pick_device(self.device)
        run = run or Run()
        self.estimate_: Estimate | None = None  # of the number of new intents, where it is not given
        context = self._context(corpus, validation, device, run)
        context = replace(context, watch=watch, annotator=annotator)
        encoded = time.perf_counter()
        discovery = self._discover(context)
        self.history_ = context.history
        self.n_new_ = len(discovery.network.classifier.weight) - context.n_known
        self.parameters_ = count_parameters(context.encoder, discovery.network)
        model = build_model(corpus, replace(context, n_new=self.n_new_), discovery)
        self.model_ = replace(model, utterance_source=[model.utterances[i] for i in np.argsort(order).tolist()])
        self.timings_ = {"encode": encoded - started, "discover": time.perf_counter() - encoded}
        self.model_.provenance["timings"] = self.timings_
        if self.estimate_ is not None:
            numbers = {name: getattr(self.estimate_, name) for name in ("n_new", "low", "high")}
            self.model_.provenance["estimate"] = numbers
        self.classes_, self.labels_ = self.model_.classes_, self.model_.labels_
        return self

    def fit_predict(self, texts: Sequence[str], labels: Sequence[str | None] | None = None, **more: Any) -> Names:
        """Fit, and return the intent of each text, [n]: its label, or what was discovered. `more` goes to `fit`."""
        return self.fit(texts, labels, **more).labels_

    def score(self, texts: Sequence[str], labels: Sequence[str | None]) -> float:
        """Return the share of the labelled texts, from 0 to 1, whose label is predicted by name."""
        return self._fitted_model().score(texts, labels)

    def __sklearn_tags__(self) -> Any:
        return text_classifier_tags(super().__sklearn_tags__())

    def _discover(self, context: FitContext) -> Discovery:
        """The method itself."""
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
        distinct = len(set(corpus.unlabelled().texts))
        if self.n_new == "auto":
            if n_known + distinct < MIN_INTENTS:
                raise DataError("a single utterance and no known intents; there is nothing to tell apart")
            return
        if self.n_new > unlabelled:
            raise SettingsError(f"n_new={self.n_new} is more than the {unlabelled} unlabelled utterances; lower it")
        if n_known + self.n_new < MIN_INTENTS:
            raise SettingsError(f"n_new={self.n_new} without known intents leaves nothing to tell apart; raise it")
        if self.n_new > distinct:
            raise SettingsError(f"n_new={self.n_new}, but only {distinct} unlabelled utterances differ; lower it")

    def _schedule(self) -> Schedule:
        """The settings of the training after pre-training."""
        if self.min_lr > self.lr:
            raise SettingsError(f"min_lr={self.min_lr} is higher than lr={self.lr}")
        return Schedule(**{field.name: getattr(self, field.name) for field in fields(Schedule)})

    def _pretraining(self) -> Schedule:
        epochs, lr = self.pretrain_epochs, self.pretrain_lr
        size, decay = self.pretrain_batch_size or self.batch_size, self.pretrain_weight_decay
        schedule = self._schedule() if decay is None else replace(self._schedule(), weight_decay=decay)
        return replace(schedule, epochs=epochs, batch_size=size, lr=lr, min_lr=min(0.001, lr))

    def _context(self, corpus: Corpus, validation: Corpus | None, device: torch.device, run: Run) -> FitContext:
        kind: dict[str, Any] = {"pooling": self.pooling, "max_length": self.max_length}
        if isinstance(self.encoder, Encoder):
            encoder = self.encoder.variant(**kind).to(device)
        else:
            encoder = load_encoder(self.encoder, cache=FeatureCache(feature_cache_dir()), **kind).to(device)
        auto = self.auto_tune(corpus, device, self._logs_hold())
        tune = encoder.tune(auto if self.tune == "auto" else self.tune)
        for warning in text_warnings(encoder, corpus.labelled().texts, corpus.unlabelled().texts):
            run.reporter.warn(warning)
        run.begin(self._identity(corpus, encoder))
        views = self.trunk_views if self.trunk_views != "auto" else self.STORED_VIEWS[device.type]
        encode = partial(encode_corpus, corpus.intents, encoder, tune, run, self.trunk_dropout)
        with run.reporter.task("encoding", len(corpus)) as task:
            train = encode(corpus, views=views)
            task.advance(steps=len(corpus))
        return FitContext(
            encoder=encoder,
            tune=tune,
            device=device,
            run=run,
            train=train,
            validation=train if validation is None or not len(validation) else encode(validation),
            n_known=len(corpus.intents),
            n_new=self._n_new(encoder, corpus, run),
            seed=self.seed,
            trunk_dropout=self.trunk_dropout,
            languages=likely_languages(encoder, corpus.texts),
        )

    def _n_new(self, encoder: Encoder, corpus: Corpus, run: Run) -> int:
        if self.n_new != "auto":
            return self.n_new
        key = repr(["n_new", corpus.fingerprint(), run.identity["encoder"], encoder.max_length, self.seed])
        estimate = run.get_or_make(key, lambda: estimate_for(corpus, encoder, logs_hold="novel", seed=self.seed))
        return self._report_estimate(estimate, run)

    def _report_estimate(self, estimate: Estimate, run: Run) -> int:
        """Keep the estimate, say how sure it is, and return how many new intents to look for."""
        self.estimate_ = estimate
        if estimate.is_vague:
            run.reporter.note(
                f"estimated number of new intents: {estimate.n_new}, but the data hardly say how many there are; look "
                "at the intents, and make them coarser or finer, or give the number (n_new)"
            )
        else:
            interval = f"between {estimate.low} and {estimate.high} in nine of ten cases"
            run.reporter.note(f"estimated number of new intents: {estimate.n_new} ({interval})")
        return max(estimate.n_new, MIN_INTENTS - estimate.n_known)

    def _logs_hold(self) -> LogsHold:
        """What a method takes the logs for; most know nothing but new intents in them."""
        return "novel"

    def _identity(self, corpus: Corpus, encoder: Encoder) -> dict[str, Any]:
        settings = {k: v for k, v in self.get_params(deep=False).items() if k != "encoder"}
        data, weights = corpus.fingerprint(), encoder.weights_hash()
        return {"method": type(self).__name__, "settings": settings, "data": data, "encoder": weights}

    # What a fitted method can do is what its model can do.

    @property
    def intents(self) -> tuple[Intent, ...]:
        return self._fitted_model().intents

    def predict(self, texts: Sequence[str]) -> list[str | None]:
        return self._fitted_model().predict(texts)

    def predict_proba(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return self._fitted_model().predict_proba(texts)

    def transform(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return self._fitted_model().transform(texts)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        self._fitted_model().save(folder, overwrite=overwrite)

    def _fitted_model(self) -> IntentModel:
        if not hasattr(self, "model_"):
            raise MethodNotFitted(f"{type(self).__name__} is not fitted yet; call fit(texts, labels) first")
        return self.model_
