"""How good the model is without labels: audits and thresholds."""

from __future__ import annotations

from typing import Annotated

from fastapi import FastAPI, Query, Request
from starlette.concurrency import run_in_threadpool

from newfound.review.queries import ReviewView
from newfound.serve.background.work import run_thresholds
from newfound.serve.schemas import requests as bodies
from newfound.serve.service import Service
from newfound.workflows.auditing import DEFAULT_QUESTIONS, AuditResult, LogAudit
from newfound.workflows.thresholding import ThresholdsResult


def add_routes(app: FastAPI, service: Service) -> None:
    """Add the routes."""

    def audit_of(view: ReviewView) -> LogAudit:
        reviewed = view.reviewed

        def examples(name: str) -> tuple[str, ...]:
            number = view.number(name)
            rows = view.describer.rows(number)
            return view.session.cache.get("examples", rows, lambda: view.describer.exemplars(number))

        session, checked = view.session, reviewed.review.checked
        decided = {u.text: u.probability for u in reviewed.model.utterances if u.text in checked}
        return LogAudit(session.folder, session.store.signature, reviewed.assigned, reviewed.ids, decided, examples)

    @app.get("/v1/audit", tags=["review"])
    async def audit(
        questions: Annotated[int, Query(ge=0, le=bodies.MAX_QUESTIONS)] = DEFAULT_QUESTIONS,
    ) -> AuditResult:
        """Return what the answers so far say, and the questions that are left."""
        return await run_in_threadpool(lambda: audit_of(service.refresh()).result(questions))

    @app.post("/v1/audit", tags=["review"])
    async def answer(body: bodies.AuditBody) -> AuditResult:
        """Keep answers; they are no decisions of the review."""

        def run() -> AuditResult:
            opened = audit_of(service.refresh(service.session_for(body.model)))
            opened.record({(one.text, one.id): one.belongs for one in body.answers})
            return opened.result(body.questions)

        return await run_in_threadpool(run)

    @app.post("/v1/thresholds", tags=["predict"])
    async def set_thresholds(request: Request, body: bodies.ThresholdsBody) -> ThresholdsResult:
        """Write thresholds that keep a promised precision; predictions have `above_threshold` a second later."""
        return await service.run(request, run_thresholds, body)
