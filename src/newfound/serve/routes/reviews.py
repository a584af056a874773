"""The review: what a reviewer sees, and the decisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import FastAPI, Query, Request

from newfound.review.decisions import parse
from newfound.review.entries import Entry
from newfound.review.explaining import Explanation
from newfound.review.session import ReviewSession
from newfound.review.store import read_history
from newfound.review.views import ConfusedPair, IntentPage, LogMap, Page, PairPage, Resizing, Selection, extend
from newfound.serve import answers, bodies
from newfound.serve.middleware import author_of
from newfound.serve.service import Service, identify

IntentName = Annotated[str, Query(max_length=200)]
Start = Annotated[int, Query(ge=0, le=10**6, description="The number of utterances to skip")]
LogsOnly = Annotated[bool, Query(description="Leave labelled utterances out")]
MAX_EVENTS = 20  # in an answer
MAX_ENTRIES = 500  # in an answer, of the review and of each earlier one
SECONDS_BETWEEN_NEWS = 2.5  # how often a page asks for them


def add_routes(app: FastAPI, service: Service) -> None:
    @app.get("/v1/review/state", tags=["review"])
    def state() -> answers.ServedState:
        """Return all intents, the progress, and the version to send with a decision."""
        view = service.session.view()
        limits = answers.Limits(seconds_between_news=SECONDS_BETWEEN_NEWS)
        return extend(answers.ServedState, view.state, identify(view.session), limits=limits)

    @app.get("/v1/review/news", tags=["review"])
    async def news(since: Annotated[int, Query(ge=0, lt=2**53)] = 0) -> answers.News:
        """Return what happened since a version. The page asks this every few seconds, so it reads nothing from disk."""
        view, job = service.session.latest, service.jobs.state().status
        latest = view.events[since:][-MAX_EVENTS:]
        return extend(answers.News, identify(view.session), version=view.version, events=latest, job=job)

    @app.get("/v1/review/details", tags=["review"])
    def details() -> answers.AllDetails:
        """Return examples of all intents, and which of them should perhaps be merged or split."""
        view = service.session.view()
        return answers.AllDetails(view.version, view.details())

    @app.get("/v1/review/without-intent", tags=["review"])
    def without_intent(start: Start = 0, logs_only: LogsOnly = False) -> Page:
        """Return the utterances that belong to no intent."""
        return service.session.view().without_intent(start=start, logs_only=logs_only)

    @app.get("/v1/review/pairs", tags=["review"])
    def pairs() -> list[ConfusedPair]:
        """Return the pairs of intents that are most often mixed up."""
        return service.session.view().pairs()

    @app.get("/v1/review/pair", tags=["review"])
    def pair(first: IntentName, second: IntentName) -> PairPage:
        """Return the unchecked utterances of two intents, those first that are closest to the other intent."""
        return service.session.view().pair(first, second)

    @app.get("/v1/review/intent", tags=["review"])
    def intent(name: IntentName, start: Start = 0, logs_only: LogsOnly = False) -> IntentPage:
        """Return one intent: central and border utterances, overlaps, and a proposal to split it."""
        return service.session.view().intent(name, start=start, logs_only=logs_only)

    @app.get("/v1/review/queue", tags=["review"])
    def queue(
        most: Annotated[int, Query(ge=1, le=answers.MAX_QUEUE_IN_A_REQUEST)] = 20,
        shown: Annotated[
            bodies.UtteranceNumber | None, Query(description="An utterance that stays first until it is decided")
        ] = None,
    ) -> answers.Queue:
        """Return the utterances that should be checked first."""
        view = service.session.view()
        return answers.Queue(view.version, view.queue(most, shown), view.state.progress.expected_error)

    @app.get("/v1/review/search", tags=["review"])
    def search(
        q: Annotated[str, Query(min_length=1, max_length=1_000)],
        start: Start = 0,
        logs_only: LogsOnly = False,
        by_meaning: Annotated[bool, Query(description="The most similar ones, whatever their words")] = False,
    ) -> Page:
        """Return the utterances that contain all the words: their number, and some of them."""
        return service.session.view().search(q, start=start, logs_only=logs_only, by_meaning=by_meaning)

    @app.get("/v1/review/map", tags=["review"])
    def points() -> LogMap:
        """Return the logs in two dimensions."""
        return service.session.view().points()

    @app.get("/v1/review/utterances", tags=["review"])
    def utterances(
        id: Annotated[list[bodies.UtteranceNumber], Query(max_length=answers.MAX_UTTERANCES_IN_A_REQUEST)],
    ) -> Page:
        """Return utterances by their numbers."""
        return service.session.view().utterances(id)

    @app.post("/v1/review/selection", tags=["review"])
    def selection(body: bodies.SelectionBody) -> Selection:
        """Return which intents some utterances belong to, and so what moving them would take from these."""
        return service.session.view().selection(body.ids)

    @app.post("/v1/review/explain", tags=["review"])
    def explain(body: bodies.TextBody) -> Explanation:
        """Classify a text, and return the most similar intents and utterances."""
        return service.session.view().explain(body.text)

    def decided(session: ReviewSession, entries: Sequence[Entry]) -> answers.Decided:
        """Return what was recorded or undone, and let it take effect."""
        return answers.Decided(session.view().version, list(entries))

    @app.post("/v1/review/decisions", tags=["review"])
    def decide(request: Request, body: bodies.DecisionsBody) -> answers.Decided:
        """Record decisions: all of them or none.

        They are refused if somebody decided something else about the same intents or utterances since `version`.
        A move may have `ids`, the numbers of its utterances, instead of `texts`.
        """
        author, session = author_of(request, body.author), service.session_for(body.model)
        view = session.view()
        decisions = [parse(view.with_texts(entry)) for entry in body.decisions]
        return decided(session, session.store.decide(decisions, author=author, expected_version=body.version))

    @app.post("/v1/review/undo", tags=["review"])
    def undo(request: Request, body: bodies.UndoBody) -> answers.Decided:
        """Undo the author's last step, which is all decisions that were recorded together, or one by its number."""
        author, session = author_of(request, body.author), service.session_for(body.model)
        undone = session.store.undo(
            author=author, only_own=True, id=body.id, step=body.step, expected_version=body.version
        )
        return decided(session, undone)

    @app.get("/v1/review/resize", tags=["review"])
    def preview_resizing(to: Annotated[int | None, Query(ge=1, le=bodies.MAX_NEW_INTENTS)] = None) -> Resizing:
        """Return what would be merged or split to have so many new intents, by default as many as now."""
        return service.session.view().resizer.preview(to)

    @app.post("/v1/review/resize", tags=["review"])
    def resize(request: Request, body: bodies.ResizeBody) -> answers.Decided:
        """Merge or split new intents that nobody has accepted until there are so many, as one step of the review.

        It is refused if somebody has decided anything since `version`, as the preview is out of date then.
        """
        author, session = author_of(request, body.author), service.session_for(body.model)
        return decided(session, session.resize(body.to, author=author, expected_version=body.version))

    @app.get("/v1/review/log", tags=["review"])
    def log(
        kind: Annotated[bodies.DecisionKind | None, Query(description="Only decisions of this kind")] = None,
    ) -> answers.Log:
        """Return who decided what, and when: the latest decisions, in their order."""

        def of_kind(entries: Sequence[Entry]) -> list[Entry]:
            return [entry for entry in entries if kind is None or entry.kind == kind.value]

        session = service.session
        chosen, earlier = of_kind(session.store.entries()), []
        for training in read_history(session.folder):
            entries = of_kind(training.entries)
            shown = tuple(entries[-MAX_ENTRIES:])
            earlier.append(extend(answers.EarlierTraining, training, entries=shown, total=len(entries)))
        return answers.Log(len(chosen), chosen[-MAX_ENTRIES:], earlier)
