"""Find the new intents in logs, and make one classifier over known and new."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from newfound import defaults
from newfound.data.corpus import Corpus
from newfound.defaults import LogsHold, NoIntent, Precision
from newfound.errors import Interrupted, SettingsError
from newfound.files import check_replaceable
from newfound.llm.settings import LanguageModelSettings
from newfound.methods.registry import method_entry
from newfound.model.types import Intent
from newfound.training.launch import current_launch
from newfound.training.progress import Reporter
from newfound.workflows.fitting import (
    check_fit_options,
    fit,
    has_few_labels,
    run_beside,
    save_once,
    settings_of_effort,
    tell_engine,
)
from newfound.workflows.language_model import language_model, with_asked_names
from newfound.workflows.runtime import Runtime
from newfound.workflows.sources import (
    NO_KNOWN_INTENTS,
    InputOptions,
    Inputs,
    KnownSource,
    LogSource,
    check_n_new,
    read_inputs,
)

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder
    from newfound.llm.asking import LanguageModel
    from newfound.methods.base import Discoverer
    from newfound.model.classifier import IntentModel
    from newfound.training.run import Run


@dataclass(frozen=True, slots=True)
class DiscoverRequest(InputOptions):
    """What to discover, in what, and how; `InputOptions` has how it is read.

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
        effort: quick, standard, best, or auto by device.
        tune: What trains: heads, last, last:K, layers, all; auto leaves it to the effort.
        device: auto, cpu or cuda.
        llm: A language model that may be asked about doubtful utterances and for names. If None, nobody is asked.
        overwrite: Replace an earlier model at `out`.
        resume: Go on where a stopped run with the same `out` was.
        checkpoint_seconds: Least time between two checkpoints.
        with_encoder: Put the encoder into the model folder too.
        keep_utterances: Keep utterances in the model folder; review, export and update need them. Without them, only
            the intents' names and keywords are kept.
        settings: More settings of the method, by name.
        precision: fp32, or int8: a frozen encoder encodes faster on a CPU, and its vectors differ a little.
    """

    known: KnownSource | None = None
    logs: LogSource | None = None
    out: str | Path | None = None
    method: str = defaults.METHOD
    n_new: int | Literal["auto"] = "auto"
    logs_hold: LogsHold | None = None
    no_intent: NoIntent = defaults.NO_INTENT
    encoder: str | Encoder = defaults.ENCODER
    effort: str = defaults.EFFORT
    tune: str = defaults.TUNE
    device: str = defaults.DEVICE
    llm: LanguageModelSettings | None = None
    overwrite: bool = False
    resume: bool = False
    checkpoint_seconds: float = defaults.CHECKPOINT_SECONDS
    with_encoder: bool = False
    keep_utterances: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)
    precision: Precision = defaults.PRECISION


@dataclass(frozen=True, slots=True)
class DiscoverResult:
    """What was discovered.

    Attributes:
        model: The classifier over known and new intents.
        folder: Where it was written; None if it was not.
        n_new: How many new intents were found.
        logs: The logs as they were learned from: without repeats, each with its count.
    """

    model: IntentModel
    folder: Path | None
    n_new: int
    logs: Corpus

    @property
    def intents(self) -> tuple[Intent, ...]:
        return self.model.intents


def discover(request: DiscoverRequest, *, reporter: Reporter | None = None) -> DiscoverResult:
    """Discover the new intents and fit one classifier; write it as a folder if the request names one.

    Of several processes that were started together (docs/howto/several-gpus.md), all call this. The main one reports
    and writes, and the others return when the folder is written.

    Args:
        request: What to discover, in what, and how.
        reporter: Is told the progress; by default nobody is.
    """
    if request.out is not None and not isinstance(request.out, str | Path):
        raise SettingsError("`out` must be a folder; texts and labels are one pair: discover((texts, labels), logs)")
    out = None if request.out is None else Path(request.out)
    if out is not None:
        check_replaceable(out, request.overwrite)
    _check(request)
    runtime = Runtime.of(request, reporter)
    with language_model(request.llm, runtime.reporter) as llm:
        conflicts_file = (
            None if out is None or not current_launch().is_main else out.with_name(out.name + ".conflicts.csv")
        )
        inputs = read_inputs(request.known, request.logs, request, runtime.reporter, conflicts_file=conflicts_file)
        if not len(inputs.known):
            runtime.reporter.note(NO_KNOWN_INTENTS)
        check_n_new(request.n_new, inputs.logs, runtime.reporter)
        settings = _settings(request, runtime, few_labels=has_few_labels(inputs.known))
        encoder = runtime.encoder_to_fit(str(settings.get("tune", "auto")))
        method = method_entry(request.method).load()(encoder=encoder, **settings)
        return _fit(request, method, inputs, out, llm, runtime.reporter)


def _check(request: DiscoverRequest) -> None:
    """Refuse settings that do not fit together, before anything is read."""
    entry = method_entry(request.method)
    if request.logs_hold == "mixed" and not entry.takes_mixed_logs:
        raise SettingsError(f"the method {request.method} takes all logs for new; use consensus for mixed logs")
    if request.no_intent != defaults.NO_INTENT and not entry.takes_mixed_logs:
        raise SettingsError(f"the method {request.method} gives every utterance an intent; use consensus instead")
    check_fit_options(request.effort, request.tune, request.device, request.seed, request.n_new)


def _fit(
    request: DiscoverRequest,
    method: Discoverer,
    inputs: Inputs,
    out: Path | None,
    llm: LanguageModel | None,
    reporter: Reporter,
) -> DiscoverResult:
    run = run_beside(
        out,
        reporter,
        resume=request.resume,
        anew=request.overwrite,
        checkpoint_seconds=request.checkpoint_seconds,
    )
    fit(method, inputs.known + inputs.logs, run, llm=llm)
    try:
        model = _name_and_save(request, method, out, run, llm)
    except KeyboardInterrupt:
        raise Interrupted(run.folder if run.has_checkpoint else None) from None
    return DiscoverResult(model, out, sum(not intent.known for intent in model.intents), inputs.logs)


def _name_and_save(
    request: DiscoverRequest, method: Discoverer, out: Path | None, run: Run, llm: LanguageModel | None
) -> IntentModel:
    tell_engine(method.model_, run.reporter)
    model = with_asked_names(method.model_, llm)

    def save() -> None:
        if out is not None:
            model.save(
                out,
                overwrite=request.overwrite,
                with_encoder=request.with_encoder,
                with_utterances=request.keep_utterances,
            )
        run.finish()

    save_once(run, save)
    return model


def _settings(request: DiscoverRequest, runtime: Runtime, *, few_labels: bool) -> dict[str, Any]:
    """Return the settings of the method."""
    entry = method_entry(request.method)
    effort = settings_of_effort(
        entry.load(), request.effort, request.tune, runtime.device, runtime.reporter, few_labels=few_labels
    )
    settings = {**effort, **request.settings}
    if entry.takes_mixed_logs and request.logs_hold is not None:
        settings["logs"] = request.logs_hold
    if entry.takes_mixed_logs:
        settings["no_intent"] = request.no_intent
    return {"n_new": request.n_new, "device": runtime.device, "seed": request.seed, **settings}
