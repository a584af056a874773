"""What the processes in the background do: the workflows, with the body of a request and the served model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from newfound.data.corpus import Corpus
from newfound.encoders.encoder import Encoder
from newfound.errors import ConflictingLabels
from newfound.llm.settings import LanguageModelSettings
from newfound.model.folder import load
from newfound.serve.schemas import requests as bodies
from newfound.serve.schemas import responses as answers
from newfound.serve.schemas.training import Discovered
from newfound.training.progress import Reporter
from newfound.workflows.checking import CheckRequest, CheckResult, check
from newfound.workflows.discovery import DiscoverRequest, DiscoverResult, discover
from newfound.workflows.estimation import EstimateRequest, estimate
from newfound.workflows.evaluation import EvaluateRequest, EvaluationScores, evaluate
from newfound.workflows.refitting import RefitChanges, RefitRequest, refit
from newfound.workflows.thresholding import ThresholdsResult, thresholds
from newfound.workflows.trending import Trends, trends
from newfound.workflows.updating import UpdateRequest, UpdateResult, update

Files = Mapping[str, Corpus]  # the utterances of files that were sent, by the field of the body that names the file


@dataclass(frozen=True, slots=True)
class ServedModel:
    """What another process needs to open the served model."""

    folder: Path
    encoder: str | Encoder | None  # if it is not where the model expects it
    device: str

    def load_encoder(self) -> Encoder:
        """Return the encoder of the model."""
        return load(self.folder, encoder=self.encoder).encoder


def run_evaluation(model: ServedModel, body: bodies.EvaluateBody, *, reporter: Reporter) -> EvaluationScores:
    """Compare predictions of the reviewed model with labels."""
    request = EvaluateRequest(
        model.folder,
        Corpus.of(*_pairs(body.labelled)),
        encoder=model.encoder,
        device=model.device,
        **_options(body),
    )
    return evaluate(request, reporter=reporter).scores


def run_thresholds(model: ServedModel, body: bodies.ThresholdsBody, *, reporter: Reporter) -> ThresholdsResult:
    """Write the thresholds of the model, or take them away."""
    labelled = Corpus.of(*_pairs(body.labelled)) if body.labelled else None
    settings: dict[str, Any] = {"encoder": model.encoder, "device": model.device, "reporter": reporter}
    return thresholds(model.folder, body.precision, labelled, **settings)


def run_trends(model: ServedModel, body: bodies.TrendsBody, *, reporter: Reporter) -> Trends:
    """Compare newer logs with those of the reviewed model."""
    settings: dict[str, Any] = {"encoder": model.encoder, "device": model.device}
    return trends(model.folder, body.logs, **settings, reporter=reporter)


def run_check(model: ServedModel, body: bodies.CheckBody, *, reporter: Reporter) -> CheckResult:
    """Look for likely label errors and nearly equal intents."""
    request = CheckRequest(_pairs(body.known), encoder=model.load_encoder(), **_options(body))
    return check(request, reporter=reporter)


def run_estimate(model: ServedModel, body: bodies.EstimateBody, *, reporter: Reporter) -> answers.EstimateOut:
    """Estimate the number of new intents."""
    known = _pairs(body.known) if body.known else None
    request = EstimateRequest(known, body.logs, encoder=model.load_encoder(), **_options(body))
    estimated = estimate(request, reporter=reporter)
    return answers.EstimateOut(estimated.n_new, estimated.low, estimated.high)


def run_discovery(
    model: ServedModel,
    body: bodies.DiscoverBody,
    llm: LanguageModelSettings | None,
    files: Files,
    *,
    out: Path,
    reporter: Reporter,
) -> Discovered:
    """Discover new intents and write the model."""
    known = files.get("known_file") or (_pairs(body.known) if body.known else None)
    logs, encoder = files.get("logs_file") or body.logs, model.load_encoder()
    request = DiscoverRequest(known, logs, out, encoder=encoder, device=model.device, llm=llm, **_options(body))
    try:
        return _discovered(discover(request, reporter=reporter))
    except ConflictingLabels as error:  # a client cannot read the file that lists them
        raise ConflictingLabels(error.shown, error.conflicts) from None


def run_update(
    model: ServedModel,
    body: bodies.UpdateBody,
    llm: LanguageModelSettings | None,
    files: Files,
    *,
    out: Path,
    reporter: Reporter,
) -> Discovered:
    """Discover further intents in newer logs and write the model."""
    logs = files.get("logs_file") or body.logs or []
    request = UpdateRequest(
        model.folder, logs, out, encoder=model.encoder, device=model.device, llm=llm, **_options(body)
    )
    result = update(request, reporter=reporter)
    return replace(_discovered(result), changes=result.changes)


def _discovered(result: DiscoverResult | UpdateResult) -> Discovered:
    new = tuple(intent.name for intent in result.intents if not intent.known)
    return Discovered(new, len(result.intents) - len(new), len(result.logs), result.known_check)


def run_refit(model: ServedModel, body: bodies.RefitBody, *, out: Path, reporter: Reporter) -> RefitChanges:
    """Train the model further on the decisions, write it, and return what changed."""
    request = RefitRequest(model.folder, out, encoder=model.encoder, device=model.device, **_options(body))
    return refit(request, reporter=reporter).changes


def _options(body: bodies.Body) -> dict[str, Any]:
    """Return the fields of a body that the workflow's request has under the same names."""
    return body.model_dump(mode="json", exclude={"author", "known", "known_file", "labelled", "logs", "logs_file"})


def _pairs(known: Sequence[bodies.KnownText | bodies.LabelledText]) -> tuple[list[str], list[str | None]]:
    return [example.text for example in known], [example.label for example in known]
