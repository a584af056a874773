"""Predictions, their audit, intents and exports."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import Annotated

from fastapi import FastAPI, Query, Response
from starlette.exceptions import HTTPException

from newfound import defaults
from newfound.errors import NothingToExport
from newfound.exports.registry import EXPORTS, LANGUAGE_CODE, export_format
from newfound.model.types import Intent
from newfound.review.session import ReviewSession
from newfound.serve import answers, bodies
from newfound.serve.service import Service
from newfound.workflows.assigned import AssignedModel
from newfound.workflows.auditing import DEFAULT_QUESTIONS, AuditResult, LogAudit
from newfound.workflows.exporting import ExportChoice, ExportCounts, corpus_to_export, project_of
from newfound.workflows.prediction import PredictionLimits

SECONDS_TO_ANSWER = 30.0  # a prediction


def add_routes(app: FastAPI, service: Service) -> None:
    @app.post("/v1/predict", tags=["predict"])
    async def predict(body: bodies.PredictBody) -> answers.Predictions:
        """Classify a batch of utterances."""
        limits = PredictionLimits(body.threshold, several=body.several)
        try:
            async with asyncio.timeout(SECONDS_TO_ANSWER):
                answered = await service.batcher.ask_all(limits.texts_to_classify(body.texts))
        except TimeoutError:
            raise HTTPException(503, "it took too long; try again with fewer texts", {"retry-after": "1"}) from None
        predicted = limits.of_messages(body.texts, {answer.text: answer for answer in answered})
        return answers.Predictions([replace(answer, top=answer.top[: body.top]) for answer in predicted])

    def as_assigned(session: ReviewSession) -> AssignedModel:
        return AssignedModel.of(session.view().reviewed, session.folder.name)

    def audit_of(session: ReviewSession) -> LogAudit:
        return LogAudit(session.folder, session.store.signature, as_assigned(session), session.model.utterances)

    @app.get("/v1/audit", tags=["review"])
    def audit(
        questions: Annotated[int, Query(ge=0, le=bodies.MAX_QUESTIONS)] = DEFAULT_QUESTIONS,
    ) -> AuditResult:
        """Return what the answers so far say, and the questions that are left."""
        return audit_of(service.session).result(questions)

    @app.post("/v1/audit", tags=["review"])
    def answer(body: bodies.AuditBody) -> AuditResult:
        """Keep answers; they are no decisions of the review."""
        opened = audit_of(service.session_for(body.model))
        opened.record({(one.text, one.id): one.belongs for one in body.answers})
        return opened.result(body.questions)

    @app.get("/v1/intents", tags=["predict"])
    def intents() -> list[Intent]:
        """Return the intents after the review so far."""
        return list(service.session.view().reviewed.classifier.intents)

    @app.get("/v1/export", tags=["export"])
    def exports() -> answers.Exports:
        """Return the formats, and how many intents and utterances an export holds."""

        def counts(choice: ExportChoice) -> ExportCounts:
            try:
                return corpus_to_export(as_assigned(service.session), choice)[1]
            except NothingToExport as error:
                return ExportCounts(left_out=error.left_out)

        about = ("title", "about", "suffix")
        formats = [{"name": name, **{key: getattr(f, key) for key in about}} for name, f in EXPORTS.items()]
        choices = ExportChoice(), ExportChoice(only="accepted"), ExportChoice(with_guesses=True)
        return answers.Exports(formats, *map(counts, choices))

    @app.get("/v1/export/{format}", tags=["export"], response_class=Response)
    def export(
        format: bodies.ExportName,
        language: Annotated[str, Query(pattern=f"^{LANGUAGE_CODE.pattern}$", max_length=20)] = defaults.LANGUAGE,
        only: Annotated[
            defaults.Only | None, Query(description="Only intents that were not known before, or only accepted ones")
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
        read, chosen = as_assigned(service.session), export_format(format.value)
        choice = ExportChoice(only=only, min_probability=min_probability, with_guesses=with_guesses)
        corpus, counts = corpus_to_export(read, choice)
        file_name = re.sub(r"[^A-Za-z0-9_-]+", "-", read.name) or "intents"
        headers = {
            "content-disposition": f'attachment; filename="{file_name}-{format.value}{chosen.suffix}"',
            "x-new-intents-left-out": str(0 if with_guesses else counts.new_intents),
        }
        content = chosen.content(corpus, project_of(read, language))
        return Response(content, media_type="application/octet-stream", headers=headers)

    @app.get("/healthz", tags=["operation"])
    async def health() -> dict[str, str]:
        """Return whether the process answers."""
        return {"status": "ok"}

    @app.get("/metrics", tags=["operation"], response_class=Response)
    async def metrics() -> Response:
        """Return the metrics for Prometheus."""
        content, media_type = service.metrics.text()
        return Response(content, media_type=media_type)
