"""Train on from a review's decisions, into another model; the one that was reviewed stays as it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from newfound import defaults
from newfound.files import check_replaceable
from newfound.training.progress import Reporter, Silent
from newfound.workflows.fitting import check_fit_options, fit, settings_of_effort, with_cache
from newfound.workflows.models import ModelSource, opened

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder
    from newfound.model.classifier import IntentModel


@dataclass(frozen=True, slots=True)
class RefitRequest:
    """Which model to train on from.

    Attributes:
        model: A model folder with review decisions, or a loaded model.
        out: The model folder to write; None writes nothing.
        encoder: Where the model's encoder lies, if it cannot be found.
        effort: quick, standard, best, or auto by device.
        tune: What trains; auto leaves it to the effort.
        device: auto, cpu or cuda.
        seed: Same seed, same device: the same result.
        overwrite: Replace an earlier model at `out`.
    """

    model: ModelSource
    out: str | Path | None = None
    encoder: str | Encoder | None = None
    effort: str = defaults.EFFORT
    tune: str = defaults.TUNE
    device: str = defaults.DEVICE
    seed: int = defaults.SEED
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class RefitResult:
    """The trained model, and where it was written (None if it was not)."""

    model: IntentModel
    folder: Path | None


def refit(request: RefitRequest, *, reporter: Reporter | None = None) -> RefitResult:
    """Train a classifier on the reviewed intents; known and accepted ones are known to it, the others stay new.

    Utterances from the logs stay what they are: they keep their source and their count, and only what a person
    labelled or assigned counts as labelled.

    Args:
        request: Which model to train on from.
        reporter: Is told the progress; by default nobody is.
    """
    reporter = reporter or Silent()
    out = None if request.out is None else Path(request.out)
    if out is not None:
        check_replaceable(out, request.overwrite)
    check_fit_options(request.effort, request.tune, request.device, request.seed)
    from newfound.methods.refit import Refit
    from newfound.training.run import Run

    reviewed = opened(request.model, request.encoder, request.device)
    method = Refit(
        encoder=with_cache(reviewed.encoder),
        device=request.device,
        seed=request.seed,
        **settings_of_effort(Refit, request.effort, request.tune, request.device, reporter),
    )
    fit(method, reviewed.corpus(), Run(reporter=reporter))
    model = method.model_.with_known(reviewed.review.known | reviewed.review.accepted)
    if out is not None:
        model.save(out, overwrite=request.overwrite)
    return RefitResult(model, out)
