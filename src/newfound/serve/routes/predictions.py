"""Predictions, intents and exports."""

from __future__ import annotations

import asyncio
import re
from typing import Annotated, Literal

from fastapi import FastAPI, Query, Response
from starlette.concurrency import run_in_threadpool

from newfound import defaults
from newfound.errors import DataError
from newfound.exports.registry import EXPORTS, LANGUAGE_CODE
from newfound.serve.batching import QueueFull
from newfound.serve.schemas.requests import ExportName, PredictBody
from newfound.serve.schemas.responses import (
    CountsOut,
    ExportOut,
    Exports,
    Health,
    IntentOut,
    Intents,
    Predicted,
    Predictions,
)
from newfound.serve.service import Service
from newfound.workflows.exporting import corpus_to_export
from newfound.workflows.prediction import without_outliers


def add_routes(app: FastAPI, service: Service) -> None:
    """Add the routes.

    Args:
        app: The application that gets them.
        service: The served model.
    """

    @app.post("/v1/predict", tags=["predict"], responses={503: {"description": "The queue is full"}})
    async def predict(body: PredictBody) -> Predictions:
        """Classify a batch of utterances."""
        if service.batcher is None:
            raise QueueFull
        async with asyncio.timeout(service.settings.seconds_to_answer):
            answers = await service.batcher.ask(body.texts)
        return Predictions(predictions=[Predicted.of(without_outliers(a, body.max_outliers)) for a in answers])

    @app.get("/v1/intents", tags=["predict"])
    async def intents() -> Intents:
        """Return the intents after the review so far."""
        current = await run_in_threadpool(lambda: service.refresh().reviewed.intents)
        return Intents(intents=[IntentOut.of(intent) for intent in current])

    @app.get("/v1/export", tags=["export"])
    async def exports() -> Exports:
        """Return the formats, and how many intents and utterances an export holds."""

        def counts(only: Literal["accepted"] | None) -> CountsOut:
            try:
                corpus = corpus_to_export(service.refresh().reviewed, only=only)
            except DataError:
                return CountsOut(intents=0, utterances=0)
            return CountsOut(intents=len(corpus.intents), utterances=len(corpus))

        formats = [ExportOut(name=name, title=f.title, suffix=f.suffix) for name, f in EXPORTS.items()]
        every, accepted = await run_in_threadpool(lambda: (counts(None), counts("accepted")))
        return Exports(formats=formats, all=every, accepted=accepted)

    @app.get("/v1/export/{format}", tags=["export"], response_class=Response)
    async def export(
        format: ExportName,
        language: Annotated[str, Query(pattern=f"^{LANGUAGE_CODE.pattern}$", max_length=20)] = defaults.LANGUAGE,
        only_new: Annotated[bool, Query(description="Leave out intents that were known before")] = False,
        only: Annotated[
            Literal["accepted"] | None, Query(description="Leave out new intents that nobody has accepted")
        ] = None,
    ) -> Response:
        """Return the reviewed intents and utterances in the format of a bot platform."""
        chosen, name = EXPORTS[format.value], service.session.folder.name

        def content() -> bytes:
            corpus = corpus_to_export(service.refresh().reviewed, only_new=only_new, only=only)
            return chosen.content(corpus, name=name, language=language)

        file_name = re.sub(r"[^A-Za-z0-9_-]+", "-", name) or "intents"
        disposition = f'attachment; filename="{file_name}-{format.value}{chosen.suffix}"'
        return Response(
            await run_in_threadpool(content),
            media_type="application/octet-stream",
            headers={"content-disposition": disposition},
        )

    @app.get("/healthz", tags=["operation"])
    async def health() -> Health:
        """Return whether the process answers."""
        return Health(status="ok")

    @app.get("/readyz", tags=["operation"], responses={503: {"description": "Stopping"}})
    async def ready(response: Response) -> Health:
        """Return whether the server accepts texts."""
        if service.batcher is None or service.stopping:
            response.status_code = 503
            return Health(status="not ready")
        return Health(status="ready")

    @app.get("/metrics", tags=["operation"], response_class=Response)
    async def metrics() -> Response:
        """Return the metrics for Prometheus."""
        content, media_type = service.metrics.text()
        return Response(content, media_type=media_type)
