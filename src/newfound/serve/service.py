"""The model that is served, the queue of texts before it, and the jobs in the background."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Lock, Thread

from fastapi import Request

from newfound.encoders.encoder import Encoder
from newfound.errors import ConflictError, ModelError, NewfoundError
from newfound.files import REVIEW_FILE, THRESHOLDS_FILE, file_signature
from newfound.model.about import model_signature
from newfound.model.types import Prediction
from newfound.review.queries import ReviewView
from newfound.review.session import ReviewSession
from newfound.serve.background.folders import remove_abandoned
from newfound.serve.background.jobs import BackgroundJobs
from newfound.serve.background.process import T
from newfound.serve.background.queue import WorkQueue
from newfound.serve.background.work import ServedModel
from newfound.serve.batching import Batcher
from newfound.serve.metrics import ServerMetrics
from newfound.serve.schemas.requests import MAX_TOP, Body
from newfound.serve.schemas.responses import Served
from newfound.serve.settings import ServeSettings
from newfound.serve.uploads import Uploads

logger = logging.getLogger("newfound.serve")
Signature = tuple[object, object]  # of the model, and of the decisions about it


class Service:
    """A model folder that is served. Predictions come from `view`, the model as it is reviewed in `session`."""

    def __init__(self, folder: Path, settings: ServeSettings, *, encoder: str | Encoder | None = None) -> None:
        self.settings, self._encoder = settings, encoder
        self._lock = Lock()
        self._switch_lock = Lock()  # one change of the served model at a time
        self._warming_up = Lock()  # in one thread, however often the model changes
        remove_abandoned(folder)
        self._use(folder, *self._open(folder, encoder))
        self.batches_at_once = 2 if self.session.model.embedder.has_graph() else 1  # torch takes all cores for one
        if (problem := self.session.model.graph_problem()) is not None:
            logger.warning("%s", problem)
        self.metrics = ServerMetrics()
        # Jobs write a model; evaluations, checks and estimates wait in the queue.
        self.jobs = BackgroundJobs(in_use=lambda: [self._folder, *self._earlier])
        self.queue = WorkQueue()
        self.batcher: Batcher[Prediction] | None = None  # before the server has started
        self.stopping = False
        self.uploads = Uploads()
        self._earlier: list[Path] = []

    def _open(self, folder: Path, encoder: str | Encoder | None) -> tuple[Signature, ReviewSession, ReviewView]:
        """Load a model. Its signature is computed first, so that what is written meanwhile counts as newer."""
        signature = _signature_of(folder)
        session = ReviewSession(folder, encoder=encoder)
        return signature, session, session.view()

    def _use(self, folder: Path, signature: Signature, session: ReviewSession, view: ReviewView) -> None:
        self._folder, self._signature, self.session, self.view = folder, signature, session, view

    def warm_up(self) -> None:
        """Compute what the first reviewer would have to wait for otherwise."""
        if not self._warming_up.acquire(blocking=False):
            return  # the other thread goes on with the newest model
        try:
            session = None
            while session is not self.session:
                session = self.session
                with contextlib.suppress(ModelError):  # a model without its utterances only predicts
                    session.warm_up()
                _keep_what_is_loaded()
        finally:
            self._warming_up.release()

    async def stop_work(self) -> None:
        """Accept no more texts, and end what runs in the background."""
        self.stopping = True
        self.queue.stop()
        await self.jobs.stop()

    @property
    def served_model(self) -> ServedModel:
        """What another process needs to open the model."""
        device = self.session.model.embedder.device.type
        return ServedModel(self.session.folder, self._encoder, device)

    async def run(self, request: Request, work: Callable[..., T], body: Body) -> T:
        """Do work with the served model and the body of a request, when the requests before it are answered."""
        return await self.queue.run(request, partial(work, self.served_model, body))

    def classify(self, texts: list[str]) -> list[Prediction]:
        """Return one prediction for each text; with more intents than a request asks for, as it holds several."""
        return self.view.reviewed.classifier.classify(texts, top=MAX_TOP)

    def refresh(self, session: ReviewSession | None = None) -> ReviewView:
        """Return the model of a session, by default the served one, with all decisions, also of other processes."""
        with self._lock:  # around the reading too: an older view must not replace a newer one
            view = (session or self.session).view()
            if view.session is self.session:
                self.view = view
            return view

    def reload_if_newer(self) -> None:
        """Load a newer model or newer decisions from the folder; the next batch is answered by them."""
        folder = self._folder
        signature = _signature_of(folder)
        if signature == self._signature:
            return
        if signature[0] != self._signature[0]:
            try:
                loaded_model = self._open(folder, self._encoder)
            except NewfoundError as error:
                logger.warning("the newer model cannot be used: %s", error)
                self._signature = signature
                return
            with self._lock:
                if self._folder != folder:  # another model was chosen while this one was loaded
                    return
                self._use(folder, *loaded_model)
            Thread(target=self.warm_up, daemon=True).start()
            return
        self.refresh()
        with self._lock:
            if self._folder == folder:
                self._signature = signature

    def session_for(self, model: str | None) -> ReviewSession:
        """Return the session of the served model for all that one request does, as another may be served meanwhile.

        Raises:
            ConflictError: A reviewer saw another model than the one that is served now.
        """
        session = self.session
        if model is not None and model != identify(session).model:
            raise ConflictError("another model is served now; look at it, then decide again")
        return session

    @property
    def earlier(self) -> str | None:
        """The name of the model that was served before this one; None if none was."""
        return self._earlier[-1].name if self._earlier else None

    @property
    def rounds(self) -> tuple[Path, Path]:
        """The served model and the one that the last job has written; or the one before and the served one."""
        if self.jobs.result not in (None, self._folder):
            return self._folder, self.jobs.result
        if self._earlier:
            return self._earlier[-1], self._folder
        raise ConflictError("there is only this model; update or refit it first")

    def serve_result(self) -> None:
        """Serve the model that the last job has written. No request is dropped, and the earlier model stays."""
        with self._switch_lock:
            result = self.jobs.result
            if result is None:
                raise ConflictError("no job has written a model yet")
            if result == self._folder:
                raise ConflictError(f"{result.name} is served already")
            earlier = self._folder
            self._serve(result)
            self._earlier.append(earlier)

    def serve_earlier(self) -> None:
        """Serve the model again that was served before."""
        with self._switch_lock:
            if not self._earlier:
                raise ConflictError("no other model was served before")
            self._serve(self._earlier[-1])
            self._earlier.pop()

    def _serve(self, folder: Path) -> None:
        loaded_model = self._open(folder, self._encoder or self.session.model.encoder)
        with self._lock:
            self._use(folder, *loaded_model)
        Thread(target=self.warm_up, daemon=True).start()


def identify(session: ReviewSession) -> Served:
    """Identify the model of a session, so that no decision about one model is recorded for another one."""
    name = session.folder.name
    id = hashlib.blake2b(repr((name, session.store.signature)).encode(), digest_size=8).hexdigest()
    return Served(id, name)


def _signature_of(folder: Path) -> Signature:
    """Return what changes with the model, and what changes with the decisions."""
    review_files = [folder / name for name in (REVIEW_FILE, f"{REVIEW_FILE}-wal", THRESHOLDS_FILE)]
    return model_signature(folder), [file_signature(path) for path in review_files]


def _keep_what_is_loaded() -> None:
    """Leave what is loaded by now out of later garbage collections, each of which stopped all answers for 0.2 s."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
