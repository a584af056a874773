"""Write the reviewed intents with their utterances for a bot platform."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from newfound import defaults
from newfound.data.corpus import Corpus, Origin
from newfound.encoders.registry import RELEASES
from newfound.errors import NothingToExport, SettingsError
from newfound.exports.common import Project
from newfound.exports.registry import (
    MODEL_EXPORTS,
    check_language,
    check_target,
    export_format,
    renamed_intents,
    write_export,
)
from newfound.files import folder_atomically
from newfound.model.about import describe
from newfound.model.sidecars import thresholds_by_name
from newfound.model.types import Utterance
from newfound.review.state import Review, accepted_intents
from newfound.review.store import ReviewStore
from newfound.training.progress import LoggingReporter, Reporter
from newfound.workflows.assigned import read_assigned
from newfound.workflows.runtime import ModelSource, Runtime, as_reviewed, name_of

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder

Only = Literal["new", "accepted"]
"""Which intents are exported: those that were not known before, or of these the accepted ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportChoice:
    """Which utterances an export holds.

    Attributes:
        only: "new" leaves out intents that were known before, "accepted" also those that nobody accepted.
        min_probability: Leave out utterances of the logs whose intent is less probable; by default 0.5, and 0 with
            guesses. What a person labelled or assigned is never left out for this.
        with_guesses: Also hold what nobody labelled or accepted: utterances of the logs that the model put into a
            known intent or into a new one that is not accepted.
    """

    only: Only | None = None
    min_probability: float | None = None
    with_guesses: bool = False

    def check(self) -> None:
        """Refuse an unknown choice of intents, and what is not a probability."""
        if self.only not in (None, "new", "accepted"):
            raise SettingsError(f"only={self.only!r} is not one of new, accepted")
        if self.min_probability is not None and not 0 <= self.min_probability <= 1:
            raise SettingsError(f"min_probability={self.min_probability} must lie between 0 and 1")

    @property
    def certainty(self) -> float:
        """The least probability with which an utterance of the logs belongs to an accepted intent."""
        return defaults.MIN_PROBABILITY_TO_EXPORT if self.min_probability is None else self.min_probability

    @property
    def least_probability(self) -> float:
        """The least probability of utterances of the logs that are exported."""
        return 0.0 if self.with_guesses and self.min_probability is None else self.certainty

    def has_intent(self, intent: str, review: Review) -> bool:
        """Return whether an intent is one of those that are exported."""
        if self.only == "accepted":
            return intent in review.accepted
        return self.only is None or intent not in review.known


@dataclass(frozen=True, slots=True)
class ExportRequest(ExportChoice):
    """Which model to export, where to, and in which format; `ExportChoice` has which of its utterances.

    Attributes:
        model: A model folder, or a loaded model.
        to: One of `newfound.exports.registry.EXPORTS` or `MODEL_EXPORTS`.
        out: The file to write; a folder for datasets and onnx.
        language: The utterances' language code.
        encoder: Where the model's encoder lies, if it cannot be found.
        overwrite: Replace what is at `out`.
    """

    model: ModelSource
    to: str
    out: str | Path
    _: KW_ONLY
    language: str = defaults.LANGUAGE
    encoder: str | Encoder | None = None
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class ExportCounts:
    """How many utterances of an export are of which kind.

    Attributes:
        labelled: Labelled or assigned by a person.
        accepted: Put by the model, with at least the stated probability, into an intent that a person accepted.
        guesses: Put by the model into another intent, or less surely.
        left_out: Utterances of the same intents that the export does not hold.
        new_intents: Intents that nobody has accepted yet, among those that were asked for.
    """

    labelled: int
    accepted: int
    guesses: int
    left_out: int
    new_intents: int


@dataclass(frozen=True, slots=True)
class ExportResult:
    """What was written where.

    Attributes:
        path: The file or folder.
        utterances: The number of utterances in it; 0 if it is a classifier.
        intents: The number of intents in it.
        renamed: Intents that have another name in it, because the platform does not allow theirs.
        counts: How many of the utterances are of which kind, and what was left out; None if it is a classifier.
    """

    path: Path
    utterances: int
    intents: int
    renamed: Mapping[str, str] = field(default_factory=dict)
    counts: ExportCounts | None = None


