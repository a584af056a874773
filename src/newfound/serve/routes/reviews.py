"""The review: what a reviewer looks at, and decisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeVar

from fastapi import FastAPI, Query
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from newfound.errors import DecisionError
from newfound.review.decisions import parse
from newfound.review.session import ReviewView
from newfound.serve.schemas import (
    Decided,
    DecisionsBody,
    EntryOut,
    ExplanationOut,
    IntentPageOut,
    Log,
    MapOut,
    QueueItemOut,
    QueueOut,
    StateOut,
    TextBody,
    UndoBody,
    Undone,
    UtteranceOut,
    Utterances,
)
from newfound.serve.service import Service

T = TypeVar("T")


def add_routes(app: FastAPI, service: Service) -> None:
    async def of_view(look: Callable[[ReviewView], T]) -> T:
        """What a look at the review as it stands gives."""
        return await run_in_threadpool(lambda: look(service.refresh()))

    @app.get("/v1/review/state", tags=["review"])
    async def state() -> StateOut:
        """The intents with their status, the progress, and the version to send with a decision."""
        return StateOut.of(await of_view(ReviewView.state), service.jobs.state())

    @app.get("/v1/review/intent", tags=["review"])
    async def intent(
        name: Annotated[str, Query(max_length=200)], start: Annotated[int, Query(ge=0, le=10**6)] = 0
    ) -> IntentPageOut:
        """One intent: central and border utterances, overlaps, and how it may be split."""
        return await of_view(lambda view: IntentPageOut.of_page(view.intent(name, start=start)))

    @app.get("/v1/review/queue", tags=["review"])
    async def queue(most: Annotated[int, Query(ge=1, le=200)] = 20) -> QueueOut:
        """The utterances that most need a look."""

        def look(view: ReviewView) -> QueueOut:
            items = [QueueItemOut.of_item(item) for item in view.queue(most)]
            return QueueOut(version=view.version, items=items, expected_error=view.describer.expected_error)

        return await of_view(look)

    @app.get("/v1/review/search", tags=["review"])
    async def search(q: Annotated[str, Query(min_length=1, max_length=200)]) -> Utterances:
        """Utterances that hold all the words."""
        return await of_view(lambda view: Utterances(utterances=[UtteranceOut.of(u) for u in view.search(q)]))

    @app.get("/v1/review/map", tags=["review"])
    async def points() -> MapOut:
        """The logs in two dimensions: x, y, number of the intent, number of the utterance."""
        return await of_view(lambda view: MapOut.of(view.points()))

    @app.get("/v1/review/utterances", tags=["review"])
    async def utterances(
        id: Annotated[list[Annotated[int, Field(ge=0, lt=2**31)]], Query(max_length=500)],
    ) -> Utterances:
        """Utterances by their numbers."""

        def look(view: ReviewView) -> Utterances:
            if any(i >= len(view.describer.utterances) for i in id):
                raise DecisionError("no such utterance")
            return Utterances(utterances=[UtteranceOut.of(view.utterance(i)) for i in id])

        return await of_view(look)

    @app.post("/v1/review/explain", tags=["review"])
    async def explain(body: TextBody) -> ExplanationOut:
        """What a text is classified as, and the intents and utterances it is closest to."""
        return await of_view(lambda view: ExplanationOut.of_explanation(view.explain(body.text)))

    @app.post("/v1/review/decisions", tags=["review"], responses={409: {"description": "Somebody decided meanwhile"}})
    async def decide(body: DecisionsBody) -> Decided:
        """Take decisions: all of them or none, and only if nobody decided since `version`."""

        def take() -> Decided:
            decisions = [parse(entry) for entry in body.decisions]
            entries = service.session.decide(decisions, author=body.author, expected_version=body.version)
            return Decided(version=service.refresh().version, entries=[EntryOut.of(entry) for entry in entries])

        return await run_in_threadpool(take)

    @app.post("/v1/review/undo", tags=["review"], responses={409: {"description": "Somebody decided meanwhile"}})
    async def undo(body: UndoBody) -> Undone:
        """Take a decision back: the last one, or the one with this number."""

        def take() -> Undone:
            entry = service.session.undo(author=body.author, id=body.id, expected_version=body.version)
            return Undone(version=service.refresh().version, undone=EntryOut.of(entry))

        return await run_in_threadpool(take)

    @app.get("/v1/review/log", tags=["review"])
    async def log() -> Log:
        """Who decided what, and when."""
        entries = await run_in_threadpool(service.session.store.entries)
        return Log(entries=[EntryOut.of(entry) for entry in entries])
