"""The application: prediction, review, export and training over HTTP, and the page that uses them.

`service` holds the model, `batching` feeds it, and `middleware` decides who is answered. No part of a request is ever
used as a path.
"""

from __future__ import annotations

import asyncio
import errno
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Thread
from typing import Any

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.middleware.gzip import GZipMiddleware

from newfound.encoders.encoder import Encoder
from newfound.errors import DecisionError, NewfoundError, OutputError
from newfound.model.hub import model_folder
from newfound.serve.answers import REFUSALS
from newfound.serve.background import WorkFailed
from newfound.serve.batching import Batcher
from newfound.serve.jobs import without_paths
from newfound.serve.middleware import GuardMiddleware
from newfound.serve.routes import pages, predictions, reviews, training
from newfound.serve.service import Service
from newfound.serve.settings import ServeSettings
from newfound.version import __version__

logger = logging.getLogger("newfound.serve")
SECONDS_BETWEEN_RELOAD_CHECKS = 1.0
MAX_ERRORS_IN_AN_ANSWER = 20
STATUSES = {WorkFailed: 500, DecisionError: 422, OutputError: 507}  # of errors; 409 otherwise
MIN_BYTES_TO_COMPRESS = 2_000
COMPRESSION = 1  # of 9; the map of 100,000 utterances takes 35 ms, and 730 at 9 for a few percent


def create_app(
    folder: str | Path, settings: ServeSettings | None = None, *, encoder: str | Encoder | None = None
) -> GuardMiddleware:
    """Load a model and return the application that serves it.

    `encoder` is the model's encoder or its folder, if it is not where the model expects it.
    """
    settings = settings or ServeSettings()
    service = Service(model_folder(folder), settings, encoder=encoder)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        batcher = Batcher(service.classify, at_once=service.batches_at_once)
        service.batcher = batcher
        service.metrics.waiting.set_function(lambda: batcher.waiting)
        reloading = asyncio.create_task(_reload_regularly(service))
        Thread(target=service.warm_up, daemon=True).start()
        yield
        reloading.cancel()
        await service.stop_work()
        await batcher.stop()

    app = FastAPI(
        title="newfound",
        version=__version__,
        summary="Intents, known and newly found, over HTTP",
        docs_url=None,  # the documentation pages of FastAPI load scripts from other servers
        redoc_url=None,
        lifespan=lifespan,
        responses=REFUSALS,
        dependencies=[Depends(_refuse_unknown_parameters)],
    )
    compressing = GZipMiddleware(app, minimum_size=MIN_BYTES_TO_COMPRESS, compresslevel=COMPRESSION)
    guard = GuardMiddleware(compressing, service)
    _add_error_handlers(app, service)
    predictions.add_routes(app, service)
    reviews.add_routes(app, service)
    training.add_routes(app, service)
    pages.add_routes(app, service, guard)
    return guard


async def _refuse_unknown_parameters(request: Request) -> None:
    """Refuse parameters in the address that a route of the API does not have, as unknown fields of a body are."""
    if request.url.path.startswith("/v1/"):
        expected = {parameter.alias for parameter in request.scope["route"].dependant.query_params}
        unknown = [name for name in request.query_params if name not in expected]
        if unknown:
            message = f"unknown parameter; expected {', '.join(sorted(expected)) or 'none'}"
            raise RequestValidationError([{"loc": ("query", name), "msg": message} for name in unknown])


async def _reload_regularly(service: Service) -> None:
    while True:
        await asyncio.sleep(SECONDS_BETWEEN_RELOAD_CHECKS)
        try:
            await run_in_threadpool(service.reload_if_newer)
        except Exception as error:  # the next check may succeed
            logger.warning("cannot check for a newer model: %s: %s", type(error).__name__, error)


def _add_error_handlers(app: FastAPI, service: Service) -> None:
    def answer(status: int, detail: Any, **more: Any) -> Response:
        """Answer in ASCII, as an error may repeat parts of the request that cannot be encoded otherwise."""
        return Response(json.dumps({"detail": detail, **more}), status, media_type="application/json")

    @app.exception_handler(RequestValidationError)
    async def on_invalid_request(request: Request, error: RequestValidationError) -> Response:
        wrong = error.errors()[:MAX_ERRORS_IN_AN_ANSWER]
        return answer(422, [{"where": [str(part) for part in e["loc"]], "what": str(e["msg"])} for e in wrong])

    @app.exception_handler(WorkFailed)
    @app.exception_handler(NewfoundError)
    async def on_other_error(request: Request, error: Exception) -> Response:
        status = next((status for kind, status in STATUSES.items() if isinstance(error, kind)), 409)
        entry = getattr(error, "entry", None)
        detail = without_paths(str(error), service.session.folder.parent)
        return answer(status, detail, **({} if entry is None else {"entry": entry}))

    @app.exception_handler(OSError)
    async def on_disk_error(request: Request, error: OSError) -> Response:
        logger.error("%s: %s", request.url.path, error)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return answer(507, "the disk is full, nothing was recorded; make room and try again")
        return answer(503, f"the disk reports an error ({error.strerror or type(error).__name__}); try again")
