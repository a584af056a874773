"""The model that is served, the queue of texts before it, and the jobs in the background."""

from __future__ import annotations

import gc
import hashlib
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Literal

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import Scope

from newfound.encoders.encoder import Encoder
from newfound.errors import ConflictError, ModelError, NewfoundError
from newfound.model.about import model_signature
from newfound.model.types import Prediction
from newfound.review.session import ReviewSession
from newfound.serve.answers import Served
from newfound.serve.background import T, WorkQueue
from newfound.serve.batching import Batcher
from newfound.serve.bodies import MAX_TOP
from newfound.serve.jobs import BackgroundJobs, remove_abandoned
from newfound.serve.settings import ServeSettings
from newfound.serve.uploads import Uploads

logger = logging.getLogger("newfound.serve")


class ServerMetrics:
    """The metrics of one server for Prometheus. Each server has its own registry."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter("newfound_requests", "Requests", ["route", "status"], registry=self._registry)
        self._seconds = Histogram("newfound_request_seconds", "Time to answer", ["route"], registry=self._registry)
        self.waiting = Gauge("newfound_waiting_texts", "Texts in the queue", registry=self._registry)

    def count_request(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a request by its route; one that was refused before, or that has none, is counted as "other"."""
        route = scope["route"].path if "route" in scope else "other"
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> tuple[bytes, str]:
        return generate_latest(self._registry), CONTENT_TYPE_LATEST


class Service:
    """A model folder that is served. Predictions come from the latest view of `session`, the model under review."""

    def __init__(self, folder: Path, settings: ServeSettings, *, encoder: str | Encoder | None = None) -> None:
        self.settings, self.encoder = settings, encoder
        self._switch_lock = Lock()  # one change of the served model at a time
        remove_abandoned(folder)
        self._signature, self.session = _open(folder, encoder)
        self.batches_at_once = 2 if self.session.model.embedder.has_graph() else 1  # torch takes all cores for one
        if (problem := self.session.model.graph_problem()) is not None:
            logger.warning("%s", problem)
        self.metrics = ServerMetrics()
        # Jobs write a model; files that are sent wait in the queue to be read.
        self.jobs = BackgroundJobs()
        self.queue = WorkQueue()
        self.batcher: Batcher[Prediction]  # once the server has started
        self.uploads = Uploads()
        self.earlier: list[Path] = []  # the models that were served before this one

    def warm_up(self) -> None:
        """Compute what the first reviewer would have to wait for otherwise."""
        try:
            self.session.warm_up()
        except ModelError:  # a model without its utterances only predicts
            pass
        except Exception as error:
            logger.warning("the page is not prepared: %s: %s", type(error).__name__, error)
        # Leave what is loaded by now out of later garbage collections, each of which stopped all answers for 0.2 s.
        gc.unfreeze()
        gc.collect()
        gc.freeze()

    async def stop_work(self) -> None:
        """Accept no more texts, and end what runs in the background."""
        self.queue.stop()
        await self.jobs.stop()

    @property
    def device(self) -> str:
        """The device of the model, on which other processes work, too."""
        return self.session.model.embedder.device.type

    def about_model(self, workflow: Callable[..., T], *arguments: Any, **options: Any) -> Callable[..., T]:
        """Return the call of a workflow about the served model, which another process can make."""
        about = {"encoder": self.encoder, "device": self.device, **options}
        return partial(workflow, self.session.folder, *arguments, **about)

    def classify(self, texts: list[str]) -> list[Prediction]:
        """Return one prediction for each text; with more intents than a request asks for, as it holds several."""
        return self.session.latest.reviewed.classifier.classify(texts, top=MAX_TOP)

    def session_for(self, model: str | None) -> ReviewSession:
        """Return the session of the served model for all that one request does, as another may be served meanwhile.

        Raises:
            ConflictError: A reviewer saw another model than the one that is served now.
        """
        session = self.session
        if model is not None and model != identify(session).model:
            raise ConflictError("another model is served now; look at it, then decide again")
        return session

    def reload_if_newer(self) -> None:
        """Load a newer model or newer decisions from the folder; the next batch is answered by them."""
        with self._switch_lock:
            signature = model_signature(self.session.folder)
            if signature == self._signature:
                self.session.view()  # with all decisions, also of other processes
                return
            try:
                self._switch_to(self.session.folder, self.encoder)
            except NewfoundError as error:
                logger.warning("the newer model cannot be used: %s", error)
                self._signature = signature

    def serve_other(self, which: Literal["result", "earlier"]) -> None:
        """Serve the model that the last job has written, or the one that was served before. No request is dropped."""
        with self._switch_lock:
            served, earlier = self.session.folder, self.earlier[-1] if self.earlier else None
            other = self.jobs.result if which == "result" else earlier
            if other is None:
                none = {"result": "no job has written a model yet", "earlier": "no other model was served before"}
                raise ConflictError(none[which])
            if other == served:
                raise ConflictError(f"{other.name} is served already")
            self._switch_to(other, self.encoder or self.session.model.encoder)
            self.earlier = [*self.earlier, served] if which == "result" else self.earlier[:-1]

    def _switch_to(self, folder: Path, encoder: str | Encoder | None) -> None:
        self._signature, self.session = _open(folder, encoder)
        Thread(target=self.warm_up, daemon=True).start()


def _open(folder: Path, encoder: str | Encoder | None) -> tuple[object, ReviewSession]:
    """Load a model. Its signature is computed first, so that what is written meanwhile counts as newer."""
    signature, session = model_signature(folder), ReviewSession(folder, encoder=encoder)
    session.view()
    return signature, session


def identify(session: ReviewSession) -> Served:
    """Identify the model of a session, so that no decision about one model is recorded for another one."""
    name = session.folder.name
    id = hashlib.blake2b(repr((name, session.store.signature)).encode(), digest_size=8).hexdigest()
    return Served(id, name)
