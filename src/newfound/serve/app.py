"""The application: prediction, review, export and training over HTTP, and the page that uses them.

`service` knows the model, `batching` the load, `middleware` who may ask. Nothing in a request is ever a path.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Thread
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from newfound.encoders.encoder import Encoder
from newfound.errors import ConflictError, DecisionError, NewfoundError
from newfound.serve.batching import Batcher, QueueFull
from newfound.serve.middleware import GuardMiddleware
from newfound.serve.routes import pages, predictions, reviews, training
from newfound.serve.service import Service
from newfound.serve.settings import ServeSettings
from newfound.version import __version__

logger = logging.getLogger("newfound.serve")
SECONDS_BETWEEN_LOOKS = 1.0  # at the model folder, for a newer model or somebody else's decisions


def create_app(
    folder: str | Path, settings: ServeSettings | None = None, *, encoder: str | Encoder | None = None
) -> GuardMiddleware:
    """Return the application for one model folder; it loads the model, and refuses settings that are not safe.

    Args:
        folder: The model folder.
        settings: What may be asked for, and by whom.
        encoder: Where the model's encoder lies, if it cannot be found.
    """
    settings = settings or ServeSettings()
    settings.check()
    service = Service(Path(folder), settings, encoder=encoder)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.batcher = Batcher(service.classify, most_waiting=settings.most_waiting, on_batch=service.metrics.batch)
        service.batcher.start()
        service.metrics.watch(lambda: service.batcher.waiting if service.batcher else 0)
        looking = asyncio.create_task(_look_for_news(service))
        Thread(target=service.warm_up, daemon=True).start()
        yield
        service.stopping = True
        looking.cancel()
        await service.batcher.stop()

    app = FastAPI(
        title="newfound",
        version=__version__,
        summary="Intents, known and newly found, over HTTP",
        docs_url=None,  # they load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    guard = GuardMiddleware(app, settings, service.metrics.request)
    _add_errors(app)
    predictions.add_routes(app, service)
    reviews.add_routes(app, service)
    training.add_routes(app, service)
    pages.add_routes(app, service, guard)
    return guard


async def _look_for_news(service: Service) -> None:
    while True:
        await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
        try:
            await run_in_threadpool(service.reload_if_newer)
        except Exception as error:  # the next look may go better, and must not be the last
            logger.warning("cannot look for a newer model: %s: %s", type(error).__name__, error)


def _add_errors(app: FastAPI) -> None:
    def answer(status: int, detail: Any, **headers: str) -> JSONResponse:
        return JSONResponse({"detail": detail}, status, headers={k.replace("_", "-"): v for k, v in headers.items()})

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        found = [
            {"where": [_encodable(str(part)) for part in e["loc"]], "what": _encodable(str(e["msg"]))}
            for e in error.errors()[:20]
        ]
        return answer(422, found)

    @app.exception_handler(QueueFull)
    async def full(request: Request, error: QueueFull) -> JSONResponse:
        return answer(503, "too many texts are waiting; try again in a moment", retry_after="1")

    @app.exception_handler(TimeoutError)
    async def late(request: Request, error: TimeoutError) -> JSONResponse:
        return answer(503, "it took too long; try again with fewer texts", retry_after="1")

    @app.exception_handler(ConflictError)
    async def conflict(request: Request, error: ConflictError) -> JSONResponse:
        return answer(409, str(error))

    @app.exception_handler(DecisionError)
    async def refused(request: Request, error: DecisionError) -> JSONResponse:
        return answer(422, _encodable(str(error)))

    @app.exception_handler(NewfoundError)
    async def cannot(request: Request, error: NewfoundError) -> JSONResponse:
        return answer(409, _encodable(str(error)))


def _encodable(text: str) -> str:
    """An error may repeat what was sent; what cannot be encoded is not repeated."""
    return text.encode("utf-8", "replace").decode()
