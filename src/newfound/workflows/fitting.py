"""What discovery and updates share: the effort, and a fit whose checkpoints survive an interruption."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from newfound.data.corpus import Corpus
from newfound.errors import Interrupted, SettingsError
from newfound.training.devices import check_device, pick_device
from newfound.training.launch import current_launch
from newfound.training.progress import Reporter

if TYPE_CHECKING:
    from newfound.llm.asking import LanguageModel
    from newfound.methods.base import Discoverer
    from newfound.model.classifier import IntentModel
    from newfound.training.run import Run

EFFORTS = ("auto", "quick", "standard", "best")
TUNE = re.compile(r"auto|heads|last(:[1-9]\d*)?|layers|all")

# Times of BANKING77 (9,003 utterances) with MiniLM, where docs/recipe.md has the measurements.
DEFAULT_EFFORT_NOTES = {
    "quick": (
        "Effort quick, since there is no GPU here: the encoder stays as it is, which takes about half a minute for "
        "10,000 utterances. Effort standard fine-tunes it, which takes ten times as long or more; it found new intents "
        "better on two of three benchmarks, and not on the third (docs/recipe.md)."
    ),
    "standard": (
        "Effort standard, since there is a GPU: the encoder is fine-tuned, which takes about ten seconds for 10,000 "
        "utterances on an H200."
    ),
}


FEW_LABELS_NOTE = (
    "Effort quick, since there are too few labels to fine-tune the encoder on: fewer than two known intents, or fewer "
    "than 8 labels for the typical one."
)
MIN_LABELS_TO_FINE_TUNE = 8  # of the typical known intent; with 5 it lost on half of the corpora of benchmarks/everyday


def has_few_labels(known: Corpus) -> bool:
    """Return whether there are too few labels to fine-tune an encoder on.

    Args:
        known: The labelled utterances.
    """
    labels = Counter(known.labels)
    return len(labels) < 2 or median(labels.values()) < MIN_LABELS_TO_FINE_TUNE


def check_fit_options(effort: str, tune: str, device: str, seed: int, n_new: object = "auto") -> None:
    """Refuse options that no method and no encoder can work with, before torch is loaded.

    What depends on the method, the encoder or the data is checked by the fit.
    """
    if effort not in EFFORTS:
        raise SettingsError(f"effort={effort!r} is not one of {', '.join(EFFORTS)}")
    if not isinstance(tune, str) or not TUNE.fullmatch(tune):
        raise SettingsError(f"tune={tune!r} is not one of heads, last, last:K, layers, all, auto")
    check_device(device)
    if type(seed) is not int or seed < 0:
        raise SettingsError(f"seed={seed!r} must be a whole number from 0")
    if n_new != "auto" and (type(n_new) is not int or n_new < 1):
        raise SettingsError(f"n_new={n_new!r} must be a whole number from 1, or 'auto'")


def tell_engine(model: IntentModel, reporter: Reporter) -> None:
    """Tell why torch encoded although ONNX Runtime is installed, where that is so."""
    if model.encoder.graph_problem is not None:
        reporter.note(model.encoder.graph_problem)


def settings_of_effort(
    method: type[Discoverer], effort: str, tune: str, device: str, reporter: Reporter, *, few_labels: bool = False
) -> dict[str, Any]:
    """Return the settings that an effort stands for; "auto" is the best that the machine does in good time.

    Args:
        method: The method; each says what an effort means for it.
        effort: quick, standard, best or auto.
        tune: What trains, if the caller says so exactly; "auto" leaves it to the effort.
        device: auto, cpu or cuda.
        reporter: Is told what "auto" chose.
        few_labels: Whether there are too few labels to fine-tune on (`has_few_labels`): then "auto" is quick.
    """
    if effort != "auto" and effort not in method.EFFORTS:
        raise SettingsError(f"effort={effort!r} is not one of auto, {', '.join(method.EFFORTS)}")
    if effort == "auto":
        if tune != "auto":
            return {**method.EFFORTS["standard"], "tune": tune}
        effort = "standard" if not few_labels and pick_device(device).type == "cuda" else "quick"
        reporter.note(FEW_LABELS_NOTE if few_labels else DEFAULT_EFFORT_NOTES[effort])
    settings = dict(method.EFFORTS[effort])
    return settings if tune == "auto" else {**settings, "tune": tune}


def run_beside(
    out: Path | None, reporter: Reporter, *, resume: bool = False, anew: bool = False, checkpoint_seconds: float = 5.0
) -> Run:
    """Return the run of a fit; its checkpoints lie beside the model to be, where there is a place for it."""
    from newfound.training.run import Run

    return Run(
        reporter=reporter,
        folder=None if out is None else out.with_name(out.name + ".run"),
        resume=resume,
        anew=anew and not resume,
        seconds_between_checkpoints=checkpoint_seconds,
    )


def save_once(run: Run, save: Callable[[], None]) -> None:
    """Write the result of a fit in the main process; the others return when it is written."""
    if run.processes.is_main:
        save()
    run.processes.wait_for_all()


def fit(method: Discoverer, corpus: Corpus, run: Run, *, llm: LanguageModel | None = None) -> None:
    """Fit; checkpoints stay until the caller has saved the model and calls `run.finish()`.

    Args:
        method: A method that is not fitted yet.
        corpus: Labelled utterances of the known intents, and the logs without labels.
        run: Shows progress and keeps checkpoints.
        llm: A language model that a method which asks questions may ask about doubtful utterances.
    """
    asked: dict[str, Any] = {}
    if llm is not None and method.ASKS_QUESTIONS and current_launch().count > 1:
        run.reporter.note("Several processes do not wait for answers: the language model is asked for names only.")
    elif llm is not None and method.ASKS_QUESTIONS:
        from newfound.questions.language_model import ModelAnnotator, ModelLabeller

        asked = {"annotator": ModelAnnotator(llm), "labeller": ModelLabeller(llm)}
    try:
        method.fit(corpus.texts, corpus.labels, origins=corpus.origins, run=run, **asked)
    except KeyboardInterrupt:
        raise Interrupted(run.folder if run.has_checkpoint else None) from None
    finally:
        if not run.has_checkpoint:
            run.finish()
