"""The workflows that train a model (discover, update, refit), and the estimate before them."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from starlette.concurrency import run_in_threadpool

from newfound.serve.access import author_of
from newfound.serve.background.queue import TOO_MANY_RESPONSE, queued_route
from newfound.serve.background.work import run_check, run_discovery, run_estimate, run_refit, run_update
from newfound.serve.schemas import requests as bodies
from newfound.serve.schemas import responses as answers
from newfound.serve.service import Service
from newfound.workflows.refitting import STEPS_OF_A_REFIT

logger = logging.getLogger("newfound.serve")
BUSY_RESPONSE: dict[int | str, dict[str, Any]] = {409: {"description": "A job is running already"}}


def add_routes(app: FastAPI, service: Service) -> None:
    """Add the routes."""

    queued = APIRouter(route_class=queued_route(service.queue), dependencies=app.router.dependencies)

    @queued.post("/v1/estimate", tags=["train"], responses=TOO_MANY_RESPONSE)
    async def estimate_new(body: bodies.EstimateBody) -> answers.EstimateOut:
        """Estimate how many new intents the logs hold, before any training."""
        result: answers.EstimateOut = await service.queue.run(partial(run_estimate, service.served_model, body))
        return result

    @queued.post("/v1/check", tags=["train"], responses=TOO_MANY_RESPONSE)
    async def check_known(body: bodies.CheckBody) -> answers.CheckOut:
        """Look for likely label errors and nearly equal intents in known data; `line` is the position, from 1."""
        result: answers.CheckOut = await service.queue.run(partial(run_check, service.served_model, body))
        return result

    app.router.routes.extend(queued.routes)  # `include_router` would hide them from `app.routes`

    @app.post("/v1/discover", tags=["train"], responses=BUSY_RESPONSE)
    async def start_discovery(request: Request, body: bodies.DiscoverBody) -> answers.JobState:
        """Discover the new intents in logs, all if none is known. The model is written beside the served one."""
        author, model = author_of(request, body.author), service.served_model
        work = partial(run_discovery, model, body, service.settings.llm)
        return service.jobs.start("discover", model.folder, work, author=author)

    @app.post("/v1/update", tags=["train"], responses=BUSY_RESPONSE)
    async def start_update(request: Request, body: bodies.UpdateBody) -> answers.JobState:
        """Discover further intents in newer logs; accepted intents are known. The model is written beside this one."""
        author, model = author_of(request, body.author), service.served_model
        work = partial(run_update, model, body, service.settings.llm)
        return service.jobs.start("update", model.folder, work, author=author)

    @app.post("/v1/review/refit", tags=["review", "train"], responses=BUSY_RESPONSE)
    async def start_refit(request: Request, body: bodies.RefitBody) -> answers.JobState:
        """Train the model further on the decisions. The result is written into a folder beside it."""
        author, model = author_of(request, body.author), service.served_model
        work = partial(run_refit, model, body)
        return service.jobs.start("refit", model.folder, work, author=author, steps=STEPS_OF_A_REFIT)

    @app.post("/v1/jobs/cancel", tags=["train"], responses={409: {"description": "No job is running"}})
    async def cancel_job(request: Request, body: bodies.CancelBody) -> answers.JobState:
        """End the running job. Nothing of it stays, and the served model is as before."""
        author = author_of(request, body.author)
        state = await service.jobs.cancel(author)
        logger.info("%s cancelled a job (%s)", author, state.kind)
        return state

    @app.post("/v1/review/serve", tags=["review", "train"], responses=BUSY_RESPONSE)
    async def serve(request: Request, body: bodies.ServeBody) -> answers.Served:
        """Serve the model that the last job has written, or the one that was served before it."""
        author = author_of(request, body.author)
        switch = service.serve_result if body.which == "result" else service.serve_earlier
        await run_in_threadpool(switch)
        logger.info("%s chose the model %s", author, service.session.folder.name)
        return service.served

    @app.get("/v1/jobs", tags=["train"])
    async def job_state() -> answers.JobState:
        """Return the last job in the background and its progress."""
        return service.jobs.state()
