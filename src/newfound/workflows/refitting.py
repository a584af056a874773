"""Train on from a review's decisions, into another model; the one that was reviewed stays as it is."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from newfound.model.types import KnownCheck
from newfound.training.progress import Reporter
from newfound.workflows.discovery import OfModel
from newfound.workflows.fitting import TrainingOptions, fit, prepare, settings_of_effort
from newfound.workflows.runtime import ModelSource, Runtime, as_reviewed
from newfound.workflows.updating import save_trained, with_ids

if TYPE_CHECKING:
    from newfound.data.corpus import Corpus
    from newfound.encoders.encoder import Encoder
    from newfound.methods.refit import Refit
    from newfound.model.classifier import IntentModel
    from newfound.review.reviewed import ReviewedModel

COMPARING, WRITING = "comparing", "writing"
MAX_EXAMPLES_OF_MOVES = 20


@dataclass(frozen=True, slots=True)
class RefitRequest(TrainingOptions):
    """Which model to train on from; `TrainingOptions` has how.

    Attributes:
        model: A model folder with review decisions, or a loaded model.
        out: The model folder to write; None writes nothing.
        encoder: Where the model's encoder lies, if it cannot be found.
        recluster: Cluster the logs again under the decisions, so that utterances follow those that a person moved;
            otherwise only what a person decided changes.
    """

    model: ModelSource
    out: str | Path | None = None
    _: KW_ONLY
    encoder: str | Encoder | None = None
    recluster: bool = True


@dataclass(frozen=True, slots=True)
class MovedUtterance:
    """An utterance whose intent differs between two models; None is no intent."""

    text: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class RefitChanges:
    """What a refit changed, compared with the reviewed model.

    Attributes:
        intents_before: The number of intents of the reviewed model.
        intents_after: The number of intents of the trained one.
        now_known: The accepted intents, which are known to the trained model.
        gone: Intents that no utterance was left for.
        expected_error_before: The expected share of the logs whose intent is wrong.
        expected_error_after: The same of the trained model.
        utterances: The number of utterances that were compared.
        moved: The number of them whose intent differs.
        examples: Some of these.
        reclustered: The number of utterances that followed those that a person moved, before the training.
        answers: The number of utterances that a person assigned in the review and that are labels now.
        known_check: How well known intents are classified, on held-out labels; None with few labels.
    """

    intents_before: int
    intents_after: int
    now_known: tuple[str, ...]
    gone: tuple[str, ...]
    expected_error_before: float
    expected_error_after: float
    utterances: int
    moved: int
    examples: tuple[MovedUtterance, ...]
    reclustered: int = 0
    answers: int = 0
    known_check: KnownCheck | None = None


@dataclass(frozen=True)
class RefitResult(OfModel):
    """The trained model, where it was written (None if it was not), and what changed.

    What was rejected is rejected in the model, too.
    """

    model: IntentModel
    folder: Path | None
    changes: RefitChanges


def refit(request: RefitRequest, *, reporter: Reporter | None = None) -> RefitResult:
    """Train a classifier on the reviewed intents; known and accepted ones are known to it, the others stay new.

    Utterances from the logs stay what they are: they keep their source and their count, and only what a person
    labelled or assigned counts as labelled.

    Args:
        request: Which model to train on from.
        reporter: Is told the progress; by default nobody is.
    """
    out, runtime = prepare(request, request.out, reporter)
    from newfound.review.carrying import Carried
    from newfound.review.history import History
    from newfound.review.questions import recluster
    from newfound.training.run import Run

    reviewed, history = runtime.open_model(request.model), History.of(request.model, "refit")
    carried = Carried.of(reviewed)
    corpus, followed = recluster(reviewed, carried.corpus) if request.recluster else (carried.corpus, 0)
    method = _method(request, runtime, reviewed, corpus)
    run = Run(reporter=runtime.reporter)
    fit(method, corpus, run)
    model = method.model_.with_known(reviewed.review.known | reviewed.review.accepted, reviewed.accepted)
    model = with_ids(model, reviewed)
    trained = carried.apply(model)
    with runtime.reporter.task(COMPARING, 1) as task:
        changes = replace(compare(reviewed, trained), reclustered=followed)
        task.advance()
    if out is not None:
        with runtime.reporter.task(WRITING, 1) as task:
            save_trained(model, out, request, history, carried)
            task.advance()
    return RefitResult(trained, out, changes)


def _method(request: RefitRequest, runtime: Runtime, reviewed: ReviewedModel, corpus: Corpus) -> Refit:
    """Return what trains on from a model: a fine-tuned one goes on from its own encoder."""
    from newfound.methods.refit import Refit

    tune = reviewed.model.embedder.tune
    if tune.layers and (request.effort, request.tune) == ("auto", "auto"):
        request = replace(request, tune=tune.text)
    settings = settings_of_effort(Refit, request, runtime, corpus)
    encoder = replace(runtime, encoder=reviewed.model.encoder).encoder_to_fit()
    rows = zip(reviewed.assigned, corpus.labels, corpus.origins, strict=True)
    unlabelled = [u.probability for u, label, origin in rows if label is not None and not origin.labelled]
    expected = sum(unlabelled) / len(unlabelled) if unlabelled else None
    method = Refit(encoder=encoder, device=runtime.device, seed=request.seed, expected_accuracy=expected, **settings)
    is_same = tune.layers > 0 and reviewed.model.encoder.tune(str(settings["tune"])) == tune
    return method.starting_from(reviewed.model.embedder.network) if is_same else method


def compare(before: ReviewedModel, after: IntentModel) -> RefitChanges:
    """Return how a trained model differs from the reviewed model that it was trained from."""
    from newfound.intents.description import expected_error_of

    names = [intent.name for intent in after.intents]
    intents = {u.text: u.intent for u in as_reviewed(after).assigned}
    compared = before.assigned
    moved = [MovedUtterance(u.text, u.intent, intents.get(u.text)) for u in compared if intents.get(u.text) != u.intent]
    return RefitChanges(
        intents_before=len(before.names),
        intents_after=len(names),
        now_known=tuple(sorted(before.review.accepted)),
        gone=tuple(name for name in before.names if name not in names),
        expected_error_before=expected_error_of(before.assigned),
        expected_error_after=expected_error_of(as_reviewed(after).assigned),
        utterances=len(compared),
        moved=len(moved),
        examples=tuple(moved[:MAX_EXAMPLES_OF_MOVES]),
        answers=sum(u.text in before.review.checked for u in compared),
        known_check=KnownCheck.of(after.provenance),
    )
