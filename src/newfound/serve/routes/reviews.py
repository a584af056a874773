"""The review: what a reviewer sees, and the decisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeVar

from fastapi import FastAPI, Query, Request
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from newfound.errors import DecisionError
from newfound.review.decisions import parse
from newfound.review.session import ReviewView
from newfound.serve.routes.authors import author_of
from newfound.serve.schemas.requests import DecisionsBody, TextBody, UndoBody
from newfound.serve.schemas.responses import (
    Decided,
    EntryOut,
    ExplanationOut,
    IntentPageOut,
    Log,
    MapOut,
    QueueItemOut,
    QueueOut,
    StateOut,
    Undone,
    UtteranceOut,
    Utterances,
)
from newfound.serve.service import Service

T = TypeVar("T")


def add_routes(app: FastAPI, service: Service) -> None:
    """Add the routes.

    Args:
        app: The application that gets them.
        service: The served model.
    """

    async def read(make: Callable[[ReviewView], T]) -> T:
        """Make an answer from the current state of the review, in a thread."""
        return await run_in_threadpool(lambda: make(service.refresh()))

    @app.get("/v1/review/state", tags=["review"])
    async def state() -> StateOut:
        """Return all intents, the progress, and the version to send with a decision."""
        return StateOut.of(await read(ReviewView.state), service.jobs.state())

    @app.get("/v1/review/intent", tags=["review"])
    async def intent(
        name: Annotated[str, Query(max_length=200)], start: Annotated[int, Query(ge=0, le=10**6)] = 0
    ) -> IntentPageOut:
        """Return one intent: central and border utterances, overlaps, and a proposal to split it."""
        return await read(lambda view: IntentPageOut.of_page(view.intent(name, start=start)))

    @app.get("/v1/review/queue", tags=["review"])
    async def queue(most: Annotated[int, Query(ge=1, le=200)] = 20) -> QueueOut:
        """Return the utterances that should be checked first."""

        def make(view: ReviewView) -> QueueOut:
            items = [QueueItemOut.of_item(item) for item in view.queue(most)]
            return QueueOut(version=view.version, items=items, expected_error=view.describer.expected_error)

        return await read(make)

    @app.get("/v1/review/search", tags=["review"])
    async def search(q: Annotated[str, Query(min_length=1, max_length=200)]) -> Utterances:
        """Return the utterances that contain all the words."""
        return await read(lambda view: Utterances(utterances=[UtteranceOut.of(u) for u in view.search(q)]))

    @app.get("/v1/review/map", tags=["review"])
    async def points() -> MapOut:
        """Return the logs in two dimensions: x, y, number of the intent, number of the utterance."""
        return await read(lambda view: MapOut.of(view.points()))

    @app.get("/v1/review/utterances", tags=["review"])
    async def utterances(
        id: Annotated[list[Annotated[int, Field(ge=0, lt=2**31)]], Query(max_length=500)],
    ) -> Utterances:
        """Return utterances by their numbers."""

        def make(view: ReviewView) -> Utterances:
            if any(i >= len(view.describer.utterances) for i in id):
                raise DecisionError("no such utterance")
            return Utterances(utterances=[UtteranceOut.of(view.utterance(i)) for i in id])

        return await read(make)

    @app.post("/v1/review/explain", tags=["review"])
    async def explain(body: TextBody) -> ExplanationOut:
        """Classify a text, and return the most similar intents and utterances."""
        return await read(lambda view: ExplanationOut.of_explanation(view.explain(body.text)))

    @app.post(
        "/v1/review/decisions",
        tags=["review"],
        responses={409: {"description": "Somebody else decided since this version"}},
    )
    async def decide(request: Request, body: DecisionsBody) -> Decided:
        """Record decisions: all of them or none, and only if nobody else decided since `version`."""
        author = author_of(request, body.author)

        def record() -> Decided:
            decisions = [parse(entry) for entry in body.decisions]
            entries = service.session.decide(decisions, author=author, expected_version=body.version)
            return Decided(version=service.refresh().version, entries=[EntryOut.of(entry) for entry in entries])

        return await run_in_threadpool(record)

    @app.post(
        "/v1/review/undo", tags=["review"], responses={409: {"description": "Somebody else decided since this version"}}
    )
    async def undo(request: Request, body: UndoBody) -> Undone:
        """Undo a decision: the last one, or the one with this number."""
        author = author_of(request, body.author)

        def record() -> Undone:
            entry = service.session.undo(author=author, id=body.id, expected_version=body.version)
            return Undone(version=service.refresh().version, undone=EntryOut.of(entry))

        return await run_in_threadpool(record)

    @app.get("/v1/review/log", tags=["review"])
    async def log() -> Log:
        """Return who decided what, and when."""
        entries = await run_in_threadpool(service.session.store.entries)
        return Log(entries=[EntryOut.of(entry) for entry in entries])
