"""Another round: accepted intents are known now, and new ones are looked for in newer logs.

Nothing is forgotten because nothing is thrown away: the training utterances lie in the model's folder, and every round
trains on all of them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from newfound import defaults
from newfound.data.corpus import Corpus
from newfound.data.duplicates import add_counts
from newfound.defaults import NoIntent
from newfound.errors import DecisionError
from newfound.files import GROUPS_FILE, HISTORY_FILE
from newfound.llm.settings import LanguageModelSettings
from newfound.model.hub import model_folder
from newfound.model.sidecars import groups_as_json, promised_precision, read_groups
from newfound.model.types import unused_id
from newfound.review.state import named_by_people
from newfound.review.store import ReviewStore
from newfound.training.progress import Reporter
from newfound.workflows.discovery import OfModel
from newfound.workflows.fitting import (
    TrainingOptions,
    fit,
    language_model,
    name_intents,
    prepare,
    settings_of_effort,
)
from newfound.workflows.runtime import ModelSource, Runtime, as_reviewed
from newfound.workflows.sources import LogOptions, LogSource, check_n_new, read_newer_logs

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder
    from newfound.methods.consensus import Consensus
    from newfound.model.classifier import IntentModel
    from newfound.review.carrying import Carried
    from newfound.review.history import History
    from newfound.review.reviewed import ReviewedModel
    from newfound.review.state import Review
    from newfound.workflows.refitting import RefitRequest


@dataclass(frozen=True, slots=True)
class UpdateRequest(LogOptions, TrainingOptions):
    """Which model to go on from, and the newer logs; `LogOptions` and `TrainingOptions` have how they are learned.

    Attributes:
        model: A model folder whose intents were reviewed, or a loaded model.
        logs: Newer unlabelled utterances: a file, a corpus, or texts.
        out: The model folder to write; None writes nothing.
        n_new: How many new intents to look for, or "auto".
        no_intent: Utterances of the logs that are to belong to no intent: "auto", a share of the logs, or "none".
        accept_all: Take all intents of the model for known, reviewed or not.
        encoder: Where the model's encoder lies, if it cannot be found.
        llm: A language model that may be asked about doubtful utterances and for names; None asks nobody.
    """

    model: ModelSource
    logs: LogSource
    out: str | Path | None = None
    _: KW_ONLY
    n_new: int | Literal["auto"] = "auto"
    no_intent: NoIntent = defaults.NO_INTENT
    accept_all: bool = False
    encoder: str | Encoder | None = None
    llm: LanguageModelSettings | None = None


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
class UpdateResult(OfModel):
    """What was discovered in newer logs, as `DiscoverResult` has it, and what changed.

    What was rejected is rejected in the model, too.
    """

    model: IntentModel
    folder: Path | None
    logs: Corpus
    changes: UpdateChanges


def update(request: UpdateRequest, *, reporter: Reporter | None = None) -> UpdateResult:
    """Discover in newer logs and in what is undecided. What a person has decided stays as it is.

    Known and accepted intents are known. An intent that a person has named, merged, split or put utterances into keeps
    its utterances and stays new until it is accepted. Rejected ones stay rejected.

    Args:
        request: Which model to go on from, and the newer logs.
        reporter: Is told the progress; by default nobody is.
    """
    out, runtime = prepare(request, request.out, reporter)
    with language_model(request.llm, runtime) as llm:
        settled = _settled_intents(*_review_of(request.model), accept_all=request.accept_all)  # before logs are read
        logs = read_newer_logs(request.logs, request, runtime)
        from newfound.review.carrying import Carried
        from newfound.review.history import History
        from newfound.training.run import Run

        reviewed = runtime.on_cpu().open_model(request.model)
        history = History.of(request.model, "update")
        carried = Carried.of(reviewed)
        earlier, fresh = add_counts(_earlier_corpus(carried, settled | set(carried.rejected)), logs)
        check_n_new(request.n_new, (earlier + fresh).unlabelled(), runtime)
        method = _method(request, replace(runtime, encoder=reviewed.model.encoder), earlier + fresh)
        run = Run(reporter=runtime.reporter)
        fit(method, earlier + fresh, run, llm=llm)
        known = set(reviewed.names) if request.accept_all else reviewed.review.known | reviewed.review.accepted
        model = name_intents(method.model_, llm, runtime).with_known(known, reviewed.discovered & known)
        model = with_ids(model, reviewed)
        trained = carried.apply(model)
        changes = _compare(reviewed, trained, known)
        if out is not None:
            save_trained(model, out, request, history, carried)
    return UpdateResult(trained, out, logs, changes)


def save_trained(
    model: IntentModel, out: Path, request: UpdateRequest | RefitRequest, history: History, carried: Carried
) -> None:
    """Write a model that was trained from another one, with what people decided before and put beside it.

    Thresholds keep their promise, for which they are computed again: other probabilities need other thresholds.
    """
    from newfound.model.folder import save
    from newfound.workflows.thresholding import thresholds

    earlier = model_folder(request.model) if isinstance(request.model, str | Path) else None
    groups = {} if earlier is None else read_groups(earlier)
    precision = None if earlier is None else promised_precision(earlier)
    beside = {HISTORY_FILE: history.as_json(), **carried.files(history.trainings[-1].entries if earlier else ())}
    ids = {intent.id for intent in model.intents}
    if kept := {id: names for id, names in groups.items() if id in ids}:
        beside[GROUPS_FILE] = groups_as_json(kept)
    save(model, out, overwrite=request.overwrite, beside=beside)
    if precision is not None:
        thresholds(out, precision, encoder=model.encoder, device=request.device)


def _compare(before: ReviewedModel, after: IntentModel, known: set[str]) -> UpdateChanges:
    """Return what an update changed."""
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


def _method(request: UpdateRequest, runtime: Runtime, corpus: Corpus) -> Consensus:
    from newfound.methods.consensus import Consensus

    settings = settings_of_effort(Consensus, request, runtime, corpus)
    return Consensus(
        encoder=runtime.encoder_to_fit(),
        n_new=request.n_new,
        no_intent=request.no_intent,
        device=runtime.device,
        seed=request.seed,
        **settings,
    )


def with_ids(model: IntentModel, earlier: ReviewedModel) -> IntentModel:
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


def _earlier_corpus(carried: Carried, settled: set[str]) -> Corpus:
    """Return the earlier utterances: those of settled intents with their label, all others without.

    What the model found to be of no intent may become one together with newer logs.
    """
    corpus = carried.corpus
    labels = [label if label in settled else None for label in corpus.labels]
    origins = [
        replace(origin, labelled=origin.labelled and label is not None)
        for origin, label in zip(corpus.origins, labels, strict=True)
    ]
    return Corpus.of(corpus.texts, labels, origins)


def _review_of(model: ModelSource) -> tuple[Review, set[str]]:
    """Return what was decided about a model, and the names of its intents before; of a folder nothing else is read."""
    if isinstance(model, str | Path):
        store = ReviewStore(model)
        return store.review(), {intent.name for intent in store.intents}
    reviewed = as_reviewed(model)
    return reviewed.review, {intent.name for intent in reviewed.model.intents}


def _settled_intents(review: Review, names_before: set[str], *, accept_all: bool) -> set[str]:
    """Return the intents that the next round takes as they are: those that a person has decided about."""
    named = named_by_people(review, names_before)
    if not accept_all and not review.accepted | (named - review.known) and len(review.known) < len(review.names):
        raise DecisionError("no new intent was accepted yet", "accept_some", "accept_all")
    return set(review.names) if accept_all else review.known | review.accepted | named
