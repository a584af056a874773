"""The application: prediction, review and export over HTTP, and the page that uses them.

Every handler is thin: `workbench` knows the review, `batching` the load, `gate` who may ask. Nothing in a request is
ever a path.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from threading import Lock, Thread
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import parse_qs

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

import newfound
from newfound.data.corpus import has_half_character
from newfound.encoders.encoder import Encoder
from newfound.errors import ConflictError, DecisionError, ModelError, NewfoundError
from newfound.export.formats import WRITERS, dataset_files, zipped
from newfound.files import REVIEW_FILE
from newfound.model import ABOUT_FILE, Prediction
from newfound.review.decisions import parse
from newfound.review.store import Entry
from newfound.serve.batching import Batcher, QueueFull
from newfound.serve.gate import Gate
from newfound.serve.observed import Observed
from newfound.serve.refitting import Refitting
from newfound.serve.settings import ServeSettings
from newfound.serve.workbench import View, Workbench

MOST_LOGIN_BYTES = 4_096
SECONDS_BETWEEN_LOOKS = 1.0  # at the model folder, for a newer model or somebody else's decisions
T = TypeVar("T")


def _no_half_characters(text: str) -> str:
    if has_half_character(text):
        raise ValueError("half a character (a lone surrogate)")
    return text


Text = Annotated[str, Field(min_length=1, max_length=10_000), AfterValidator(_no_half_characters)]
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_no_half_characters)]
Format = Literal["rasa", "dialogflow-es", "dialogflow-cx", "clu", "botpress", "csv", "jsonl", "parquet", "datasets"]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Texts(Body):
    """A batch of utterances."""

    texts: Annotated[list[Text], Field(min_length=1, max_length=256)]
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"texts": ["where is my card?"]}]})


class Predicted(BaseModel):
    intent: str | None = Field(description="None: of no intent, since a person rejected what it looks like")
    known: bool
    probability: float
    outlier: float = Field(description="Share of labelled training utterances that lie closer to their intent")


class Predictions(BaseModel):
    predictions: list[Predicted]


class OneText(Body):
    text: Text
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"text": "where is my card?"}]})


class Decisions(Body):
    """Decisions as in `newfound review apply`; all of them are taken or none."""

    author: Name
    version: int = Field(ge=0, lt=2**53, description="Of the state that the reviewer saw")
    decisions: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=1_000)]
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"author": "ana", "version": 0, "decisions": [{"rename": {"intent": "refund_money", "to": "refund"}}]}
            ]
        },
    )


class Undo(Body):
    author: Name
    version: int = Field(ge=0, lt=2**53)
    id: int | None = Field(default=None, ge=0, lt=2**53)


class Author(Body):
    author: Name


class Service:
    """The model that is served now, the queue before it, and what is under way."""

    def __init__(self, folder: Path, settings: ServeSettings, *, encoder: str | Encoder | None = None) -> None:
        self.settings, self._folder, self._encoder = settings, folder, encoder
        self.bench = Workbench(folder, encoder=encoder)
        self.view = self.bench.view()
        self.observed = Observed()
        self.refitting = Refitting()
        self.batcher: Batcher[Prediction] | None = None
        self.stopping = False
        self._mark = self._signature()
        self._swapping = Lock()

    def warm_up(self) -> None:
        with contextlib.suppress(
            ModelError
        ):  # without its utterances a model predicts, and the page says what is missing
            self.bench.warm_up()

    def classify(self, texts: list[str]) -> list[Prediction]:
        return self.view.reviewed.classify(texts)

    def refresh(self) -> View:
        """Heed decisions, also those that another process took."""
        bench = self.bench
        view = bench.view()
        with self._swapping:
            if self.bench is bench:  # else a newer model took its place meanwhile
                self.view = view
            return self.view

    def reload_if_newer(self) -> None:
        """Another model in the folder, or another decision: the next batch is answered by it."""
        mark = self._signature()
        if mark == self._mark:
            return
        if mark[0] != self._mark[0]:
            try:
                fresh = Workbench(self._folder, encoder=self._encoder)
                view = fresh.view()
            except NewfoundError as error:
                self.observed.problem(f"the newer model cannot be used: {error}")
                self._mark = mark
                return
            with self._swapping:
                self.bench, self.view = fresh, view
            self.warm_up()
        else:
            self.refresh()
        self._mark = mark

    def _signature(self) -> tuple[object, object]:
        return _stamp(self._folder / ABOUT_FILE), [_stamp(self._folder / f"{REVIEW_FILE}{end}") for end in ("", "-wal")]


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def create_app(
    folder: str | Path, settings: ServeSettings | None = None, *, encoder: str | Encoder | None = None
) -> Gate:
    """The application for one model folder; it loads the model, and refuses settings that are not safe."""
    settings = settings or ServeSettings()
    settings.check()
    service = Service(Path(folder), settings, encoder=encoder)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.batcher = Batcher(service.classify, most_waiting=settings.most_waiting, seen=service.observed.batch)
        service.batcher.start()
        service.observed.watch(lambda: service.batcher.waiting if service.batcher else 0)
        looking = asyncio.create_task(_look_for_news(service))
        Thread(target=service.warm_up, daemon=True).start()
        yield
        service.stopping = True
        looking.cancel()
        await service.batcher.stop()

    app = FastAPI(
        title="newfound",
        version=newfound.__version__,
        summary="Intents, known and newly found, over HTTP",
        docs_url=None,  # they load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    gate = Gate(app, settings, service.observed.request)
    _add_errors(app)
    _add_prediction(app, service)
    _add_review(app, service)
    _add_page(app, service, gate)
    return gate


async def _look_for_news(service: Service) -> None:
    while True:
        await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
        try:
            await run_in_threadpool(service.reload_if_newer)
        except Exception as error:  # the next look may go better, and must not be the last
            service.observed.problem(f"cannot look for a newer model: {type(error).__name__}: {error}")


def _add_errors(app: FastAPI) -> None:
    def answer(status: int, detail: Any, **headers: str) -> JSONResponse:
        return JSONResponse({"detail": detail}, status, headers={k.replace("_", "-"): v for k, v in headers.items()})

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        found = [
            {"where": [_clean(str(part)) for part in e["loc"]], "what": _clean(str(e["msg"]))}
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
        return answer(422, _clean(str(error)))

    @app.exception_handler(NewfoundError)
    async def cannot(request: Request, error: NewfoundError) -> JSONResponse:
        return answer(409, _clean(str(error)))


def _clean(text: str) -> str:
    """An error may repeat what was sent; what cannot be encoded is not repeated."""
    return text.encode("utf-8", "replace").decode()


def _add_prediction(app: FastAPI, service: Service) -> None:
    @app.post("/v1/predict", tags=["predict"], responses={503: {"description": "The queue is full"}})
    async def predict(body: Texts) -> Predictions:
        """Classify a batch of utterances. Requests that arrive together are answered together."""
        if service.batcher is None:
            raise QueueFull
        async with asyncio.timeout(service.settings.seconds_to_answer):
            answers = await service.batcher.ask(body.texts)
        return Predictions(
            predictions=[Predicted(**{k: v for k, v in asdict(a).items() if k != "text"}) for a in answers]
        )

    @app.get("/v1/intents", tags=["predict"])
    async def intents() -> dict[str, Any]:
        """The intents as the review stands."""
        view = await run_in_threadpool(service.refresh)
        return {"intents": [{"name": n, "status": view.reviewed.review.status(n)} for n in view.names]}

    @app.get("/v1/export/{format}", tags=["export"], response_class=Response)
    async def export(
        format: Format,
        language: Annotated[str, Query(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$", max_length=20)] = "en",
    ) -> Response:
        """The reviewed intents and utterances in the format of a bot platform."""
        content, ending = await run_in_threadpool(lambda: _exported(service.refresh(), format, language))
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", service.bench.folder.name) or "intents"
        disposition = f'attachment; filename="{name}-{format}{ending}"'
        return Response(content, media_type="application/octet-stream", headers={"content-disposition": disposition})

    @app.get("/healthz", tags=["operation"])
    async def healthy() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/readyz", tags=["operation"], responses={503: {"description": "Stopping"}})
    async def ready(response: Response) -> dict[str, str]:
        if service.batcher is None or service.stopping:
            response.status_code = 503
            return {"status": "not ready"}
        return {"status": "ready"}

    @app.get("/metrics", tags=["operation"], response_class=Response)
    async def metrics() -> Response:
        content, kind = service.observed.text()
        return Response(content, media_type=kind)


def _exported(view: View, format: str, language: str) -> tuple[bytes, str]:
    corpus = view.reviewed.corpus()
    if format == "datasets":
        return zipped(dataset_files(corpus)), ".zip"
    write, ending = WRITERS[format]
    return write(corpus, view.bench.folder.name, language), ending


def _add_review(app: FastAPI, service: Service) -> None:
    async def looked(look: Callable[[View], T]) -> T:
        return await run_in_threadpool(lambda: look(service.refresh()))

    @app.get("/v1/review/state", tags=["review"])
    async def state() -> dict[str, Any]:
        """The intents with their status, the progress, and the version to send with a decision."""
        return {**await looked(View.state), "refit": service.refitting.state()}

    @app.get("/v1/review/intent", tags=["review"])
    async def intent(
        name: Annotated[str, Query(max_length=200)], start: Annotated[int, Query(ge=0, le=10**6)] = 0
    ) -> dict[str, Any]:
        """One intent: central and border utterances, overlaps, and how it may be split."""
        return await looked(lambda view: view.intent(name, start=start))

    @app.get("/v1/review/queue", tags=["review"])
    async def queue(most: Annotated[int, Query(ge=1, le=200)] = 20) -> dict[str, Any]:
        """The utterances that most need a look."""
        return await looked(
            lambda view: {
                "version": view.version,
                "items": view.queue(most),
                "expected_error": round(view.expected_error, 4),
            }
        )

    @app.get("/v1/review/search", tags=["review"])
    async def search(q: Annotated[str, Query(min_length=1, max_length=200)]) -> dict[str, Any]:
        """Utterances that hold all the words."""
        return await looked(lambda view: {"utterances": view.search(q)})

    @app.get("/v1/review/map", tags=["review"])
    async def points() -> dict[str, Any]:
        """The logs in two dimensions: x, y, number of the intent, number of the utterance."""
        return await looked(View.points)

    @app.get("/v1/review/utterances", tags=["review"])
    async def utterances(
        id: Annotated[list[Annotated[int, Field(ge=0, lt=2**31)]], Query(max_length=500)],
    ) -> dict[str, Any]:
        """Utterances by their numbers."""

        def look(view: View) -> dict[str, Any]:
            if any(i >= len(view.assigned) for i in id):
                raise DecisionError("no such utterance")
            return {"utterances": [view.utterance(i) for i in id]}

        return await looked(look)

    @app.post("/v1/review/explain", tags=["review"])
    async def explain(body: OneText) -> dict[str, Any]:
        """What a text is classified as, and the intents and utterances it is closest to."""
        return await looked(lambda view: view.explain(body.text))

    @app.post("/v1/review/decisions", tags=["review"], responses={409: {"description": "Somebody decided meanwhile"}})
    async def decide(body: Decisions) -> dict[str, Any]:
        """Take decisions: all of them or none, and only if nobody decided since `version`."""

        def take() -> dict[str, Any]:
            entries = service.bench.store.decide(
                [parse(entry) for entry in body.decisions], author=body.author, expected_version=body.version
            )
            return {"version": service.refresh().version, "entries": [_shown(entry) for entry in entries]}

        return await run_in_threadpool(take)

    @app.post("/v1/review/undo", tags=["review"], responses={409: {"description": "Somebody decided meanwhile"}})
    async def undo(body: Undo) -> dict[str, Any]:
        """Take a decision back: the last one, or the one with this number."""

        def take() -> dict[str, Any]:
            entry = service.bench.store.undo(author=body.author, id=body.id, expected_version=body.version)
            return {"version": service.refresh().version, "undone": _shown(entry)}

        return await run_in_threadpool(take)

    @app.get("/v1/review/log", tags=["review"])
    async def log() -> dict[str, Any]:
        """Who decided what, and when."""
        return {"entries": [_shown(entry) for entry in await run_in_threadpool(service.bench.store.entries)]}

    @app.post("/v1/review/refit", tags=["review"], responses={409: {"description": "One is running already"}})
    async def refit(body: Author) -> dict[str, Any]:
        """Train on from the decisions, into a folder beside the model."""
        return await run_in_threadpool(lambda: service.refitting.start(service.refresh(), author=body.author))

    @app.get("/v1/review/refit", tags=["review"])
    async def refit_state() -> dict[str, Any]:
        """How far the training is."""
        return service.refitting.state()


def _shown(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "at": entry.at,
        "author": entry.author,
        "kind": entry.decision.kind,
        "arguments": dict(entry.decision.arguments),
        "undone_at": entry.undone_at,
        "undone_by": entry.undone_by,
    }


def _add_page(app: FastAPI, service: Service, gate: Gate) -> None:
    files = resources.files("newfound.serve")
    static = {
        "app.js": (files.joinpath("static/app.js").read_bytes(), "text/javascript; charset=utf-8"),
        "app.css": (files.joinpath("static/app.css").read_bytes(), "text/css; charset=utf-8"),
    }

    def rendered(template: str, **content: Any) -> HTMLResponse:
        from jinja2 import Environment

        source = files.joinpath(template).read_text("utf-8")
        return HTMLResponse(Environment(autoescape=True).from_string(source).render(**content))

    @app.get("/", include_in_schema=False)
    async def page() -> HTMLResponse:
        return rendered(
            "page.html.jinja", title=service.bench.folder.name, csrf=gate.csrf, formats=(*WRITERS, "datasets")
        )

    @app.get("/static/{name}", include_in_schema=False)
    async def asset(name: str) -> Response:
        if name not in static:
            raise HTTPException(404)
        content, kind = static[name]
        return Response(content, media_type=kind)

    @app.get("/login", include_in_schema=False)
    async def login_page() -> HTMLResponse:
        return rendered("login.html.jinja", wrong=False)

    @app.post("/login", include_in_schema=False)
    async def login(request: Request) -> Response:
        body = (await request.body())[:MOST_LOGIN_BYTES].decode("utf-8", "replace")
        given = parse_qs(body, max_num_fields=10).get("token", [""])[0].strip() if body.count("&") < 10 else ""
        if not gate.is_token(given):
            await asyncio.sleep(0.5)
            return rendered("login.html.jinja", wrong=True)
        answer = RedirectResponse("/", status_code=303)
        answer.set_cookie(gate.cookie, gate.begin_session(), httponly=True, samesite="strict")
        return answer
