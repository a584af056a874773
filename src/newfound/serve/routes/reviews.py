"""The review: what a reviewer sees, and the decisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import FastAPI, Query, Request
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from newfound.errors import DecisionError
from newfound.review.decisions import parse
from newfound.review.entries import events
from newfound.review.queries import ReviewView
from newfound.serve.routes.authors import author_of
from newfound.serve.schemas.limits import MAX_UTTERANCES_IN_A_REQUEST
from newfound.serve.schemas.requests import (
    MAX_NEW_INTENTS,
    DecisionKind,
    DecisionsBody,
    ResizeBody,
    TextBody,
    UndoBody,
)
from newfound.serve.schemas.resizing import ResizingOut
from newfound.serve.schemas.reviews import (
    AllDetails,
    Decided,
    EntryOut,
    EventOut,
    ExplanationOut,
    IntentPageOut,
    Log,
    MapOut,
    News,
    PairOut,
    PairPage,
    Pairs,
    QueueItemOut,
    QueueOut,
    StateOut,
    Undone,
    UtteranceOut,
    UtterancePage,
    Utterances,
)
from newfound.serve.service import Service

T = TypeVar("T")
MAX_EVENTS = 20  # in an answer
MAX_ENTRIES = 500  # of the log in an answer
CONFLICT: dict[int | str, dict[str, Any]] = {
    409: {"description": "Somebody decided something else about the same since this version"}
}


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
        found = await read(ReviewView.state)
        return StateOut.of(found, service.jobs.state(), model=service.model_id, name=service.session.folder.name)

    @app.get("/v1/review/news", tags=["review"])
    async def news(since: Annotated[int, Query(ge=0, lt=2**53)] = 0) -> News:
        """Return what happened since a version. The page asks this every few seconds, so it reads nothing from disk."""
        view = service.view
        return News(
            model=service.model_id,
            name=service.session.folder.name,
            version=view.version,
            events=[
                EventOut(at=event.at, author=event.author, words=event.words)
                for event in events(view.entries)[since:][-MAX_EVENTS:]
            ],
            job=service.jobs.state().status,
            can_go_back=service.can_go_back,
        )

    @app.get("/v1/review/details", tags=["review"])
    async def details() -> AllDetails:
        """Return examples of all intents, and which of them should perhaps be merged or split."""
        return await read(lambda view: AllDetails.of(view.version, view.details()))

    @app.get("/v1/review/without-intent", tags=["review"])
    async def without_intent(start: Annotated[int, Query(ge=0, le=10**6)] = 0) -> UtterancePage:
        """Return the utterances that belong to no intent."""
        return await read(lambda view: UtterancePage.of(view.without_intent(start=start)))

    @app.get("/v1/review/pairs", tags=["review"])
    async def pairs() -> Pairs:
        """Return the pairs of intents that are most often mixed up."""
        found = await read(ReviewView.pairs)
        return Pairs(pairs=[PairOut(first=p.first, second=p.second, expected=p.expected) for p in found])

    @app.get("/v1/review/pair", tags=["review"])
    async def pair(
        first: Annotated[str, Query(max_length=200)], second: Annotated[str, Query(max_length=200)]
    ) -> PairPage:
        """Return the unchecked utterances of two intents, those first that are closest to the other intent."""
        return await read(lambda view: PairPage.of(view.pair(first, second)))

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
    async def search(q: Annotated[str, Query(min_length=1, max_length=200)]) -> UtterancePage:
        """Return the utterances that contain all the words: their number, and the first of them."""
        return await read(lambda view: UtterancePage.of(view.search(q)))

    @app.get("/v1/review/map", tags=["review"])
    async def points() -> MapOut:
        """Return the logs in two dimensions."""
        return await read(lambda view: MapOut.of(view.points()))

    @app.get("/v1/review/utterances", tags=["review"])
    async def utterances(
        id: Annotated[list[Annotated[int, Field(ge=0, lt=2**31)]], Query(max_length=MAX_UTTERANCES_IN_A_REQUEST)],
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
        responses=CONFLICT,
    )
    async def decide(request: Request, body: DecisionsBody) -> Decided:
        """Record decisions: all of them or none.

        They are refused if somebody decided something else about the same intents or utterances since `version`.
        """
        author = author_of(request, body.author)

        def record() -> Decided:
            service.check_model(body.model)
            decisions = [parse(entry) for entry in body.decisions]
            entries = service.session.decide(decisions, author=author, expected_version=body.version)
            return Decided(version=service.refresh().version, entries=[EntryOut.of(entry) for entry in entries])

        return await run_in_threadpool(record)

    @app.post("/v1/review/undo", tags=["review"], responses=CONFLICT)
    async def undo(request: Request, body: UndoBody) -> Undone:
        """Undo the author's last step, which is all decisions that were recorded together, or one by its number."""
        author = author_of(request, body.author)

        def record() -> Undone:
            service.check_model(body.model)
            undone = service.session.undo(author=author, id=body.id, step=body.step, expected_version=body.version)
            entries = [EntryOut.of(entry) for entry in undone]
            return Undone(version=service.refresh().version, undone=entries[-1], entries=entries)

        return await run_in_threadpool(record)

    @app.get("/v1/review/resize", tags=["review"])
    async def preview_resizing(
        to: Annotated[int | None, Query(ge=1, le=MAX_NEW_INTENTS, description="By default the present number")] = None,
    ) -> ResizingOut:
        """Return what would be merged or split to have this number of new intents; nothing changes."""
        return await read(lambda view: ResizingOut.of(view.resizer.preview(to)))

    @app.post("/v1/review/resize", tags=["review"], responses=CONFLICT)
    async def resize(request: Request, body: ResizeBody) -> Decided:
        """Merge or split new intents that nobody has accepted until there are so many, as one step of the review.

        It is refused if somebody has decided anything since `version`, as the preview is out of date then.
        """
        author = author_of(request, body.author)

        def record() -> Decided:
            service.check_model(body.model)
            entries = service.session.resize(body.to, author=author, expected_version=body.version)
            return Decided(version=service.refresh().version, entries=[EntryOut.of(entry) for entry in entries])

        return await run_in_threadpool(record)

    @app.get("/v1/review/log", tags=["review"])
    async def log(
        most: Annotated[int, Query(ge=1, le=MAX_ENTRIES)] = MAX_ENTRIES,
        kind: Annotated[DecisionKind | None, Query(description="Only decisions of this kind")] = None,
    ) -> Log:
        """Return who decided what, and when: the latest decisions, in their order."""
        entries = await run_in_threadpool(service.session.store.entries)
        chosen = [entry for entry in entries if kind is None or entry.decision.kind == kind.value]
        return Log(total=len(chosen), entries=[EntryOut.of(entry) for entry in chosen[-most:]])
