"""Find the new intents in logs, and make one classifier over known and new."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from newfound import defaults
from newfound.data.corpus import Corpus
from newfound.defaults import LogsHold, NoIntent
from newfound.errors import SettingsError
from newfound.llm.settings import LanguageModelSettings
from newfound.methods.registry import method_entry
from newfound.model.types import Intent, KnownCheck
from newfound.training.progress import Reporter
from newfound.workflows.fitting import (
    TrainingOptions,
    fit,
    language_model,
    name_intents,
    prepare,
    resumable,
    settings_of_effort,
)
from newfound.workflows.runtime import Runtime
from newfound.workflows.sources import InputOptions, KnownSource, LogSource, check_n_new, read_inputs

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder
    from newfound.methods.base import Discoverer
    from newfound.model.classifier import IntentModel


@dataclass(frozen=True, slots=True)
class DiscoverRequest(InputOptions, TrainingOptions):
    """What to discover, in what, and how; `InputOptions` and `TrainingOptions` have how it is read and learned.

    Known texts with several labels are listed in a file beside `out`, with the ending `.conflicts.csv`.

    Attributes:
        known: Labelled utterances of the known intents: a file, a corpus, or texts and labels. None if no intent is
            known: then all intents are discovered in the logs.
        logs: Unlabelled utterances: a file, a corpus, or texts. If None, the utterances of `known` without a label.
        out: The model folder to write; None writes nothing.
        method: One of `newfound.methods.registry.METHODS`.
        n_new: How many new intents to look for, or "auto".
        logs_hold: "mixed" if the logs hold known intents too, "novel" if not; None is the method's own default.
        no_intent: Utterances of the logs that are to belong to no intent: "auto", a share of the logs, or "none".
        encoder: A short name, a folder, owner/name on the hub, or a loaded encoder.
        llm: A language model that may be asked about doubtful utterances and for names. If None, nobody is asked.
        resume: Go on where a stopped run with the same `out` was.
        checkpoint_seconds: Least time between two checkpoints.
        with_encoder: Put the encoder into the model folder too.
        keep_utterances: Keep utterances in the model folder; review, export and update need them. Without them, only
            the intents' names and keywords are kept.
        settings: More settings of the method, by name.
    """

    known: KnownSource | None = None
    logs: LogSource | None = None
    out: str | Path | None = None
    method: str = defaults.METHOD
    n_new: int | Literal["auto"] = "auto"
    _: KW_ONLY
    logs_hold: LogsHold | None = None
    no_intent: NoIntent = defaults.NO_INTENT
    encoder: str | Encoder = defaults.ENCODER
    llm: LanguageModelSettings | None = None
    resume: bool = False
    checkpoint_seconds: float = defaults.CHECKPOINT_SECONDS
    with_encoder: bool = False
    keep_utterances: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)


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


def discover(request: DiscoverRequest, *, reporter: Reporter | None = None) -> DiscoverResult:
    """Discover the new intents and fit one classifier; write it as a folder if the request names one.

    Args:
        request: What to discover, in what, and how.
        reporter: Is told the progress; by default nobody is.
    """
    _check_method(request)
    out, runtime = prepare(request, request.out, reporter)
    with language_model(request.llm, runtime) as llm:
        conflicts_file = None if out is None else out.with_name(out.name + ".conflicts.csv")
        known, logs = read_inputs(request.known, request.logs, request, runtime, conflicts_file=conflicts_file)
        check_n_new(request.n_new, logs, runtime)
        method = _method(request, runtime, known + logs)
        from newfound.training.run import Run

        run = Run(
            reporter=runtime.reporter,
            folder=None if out is None else out.with_name(out.name + ".run"),
            resume=request.resume,
            anew=request.overwrite and not request.resume,
            seconds_between_checkpoints=request.checkpoint_seconds,
        )
        fit(method, known + logs, run, llm=llm)
        with resumable(run):
            model = name_intents(method.model_, llm, runtime)
            if out is not None:
                options = {"with_encoder": request.with_encoder, "with_utterances": request.keep_utterances}
                model.save(out, overwrite=request.overwrite, **options)
            run.finish()
    return DiscoverResult(model, out, logs)


def _check_method(request: DiscoverRequest) -> None:
    """Refuse settings that the method does not have, before anything is read."""
    entry = method_entry(request.method)
    if request.logs_hold == "mixed" and not entry.takes_mixed_logs:
        raise SettingsError(f"the method {request.method} takes all logs for new; use consensus for mixed logs")
    if request.no_intent != defaults.NO_INTENT and not entry.takes_mixed_logs:
        raise SettingsError(f"the method {request.method} gives every utterance an intent; use consensus instead")


def _method(request: DiscoverRequest, runtime: Runtime, corpus: Corpus) -> Discoverer:
    entry = method_entry(request.method)
    settings = {**settings_of_effort(entry.load(), request, runtime, corpus), **request.settings}
    if entry.takes_mixed_logs and request.logs_hold is not None:
        settings["logs"] = request.logs_hold
    if entry.takes_mixed_logs:
        settings["no_intent"] = request.no_intent
    settings = {"n_new": request.n_new, "device": runtime.device, "seed": request.seed, **settings}
    return entry.load()(encoder=runtime.encoder_to_fit(), **settings)
