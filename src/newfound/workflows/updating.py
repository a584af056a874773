"""Another round: accepted intents are known now, and new ones are looked for in newer logs.

Nothing is forgotten because nothing is thrown away: the training utterances lie in the model's folder, and every round
trains on all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from newfound import defaults
from newfound.data.corpus import Corpus
from newfound.data.duplicates import add_counts
from newfound.defaults import Precision
from newfound.encoders.precision import check_precision
from newfound.errors import NothingAccepted
from newfound.files import check_replaceable
from newfound.llm.settings import LanguageModelSettings
from newfound.training.progress import Reporter
from newfound.workflows.discovery import DiscoverResult
from newfound.workflows.fitting import (
    check_fit_options,
    device_for,
    encoder_for,
    fit,
    reporter_of_main,
    save_once,
    settings_of_effort,
    tell_engine,
)
from newfound.workflows.language_model import language_model, with_asked_names
from newfound.workflows.models import ModelSource, opened
from newfound.workflows.sources import (
    DEFAULT_READ_OPTIONS,
    LogSource,
    ReadOptions,
    check_n_new,
    distinct_logs,
    logs_corpus,
    redacted,
    sample_for,
    sampled,
)

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder
    from newfound.llm.asking import LanguageModel
    from newfound.review.reviewed import ReviewedModel


@dataclass(frozen=True, slots=True)
class UpdateRequest:
    """Which model to go on from, and the newer logs.

    Attributes:
        model: A model folder whose intents were reviewed, or a loaded model.
        logs: Newer unlabelled utterances: a file, a corpus, or texts.
        out: The model folder to write; None writes nothing.
        n_new: How many new intents to look for, or "auto".
        accept_all: Take all intents of the model for known, reviewed or not.
        encoder: Where the model's encoder lies, if it cannot be found.
        effort: quick, standard, best, or auto by device.
        tune: What trains; auto leaves it to the effort.
        device: auto, cpu or cuda.
        seed: Same seed, same device: the same result.
        read: How the file is read.
        redact: Mask e-mail addresses, card numbers, IBANs and telephone numbers first.
        llm: A language model that may be asked about doubtful utterances and for names; None asks nobody.
        overwrite: Replace an earlier model at `out`.
        precision: fp32, or int8: a frozen encoder encodes faster on a CPU, and its vectors differ a little.
        max_logs: Distinct utterances of the newer logs that are learned from; of larger logs a random sample.
    """

    model: ModelSource
    logs: LogSource
    out: str | Path | None = None
    n_new: int | Literal["auto"] = "auto"
    accept_all: bool = False
    encoder: str | Encoder | None = None
    effort: str = defaults.EFFORT
    tune: str = defaults.TUNE
    device: str = defaults.DEVICE
    seed: int = defaults.SEED
    read: ReadOptions = DEFAULT_READ_OPTIONS
    redact: bool = False
    llm: LanguageModelSettings | None = None
    overwrite: bool = False
    precision: Precision = defaults.PRECISION
    max_logs: int = defaults.MAX_LOGS


def update(request: UpdateRequest, *, reporter: Reporter | None = None) -> DiscoverResult:
    """Discover in newer logs and in what is undecided, with known and accepted intents as known.

    Args:
        request: Which model to go on from, and the newer logs.
        reporter: Is told the progress; by default nobody is.
    """
    reporter = reporter_of_main(reporter)
    out = None if request.out is None else Path(request.out)
    if out is not None:
        check_replaceable(out, request.overwrite)
    check_fit_options(request.effort, request.tune, request.device, request.seed, request.n_new)
    check_precision(request.precision, request.device)
    with language_model(request.llm, reporter) as llm:
        return _update(request, out, reporter, llm)


def _update(request: UpdateRequest, out: Path | None, reporter: Reporter, llm: LanguageModel | None) -> DiscoverResult:
    device = device_for(request.device, request.precision)
    sample = sample_for(request.max_logs, request.seed)
    logs = logs_corpus(request.logs, request.read, reporter, sample=sample)
    if request.redact:
        logs = redacted(logs, reporter)
    logs = sampled(distinct_logs(logs, reporter), sample, reporter)
    from newfound.methods.consensus import Consensus
    from newfound.training.run import Run

    reviewed = opened(request.model, request.encoder, "cpu")
    earlier, fresh = add_counts(_earlier(reviewed, accept_all=request.accept_all, reporter=reporter), logs)
    check_n_new(request.n_new, (earlier + fresh).unlabelled(), reporter)
    settings = settings_of_effort(Consensus, request.effort, request.tune, device, reporter)
    method = Consensus(
        encoder=encoder_for(reviewed.encoder, request.precision, str(settings.get("tune", "auto"))),
        n_new=request.n_new,
        device=device,
        seed=request.seed,
        **settings,
    )
    run = Run(reporter=reporter)
    fit(method, earlier + fresh, run, llm=llm)
    tell_engine(method.model_, reporter)
    model = with_asked_names(method.model_, llm)
    save_once(run, lambda: None if out is None else model.save(out, overwrite=request.overwrite))
    return DiscoverResult(model, out, sum(not intent.known for intent in model.intents), logs)


def _note_what_is_lost(reviewed: ReviewedModel, decided: set[str], reporter: Reporter) -> None:
    """Say which intents that were renamed, split or merged, but not accepted, go back into the logs."""
    found = {intent.name for intent in reviewed.model.intents}
    lost = [name for name in reviewed.names if name not in decided and name not in found]
    if lost:
        names = ", ".join(lost[:3]) + (" and others" if len(lost) > 3 else "")
        reporter.note(
            f"{names}: not accepted, so that the utterances go back into the logs and what was decided about these "
            "intents is lost; accept them first to keep it"
        )


def _earlier(reviewed: ReviewedModel, *, accept_all: bool, reporter: Reporter) -> Corpus:
    """The earlier utterances: those of decided intents with their label, all others without."""
    review = reviewed.review
    decided = set(reviewed.names) if accept_all else review.known | review.accepted
    if not accept_all and not review.accepted and len(review.known) < len(reviewed.names):
        raise NothingAccepted
    _note_what_is_lost(reviewed, decided, reporter)
    corpus = reviewed.corpus()
    keep = [label in decided for label in corpus.labels]
    labels = [label if kept else None for label, kept in zip(corpus.labels, keep, strict=True)]
    origins = [
        origin if kept else replace(origin, labelled=False) for origin, kept in zip(corpus.origins, keep, strict=True)
    ]
    return Corpus.of(corpus.texts, labels, origins)
