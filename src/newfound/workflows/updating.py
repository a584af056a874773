"""Another round: accepted intents are known now, and new ones are looked for in newer logs.

Nothing is forgotten because nothing is thrown away: the training utterances lie in the model's folder, and every round
trains on all of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from newfound import defaults
from newfound.algorithms.rounds import carried_ids, compare_rounds
from newfound.data.corpus import Corpus, Origin
from newfound.data.duplicates import add_counts
from newfound.defaults import NoIntent, Precision
from newfound.errors import NothingAccepted
from newfound.files import HISTORY_FILE
from newfound.llm.settings import LanguageModelSettings
from newfound.model.types import unused_id
from newfound.training.progress import Reporter
from newfound.workflows.discovery import DiscoverResult
from newfound.workflows.fitting import (
    TrainingOptions,
    fit,
    language_model,
    name_intents,
    prepare,
    save_once,
    settings_of_effort,
)
from newfound.workflows.runtime import ModelSource, Runtime
from newfound.workflows.sources import LogOptions, LogSource, check_n_new, read_newer_logs

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder
    from newfound.methods.consensus import Consensus
    from newfound.model.classifier import IntentModel
    from newfound.review.history import History
    from newfound.review.reviewed import ReviewedModel


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
        precision: fp32, or int8: a frozen encoder encodes faster on a CPU, and its vectors differ a little.
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
    precision: Precision = defaults.PRECISION


def update(request: UpdateRequest, *, reporter: Reporter | None = None) -> DiscoverResult:
    """Discover in newer logs and in what is undecided, with known and accepted intents as known.

    Args:
        request: Which model to go on from, and the newer logs.
        reporter: Is told the progress; by default nobody is.
    """
    out, runtime = prepare(request, request.out, reporter)
    with language_model(request.llm, runtime) as llm:
        logs = read_newer_logs(request.logs, request, runtime)
        from newfound.review.history import History
        from newfound.training.run import Run

        reviewed = runtime.on_cpu().open_model(request.model)
        history = History.of(request.model, "update")
        decided = _next_known_intents(reviewed, accept_all=request.accept_all)
        given = _names_given(reviewed, decided, runtime)
        earlier, fresh = add_counts(_earlier_corpus(reviewed, decided), logs)
        check_n_new(request.n_new, (earlier + fresh).unlabelled(), runtime)
        method = _method(request, replace(runtime, encoder=reviewed.encoder), earlier + fresh)
        run = Run(reporter=runtime.reporter)
        fit(method, earlier + fresh, run, llm=llm)
        model = name_intents(method.model_, llm, runtime).with_accepted(reviewed.discovered & decided)
        model = with_ids(with_names_given(model, given, runtime), reviewed)
        save_once(run, lambda: None if out is None else save_trained(model, out, request.overwrite, history))
    return DiscoverResult(model, out, logs)


def save_trained(model: IntentModel, out: Path, overwrite: bool, history: History) -> None:
    """Write a model that was trained from another one, and how it came to be."""
    from newfound.model.folder import save

    save(model, out, overwrite=overwrite, beside={HISTORY_FILE: history.as_json()})


def _method(request: UpdateRequest, runtime: Runtime, corpus: Corpus) -> Consensus:
    from newfound.methods.consensus import Consensus

    settings = settings_of_effort(Consensus, request, runtime, corpus)
    return Consensus(
        encoder=runtime.encoder_to_fit(str(settings.get("tune", "auto"))),
        n_new=request.n_new,
        no_intent=request.no_intent,
        device=runtime.device,
        seed=request.seed,
        **settings,
    )


def _names_given(reviewed: ReviewedModel, decided: set[str], runtime: Runtime) -> dict[str, str | None]:
    """Return the undecided utterances with the name that a person gave to their intent; say what becomes of it."""
    names_of_model = {intent.name for intent in reviewed.model.intents}
    given = [name for name in reviewed.names if name not in decided and name not in names_of_model]
    if given:
        runtime.reporter.note(
            f"{_join_names(given)}: renamed, split or merged, but not accepted, so that the utterances go back into "
            "the logs; an intent that is found in them again keeps its name. Accept them first to keep them as they are"
        )
    undecided = [u for u in reviewed.assigned if u.intent is not None and u.intent not in decided]
    return {u.text: u.intent if u.intent in given else None for u in undecided}


def with_names_given(model: IntentModel, given: Mapping[str, str | None], runtime: Runtime) -> IntentModel:
    """Return the model in which new intents that a person has named before have these names again.

    A new intent is the same as an earlier one if it has most utterances of the earlier one, and most of its own that
    were undecided before are of that one. `given` has the undecided utterances, each with the name that a person gave
    to its intent; None if nobody did.
    """
    sizes = Counter(name for name in given.values() if name is not None)
    earlier: dict[int, Counter[str | None]] = defaultdict(Counter)
    for u in model.utterances:
        if u.text in given and u.intent is not None and not model.intents[u.intent].known:
            earlier[u.intent][given[u.text]] += 1
    names = [intent.name for intent in model.intents]
    for position, counts in earlier.items():
        name, shared = counts.most_common(1)[0]
        if name is not None and name not in names and 2 * shared > max(sizes[name], counts.total()):
            names[position] = name
    lost = [name for name in sizes if name not in names]
    if lost:
        runtime.reporter.warn(
            f"{_join_names(lost)}: not found again in the logs, so that the name is lost; accept intents first"
        )
    return model.with_names(names)


def with_ids(model: IntentModel, earlier: ReviewedModel) -> IntentModel:
    """Return the model in which intents that continue earlier ones have their ids, by utterances and not by names."""
    before = {u.text: u.intent for u in earlier.assigned}
    after = {u.text: None if u.intent is None else model.intents[u.intent].name for u in model.utterances}
    sizes = Counter(name for name in (*before.values(), *after.values()) if name is not None)
    carried = carried_ids(compare_rounds(before, after), earlier.ids, sizes)
    carried |= {intent.name: earlier.ids[intent.name] for intent in model.intents if intent.name in earlier.ids}
    ids: dict[str, str] = {}
    for intent in sorted(model.intents, key=lambda intent: intent.name not in earlier.ids):
        ids[intent.name] = unused_id(carried.get(intent.name, intent.id), ids.values())
    return model.with_ids([ids[intent.name] for intent in model.intents])


def _join_names(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")


def _earlier_corpus(reviewed: ReviewedModel, decided: set[str]) -> Corpus:
    """Return the earlier utterances: those of decided intents with their label, all others without.

    What the model found to be of no intent may become one together with newer logs.
    """
    corpus = reviewed.corpus()
    labels = [label if label in decided else None for label in corpus.labels]
    origins = [
        replace(origin, labelled=origin.labelled and label is not None)
        for origin, label in zip(corpus.origins, labels, strict=True)
    ]
    moved = reviewed.review.moved
    left_out = [u for u in reviewed.model.utterances if u.intent is None and u.text not in moved]
    return Corpus.of(
        [*corpus.texts, *(u.text for u in left_out)],
        [*labels, *(None for _ in left_out)],
        [*origins, *(Origin(False, u.source, u.count, u.days) for u in left_out)],
    )


def _next_known_intents(reviewed: ReviewedModel, *, accept_all: bool) -> set[str]:
    """Return the intents that are known in the next round."""
    review = reviewed.review
    if not accept_all and not review.accepted and len(review.known) < len(reviewed.names):
        raise NothingAccepted
    return set(reviewed.names) if accept_all else review.known | review.accepted
