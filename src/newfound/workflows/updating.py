"""Train on from a reviewed model, into another one: with newer logs (update), or on the decisions alone (refit).

Nothing is forgotten because nothing is thrown away: the training utterances lie in the model's folder, and every round
trains on all of them. The model that was reviewed stays as it is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from newfound import defaults
from newfound.data.corpus import Corpus
from newfound.data.duplicates import add_counts, distinct
from newfound.data.rows import DEFAULT_READ_OPTIONS, ReadOptions
from newfound.defaults import NoIntent
from newfound.errors import DecisionError
from newfound.files import GROUPS_FILE, HISTORY_FILE
from newfound.llm.settings import LanguageModelSettings
from newfound.model.about import Description
from newfound.model.hub import model_folder
from newfound.model.sidecars import groups_as_json, promised_precision, read_groups
from newfound.model.types import KnownCheck, unused_id
from newfound.preparation import Preparation
from newfound.review.state import discovered_intents, named_by_people
from newfound.review.store import ReviewStore
from newfound.training.progress import Reporter
from newfound.workflows.discovery import DiscoverResult, OfModel
from newfound.workflows.fitting import fit, language_model, name_intents, prepare, settings_of_effort
from newfound.workflows.rereading import reread
from newfound.workflows.runtime import ModelSource, Runtime, as_reviewed
from newfound.workflows.sources import InputReader, LogSource, check_n_new

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder
    from newfound.intents.naming import Namer
    from newfound.methods.refit import Refit
    from newfound.model.classifier import IntentModel
    from newfound.review.carrying import Carried
    from newfound.review.reviewed import ReviewedModel
    from newfound.review.store import History

MAX_EXAMPLES_OF_MOVES = 20


@dataclass(frozen=True, slots=True)
class UpdateChanges:
    """What an update changed, compared with the reviewed model.

    Attributes:
        new: The intents that the earlier model did not have.
        found_again: Intents that nobody has accepted yet, and that both models have.
        lost: Intents that nobody has accepted, and that were not found again.
        answers: The number of utterances that a person has assigned; they stay where they were put.
        expected_error_before: The expected share of the logs whose intent is wrong.
        expected_error_after: The same of the later model.
    """

    new: tuple[str, ...]
    found_again: tuple[str, ...]
    lost: tuple[str, ...]
    answers: int
    expected_error_before: float
    expected_error_after: float


@dataclass(frozen=True)
class UpdateResult(DiscoverResult):
    """What was discovered in newer logs, and what changed. What was rejected is rejected in the model, too."""

    changes: UpdateChanges


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


def update(
    model: ModelSource,
    logs: LogSource,
    out: str | Path | None = None,
    *,
    n_new: int | Literal["auto"] = "auto",
    no_intent: NoIntent = defaults.NO_INTENT,
    several: bool | None = None,
    accept_all: bool = False,
    encoder: str | Encoder | None = None,
    effort: str = defaults.EFFORT,
    tune: str = defaults.TUNE,
    llm: LanguageModelSettings | None = None,
    namer: Namer | None = None,
    device: str = defaults.DEVICE,
    seed: int = defaults.SEED,
    read: ReadOptions = DEFAULT_READ_OPTIONS,
    redact: bool = False,
    max_logs: int = defaults.MAX_LOGS,
    overwrite: bool = False,
    reporter: Reporter | None = None,
) -> UpdateResult:
    """Discover in newer logs and in what is undecided. What a person has decided stays as it is.

    Known and accepted intents are known. An intent that a person has named, merged, split or put utterances into keeps
    its utterances and stays new until it is accepted. Rejected ones stay rejected.

    `n_new`, `no_intent` and `several` are as in `discover`, the other parameters in `newfound.workflows`.

    Args:
        model: A model folder whose intents were reviewed, or a loaded model.
        logs: Newer unlabelled utterances: a file, a corpus, or texts.
        out: The model folder to write; None writes nothing.
        accept_all: Take all intents of the model for known, reviewed or not.
    """
    folder = prepare(out, overwrite=overwrite, effort=effort, tune=tune, seed=seed, n_new=n_new)
    runtime = Runtime.of(reporter, encoder, device)
    with language_model(llm, runtime) as asked:
        fixed = _fixed_intents(model, accept_all=accept_all)  # before logs are read
        inputs = InputReader(runtime=runtime, read=read, redact=redact, max_logs=max_logs, seed=seed)
        newer = inputs.logs(logs, _preparation_of(model))
        from newfound.methods.consensus import Consensus
        from newfound.training.run import Run

        earlier = _Earlier.open(model, "update", replace(runtime, device="cpu"))  # it classifies nothing
        reviewed, carried = earlier.reviewed, earlier.carried
        # What the model found to be of no intent may become one together with newer logs.
        undecided = set(carried.corpus.labels) - fixed - set(carried.rejected)
        counted, fresh = add_counts(carried.corpus.hiding(undecided), newer)
        corpus = counted + distinct(reread(fresh, reviewed.model, several=several, reporter=runtime.reporter))
        check_n_new(n_new, corpus.unlabelled())
        runtime = replace(runtime, encoder=reviewed.model.encoder)
        settings = settings_of_effort(Consensus, corpus, runtime, effort=effort, tune=tune)
        method = Consensus(
            encoder=runtime.encoder_to_fit(),
            n_new=n_new,
            no_intent=no_intent,
            device=runtime.device,
            seed=seed,
            **settings,
        )
        preparation = reviewed.model.preparation
        fit(method, corpus, Run(reporter=runtime.reporter), preparation=preparation)
        known = set(reviewed.names) if accept_all else reviewed.review.known | reviewed.review.accepted
        fitted = name_intents(method.model_, asked, runtime, namer)
        fitted = earlier.continued_by(fitted, known)
        trained = carried.apply(fitted)
        changes = _changes_of_update(reviewed, trained, known)
        if folder is not None:
            earlier.write(fitted, folder, runtime, overwrite=overwrite)
    return UpdateResult(trained, folder, newer, changes)


def refit(
    model: ModelSource,
    out: str | Path | None = None,
    *,
    recluster: bool = True,
    encoder: str | Encoder | None = None,
    effort: str = defaults.EFFORT,
    tune: str = defaults.TUNE,
    device: str = defaults.DEVICE,
    seed: int = defaults.SEED,
    overwrite: bool = False,
    reporter: Reporter | None = None,
) -> RefitResult:
    """Train a classifier on the reviewed intents; known and accepted ones are known to it, the others stay new.

    Utterances from the logs stay what they are: they keep their source and their count, and only what a person
    labelled or assigned counts as labelled.

    The parameters that several functions have are described in `newfound.workflows`.

    Args:
        model: A model folder with review decisions, or a loaded model.
        out: The model folder to write; None writes nothing.
        recluster: Cluster the logs again under the decisions, so that utterances follow those that a person moved;
            otherwise only what a person decided changes.
    """
    folder = prepare(out, overwrite=overwrite, effort=effort, tune=tune, seed=seed)
    runtime = Runtime.of(reporter, encoder, device)
    from newfound.review.questions import recluster as recluster_logs
    from newfound.training.run import Run

    earlier = _Earlier.open(model, "refit", runtime)
    reviewed, corpus, followed = earlier.reviewed, earlier.carried.corpus, 0
    if recluster:
        corpus, followed = recluster_logs(reviewed, corpus)
    method = _refit_method(reviewed, corpus, runtime, effort=effort, tune=tune, seed=seed)
    fit(method, corpus, Run(reporter=runtime.reporter), preparation=reviewed.model.preparation)
    known = reviewed.review.known | reviewed.review.accepted
    fitted = earlier.continued_by(method.model_, known)
    trained = earlier.carried.apply(fitted)
    with runtime.reporter.task("comparing", 1) as task:
        changes = replace(changes_of_refit(reviewed, trained), reclustered=followed)
        task.advance()
    if folder is not None:
        earlier.write(fitted, folder, runtime, overwrite=overwrite)
    return RefitResult(trained, folder, changes)


def _refit_method(
    reviewed: ReviewedModel, corpus: Corpus, runtime: Runtime, *, effort: str, tune: str, seed: int
) -> Refit:
    """Return what trains on from a model: a fine-tuned one goes on from its own encoder."""
    from newfound.methods.refit import Refit

    earlier = reviewed.model.embedder.tune
    if earlier.layers and (effort, tune) == ("auto", "auto"):
        tune = earlier.text
    settings = settings_of_effort(Refit, corpus, runtime, effort=effort, tune=tune)
    encoder = replace(runtime, encoder=reviewed.model.encoder).encoder_to_fit()
    rows = zip(reviewed.assigned, corpus.labels, corpus.origins, strict=False)  # parts of divided ones come last
    unlabelled = [u.probability for u, label, origin in rows if label is not None and not origin.labelled]
    expected = sum(unlabelled) / len(unlabelled) if unlabelled else None
    method = Refit(encoder=encoder, device=runtime.device, seed=seed, expected_accuracy=expected, **settings)
    is_same = earlier.layers > 0 and reviewed.model.encoder.tune(str(settings["tune"])) == earlier
    return method.starting_from(reviewed.model.embedder.network) if is_same else method


class _Earlier(NamedTuple):
    """The reviewed model that a training begins with, and what of it the trained one keeps."""

    source: ModelSource
    reviewed: ReviewedModel
    carried: Carried
    history: History

    @classmethod
    def open(cls, source: ModelSource, kind: Literal["update", "refit"], runtime: Runtime) -> _Earlier:
        from newfound.review.carrying import Carried
        from newfound.review.store import history_of

        reviewed = runtime.open_model(source)
        return cls(source, reviewed, Carried.of(reviewed), history_of(source, kind))

    def continued_by(self, fitted: IntentModel, known: set[str]) -> IntentModel:
        """Return a fitted model with the ids and statuses of the earlier one."""
        discovered = discovered_intents(self.reviewed.review, self.reviewed.model.intents)
        return _with_ids(fitted.with_known(known, discovered & known), self.reviewed)

    def write(self, fitted: IntentModel, out: Path, runtime: Runtime, *, overwrite: bool) -> None:
        """Write a fitted model with what people decided before and put beside the earlier one.

        Thresholds keep their promise, for which they are computed again: other probabilities need other thresholds.
        """
        from newfound.model.folder import save
        from newfound.review.store import history_as_json
        from newfound.workflows.auditing import thresholds

        beside = {HISTORY_FILE: history_as_json(self.history)}
        folder = model_folder(self.source) if isinstance(self.source, str | Path) else None
        beside |= self.carried.files(self.history[-1].entries if folder else ())
        ids = {intent.id for intent in fitted.intents}
        if folder and (kept := {id: names for id, names in read_groups(folder).items() if id in ids}):
            beside[GROUPS_FILE] = groups_as_json(kept)
        precision = promised_precision(folder) if folder else None
        with runtime.reporter.task("writing", 1) as task:
            save(fitted, out, overwrite=overwrite, beside=beside)
            if precision is not None:
                thresholds(out, precision, encoder=fitted.encoder)
            task.advance()


def _with_ids(model: IntentModel, earlier: ReviewedModel) -> IntentModel:
    """Return the model in which intents that continue earlier ones have their ids, by utterances and not by names."""
    from newfound.algorithms.rounds import carried_ids, compare_rounds

    before = {u.text: u.intent for u in earlier.assigned}
    after = {u.text: u.intent for u in model.utterances}
    sizes = Counter(name for name in (*before.values(), *after.values()) if name is not None)
    carried = carried_ids(compare_rounds(before, after), earlier.ids, sizes)
    carried |= {intent.name: earlier.ids[intent.name] for intent in model.intents if intent.name in earlier.ids}
    ids: dict[str, str] = {}
    for intent in sorted(model.intents, key=lambda intent: intent.name not in earlier.ids):
        ids[intent.name] = unused_id(carried.get(intent.name, intent.id), ids.values())
    return model.with_intents([replace(intent, id=ids[intent.name]) for intent in model.intents])


def _fixed_intents(model: ModelSource, *, accept_all: bool) -> set[str]:
    """Return the intents that the next round takes as they are: those that a person has decided about.

    Of a model folder, only the description and the review are read.
    """
    if isinstance(model, str | Path):
        store = ReviewStore(model)
        review, names_before = store.review(), set(store.names)
    else:
        reviewed = as_reviewed(model)
        review, names_before = reviewed.review, set(reviewed.model.names)
    named = named_by_people(review, names_before)
    if not accept_all and not review.accepted | (named - review.known) and len(review.known) < len(review.names):
        raise DecisionError("no new intent was accepted yet", "accept_some", "accept_all")
    return set(review.names) if accept_all else review.known | review.accepted | named


def _preparation_of(model: ModelSource) -> Preparation | None:
    """Return how the messages of a model are prepared; of a model folder, only the description is read."""
    if isinstance(model, str | Path):
        return Preparation.of(Description.read(model).about["provenance"])
    return as_reviewed(model).model.preparation


def _changes_of_update(before: ReviewedModel, after: IntentModel, known: set[str]) -> UpdateChanges:
    from newfound.intents.description import expected_error_of

    later = as_reviewed(after)
    there, undecided = set(later.ids.values()), [name for name in before.names if name not in known]
    return UpdateChanges(
        new=tuple(name for name in later.names if later.ids[name] not in before.ids.values()),
        found_again=tuple(name for name in later.names if later.ids[name] in {before.ids[n] for n in undecided}),
        lost=tuple(name for name in undecided if before.ids[name] not in there),
        answers=len(before.review.checked),
        expected_error_before=expected_error_of(before.assigned),
        expected_error_after=expected_error_of(later.assigned),
    )


def changes_of_refit(before: ReviewedModel, after: IntentModel) -> RefitChanges:
    """Return how a trained model differs from the reviewed model that it was trained from."""
    from newfound.intents.description import expected_error_of

    names, assigned = [intent.name for intent in after.intents], as_reviewed(after).assigned
    intents, compared = {u.text: u.intent for u in assigned}, before.assigned
    moved = [MovedUtterance(u.text, u.intent, intents.get(u.text)) for u in compared if intents.get(u.text) != u.intent]
    return RefitChanges(
        intents_before=len(before.names),
        intents_after=len(names),
        now_known=tuple(sorted(before.review.accepted)),
        gone=tuple(name for name in before.names if name not in names),
        expected_error_before=expected_error_of(compared),
        expected_error_after=expected_error_of(assigned),
        utterances=len(compared),
        moved=len(moved),
        examples=tuple(moved[:MAX_EXAMPLES_OF_MOVES]),
        answers=sum(u.text in before.review.checked for u in compared),
        known_check=KnownCheck.of(after.provenance),
    )
