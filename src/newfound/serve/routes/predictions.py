"""Predictions, intents and exports."""

from __future__ import annotations

import asyncio
import re
from dataclasses import asdict, replace
from typing import Annotated

from fastapi import FastAPI, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from newfound import defaults
from newfound.errors import NothingToExport
from newfound.exports.registry import EXPORTS, LANGUAGE_CODE, export_format
from newfound.serve.background.work import run_evaluation, run_trends
from newfound.serve.batching import QueueFull
from newfound.serve.schemas import requests as bodies
from newfound.serve.schemas import responses as answers
from newfound.serve.service import Service
from newfound.workflows.evaluation import EvaluationScores
from newfound.workflows.exporting import ExportChoice, Only, corpus_to_export, project_of
from newfound.workflows.prediction import PredictionLimits
from newfound.workflows.trending import Trends

SECONDS_TO_ANSWER = 30.0  # a prediction


def add_routes(app: FastAPI, service: Service) -> None:
    """Add the routes."""

    @app.post("/v1/predict", tags=["predict"])
    async def predict(body: bodies.PredictBody) -> answers.Predictions:
        """Classify a batch of utterances."""
        if service.batcher is None:
            raise QueueFull
        async with asyncio.timeout(SECONDS_TO_ANSWER):
            predicted = await service.batcher.ask(body.texts)
        limits = PredictionLimits(body.max_outliers, body.threshold, body.fallback)
        return answers.Predictions([replace(limits.apply(answer), top=answer.top[: body.top]) for answer in predicted])

    @app.post("/v1/evaluate", tags=["predict"])
    async def evaluate_labelled(request: Request, body: bodies.EvaluateBody) -> EvaluationScores:
        """Compare predictions with labels; labels that the model does not know are matched to its new intents."""
        return await service.run(request, run_evaluation, body)

    @app.post("/v1/trends", tags=["predict"])
    async def compare_newer_logs(request: Request, body: bodies.TrendsBody) -> Trends:
        """Say what newer logs hold that the model's logs do not: other volumes, and intents that came up."""
        return await service.run(request, run_trends, body)

    @app.get("/v1/intents", tags=["predict"])
    async def intents() -> answers.Intents:
        """Return the intents after the review so far."""
        current = await run_in_threadpool(lambda: service.refresh().reviewed.classifier.intents)
        return answers.Intents(list(current))

    @app.get("/v1/export", tags=["export"])
    async def exports() -> answers.Exports:
        """Return the formats, and how many intents and utterances an export holds."""

        def counts(choice: ExportChoice) -> answers.ExportSummary:
            reviewed = service.refresh().reviewed
            try:
                corpus, kinds = corpus_to_export(reviewed.assigned, reviewed.review, reviewed.accepted, choice)
            except NothingToExport as error:
                return answers.ExportSummary(0, 0, 0, error.left_out, 0, intents=0, utterances=0)
            return answers.ExportSummary(**asdict(kinds), intents=len(corpus.intents), utterances=len(corpus))

        formats = [answers.ExportFormat(name, f.title, f.about, f.suffix) for name, f in EXPORTS.items()]
        choices = ExportChoice(), ExportChoice(only="accepted"), ExportChoice(with_guesses=True)
        default, accepted, every = await run_in_threadpool(lambda: [counts(choice) for choice in choices])
        return answers.Exports(formats, default, accepted, every)

    @app.get("/v1/export/{format}", tags=["export"], response_class=Response)
    async def export(
        format: bodies.ExportName,
        language: Annotated[str, Query(pattern=f"^{LANGUAGE_CODE.pattern}$", max_length=20)] = defaults.LANGUAGE,
        only: Annotated[
            Only | None, Query(description="Only intents that were not known before, or only accepted ones")
        ] = None,
        min_probability: Annotated[
            float | None,
            Query(
                ge=0,
                le=1,
                description="Leave out utterances of the logs whose intent is less probable; by default "
                f"{defaults.MIN_PROBABILITY_TO_EXPORT}, and 0 with guesses",
            ),
        ] = None,
        with_guesses: Annotated[bool, Query(description="Also return what nobody labelled or accepted")] = False,
    ) -> Response:
        """Return what people labelled or accepted in the format of a bot platform.

        The header `x-new-intents-left-out` has the number of new intents that nobody has accepted.
        """
        chosen, name = export_format(format.value), service.session.folder.name
        choice = ExportChoice(only=only, min_probability=min_probability, with_guesses=with_guesses)

        def content() -> tuple[bytes, int]:
            reviewed = service.refresh().reviewed
            paths = reviewed.head.paths
            corpus, counts = corpus_to_export(reviewed.assigned, reviewed.review, reviewed.accepted, choice, paths)
            left_out = 0 if with_guesses else counts.new_intents
            return chosen.write(corpus, project_of(service.session.folder, language)), left_out

        file_name = re.sub(r"[^A-Za-z0-9_-]+", "-", name) or "intents"
        disposition = f'attachment; filename="{file_name}-{format.value}{chosen.suffix}"'
        written, left_out = await run_in_threadpool(content)
        headers = {"content-disposition": disposition, "x-new-intents-left-out": str(left_out)}
        return Response(written, media_type="application/octet-stream", headers=headers)

    @app.get("/healthz", tags=["operation"])
    async def health() -> dict[str, str]:
        """Return whether the process answers."""
        return {"status": "ok"}

    @app.get("/readyz", tags=["operation"])
    async def ready(response: Response) -> dict[str, str]:
        """Return whether the server accepts texts."""
        if service.batcher is None or service.stopping:
            response.status_code = 503
            return {"status": "not ready"}
        return {"status": "ready"}

    @app.get("/metrics", tags=["operation"], response_class=Response)
    async def metrics() -> Response:
        """Return the metrics for Prometheus."""
        content, media_type = service.metrics.text()
        return Response(content, media_type=media_type)
