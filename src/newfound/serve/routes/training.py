"""The workflows that train a model (discover, update, refit), and the estimate before them."""

from __future__ import annotations

import logging
from collections import Counter
from functools import partial
from typing import Annotated, Literal

from fastapi import FastAPI, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from newfound.data.rows import LabelUse, ReadOptions
from newfound.serve.access import author_of, owner_of
from newfound.serve.background.jobs import Kind
from newfound.serve.background.process import Work
from newfound.serve.background.work import run_check, run_discovery, run_estimate, run_refit, run_update
from newfound.serve.schemas import requests as bodies
from newfound.serve.schemas import responses as answers
from newfound.serve.schemas import training as jobs
from newfound.serve.service import Service, identify
from newfound.serve.settings import MAX_BYTES
from newfound.serve.uploads import ENDINGS
from newfound.workflows.checking import CheckResult

logger = logging.getLogger("newfound.serve")
FILE_BODY = {"requestBody": {"content": {"application/octet-stream": {"schema": {"type": "string"}}}}}


def add_routes(app: FastAPI, service: Service) -> None:
    """Add the routes."""

    @app.post("/v1/estimate", tags=["train"])
    async def estimate_new(request: Request, body: bodies.EstimateBody) -> answers.EstimateOut:
        """Estimate how many new intents the logs hold, before any training."""
        return await service.run(request, run_estimate, body)

    @app.post("/v1/check", tags=["train"])
    async def check_known(request: Request, body: bodies.CheckBody) -> CheckResult:
        """Look for likely label errors and nearly equal intents in known data; `line` is the position, from 1."""
        return await service.run(request, run_check, body)

    @app.post("/v1/files", tags=["train"], openapi_extra=FILE_BODY)
    async def read_file(
        request: Request,
        name: Annotated[str, Query(min_length=1, max_length=200, description="The name of the file")],
        use: Annotated[Literal["known", "logs"], Query(description="Labelled utterances, or logs")] = "logs",
        text_column: Annotated[str | None, Query(max_length=200, description="The column of the utterances")] = None,
        label_column: Annotated[str | None, Query(max_length=200, description="The column of the intents")] = None,
        header: Annotated[bool, Query(description="Whether a table starts with the names of its columns")] = True,
        replaces: Annotated[str | None, Query(max_length=50, description="The id of an earlier reading")] = None,
    ) -> jobs.FilePreview:
        """Read a file of utterances, and say what it holds. It is kept until a job has taken it.

        The body is the file: CSV, TSV, JSON lines, plain text or another format that the name tells; text may be
        compressed with gzip.
        """
        options = ReadOptions(text_column, label_column, header=None if header else False)
        labels: LabelUse = "required" if use == "known" else "ignored"
        service.uploads.forget(replaces)
        return await service.uploads.read(
            name,
            await request.body(),
            labels,
            options,
            owner=owner_of(request),
            run=partial(service.queue.run, request),
        )

    def start_with_files(
        kind: Kind, run: Work, body: bodies.DiscoverBody | bodies.UpdateBody, author: str
    ) -> jobs.JobState:
        """Start a job that may read files which were sent before. They are forgotten when it has them."""
        model, version = service.served_model, service.view.version
        ids = {name: id for name in ("known_file", "logs_file") if (id := getattr(body, name, None)) is not None}
        files = {name: service.uploads.get(id) for name, id in ids.items()}
        work = partial(run, model, body, service.settings.llm, files)
        state = service.jobs.start(kind, model.folder, work, author=author, version=version)
        service.uploads.forget(*ids.values())
        return state

    @app.post("/v1/discover", tags=["train"])
    async def start_discovery(request: Request, body: bodies.DiscoverBody) -> jobs.JobState:
        """Discover the new intents in logs, all if none is known. The model is written beside the served one."""
        return start_with_files("discover", run_discovery, body, author_of(request, body.author))

    @app.post("/v1/update", tags=["train"])
    async def start_update(request: Request, body: bodies.UpdateBody) -> jobs.JobState:
        """Discover further intents in newer logs; accepted intents are known. The model is written beside this one."""
        return start_with_files("update", run_update, body, author_of(request, body.author))

    @app.post("/v1/review/refit", tags=["review", "train"])
    async def start_refit(request: Request, body: bodies.RefitBody) -> jobs.JobState:
        """Train the model further on the decisions. The result is written into a folder beside it."""
        author, model = author_of(request, body.author), service.served_model
        version = service.view.version
        return service.jobs.start(
            "refit", model.folder, partial(run_refit, model, body), author=author, version=version
        )

    @app.get("/v1/review/training", tags=["review", "train"])
    async def training() -> jobs.TrainingState:
        """Return what a training would learn from, the last job, and the models that can be served."""
        view = service.view
        review = view.reviewed.review
        kinds = Counter(entry.kind for entry in view.entries if entry.undone_at is None)
        names = ("merge", "rename", "split", "reject")
        return jobs.TrainingState(
            version=view.version,
            name=view.session.folder.name,
            earlier=service.earlier,
            decided=jobs.ReviewCounts(len(review.checked), len(review.accepted), *(kinds[name] for name in names)),
            undecided=sum(review.status(name) == "new" for name in review.names),
            job=service.jobs.state(),
            max_bytes=MAX_BYTES,
            endings=ENDINGS,
        )

    @app.post("/v1/jobs/cancel", tags=["train"])
    async def cancel_job(request: Request, body: bodies.CancelBody) -> jobs.JobState:
        """End the running job. Nothing of it stays, and the served model is as before."""
        author, job = author_of(request, body.author), service.jobs.state()
        if job.status == "running" and job.author != author:
            raise HTTPException(403, f"{job.author} has started it; only {job.author} may cancel it")
        state = await service.jobs.cancel(author)
        logger.info("%s cancelled a job (%s)", author, state.kind)
        return state

    @app.post("/v1/review/serve", tags=["review", "train"])
    async def serve(request: Request, body: bodies.ServeBody) -> answers.Served:
        """Serve the model that the last job has written, or the one that was served before it."""
        author = author_of(request, body.author)
        switch = service.serve_result if body.which == "result" else service.serve_earlier
        await run_in_threadpool(switch)
        served = identify(service.session)
        logger.info("%s chose the model %s", author, served.name)
        return served

    @app.get("/v1/jobs", tags=["train"])
    async def job_state() -> jobs.JobState:
        """Return the last job in the background and its progress."""
        return service.jobs.state()
