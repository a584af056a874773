"""What discovery, updates and refits share: the effort, the language model, and a fit whose checkpoints survive."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from newfound import defaults
from newfound.data.corpus import Corpus
from newfound.errors import Interrupted, SettingsError
from newfound.files import check_replaceable
from newfound.llm.settings import LanguageModelSettings
from newfound.methods.settings import Seed
from newfound.training.devices import pick_device
from newfound.training.progress import Reporter
from newfound.workflows.runtime import Runtime

if TYPE_CHECKING:
    from newfound.llm.asking import LanguageModel
    from newfound.methods.base import Discoverer
    from newfound.model.classifier import IntentModel
    from newfound.training.run import Run

EFFORTS = ("auto", "quick", "standard", "best")
TUNE = re.compile(r"auto|heads|last(:[1-9]\d*)?|upper|layers|all")
SIMILAR_INTENTS_PER_PROMPT = 3  # whose names and examples a language model is shown

DEFAULT_EFFORT_NOTES = {  # docs/recipe.md says when which is chosen, and how long it takes
    "heads": "The encoder is not fine-tuned: too few labels, or too many texts.",
    "last": "The last layer of the encoder is trained, since there is a GPU.",
    "layers": "All layers of the encoder are fine-tuned first, since there is a GPU.",
    "upper": "The upper half of the encoder is fine-tuned first; effort quick leaves it out.",
}


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """How a model is trained and written: what `discover`, `update` and `refit` have in common.

    Attributes:
        effort: quick, standard, best, or auto by device.
        tune: What trains: heads, last, last:K, upper, layers, all; auto leaves it to the effort.
        device: auto, cpu or cuda.
        seed: Same seed, same device: the same result.
        overwrite: Replace an earlier model at `out`.
    """

    effort: str = defaults.EFFORT
    tune: str = defaults.TUNE
    device: str = defaults.DEVICE
    seed: Seed = defaults.SEED
    overwrite: bool = False


def prepare(request: TrainingOptions, out: str | Path | None, reporter: Reporter | None) -> tuple[Path | None, Runtime]:
    """Return the folder to write and what is computed with; refuse what no method and no encoder can work with.

    That is done before torch is loaded. What depends on the method, the encoder or the data is checked by the fit.
    """
    if out is not None:
        if not isinstance(out, str | Path):
            raise SettingsError("`out` must be a folder; texts and labels are a pair: discover((texts, labels), logs)")
        out = Path(out)
        check_replaceable(out, request.overwrite)
    effort, tune, seed, n_new = request.effort, request.tune, request.seed, getattr(request, "n_new", "auto")
    if effort not in EFFORTS:
        raise SettingsError(f"effort={effort!r} is not one of {', '.join(EFFORTS)}")
    if not isinstance(tune, str) or not TUNE.fullmatch(tune):
        raise SettingsError(f"tune={tune!r} is not one of heads, last, last:K, upper, layers, all, auto")
    if type(seed) is not int or not 0 <= seed <= defaults.MAX_SEED:
        raise SettingsError(f"seed={seed!r} must be a whole number from 0 to {defaults.MAX_SEED}")
    if n_new != "auto" and (type(n_new) is not int or n_new < 1):
        raise SettingsError(f"n_new={n_new!r} must be a whole number from 1, or 'auto'")
    return out, Runtime.of(request, reporter)


def settings_of_effort(
    method: type[Discoverer], request: TrainingOptions, runtime: Runtime, corpus: Corpus
) -> dict[str, Any]:
    """Return the settings that an effort stands for; each method says what an effort means for it.

    "auto" is what the method itself does by default with these labels. A `tune` that is not "auto" holds with every
    effort.
    """
    effort, tune = request.effort, request.tune
    if effort != "auto" and effort not in method.EFFORTS:
        raise SettingsError(f"effort={effort!r} is not one of auto, {', '.join(method.EFFORTS)}")
    if effort == "auto" and tune == "auto":
        logs = getattr(request, "logs_hold", None) or defaults.LOGS_HOLD
        tune = method.auto_tune(corpus, pick_device(runtime.device), logs)
        runtime.reporter.note(DEFAULT_EFFORT_NOTES[tune])
        return {"tune": tune}
    settings = dict(method.EFFORTS["standard" if effort == "auto" else effort])
    return settings if tune == "auto" else {**settings, "tune": tune}


@contextmanager
def language_model(settings: LanguageModelSettings | None, runtime: Runtime) -> Iterator[LanguageModel | None]:
    """Open a language model, whose problems are reported; None if there are no settings.

    Wrong settings are refused here, before anything takes long. Nothing is sent before a question is asked.
    """
    if settings is None:
        yield None
        return
    settings.check()
    from newfound.llm.asking import LanguageModel

    with LanguageModel(settings, warn=runtime.reporter.warn) as llm:
        yield llm


def fit(method: Discoverer, corpus: Corpus, run: Run, *, llm: LanguageModel | None = None) -> None:
    """Fit; checkpoints stay until the caller has saved the model and calls `run.finish()`.

    A method that asks questions may ask the language model about doubtful utterances.
    """
    asked: dict[str, Any] = {}
    if llm is not None and method.ASKS_QUESTIONS:
        from newfound.questions.language_model import ModelAnnotator, ModelLabeller

        asked = {"annotator": ModelAnnotator(llm), "labeller": ModelLabeller(llm)}
    try:
        with resumable(run):
            method.fit(corpus, run=run, **asked)
    finally:
        if not run.has_checkpoint:
            run.finish()


@contextmanager
def resumable(run: Run) -> Iterator[None]:
    """Turn Ctrl-C into an error that says what can be resumed."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(run.folder if run.has_checkpoint else None) from None


def name_intents(model: IntentModel, llm: LanguageModel | None, runtime: Runtime) -> IntentModel:
    """Return a fitted model with names from a language model, if one may be asked.

    If torch encoded although ONNX Runtime is installed, it is reported why.
    """
    if model.encoder.graph_problem is not None:
        runtime.reporter.note(model.encoder.graph_problem)
    if llm is None:
        return model
    from newfound.intents.asked_names import ask_for_names

    neighbours = model.similar_intents(SIMILAR_INTENTS_PER_PROMPT)
    return model.with_names(ask_for_names(model.intents, llm, neighbours=neighbours))
