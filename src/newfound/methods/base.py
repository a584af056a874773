"""`Discoverer`: what every method is to its user, a scikit-learn estimator over texts and partial labels."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import BaseEstimator
from torch import Tensor

from newfound.data.corpus import Corpus
from newfound.encoders.cache import FeatureCache
from newfound.encoders.encoder import (
    MAX_LENGTH,
    Encoder,
    Features,
    Pooling,
    Tune,
    default_cache_dir,
    load_encoder,
    whole_corpus,
)
from newfound.encoders.ragged import Batch
from newfound.errors import DataError, SettingsError
from newfound.estimate import estimate_for
from newfound.methods.job import Job, Rows, Watch
from newfound.model import Intent, IntentModel, Utterance
from newfound.naming import border_cases, exemplars, keywords, name_intents
from newfound.network import CosineClassifier, IntentNetwork
from newfound.training.run import Run
from newfound.training.schedule import Schedule

QUANTILE_ROWS = 1_000_000  # torch.quantile takes no more than some millions
SAME_DIRECTION = 0.99  # cosine of two columns that stand for one intent


@dataclass(kw_only=True, eq=False, repr=False)
class Discoverer(BaseEstimator):  # type: ignore[misc]
    """Base of the methods: settings that all share, and the way from texts to a fitted `IntentModel`.

    n_new          how many new intents to look for, or "auto" to estimate it
    encoder        a short name (minilm, mpnet, bert), a folder, owner/name on the hub, or a loaded `Encoder`
    tune           heads, last, last:K or all: how much of the encoder trains; "auto" is last on a GPU, else heads
    trunk_views    stored runs of the frozen layers with dropout, from which training draws; 0: one without
                   dropout; "auto" is 16 on a GPU and 4 on a CPU
    trunk_dropout  run the frozen layers with fresh dropout in every step, as the released code does (slower)
    pooling        mean, cls or padded-mean (as released); None is the encoder's own
    max_length     tokens kept of an utterance
    device         auto, cpu or cuda
    pretrain_*     training on the known intents alone (skipped with tune="heads"); the rest is the training after it:
                   SGD with momentum, linear warm-up and cosine decay from lr to min_lr
    """

    n_new: int | Literal["auto"] = "auto"
    encoder: str | Encoder = "minilm"
    tune: str = "auto"
    trunk_views: int | Literal["auto"] = "auto"
    trunk_dropout: bool = False
    pooling: Pooling | None = None
    max_length: int = MAX_LENGTH
    device: str = "auto"
    seed: int = 0
    pretrain_epochs: int = 100
    pretrain_lr: float = 0.1
    epochs: int = 100
    lr: float = 0.1
    min_lr: float = 0.001
    warmup_epochs: int = 10
    momentum: float = 0.9
    weight_decay: float = 1.5e-4
    batch_size: int = 512

    def fit(
        self,
        texts: Sequence[str],
        labels: Sequence[str | None],
        *,
        validation: Corpus | None = None,
        run: Run | None = None,
        watch: Watch | None = None,
    ) -> Self:
        """Discover new intents among the texts whose label is None, and fit one classifier over known and new.

        validation  utterances for choosing a checkpoint, labelled or not (the training data themselves otherwise)
        run         where progress is shown and checkpoints are kept
        watch       what to record for an analysis
        """
        started = time.perf_counter()
        corpus = Corpus.of(texts, labels)
        self.check_settings(corpus)
        device = pick_device(self.device)
        job = self._job(corpus, validation, device, run or Run(), watch or Watch())
        encoded = time.perf_counter()
        network, temperature = self._discover(job)
        self.history_, self.snapshots_ = job.history, job.snapshots
        self.n_new_ = job.n_new
        self.parameters_ = _count_parameters(job.encoder, network)
        self.model_ = self._model(corpus, job, network, temperature)
        self.timings_ = {"encode": encoded - started, "discover": time.perf_counter() - encoded}
        self.model_.provenance["timings"] = self.timings_
        return self

    def _discover(self, job: Job) -> tuple[IntentNetwork, float]:
        """The method itself: a trained network, and the temperature of its softmax."""
        raise NotImplementedError

    def check_settings(self, corpus: Corpus) -> None:
        """Refuse what cannot work, before anything is loaded or trained."""
        known, unlabelled = len(corpus.labelled()), len(corpus.unlabelled())
        if not known:
            raise DataError("no labelled utterance; give the known intents a few examples each")
        if len(corpus.intents) < 2:
            raise DataError(f"only one known intent ({corpus.intents[0]!r}); at least two are needed")
        if not unlabelled:
            raise DataError("no unlabelled utterance; there is nothing to discover new intents in")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise SettingsError(f"seed={self.seed!r} must be a whole number from 0")
        self._schedule()
        self._pretraining()
        if self.n_new == "auto":
            return
        if isinstance(self.n_new, bool) or not isinstance(self.n_new, int) or self.n_new < 1:
            raise SettingsError(f"n_new={self.n_new!r} must be a whole number from 1, or 'auto'")
        if self.n_new > unlabelled:
            raise SettingsError(f"n_new={self.n_new} is more than the {unlabelled} unlabelled utterances; lower it")
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
        return replace(self._schedule(), epochs=self.pretrain_epochs, lr=self.pretrain_lr, min_lr=least)

    def _job(self, corpus: Corpus, validation: Corpus | None, device: torch.device, run: Run, watch: Watch) -> Job:
        encoder = self._encoder().to(device)
        tune = encoder.tune(resolve_tune(self.tune, device))
        run.begin(self._identity(corpus, encoder))
        ids = {intent: i for i, intent in enumerate(corpus.intents)}
        views = self.trunk_views if self.trunk_views != "auto" else self._stored_views(tune, device)

        def rows(part: Corpus, views: int = 0) -> Rows:
            def make() -> tuple[Features, list[Batch], Tensor]:
                features = encoder.features(part.texts, tune, trunk_dropout=self.trunk_dropout)
                there = features.to(device, torch.bfloat16 if device.type == "cuda" and tune.layers else None)
                if views and not self.trunk_dropout:
                    there = encoder.with_noise(there, part.texts, tune, views=views)
                lengths = features.data.lengths
                return there, whole_corpus(lengths, device), lengths

            texts = Corpus.of(part.texts).fingerprint()
            same_encoder = [run.identity["encoder"], encoder.max_length]
            key = repr([texts, *same_encoder, tune, self.trunk_dropout, views, str(device)])
            features, batches, lengths = run.shared(key, make)
            y = torch.tensor([-1 if label is None else ids.get(label, -1) for label in part.labels])
            return Rows(features, batches, lengths, y)

        with run.reporter.task("encoding", len(corpus)) as task:
            train = rows(corpus, views)
            task.advance(steps=len(corpus))
        return Job(
            encoder=encoder,
            tune=tune,
            train=train,
            validation=train if validation is None or not len(validation) else rows(validation),
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
        cache = FeatureCache(default_cache_dir())
        return load_encoder(self.encoder, pooling=self.pooling, max_length=self.max_length, cache=cache)

    def _n_new(self, encoder: Encoder, corpus: Corpus, run: Run) -> int:
        if self.n_new != "auto":
            return self.n_new
        logs = self._logs_hold()
        key = repr(["n_new", corpus.fingerprint(), run.identity["encoder"], encoder.max_length, self.seed, logs])
        found = run.shared(key, lambda: estimate_for(corpus, encoder, logs_hold=logs, seed=self.seed))
        run.reporter.note(f"estimated number of new intents: {found.n_new} (between {found.low} and {found.high})")
        if len(corpus.labelled()) < 5 * len(corpus.intents) or len(corpus.unlabelled()) < 30:
            run.reporter.note("with so few utterances the estimate is unreliable; give the number with --n-new")
        return found.n_new

    def _logs_hold(self) -> Literal["novel", "mixed"]:
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

    def _model(self, corpus: Corpus, job: Job, network: IntentNetwork, temperature: float) -> IntentModel:
        x = job.embed(network)
        network.tail.trunk = None  # from here on its frozen layers run without dropout, like any encoder's
        self._drop_surplus(job, network, x)
        with torch.inference_mode():
            probability, predicted = (network.classifier(x) / temperature).softmax(1).cpu().max(1)
        intents = describe_intents(corpus, job, x.cpu(), network.classifier.weight.detach().cpu(), predicted)
        identity = job.run.identity
        provenance = {
            **{key: identity[key] for key in ("method", "settings")},
            "data": {
                "fingerprint": identity["data"],
                "labelled": len(job.known_rows),
                "unlabelled": len(job.unlabelled_rows),
            },
            "device": str(job.device),
        }
        utterances = [
            Utterance(text, int(known if known >= 0 else column), known >= 0, round(float(p), 4))
            for text, known, column, p in zip(
                corpus.texts, job.y.tolist(), predicted.tolist(), probability.tolist(), strict=True
            )
        ]
        return IntentModel.build(
            job.encoder, job.tune, network, intents, temperature, provenance, utterances, _typical(job, network, x)
        )

    def _drop_surplus(self, job: Job, network: IntentNetwork, x: Tensor) -> None:
        """Where more new intents were asked for than there are: drop columns without utterances, and doubles."""
        empty, double = surplus_columns(network.classifier, x[job.unlabelled_rows.to(x.device)], job.n_known)
        keep = [c for c in range(job.n_known + job.n_new) if c not in {*empty, *double}]
        if len(keep) == job.n_known:  # all utterances look known: keep what was asked for
            return
        for columns, why in ((empty, "got no utterance"), (double, "repeated another")):
            if columns:
                job.run.reporter.note(f"{len(columns)} of {job.n_new} new intents {why} and were dropped")
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
def _typical(job: Job, network: IntentNetwork, x: Tensor) -> list[float]:
    """Quantiles of how close labelled utterances lie to the nearest intent."""
    closest = network.classifier(x[job.known_rows.to(x.device)].float()).amax(1).double().cpu()
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


def check_positive(method: Discoverer, *settings: str) -> None:
    """Refuse a setting that is zero or below; None (a default to be filled in) passes."""
    for setting in settings:
        value = getattr(method, setting)
        if value is not None and not value > 0:
            raise SettingsError(f"{setting}={value} must be above 0")


def check_choice(method: Discoverer, setting: str, *choices: str) -> None:
    value = getattr(method, setting)
    if value not in choices:
        raise SettingsError(f"{setting}={value!r} is not one of {', '.join(choices)}")


def _count_parameters(encoder: Encoder, network: IntentNetwork) -> dict[str, int]:
    """Trainable, total (with the frozen encoder) and what inference runs of the trainable ones."""
    trainable = sum(p.numel() for p in network.parameters() if p.requires_grad)
    tail = sum(t.numel() for t in network.tail.trained().values())
    whole = sum(p.numel() for p in encoder.model.parameters())
    inference = sum(t.numel() for t in network.classifier_branch().values())
    return {"trainable": trainable, "total": whole - tail + trainable, "inference": inference}


def pick_device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name not in ("cpu", "cuda"):
        raise SettingsError(f"device={name!r} is not one of auto, cpu, cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise SettingsError("device='cuda', but torch sees no GPU here; use --device cpu")
    return torch.device(name)


def resolve_tune(tune: str, device: torch.device) -> str:
    if tune != "auto":
        return tune
    return "last" if device.type == "cuda" else "heads"


def describe_intents(corpus: Corpus, job: Job, x: Tensor, weight: Tensor, predicted: Tensor) -> list[Intent]:
    """Name, size, keywords, central utterances and border cases of every intent, known ones first."""
    logits = torch.nn.functional.normalize(x, dim=-1) @ torch.nn.functional.normalize(weight, dim=-1).T
    members = []
    for c in range(len(weight)):
        rows = (job.y == c).nonzero() if c < job.n_known else ((predicted == c) & (job.y < 0)).nonzero()
        members.append(rows.squeeze(1))
    texts = [[corpus.texts[i] for i in rows.tolist()] for rows in members]
    words = keywords(texts)
    central = [exemplars(x[rows], weight[c], texts[c]) for c, rows in enumerate(members)]
    border = [border_cases(logits[rows], c, texts[c]) for c, rows in enumerate(members)]
    names = [*corpus.intents, *name_intents(texts[job.n_known :], taken=corpus.intents)]
    return [
        Intent(
            names[c],
            c < job.n_known,
            len(texts[c]),
            tuple(texts[c][i] for i in central[c]),
            words[c],
            tuple(texts[c][i] for i in border[c]),
        )
        for c in range(len(weight))
    ]
