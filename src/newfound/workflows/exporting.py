"""Write the reviewed intents with their utterances for a bot platform."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from newfound import defaults
from newfound.data.corpus import Corpus
from newfound.errors import DataError
from newfound.exports.registry import check_language, export_format, write_export
from newfound.training.progress import Reporter
from newfound.workflows.models import ModelSource, name_of, opened

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder
    from newfound.review.reviewed import ReviewedModel


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """Which model to export, where to, and in which format.

    Attributes:
        model: A model folder, or a loaded model.
        to: One of `newfound.exports.registry.EXPORTS`.
        out: The file to write; a folder for datasets.
        language: The utterances' language code.
        only_new: Leave out intents that were known before.
        encoder: Where the model's encoder lies, if it cannot be found.
    """

    model: ModelSource
    to: str
    out: str | Path
    language: str = defaults.LANGUAGE
    only_new: bool = False
    encoder: str | Encoder | None = None


@dataclass(frozen=True, slots=True)
class ExportResult:
    """What was written where."""

    path: Path
    utterances: int
    intents: int


def export(request: ExportRequest, *, reporter: Reporter | None = None) -> ExportResult:
    """Write a model's reviewed utterances in the format of a platform.

    Args:
        request: Which model to export, where to, and in which format.
        reporter: Not used yet; every workflow takes one.
    """
    export_format(request.to)
    check_language(request.language)
    corpus = corpus_to_export(opened(request.model, request.encoder, "cpu"), only_new=request.only_new)
    path = Path(request.out)
    write_export(corpus, request.to, path, name=name_of(request.model), language=request.language)
    return ExportResult(path, len(corpus), len(corpus.intents))


def corpus_to_export(model: ReviewedModel, *, only_new: bool = False) -> Corpus:
    """Return the utterances that an export holds, with their reviewed intents."""
    corpus = model.corpus()
    if only_new:
        corpus = corpus.where(lambda label: label not in model.review.known)
    if not len(corpus):
        raise DataError("there is no intent to export")
    return corpus
