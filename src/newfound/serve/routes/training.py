"""The workflows that train a model (discover, update, refit), and the estimate before them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from starlette.concurrency import run_in_threadpool

from newfound.serve.routes.authors import author_of
from newfound.serve.schemas.requests import (
    CheckBody,
    DiscoverBody,
    EstimateBody,
    KnownText,
    LabelledText,
    RefitBody,
    ServeBody,
    UpdateBody,
)
from newfound.serve.schemas.responses import ChangesOut, CheckOut, EstimateOut, JobState, Served
from newfound.serve.service import Service
from newfound.training.progress import Reporter
from newfound.workflows.checking import CheckRequest, check
from newfound.workflows.discovery import DiscoverRequest, discover
from newfound.workflows.estimation import EstimateRequest, estimate
from newfound.workflows.refitting import STEPS_OF_A_REFIT, RefitRequest, refit
from newfound.workflows.updating import UpdateRequest, update

logger = logging.getLogger("newfound.serve")
BUSY: dict[int | str, dict[str, Any]] = {409: {"description": "A job is running already"}}


def add_routes(app: FastAPI, service: Service) -> None:
    """Add the routes.

    Args:
        app: The application that gets them.
        service: The served model.
    """

    @app.post("/v1/estimate", tags=["train"])
    async def estimate_new(body: EstimateBody) -> EstimateOut:
        """Estimate how many new intents the logs hold, before any training."""
        request = EstimateRequest(
            _pairs(body.known) if body.known else None,
            body.logs,
            strategy=body.strategy,
            logs_hold=body.logs_hold,
            encoder=service.session.model.encoder.with_precision("fp32"),
            seed=body.seed,
            conflicts=body.conflicts,
        )
        return EstimateOut.of(await run_in_threadpool(estimate, request))

    @app.post("/v1/check", tags=["train"])
    async def check_known(body: CheckBody) -> CheckOut:
        """Look for likely label errors and nearly equal intents in known data; `line` is the position, from 1."""
        request = CheckRequest(
            _pairs(body.known), encoder=service.session.model.encoder.with_precision("fp32"), seed=body.seed
        )
        return CheckOut.of(await run_in_threadpool(check, request))

    @app.post("/v1/discover", tags=["train"], responses=BUSY)
    async def start_discovery(request: Request, body: DiscoverBody) -> JobState:
        """Discover the new intents in logs, all if none is known. The model is written beside the served one."""
        author = author_of(request, body.author)
        session = service.session

        def run(out: Path, reporter: Reporter) -> None:
            workflow_request = DiscoverRequest(
                _pairs(body.known) if body.known else None,
                body.logs,
                out,
                method=body.method.value,
                n_new=body.n_new,
                logs_hold=body.logs_hold,
                encoder=session.model.encoder.with_precision("fp32"),
                device=session.model.device.type,
                seed=body.seed,
                redact=body.redact,
                conflicts=body.conflicts,
                llm=service.settings.llm,
            )
            discover(workflow_request, reporter=reporter)

        return service.jobs.start("discover", session.folder, run, author=author)

    @app.post("/v1/update", tags=["train"], responses=BUSY)
    async def start_update(request: Request, body: UpdateBody) -> JobState:
        """Discover further intents in newer logs; accepted intents are known. The model is written beside this one."""
        author = author_of(request, body.author)
        view = await run_in_threadpool(service.refresh)

        def run(out: Path, reporter: Reporter) -> None:
            workflow_request = UpdateRequest(
                view.reviewed.with_precision("fp32"),
                body.logs,
                out,
                n_new=body.n_new,
                accept_all=body.accept_all,
                device=view.session.model.device.type,
                seed=body.seed,
                redact=body.redact,
                llm=service.settings.llm,
            )
            update(workflow_request, reporter=reporter)

        return service.jobs.start("update", view.session.folder, run, author=author)

    @app.post("/v1/review/refit", tags=["review", "train"], responses=BUSY)
    async def start_refit(request: Request, body: RefitBody) -> JobState:
        """Train the model further on the decisions. The result is written into a folder beside it."""
        author = author_of(request, body.author)
        view = await run_in_threadpool(service.refresh)

        def run(out: Path, reporter: Reporter) -> ChangesOut:
            workflow_request = RefitRequest(
                view.reviewed.with_precision("fp32"),
                out,
                device=view.session.model.device.type,
                recluster=body.recluster,
            )
            return ChangesOut.of(refit(workflow_request, reporter=reporter).changes)

        return service.jobs.start("refit", view.session.folder, run, author=author, steps=STEPS_OF_A_REFIT)

    @app.post("/v1/review/serve", tags=["review", "train"], responses=BUSY)
    async def serve(request: Request, body: ServeBody) -> Served:
        """Serve the model that the last job has written, or the one that was served before it."""
        author = author_of(request, body.author)
        switch = service.serve_result if body.which == "result" else service.serve_earlier
        await run_in_threadpool(switch)
        logger.info("%s chose the model %s", author, service.session.folder.name)
        return Served(model=service.model_id, name=service.session.folder.name)

    @app.get("/v1/review/refit", tags=["review", "train"])
    async def refit_state() -> JobState:
        """Return the last job and its progress, as /v1/jobs does."""
        return service.jobs.state()

    @app.get("/v1/jobs", tags=["train"])
    async def job_state() -> JobState:
        """Return the last job in the background and its progress."""
        return service.jobs.state()


def _pairs(known: Sequence[KnownText | LabelledText]) -> tuple[list[str], list[str | None]]:
    return [example.text for example in known], [example.label for example in known]
