"""Workflows that fit models: discover, update, refit, and the estimate before them."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool

from newfound.serve.schemas import (
    AuthorBody,
    DiscoverBody,
    EstimateBody,
    EstimateOut,
    JobState,
    LabelledText,
    UpdateBody,
)
from newfound.serve.service import Service
from newfound.training.progress import Reporter
from newfound.workflows.discovery import DiscoverRequest, discover
from newfound.workflows.estimation import EstimateRequest, estimate
from newfound.workflows.refitting import RefitRequest, refit
from newfound.workflows.updating import UpdateRequest, update

BUSY = {409: {"description": "One is running already"}}


def add_routes(app: FastAPI, service: Service) -> None:
    @app.post("/v1/estimate", tags=["train"])
    async def count(body: EstimateBody) -> EstimateOut:
        """Estimate how many new intents the logs hold, before any training."""
        request = EstimateRequest(
            _pairs(body.known),
            body.logs,
            strategy=body.strategy,
            logs_hold=body.logs_hold,
            encoder=service.session.model.encoder,
            seed=body.seed,
        )
        return EstimateOut.of(await run_in_threadpool(estimate, request))

    @app.post("/v1/discover", tags=["train"], responses=BUSY)  # type: ignore[arg-type]
    async def find(body: DiscoverBody) -> JobState:
        """Find the new intents in logs; the model goes into a folder beside the one that is served."""
        session = service.session

        def run(out: Path, reporter: Reporter) -> None:
            request = DiscoverRequest(
                _pairs(body.known),
                body.logs,
                out,
                method=body.method.value,
                n_new=body.n_new,
                logs_hold=body.logs_hold,
                encoder=session.model.encoder,
                device=session.model.device.type,
                seed=body.seed,
                redact=body.redact,
            )
            discover(request, reporter=reporter)

        return service.jobs.start("discover", session.folder, run, author=body.author)

    @app.post("/v1/update", tags=["train"], responses=BUSY)  # type: ignore[arg-type]
    async def another_round(body: UpdateBody) -> JobState:
        """Another round in newer logs, with what was accepted as known; the model goes into a folder beside this."""
        view = await run_in_threadpool(service.refresh)

        def run(out: Path, reporter: Reporter) -> None:
            request = UpdateRequest(
                view.reviewed,
                body.logs,
                out,
                n_new=body.n_new,
                accept_all=body.accept_all,
                device=view.session.model.device.type,
                seed=body.seed,
                redact=body.redact,
            )
            update(request, reporter=reporter)

        return service.jobs.start("update", view.session.folder, run, author=body.author)

    @app.post("/v1/review/refit", tags=["review", "train"], responses=BUSY)  # type: ignore[arg-type]
    async def train_on(body: AuthorBody) -> JobState:
        """Train on from the decisions, into a folder beside the model."""
        view = await run_in_threadpool(service.refresh)

        def run(out: Path, reporter: Reporter) -> None:
            request = RefitRequest(view.reviewed, out, device=view.session.model.device.type)
            refit(request, reporter=reporter)

        return service.jobs.start("refit", view.session.folder, run, author=body.author)

    @app.get("/v1/review/refit", tags=["review", "train"])
    async def refit_state() -> JobState:
        """How far the training is; the same as /v1/jobs."""
        return service.jobs.state()

    @app.get("/v1/jobs", tags=["train"])
    async def job_state() -> JobState:
        """What is trained in the background, and how far it is."""
        return service.jobs.state()


def _pairs(known: list[LabelledText]) -> tuple[list[str], list[str]]:
    return [one.text for one in known], [one.label for one in known]
