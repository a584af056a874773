"""Find the new intents in logs, and make one classifier over known and new; or only estimate how many there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from newfound import defaults
from newfound.data.corpus import Corpus
from newfound.data.duplicates import distinct
from newfound.data.rows import DEFAULT_READ_OPTIONS, ReadOptions
from newfound.defaults import Conflicts, LogsHold, NoIntent
from newfound.errors import SettingsError
from newfound.llm.settings import LanguageModelSettings
from newfound.methods.registry import method_entry
from newfound.model.types import Intent, KnownCheck
from newfound.training.progress import Reporter, Task
from newfound.workflows.fitting import (
    fit,
    language_model,
    name_intents,
    prepare,
    resumable,
    settings_of_effort,
)
from newfound.workflows.rereading import with_second_look
from newfound.workflows.runtime import Runtime
from newfound.workflows.sources import InputReader, KnownSource, LogSource, check_choice, check_n_new

if TYPE_CHECKING:
    from newfound.algorithms.estimation import Estimate
    from newfound.encoders.encoder import Encoder
    from newfound.intents.naming import Namer
    from newfound.model.classifier import IntentModel


class OfModel:
    """What results of a training say of their model."""

    model: IntentModel

    @property
    def intents(self) -> tuple[Intent, ...]:
        return self.model.intents

    @property
    def n_new(self) -> int:
        """How many intents are not known."""
        return sum(not intent.known for intent in self.intents)

    @property
    def known_check(self) -> KnownCheck | None:
        """How well known intents are classified, on held-out labels; None without known intents or with few labels."""
        return KnownCheck.of(self.model.provenance)


@dataclass(frozen=True)
class DiscoverResult(OfModel):
    """What was discovered.

    Attributes:
        model: The classifier over known and new intents.
        folder: Where it was written; None if it was not.
        logs: The logs as they were learned from: without repeats, each with its count.
    """

    model: IntentModel
    folder: Path | None
    logs: Corpus


def discover(
    known: KnownSource | None = None,
    logs: LogSource | None = None,
    out: str | Path | None = None,
    method: str = defaults.METHOD,
    n_new: int | Literal["auto"] = "auto",
    *,
    logs_hold: LogsHold | None = None,
    no_intent: NoIntent = defaults.NO_INTENT,
    several: bool | None = None,
    encoder: str | Encoder = defaults.ENCODER,
    effort: str = defaults.EFFORT,
    tune: str = defaults.TUNE,
    settings: Mapping[str, Any] | None = None,
    llm: LanguageModelSettings | None = None,
    namer: Namer | None = None,
    device: str = defaults.DEVICE,
    seed: int = defaults.SEED,
    read: ReadOptions = DEFAULT_READ_OPTIONS,
    read_logs: ReadOptions | None = None,
    conflicts: Conflicts = defaults.CONFLICTS,
    redact: bool = False,
    max_logs: int = defaults.MAX_LOGS,
    overwrite: bool = False,
    resume: bool = False,
    checkpoint_seconds: float = defaults.CHECKPOINT_SECONDS,
    with_encoder: bool = False,
    keep_utterances: bool = True,
    reporter: Reporter | None = None,
) -> DiscoverResult:
    """Discover the new intents in logs and fit one classifier over known and new; write it as a folder.

    The parameters that several functions have are described in `newfound.workflows`.

    Args:
        known: Labelled utterances of the known intents: a file, a corpus, or texts and labels. None if no intent is
            known: then all intents are discovered in the logs.
        logs: Unlabelled utterances: a file, a corpus, or texts. If None, the utterances of `known` without a label.
        out: The model folder to write; None writes nothing.
        method: One of `newfound.methods.registry.METHODS`.
        n_new: How many new intents to look for, or "auto".
        logs_hold: "mixed" if the logs hold known intents too, "novel" if not; None is the method's own default.
        no_intent: Utterances of the logs that are to belong to no intent: "auto", a share of the logs, or "none".
        several: Divide messages of the logs that state several wishes, and learn from their parts; None does so if
            many of them state several known intents.
        encoder: A short name, a folder, owner/name on the hub, or a loaded encoder.
        settings: More settings of the method, by name.
        resume: Go on where a stopped run with the same `out` was.
        checkpoint_seconds: Least time between two checkpoints.
        with_encoder: Put the encoder into the model folder too.
        keep_utterances: Keep utterances in the model folder; review, export and update need them. Without them, only
            the intents' names and keywords are kept.
    """
    entry = method_entry(method)
    if logs_hold == "mixed" and not entry.takes_mixed_logs:
        raise SettingsError(f"the method {method} takes all logs for new; use consensus for mixed logs")
    if no_intent != defaults.NO_INTENT and not entry.takes_mixed_logs:
        raise SettingsError(f"the method {method} gives every utterance an intent; use consensus instead")
    folder = prepare(out, overwrite=overwrite, effort=effort, tune=tune, seed=seed, n_new=n_new)
    runtime = Runtime.of(reporter, encoder, device)
    inputs = InputReader(
        runtime=runtime,
        read=read,
        read_logs=read_logs,
        conflicts=conflicts,
        redact=redact,
        max_logs=max_logs,
        seed=seed,
    )
    with language_model(llm, runtime) as asked:
        labelled, unlabelled, preparation = inputs.known_and_logs(known, logs)
        check_n_new(n_new, unlabelled)
        from newfound.training.run import Run

        run = Run(
            reporter=runtime.reporter,
            folder=None if folder is None else folder.with_name(folder.name + ".run"),
            resume=resume,
            anew=overwrite and not resume,
            seconds_between_checkpoints=checkpoint_seconds,
        )
        run.check_folder()
        first_look = partial(_first_look, runtime=runtime, n_new=n_new, logs_hold=logs_hold, seed=seed)
        corpus = with_second_look(
            labelled + unlabelled, preparation, first_look, several=several, reporter=runtime.reporter
        )
        unlabelled = distinct(corpus.unlabelled())
        corpus, discoverer = corpus.labelled() + unlabelled, entry.load()
        chosen = settings_of_effort(discoverer, corpus, runtime, effort=effort, tune=tune, logs_hold=logs_hold)
        chosen = {"n_new": n_new, "device": runtime.device, "seed": seed, **chosen, **(settings or {})}
        if entry.takes_mixed_logs:
            chosen |= {"no_intent": no_intent} if logs_hold is None else {"no_intent": no_intent, "logs": logs_hold}
        fitted = discoverer(encoder=runtime.encoder_to_fit(), **chosen)
        fit(fitted, corpus, run, preparation=preparation)
        with resumable(run):
            model = name_intents(fitted.model_, asked, runtime, namer)
            if folder is not None:
                model.save(folder, overwrite=overwrite, with_encoder=with_encoder, with_utterances=keep_utterances)
            run.finish()
    return DiscoverResult(model, folder, unlabelled)


def _first_look(
    corpus: Corpus, *, runtime: Runtime, n_new: int | Literal["auto"], logs_hold: LogsHold | None, seed: int
) -> IntentModel:
    """Return what the default method finds without any fine-tuning; without logs, a classifier of the labels."""
    from newfound.methods.consensus import Consensus
    from newfound.methods.refit import Refit
    from newfound.training.run import Run

    chosen: dict[str, Any] = {"encoder": runtime.encoder_to_fit(), "tune": "heads", "device": runtime.device}
    hold = logs_hold or defaults.LOGS_HOLD
    method = Consensus(n_new=n_new, logs=hold, seed=seed, **chosen) if None in corpus.labels else Refit(**chosen)
    fit(method, corpus, Run(reporter=_ProgressOnly(runtime.reporter)))
    return method.model_


@dataclass(frozen=True)
class _ProgressOnly(Reporter):
    """Shows what is under way; what is noted of a first look is said of the second, too."""

    shown: Reporter

    @contextmanager
    def task(self, title: str, total: int) -> Iterator[Task]:
        with self.shown.task(f"first look: {title}", total) as task:
            yield task


def estimate(
    known: KnownSource | None = None,
    logs: LogSource | None = None,
    *,
    logs_hold: LogsHold = defaults.LOGS_HOLD,
    encoder: str | Encoder = defaults.ENCODER,
    seed: int = defaults.SEED,
    read: ReadOptions = DEFAULT_READ_OPTIONS,
    read_logs: ReadOptions | None = None,
    conflicts: Conflicts = defaults.CONFLICTS,
    redact: bool = False,
    max_logs: int = defaults.MAX_LOGS,
    reporter: Reporter | None = None,
) -> Estimate:
    """Estimate the number of new intents.

    What is not listed is as in `discover`, the rest in `newfound.workflows`.

    Args:
        logs_hold: "mixed" if the logs hold known intents too, "novel" if not.
    """
    check_choice("logs_hold", logs_hold, LogsHold)
    runtime = Runtime.of(reporter, encoder)
    choices: dict[str, Any] = {"conflicts": conflicts, "redact": redact, "max_logs": max_logs, "seed": seed}
    inputs = InputReader(runtime=runtime, read=read, read_logs=read_logs, **choices)
    labelled, unlabelled, _ = inputs.known_and_logs(known, logs)
    from newfound.encoders.languages import text_warnings
    from newfound.methods.estimation import estimate_for

    loaded = runtime.load_encoder()
    for warning in text_warnings(loaded, labelled.texts, unlabelled.texts):
        runtime.reporter.warn(warning)
    return estimate_for(labelled + unlabelled, loaded, logs_hold=logs_hold, seed=seed)
