"""Write the reviewed intents with their utterances for a bot platform."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from newfound import defaults
from newfound.data.corpus import Corpus, Origin
from newfound.defaults import Only
from newfound.encoders.registry import RELEASES
from newfound.errors import MissingExtra, NothingToExport, SettingsError, TargetExists
from newfound.exports.formats import Project
from newfound.exports.registry import MODEL_EXPORTS, check_language, export_format, renamed_intents
from newfound.files import check_file_target, folder_atomically, write_atomically
from newfound.review.state import accepted_intents
from newfound.training.progress import Reporter
from newfound.workflows.assigned import AssignedModel, read_assigned
from newfound.workflows.prediction import writing_to
from newfound.workflows.runtime import ModelSource, Runtime
from newfound.workflows.sources import check_choice

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder


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

    def __post_init__(self) -> None:
        """Refuse an unknown choice of intents, and what is not a probability."""
        if self.only is not None:
            check_choice("only", self.only, Only)
        if self.min_probability is not None and not 0 <= self.min_probability <= 1:
            raise SettingsError(f"min_probability={self.min_probability} must lie between 0 and 1")


@dataclass(frozen=True, slots=True)
class ExportCounts:
    """How many utterances of an export are of which kind.

    Attributes:
        labelled: Labelled or assigned by a person.
        accepted: Put by the model, with at least the stated probability, into an intent that a person accepted.
        guesses: Put by the model into another intent, or less surely.
        left_out: Utterances of the same intents that the export does not hold.
        new_intents: Intents that nobody has accepted yet, among those that were asked for.
        utterances: All utterances of the export.
        intents: The intents that these belong to.
    """

    labelled: int = 0
    accepted: int = 0
    guesses: int = 0
    left_out: int = 0
    new_intents: int = 0
    utterances: int = 0
    intents: int = 0


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


def export(
    model: ModelSource,
    to: str,
    out: str | Path,
    *,
    only: Only | None = None,
    min_probability: float | None = None,
    with_guesses: bool = False,
    language: str = defaults.LANGUAGE,
    encoder: str | Encoder | None = None,
    overwrite: bool = False,
    reporter: Reporter | None = None,
) -> ExportResult:
    """Write a model's reviewed utterances in the format of a platform.

    The parameters that several functions have are described in `newfound.workflows`.

    Args:
        model: A model folder, or a loaded model.
        to: One of `newfound.exports.registry.EXPORTS` or `MODEL_EXPORTS`.
        out: The file to write; a folder for onnx.
        only: See `ExportChoice`, as for `min_probability` and `with_guesses`.
        min_probability: The least probability of utterances of the logs.
        with_guesses: Also hold what nobody labelled or accepted.
        language: The utterances' language code.

    Raises:
        TargetExists: There is something at `out`, and it is not to be replaced.
    """
    path, runtime = Path(out), Runtime.of(reporter, encoder, "cpu")
    choice = ExportChoice(only=only, min_probability=min_probability, with_guesses=with_guesses)
    if to in MODEL_EXPORTS:
        if choice != ExportChoice():
            raise SettingsError(f"the format {to} holds the classifier with all intents, and no utterances")
        return _export_model(model, path, runtime, overwrite=overwrite)
    format = export_format(to)
    check_language(language)
    check_file_target(path, overwrite)
    read = read_assigned(model, runtime)
    corpus, counts = corpus_to_export(read, choice)
    if counts.new_intents and not with_guesses:
        accepted = accepted_intents(read.review, read.intents)
        how_many = f"{counts.new_intents:,}" if accepted else f"{counts.new_intents:,}, which is all of them"
        runtime.reporter.warn(
            f"{out} lacks the new intents that nobody has accepted ({how_many}); accept them in the review "
            "first, or export the model's guesses as well"
        )
    write_atomically(path, format.content(corpus, project_of(read, language)))
    return ExportResult(path, len(corpus), len(corpus.intents), renamed_intents(format, corpus), counts)


def _export_model(model: ModelSource, path: Path, runtime: Runtime, *, overwrite: bool) -> ExportResult:
    """Write the classifier itself: all of it, or nothing."""
    from newfound.encoders.onnx import can_build
    from newfound.exports.onnx import FILES, write_onnx

    if not can_build():
        raise MissingExtra("the export to ONNX", "onnx and onnxruntime", "onnx")
    if path.is_file() or (path.is_dir() and not {inside.name for inside in path.iterdir()} <= FILES):
        raise TargetExists(path, "is no folder of such an export", replaceable=False)
    if path.exists() and not overwrite:
        raise TargetExists(path)
    reviewed = runtime.open_model(model)
    with writing_to(path), folder_atomically(path) as folder:
        write_onnx(reviewed, folder)
    return ExportResult(path, 0, len(reviewed.names))


def project_of(read: AssignedModel, language: str) -> Project:
    """Return what formats may say of a model besides its utterances."""
    ids = read.review.ids(read.intents)
    encoder = RELEASES[read.encoder].repo if read.encoder in RELEASES else read.encoder
    statuses = {name: read.review.status(name) for name in ids}
    thresholds = {name: min(value, 1.0) for name, value in read.thresholds.items()}  # infinite if none is enough
    by_id = {intent.id: intent.description for intent in read.intents if intent.description}
    descriptions = {name: by_id[id] for name, id in ids.items() if id in by_id}
    return Project(read.name, language, encoder, statuses, thresholds, descriptions, read.paths)


def corpus_to_export(read: AssignedModel, choice: ExportChoice) -> tuple[Corpus, ExportCounts]:
    """Return the utterances that an export holds, with their reviewed intents, and how many there are of each kind.

    Raises:
        NothingToExport: No utterance is left.
    """
    review, accepted = read.review, accepted_intents(read.review, read.intents)
    sure = defaults.MIN_PROBABILITY_TO_EXPORT if choice.min_probability is None else choice.min_probability
    min_guess = 0.0 if choice.with_guesses and choice.min_probability is None else sure
    checked, intents = review.checked, set(review.names)
    wanted = {None: intents, "new": intents - review.known, "accepted": review.accepted}[choice.only]
    candidates, kept = [u for u in read.utterances if u.intent in wanted], []
    for u in candidates:
        if u.labelled or u.text in checked:
            kept.append((u, "labelled"))
        elif u.intent in accepted and u.probability >= sure:
            kept.append((u, "accepted"))
        elif choice.with_guesses and u.probability >= min_guess:
            kept.append((u, "guess"))
    kinds = Counter(kind for _, kind in kept)
    counts = ExportCounts(
        labelled=kinds["labelled"],
        accepted=kinds["accepted"],
        guesses=kinds["guess"],
        left_out=len(candidates) - len(kept),
        new_intents=len({u.intent for u in candidates} - review.known - review.accepted),
        utterances=len(kept),
        intents=len({u.intent for u, _ in kept}),
    )
    if not kept:
        raise NothingToExport(counts.left_out)
    origins = [Origin(kind == "labelled", u.source, u.count, u.days, u.said) for u, kind in kept]
    corpus = Corpus.of([u.text for u, _ in kept], [u.intent for u, _ in kept], origins)
    return corpus, counts
