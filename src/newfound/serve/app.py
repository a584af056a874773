"""The application: prediction, review, export and training over HTTP, and the page that uses them.

`service` holds the model, `batching` feeds it, and `middleware` decides who is answered. No part of a request is ever
used as a path.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Route

from newfound.encoders.encoder import Encoder
from newfound.errors import DecisionError, NewfoundError, OutputError
from newfound.model.hub import model_folder
from newfound.serve.background.process import WorkFailed
from newfound.serve.batching import Batcher, QueueFull
from newfound.serve.metrics import route_of
from newfound.serve.middleware import GuardMiddleware
from newfound.serve.routes import pages, predictions, quality, reviews, training
from newfound.serve.schemas.errors import REFUSALS, describe_fields, encodable, without_paths
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

    Args:
        folder: The model folder.
        settings: Whom to answer, and how. Settings that are not safe are refused.
        encoder: The model's encoder or its folder, if it is not where the model expects it.
    """
    settings = settings or ServeSettings()
    settings.check()
    service = Service(model_folder(folder), settings, encoder=encoder)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.batcher = Batcher(service.classify, at_once=service.batches_at_once, on_batch=service.metrics.batch)
        service.batcher.start()
        service.metrics.watch(lambda: service.batcher.waiting if service.batcher else 0)
        reloading = asyncio.create_task(_reload_regularly(service))
        Thread(target=service.warm_up, daemon=True).start()
        yield
        reloading.cancel()
        await service.stop_work()
        await service.batcher.stop()

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
    describe = app.openapi

    @cache
    def describe_all() -> dict[str, Any]:
        return describe_fields(describe(), [getattr(r, "response_model", None) for r in app.routes])

    app.openapi = describe_all  # type: ignore[method-assign]
    compressing = GZipMiddleware(app, minimum_size=MIN_BYTES_TO_COMPRESS, compresslevel=COMPRESSION)
    guard = GuardMiddleware(compressing, settings, service.metrics.request, stop_work=service.stop_work)
    _add_error_handlers(app, service)
    predictions.add_routes(app, service)
    reviews.add_routes(app, service)
    training.add_routes(app, service)
    quality.add_routes(app, service)
    pages.add_routes(app, service, guard)
    service.metrics.routes = {route_of(route.path) for route in app.routes if isinstance(route, Route)}
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
    def answer(status: int, detail: Any, seconds_to_wait: int | None = None, **more: Any) -> JSONResponse:
        headers = None if seconds_to_wait is None else {"retry-after": str(seconds_to_wait)}
        return JSONResponse({"detail": detail, **more}, status, headers=headers)

    @app.exception_handler(RequestValidationError)
    async def on_invalid_request(request: Request, error: RequestValidationError) -> JSONResponse:
        details = [
            {"where": [encodable(str(part)) for part in e["loc"]], "what": encodable(str(e["msg"]))}
            for e in error.errors()[:MAX_ERRORS_IN_AN_ANSWER]
        ]
        return answer(422, details)

    @app.exception_handler(QueueFull)
    async def on_full_queue(request: Request, error: QueueFull) -> JSONResponse:
        return answer(503, "too many texts are waiting; try again in a moment", 1)

    @app.exception_handler(TimeoutError)
    async def on_timeout(request: Request, error: TimeoutError) -> JSONResponse:
        return answer(503, "it took too long; try again with fewer texts", 1)

    @app.exception_handler(WorkFailed)
    @app.exception_handler(NewfoundError)
    async def on_other_error(request: Request, error: Exception) -> JSONResponse:
        status = next((status for kind, status in STATUSES.items() if isinstance(error, kind)), 409)
        entry = getattr(error, "entry", None)
        detail = encodable(without_paths(str(error), service.session.folder.parent))
        return answer(status, detail, **({} if entry is None else {"entry": entry}))

    @app.exception_handler(OSError)
    async def on_disk_error(request: Request, error: OSError) -> JSONResponse:
        logger.error("%s: %s", request.url.path, error)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return answer(507, "the disk is full, nothing was recorded; make room and try again")
        return answer(503, f"the disk reports an error ({error.strerror or type(error).__name__}); try again")
