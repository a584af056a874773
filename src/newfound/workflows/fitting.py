"""What discovery, updates and refits share: the effort, the language model, and a fit whose checkpoints survive."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from newfound import defaults
from newfound.data.corpus import Corpus
from newfound.defaults import LogsHold
from newfound.errors import Interrupted, SettingsError
from newfound.files import check_replaceable
from newfound.llm.settings import LanguageModelSettings
from newfound.training.devices import pick_device
from newfound.workflows.runtime import Runtime
from newfound.workflows.sources import check_seed

if TYPE_CHECKING:
    from newfound.intents.naming import Namer
    from newfound.llm.asking import LanguageModel
    from newfound.methods.base import Discoverer
    from newfound.model.classifier import IntentModel
    from newfound.preparation import Preparation
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


def prepare(
    out: str | Path | None, *, overwrite: bool, effort: str, tune: str, seed: int, n_new: int | Literal["auto"] = "auto"
) -> Path | None:
    """Return the folder to write; refuse what no method and no encoder can work with.

    That is done before torch is loaded. What depends on the method, the encoder or the data is checked by the fit.
    """
    if out is not None:
        if not isinstance(out, str | Path):
            raise SettingsError("`out` must be a folder; texts and labels are a pair: discover((texts, labels), logs)")
        check_replaceable(Path(out), overwrite)
    if effort not in EFFORTS:
        raise SettingsError(f"effort={effort!r} is not one of {', '.join(EFFORTS)}")
    if not isinstance(tune, str) or not TUNE.fullmatch(tune):
        raise SettingsError(f"tune={tune!r} is not one of heads, last, last:K, upper, layers, all, auto")
    check_seed(seed)
    if n_new != "auto" and (type(n_new) is not int or n_new < 1):
        raise SettingsError(f"n_new={n_new!r} must be a whole number from 1, or 'auto'")
    return None if out is None else Path(out)


def settings_of_effort(
    method: type[Discoverer],
    corpus: Corpus,
    runtime: Runtime,
    *,
    effort: str = defaults.EFFORT,
    tune: str = defaults.TUNE,
    logs_hold: LogsHold | None = None,
) -> dict[str, Any]:
    """Return the settings that an effort stands for; each method says what an effort means for it.

    "auto" is what the method itself does by default with these labels. A `tune` that is not "auto" holds with every
    effort.
    """
    if effort != "auto" and effort not in method.EFFORTS:
        raise SettingsError(f"effort={effort!r} is not one of auto, {', '.join(method.EFFORTS)}")
    logs = logs_hold or defaults.LOGS_HOLD
    if effort == "auto" and tune == "auto":
        tune = method.auto_tune(corpus, pick_device(runtime.device), logs)
        runtime.reporter.note(DEFAULT_EFFORT_NOTES[tune])
        return {"tune": tune}
    settings = dict(method.settings_of_effort("standard" if effort == "auto" else effort, logs))
    return settings if tune == "auto" else {**settings, "tune": tune}


def language_model(
    settings: LanguageModelSettings | None, runtime: Runtime
) -> AbstractContextManager[LanguageModel | None]:
    """Open a language model, whose problems are reported; None if there are no settings.

    Wrong settings are refused here, before anything takes long. Nothing is sent before a question is asked.
    """
    if settings is None:
        return nullcontext()
    from newfound.llm.asking import LanguageModel

    return LanguageModel(settings, warn=runtime.reporter.warn)


def fit(
    method: Discoverer,
    corpus: Corpus,
    run: Run,
    *,
    preparation: Preparation | None = None,
) -> None:
    """Fit; checkpoints stay until the caller has saved the model and calls `run.finish()`.

    The model will prepare messages as the corpus was prepared.
    """
    try:
        with resumable(run):
            method.fit(corpus, run=run)
        if preparation is not None:
            method.model_.provenance["preparation"] = preparation.as_dict()
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


def name_intents(
    model: IntentModel, llm: LanguageModel | None, runtime: Runtime, namer: Namer | None = None
) -> IntentModel:
    """Return a fitted model with names from a namer, or else from a language model, if one may be asked.

    If torch encoded although ONNX Runtime is installed, it is reported why.
    """
    if model.encoder.graph_problem is not None:
        runtime.reporter.note(model.encoder.graph_problem)
    if llm is None and namer is None:
        return model
    from newfound.intents.asked_names import ask_for_names
    from newfound.intents.naming import facts_of_new, renamed

    facts = facts_of_new(model.intents, model.similar_intents(SIMILAR_INTENTS_PER_PROMPT))
    if namer is None and llm is not None:
        namer = ask_for_names(facts, llm)
    assert namer is not None
    return model.with_names(renamed(model.intents, facts, namer, warn=runtime.reporter.warn))
