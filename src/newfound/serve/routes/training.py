"""The workflows that train a model (discover, update, refit), and the files that are sent for them."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

from fastapi import FastAPI, Query, Request
from starlette.exceptions import HTTPException

from newfound.data.rows import LabelUse, ReadOptions
from newfound.serve import answers, bodies, uploads
from newfound.serve.background import WorkFailed, run_with_encoder
from newfound.serve.jobs import JobState, Kind, Workflow
from newfound.serve.middleware import author_of
from newfound.serve.service import Service, identify
from newfound.serve.settings import MAX_BYTES
from newfound.workflows.discovery import discover
from newfound.workflows.updating import refit, update

logger = logging.getLogger("newfound.serve")
DONE = {"merge": "merged", "rename": "renamed", "split": "split", "reject": "rejected"}
FILE_BODY = {"requestBody": {"content": {"application/octet-stream": {"schema": {"type": "string"}}}}}


def add_routes(app: FastAPI, service: Service) -> None:
    @app.post("/v1/files", tags=["train"], openapi_extra=FILE_BODY)
    async def read_file(
        request: Request,
        name: Annotated[str, Query(min_length=1, max_length=200, description="The name of the file")],
        use: Annotated[Literal["known", "logs"], Query(description="Labelled utterances, or logs")] = "logs",
        text_column: Annotated[str | None, Query(max_length=200, description="The column of the utterances")] = None,
        label_column: Annotated[str | None, Query(max_length=200, description="The column of the intents")] = None,
        header: Annotated[bool, Query(description="Whether a table starts with the names of its columns")] = True,
        replaces: Annotated[str | None, Query(max_length=50, description="The id of an earlier reading")] = None,
    ) -> uploads.FilePreview:
        """Read a file of utterances, and say what it holds. It is kept until a job has taken it.

        The body is the file: CSV, TSV, JSON lines, plain text or another format that the name tells; text may be
        compressed with gzip.
        """
        options = ReadOptions(text_column, label_column, header=None if header else False)
        labels: LabelUse = "required" if use == "known" else "ignored"
        content = await request.body()
        service.uploads.forget(replaces)
        with TemporaryDirectory(prefix="newfound-file-") as folder:
            work = partial(uploads.read_file, Path(folder), name, content, labels, options)
            try:
                preview, corpus = await service.queue.run(work, seconds=uploads.SECONDS_TO_READ)
            except (TimeoutError, WorkFailed):
                return uploads.beyond_limits(name, f"more than {uploads.SECONDS_TO_READ} seconds or too much memory")
        return preview if corpus is None else replace(preview, id=service.uploads.keep(corpus))

    def start(kind: Kind, request: Request, body: bodies.SignedBody, work: Workflow, *files: str | None) -> JobState:
        """Start a job. The files that were sent for it are forgotten, since it has them."""
        author, version = author_of(request, body.author), service.session.latest.version
        state = service.jobs.start(kind, service.session.folder, work, author=author, version=version)
        service.uploads.forget(*files)
        return state

    @app.post("/v1/discover", tags=["train"])
    async def start_discovery(request: Request, body: bodies.DiscoverBody) -> JobState:
        """Discover the new intents in logs, all if none is known. The model is written beside the served one."""
        known = service.uploads.get(body.known_file) or bodies.pairs(body.known)
        logs = service.uploads.get(body.logs_file) or body.logs
        options = {"device": service.device, "llm": service.settings.llm, **body.options()}
        folder, encoder = service.session.folder, service.encoder
        work = partial(run_with_encoder, discover, folder, encoder, known=known, logs=logs, **options)
        return start("discover", request, body, work, body.known_file, body.logs_file)

    @app.post("/v1/update", tags=["train"])
    async def start_update(request: Request, body: bodies.UpdateBody) -> JobState:
        """Discover further intents in newer logs; accepted intents are known. The model is written beside this one."""
        logs = service.uploads.get(body.logs_file) or body.logs
        work = service.about_model(update, logs, llm=service.settings.llm, **body.options())
        return start("update", request, body, work, body.logs_file)

    @app.post("/v1/review/refit", tags=["review", "train"])
    async def start_refit(request: Request, body: bodies.SignedBody) -> JobState:
        """Train the model further on the decisions. The result is written into a folder beside it."""
        return start("refit", request, body, service.about_model(refit))

    @app.get("/v1/review/training", tags=["review", "train"])
    async def training() -> answers.TrainingState:
        """Return what a training would learn from, the last job, and the models that can be served."""
        view = service.session.latest
        review = view.reviewed.review
        kinds = Counter(entry.kind for entry in view.entries if entry.undone_at is None)
        decided = {"answers": len(review.checked), "accepted": len(review.accepted)}
        decided |= {done: kinds[kind] for kind, done in DONE.items()}
        return answers.TrainingState(
            version=view.version,
            name=view.session.folder.name,
            earlier=service.earlier[-1].name if service.earlier else None,
            decided=decided,
            undecided=sum(review.status(name) == "new" for name in review.names),
            job=service.jobs.state(),
            max_bytes=MAX_BYTES,
            endings=uploads.ENDINGS,
        )

    @app.post("/v1/jobs/cancel", tags=["train"])
    async def cancel_job(request: Request, body: bodies.SignedBody) -> JobState:
        """End the running job. Nothing of it stays, and the served model is as before."""
        author, job = author_of(request, body.author), service.jobs.state()
        if job.status == "running" and job.author != author:
            raise HTTPException(403, f"{job.author} has started it; only {job.author} may cancel it")
        state = await service.jobs.cancel(author)
        logger.info("%s cancelled a job (%s)", author, state.kind)
        return state

    @app.post("/v1/review/serve", tags=["review", "train"])
    def serve(request: Request, body: bodies.ServeBody) -> answers.Served:
        """Serve the model that the last job has written, or the one that was served before it."""
        author = author_of(request, body.author)
        service.serve_other(body.which)
        served = identify(service.session)
        logger.info("%s chose the model %s", author, served.name)
        return served

    @app.get("/v1/jobs", tags=["train"])
    async def job_state() -> JobState:
        """Return the last job in the background and its progress."""
        return service.jobs.state()
