"""The review: what a reviewer sees, and the decisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from fastapi import FastAPI, Query, Request
from starlette.concurrency import run_in_threadpool

from newfound.model.sidecars import write_groups
from newfound.review.decisions import parse
from newfound.review.entries import Entry, events
from newfound.review.explaining import Explanation
from newfound.review.history import read_history
from newfound.review.queries import ReviewView
from newfound.review.session import ReviewSession
from newfound.review.views import ConfusedPair, IntentPage, LogMap, Page, PairPage, Resizing, Selection, extend
from newfound.serve.access import author_of
from newfound.serve.schemas import requests as bodies
from newfound.serve.schemas import responses as answers
from newfound.serve.service import Service, identify
from newfound.workflows.comparing import ModelDiff, diff
from newfound.workflows.grouping import group

T = TypeVar("T")
Change = Callable[[ReviewSession, str], Sequence[Entry]]  # records something in the name of an author
IntentName = Annotated[str, Query(max_length=200)]
Start = Annotated[int, Query(ge=0, le=10**6, description="The number of utterances to skip")]
LogsOnly = Annotated[bool, Query(description="Leave labelled utterances out")]
MAX_EVENTS = 20  # in an answer
MAX_ENTRIES = 500  # of the log in an answer
SECONDS_BETWEEN_NEWS = 2.5  # how often a page asks for them


def add_routes(app: FastAPI, service: Service) -> None:
    """Add the routes of the review: reading (/v1/review/...) and deciding."""

    async def read(make: Callable[[ReviewView], T]) -> T:
        """Make an answer from the current state of the review, in a thread."""
        return await run_in_threadpool(lambda: make(service.refresh()))

    @app.get("/v1/review/state", tags=["review"])
    async def state() -> answers.ServedState:
        """Return all intents, the progress, and the version to send with a decision."""
        review, served = await read(lambda view: (view.state(), identify(view.session)))
        shared = (review.version, review.intents, review.progress)
        limits = answers.Limits(seconds_between_news=SECONDS_BETWEEN_NEWS)
        return answers.ServedState(*shared, model=served.model, name=served.name, limits=limits)

    @app.get("/v1/review/news", tags=["review"])
    async def news(since: Annotated[int, Query(ge=0, lt=2**53)] = 0) -> answers.News:
        """Return what happened since a version. The page asks this every few seconds, so it reads nothing from disk."""
        view = service.view
        served = identify(view.session)
        return answers.News(
            model=served.model,
            name=served.name,
            version=view.version,
            events=events(view.entries)[since:][-MAX_EVENTS:],
            job=service.jobs.state().status,
        )

    @app.get("/v1/review/details", tags=["review"])
    async def details() -> answers.AllDetails:
        """Return examples of all intents, and which of them should perhaps be merged or split."""
        return await read(lambda view: answers.AllDetails(view.version, view.details()))

    @app.get("/v1/review/without-intent", tags=["review"])
    async def without_intent(start: Start = 0, logs_only: LogsOnly = False) -> Page:
        """Return the utterances that belong to no intent."""
        return await read(lambda view: view.without_intent(start=start, logs_only=logs_only))

    @app.get("/v1/review/pairs", tags=["review"])
    async def pairs() -> list[ConfusedPair]:
        """Return the pairs of intents that are most often mixed up."""
        return await read(ReviewView.pairs)

    @app.get("/v1/review/pair", tags=["review"])
    async def pair(first: IntentName, second: IntentName) -> PairPage:
        """Return the unchecked utterances of two intents, those first that are closest to the other intent."""
        return await read(lambda view: view.pair(first, second))

    @app.get("/v1/review/intent", tags=["review"])
    async def intent(name: IntentName, start: Start = 0, logs_only: LogsOnly = False) -> IntentPage:
        """Return one intent: central and border utterances, overlaps, and a proposal to split it."""
        return await read(lambda view: view.intent(name, start=start, logs_only=logs_only))

    @app.get("/v1/review/queue", tags=["review"])
    async def queue(
        most: Annotated[int, Query(ge=1, le=answers.MAX_QUEUE_IN_A_REQUEST)] = 20,
        shown: Annotated[
            bodies.UtteranceNumber | None, Query(description="An utterance that stays first until it is decided")
        ] = None,
    ) -> answers.Queue:
        """Return the utterances that should be checked first."""
        return await read(
            lambda view: answers.Queue(view.version, view.queue(most, shown), view.describer.expected_error)
        )

    @app.get("/v1/review/search", tags=["review"])
    async def search(
        q: Annotated[str, Query(min_length=1, max_length=200)], start: Start = 0, logs_only: LogsOnly = False
    ) -> Page:
        """Return the utterances that contain all the words: their number, and some of them."""
        return await read(lambda view: view.search(q, start=start, logs_only=logs_only))

    @app.get("/v1/review/map", tags=["review"])
    async def points() -> LogMap:
        """Return the logs in two dimensions."""
        return await read(ReviewView.points)

    @app.get("/v1/review/utterances", tags=["review"])
    async def utterances(
        id: Annotated[list[bodies.UtteranceNumber], Query(max_length=answers.MAX_UTTERANCES_IN_A_REQUEST)],
    ) -> Page:
        """Return utterances by their numbers."""
        return await read(lambda view: view.utterances(id))

    @app.post("/v1/review/selection", tags=["review"])
    async def selection(body: bodies.SelectionBody) -> Selection:
        """Return which intents some utterances belong to, and so what moving them would take from these."""
        return await read(lambda view: view.selection(body.ids))

    @app.post("/v1/review/explain", tags=["review"])
    async def explain(body: bodies.TextBody) -> Explanation:
        """Classify a text, and return the most similar intents and utterances."""
        return await read(lambda view: view.explain(body.text))

    async def record(request: Request, body: bodies.ReviewBody, change: Change) -> answers.Decided:
        """Change the review in a thread, in the name of the request's author."""
        author = author_of(request, body.author)

        def run() -> answers.Decided:
            session = service.session_for(body.model)
            entries = change(session, author)
            return answers.Decided(service.refresh(session).version, list(entries))

        return await run_in_threadpool(run)

    @app.post("/v1/review/decisions", tags=["review"])
    async def decide(request: Request, body: bodies.DecisionsBody) -> answers.Decided:
        """Record decisions: all of them or none.

        They are refused if somebody decided something else about the same intents or utterances since `version`.
        A move may have `ids`, the numbers of its utterances, instead of `texts`.
        """

        def change(session: ReviewSession, author: str) -> Sequence[Entry]:
            view = session.view()
            decisions = [parse(view.with_texts(entry)) for entry in body.decisions]
            return session.store.decide(decisions, author=author, expected_version=body.version)

        return await record(request, body, change)

    @app.post("/v1/review/undo", tags=["review"])
    async def undo(request: Request, body: bodies.UndoBody) -> answers.Decided:
        """Undo the author's last step, which is all decisions that were recorded together, or one by its number."""

        def change(session: ReviewSession, author: str) -> Sequence[Entry]:
            return session.store.undo(
                author=author, only_own=True, id=body.id, step=body.step, expected_version=body.version
            )

        return await record(request, body, change)

    @app.get("/v1/review/resize", tags=["review"])
    async def preview_resizing(to: Annotated[int | None, Query(ge=1, le=bodies.MAX_NEW_INTENTS)] = None) -> Resizing:
        """Return what would be merged or split to have so many new intents, by default as many as now."""
        return await read(lambda view: view.resizer.preview(to))

    @app.post("/v1/review/resize", tags=["review"])
    async def resize(request: Request, body: bodies.ResizeBody) -> answers.Decided:
        """Merge or split new intents that nobody has accepted until there are so many, as one step of the review.

        It is refused if somebody has decided anything since `version`, as the preview is out of date then.
        """

        def change(session: ReviewSession, author: str) -> Sequence[Entry]:
            return session.resize(body.to, author=author, expected_version=body.version)

        return await record(request, body, change)

    @app.post("/v1/review/group", tags=["review"])
    async def group_intents(request: Request, body: bodies.GroupBody) -> answers.Grouped:
        """Put the intents into groups of related ones, which are stored with the model and are no decision."""
        author_of(request, body.author)

        def run() -> answers.Grouped:
            session = service.session_for(body.model)
            result = group(session.view().reviewed, body.levels)
            write_groups(session.folder, result.groups)
            service.refresh(session)
            return answers.Grouped(list(result.intents), list(result.levels))

        return await run_in_threadpool(run)

    @app.get("/v1/review/diff", tags=["review"])
    async def compare_models() -> ModelDiff:
        """Return what became of the intents in the model of the last job, or since the one that was served before."""
        before, after = service.rounds
        return await run_in_threadpool(lambda: diff(before, after, encoder=service.served_model.encoder))

    @app.get("/v1/review/log", tags=["review"])
    async def log(
        most: Annotated[int, Query(ge=1, le=MAX_ENTRIES)] = MAX_ENTRIES,
        kind: Annotated[bodies.DecisionKind | None, Query(description="Only decisions of this kind")] = None,
    ) -> answers.Log:
        """Return who decided what, and when: the latest decisions, in their order."""

        def of_kind(entries: Sequence[Entry]) -> list[Entry]:
            return [entry for entry in entries if kind is None or entry.kind == kind.value]

        def run() -> answers.Log:
            session = service.session
            chosen = of_kind(session.store.entries())
            room, earlier = most - len(chosen), []
            for training in reversed(read_history(session.folder).trainings):
                entries = of_kind(training.entries)
                shown = tuple(entries[max(0, len(entries) - max(0, room)) :])
                earlier.append(extend(answers.EarlierTraining, training, entries=shown, total=len(entries)))
                room -= len(entries)
            return answers.Log(len(chosen), chosen[-most:], earlier[::-1])

        return await run_in_threadpool(run)