def export(request: ExportRequest, *, reporter: Reporter | None = None) -> ExportResult:
    """Write a model's reviewed utterances in the format of a platform.

    Args:
        request: Which model to export, where to, and in which format.
        reporter: Is told which new intents are left out; by default the logger `newfound` is.

    Raises:
        TargetExists: There is something at `out`, and it is not to be replaced.
    """
    path, runtime = Path(request.out), Runtime(reporter or LoggingReporter(), request.encoder, "cpu")
    if request.to in MODEL_EXPORTS:
        return _export_model(request, path, runtime)
    format = export_format(request.to)
    check_language(request.language)
    request.check()
    check_target(path, format.files, overwrite=request.overwrite)
    model = read_assigned(request.model, runtime)
    accepted = accepted_intents(model.review, model.intents)
    corpus, counts = corpus_to_export(model.utterances, model.review, accepted, request, model.paths)
    if counts.new_intents and not request.with_guesses:
        number = f"{counts.new_intents:,}" if accepted else f"{counts.new_intents:,}, which is all of them"
        runtime.reporter.warn(
            f"{request.out} lacks the new intents that nobody has accepted ({number}); accept them in the review "
            "first, or export the model's guesses as well"
        )
    project = project_of(request.model, request.language)
    write_export(corpus, request.to, path, project, overwrite=request.overwrite)
    return ExportResult(path, len(corpus), len(corpus.intents), renamed_intents(format, corpus), counts)


def _export_model(request: ExportRequest, path: Path, runtime: Runtime) -> ExportResult:
    """Write the classifier itself: all of it, or nothing."""
    from newfound.exports.onnx import FILES, check_can_export, write_onnx

    if request.only is not None or request.min_probability or request.with_guesses:
        raise SettingsError(f"the format {request.to} holds the classifier with all intents, and no utterances")
    check_can_export()
    check_target(path, FILES, overwrite=request.overwrite)
    reviewed = runtime.open_model(request.model)
    try:
        with folder_atomically(path) as folder:
            write_onnx(reviewed, folder)
    except OSError as error:
        raise SettingsError(f"{path}: cannot be written ({error.strerror or error})") from None
    return ExportResult(path, 0, len(reviewed.names))


def project_of(model: ModelSource, language: str = defaults.LANGUAGE) -> Project:
    """Return what formats may say of a model besides its utterances; the network is not loaded."""
    if isinstance(model, str | Path):
        store, encoder = ReviewStore(model), str(describe(model)["encoder"]["name"])
        review, intents = store.review(), store.intents
        thresholds = thresholds_by_name(model, review.ids(intents))
    else:
        reviewed = as_reviewed(model)
        review, intents, encoder = reviewed.review, reviewed.model.intents, reviewed.model.encoder.name
        thresholds = dict(reviewed.classifier.thresholds)
    thresholds = {name: min(value, 1.0) for name, value in thresholds.items()}  # infinite if none keeps the promise
    statuses = {name: review.status(name) for name in review.ids(intents)}
    encoder = RELEASES[encoder].repo if encoder in RELEASES else encoder
    return Project(name_of(model), language, encoder, statuses, thresholds)


def corpus_to_export(
    assigned: Iterable[Utterance],
    review: Review,
    accepted: Set[str],
    choice: ExportChoice,
    paths: Mapping[str, str | None] | None = None,
) -> tuple[Corpus, ExportCounts]:
    """Return the utterances that an export holds, with their reviewed intents, and how many there are of each kind.

    `accepted` has the discovered intents that were accepted, in this round or an earlier one, and `paths` the groups
    that intents are in.

    Raises:
        NothingToExport: No utterance is left.
    """
    checked, least = review.checked, choice.least_probability

    def kind_of(u: Utterance) -> str:
        if u.labelled or u.text in checked:
            return "labelled"
        return "accepted" if u.intent in accepted and u.probability >= choice.certainty else "guess"

    def is_exported(u: Utterance, kind: str) -> bool:
        return kind == "labelled" or (u.probability >= least and (kind == "accepted" or choice.with_guesses))

    candidates = [(u, kind_of(u)) for u in assigned if u.intent is not None and choice.has_intent(u.intent, review)]
    kept = [(u, kind) for u, kind in candidates if is_exported(u, kind)]
    number = Counter(kind for _, kind in kept)
    counts = ExportCounts(
        labelled=number["labelled"],
        accepted=number["accepted"],
        guesses=number["guess"],
        left_out=len(candidates) - len(kept),
        new_intents=len({u.intent for u, _ in candidates} - review.known - review.accepted),
    )
    if not kept:
        raise NothingToExport(counts.left_out, only_accepted=choice.only == "accepted" and not review.accepted)
    origins = [Origin(kind == "labelled", u.source, u.count, u.days) for u, kind in kept]
    corpus = Corpus.of([u.text for u, _ in kept], [u.intent for u, _ in kept], origins)
    return replace(corpus, paths=paths or {}), counts
