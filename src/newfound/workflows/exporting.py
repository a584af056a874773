"""Write the reviewed intents with their utterances for a bot platform."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from newfound import defaults
from newfound.data.corpus import Corpus, Origin
from newfound.defaults import Precision
from newfound.encoders.precision import check_precision
from newfound.errors import DataError, ModelError, SettingsError
from newfound.exports.registry import (
    MODEL_EXPORTS,
    check_language,
    check_model_target,
    check_target,
    export_format,
    renamed_intents,
    write_export,
)
from newfound.files import folder_atomically
from newfound.model.about import read_utterances
from newfound.model.types import AssignedUtterance
from newfound.review.decisions import Review
from newfound.review.store import ReviewStore
from newfound.review.stored import assigned_without_network
from newfound.training.progress import Reporter
from newfound.workflows.models import ModelSource, name_of, opened

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder

Only = Literal["new", "accepted"]
"""Which intents are exported: those that were not known before, or of these the accepted ones."""


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """Which model to export, where to, and in which format.

    Attributes:
        model: A model folder, or a loaded model.
        to: One of `newfound.exports.registry.EXPORTS` or `MODEL_EXPORTS`, or another name of one (`ALIASES`).
        out: The file to write; a folder for datasets and onnx.
        language: The utterances' language code.
        only_new: The same as only="new".
        encoder: Where the model's encoder lies, if it cannot be found.
        only: "new" leaves out intents that were known before, "accepted" also those that nobody accepted.
        min_probability: Leave out utterances of the logs whose intent is less probable. What a person labelled or
            assigned is never left out for this.
        overwrite: Replace what is at `out`.
        precision: Of an ONNX graph: fp32 or int8.
    """

    model: ModelSource
    to: str
    out: str | Path
    language: str = defaults.LANGUAGE
    only_new: bool = False
    encoder: str | Encoder | None = None
    only: Only | None = None
    min_probability: float = 0.0
    overwrite: bool = False
    precision: Precision = defaults.PRECISION


@dataclass(frozen=True, slots=True)
class ExportResult:
    """What was written where.

    Attributes:
        path: The file or folder.
        utterances: The number of utterances in it; 0 if it is a classifier.
        intents: The number of intents in it.
        renamed: Intents that have another name in it, because the platform does not allow theirs.
    """

    path: Path
    utterances: int
    intents: int
    renamed: Mapping[str, str] = field(default_factory=dict)


def export(request: ExportRequest, *, reporter: Reporter | None = None) -> ExportResult:
    """Write a model's reviewed utterances in the format of a platform.

    Args:
        request: Which model to export, where to, and in which format.
        reporter: Not used yet; every workflow takes one.

    Raises:
        TargetExists: There is something at `out`, and it is not to be replaced.
    """
    path = Path(request.out)
    if request.to in MODEL_EXPORTS:
        return _export_model(request, path)
    if request.precision != defaults.PRECISION:
        raise SettingsError(f"precision={request.precision!r} is for the format onnx; the others hold utterances")
    format = export_format(request.to, path)
    check_language(request.language)
    only = checked_only(request.only, request.only_new)
    check_min_probability(request.min_probability)
    check_target(format, path, overwrite=request.overwrite)
    assigned, review = _assigned(request)
    corpus = corpus_to_export(assigned, review, only=only, min_probability=request.min_probability)
    write_export(
        corpus,
        request.to,
        path,
        name=name_of(request.model),
        language=request.language,
        overwrite=request.overwrite,
    )
    return ExportResult(path, len(corpus), len(corpus.intents), renamed_intents(format, corpus))


def _export_model(request: ExportRequest, path: Path) -> ExportResult:
    """Write the classifier itself: all of it, or nothing."""
    from newfound.exports.onnx import FILES, check_can_export, write_onnx

    check_precision(request.precision)
    if request.only is not None or request.only_new or request.min_probability:
        raise SettingsError(f"the format {request.to} holds the classifier with all intents, and no utterances")
    check_can_export()
    check_model_target(path, FILES, overwrite=request.overwrite)
    reviewed = opened(request.model, request.encoder, "cpu")
    try:
        with folder_atomically(path) as folder:
            write_onnx(reviewed, folder, request.precision)
    except OSError as error:
        raise SettingsError(f"{path}: cannot be written ({error.strerror or error})") from None
    return ExportResult(path, 0, len(reviewed.names))


def checked_only(only: str | None, only_new: bool = False) -> Only | None:
    """Return which intents are exported; refuse an unknown choice."""
    if only not in (None, "new", "accepted"):
        raise SettingsError(f"only={only!r} is not one of new, accepted")
    return "accepted" if only == "accepted" else "new" if only == "new" or only_new else None


def check_min_probability(value: float) -> None:
    """Refuse what is not a probability."""
    if not 0 <= value <= 1:
        raise SettingsError(f"min_probability={value} must lie between 0 and 1")


def _assigned(request: ExportRequest) -> tuple[Sequence[AssignedUtterance], Review]:
    """Return the utterances with their reviewed intents; the network is loaded only if it is needed."""
    if isinstance(request.model, str | Path):
        store = ReviewStore(request.model)
        review = store.review()
        utterances = read_utterances(request.model, len(store.names))
        if not utterances:
            raise ModelError("the model was saved without its utterances; discover again and keep them")
        assigned = assigned_without_network(review, utterances)
        if assigned is not None:
            return assigned, review
    reviewed = opened(request.model, request.encoder, "cpu")
    return reviewed.assigned, reviewed.review


def corpus_to_export(
    assigned: Sequence[AssignedUtterance], review: Review, *, only: Only | None = None, min_probability: float = 0.0
) -> Corpus:
    """Return the utterances that an export holds, with their reviewed intents.

    Args:
        assigned: The training utterances with their reviewed intents.
        review: The state of the review.
        only: Which intents to keep.
        min_probability: The least probability of utterances of the logs.
    """
    checked = review.checked
    kept = [u for u in assigned if u.intent is not None and u.probability >= min_probability]
    if only == "new":
        kept = [u for u in kept if u.intent not in review.known]
    elif only == "accepted":
        kept = [u for u in kept if u.intent in review.accepted]
        if not kept and not review.accepted:
            raise DataError("no intent was accepted yet; accept some in the review, or export all of them")
    if not kept:
        raise DataError("there is no intent to export")
    origins = [Origin(u.labelled or u.text in checked, u.source, u.count) for u in kept]
    return Corpus.of([u.text for u in kept], [u.intent for u in kept], origins)
