"""What the review page asks: the intents and utterances at one version of the review, without HTTP.

A `ReviewView` shows one version and never changes; after a decision there is another one (`newfound.review.session`).
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F

from newfound.algorithms.neighbours import rank_descending
from newfound.errors import DecisionError
from newfound.intents.description import MIN_OVERLAP_TO_SUGGEST, IntentDescriber, expected_error_of
from newfound.intents.overview import sizes_of, traffic_of
from newfound.intents.volume import week_of
from newfound.model.types import KnownCheck, Utterance
from newfound.review import proposals, views
from newfound.review.entries import Entry, events
from newfound.review.explaining import NEAREST, Explainer, Explanation
from newfound.review.questions import order_queue, queue_item
from newfound.review.reviewed import ReviewedModel

if TYPE_CHECKING:
    from newfound.review.session import ReviewSession

Listed = TypeVar("Listed", bound=views.ListedUtterance)
MAX_EXAMPLES_IN_LIST = 3  # of each intent
MAX_UTTERANCES_ON_A_PAGE = 50
MAX_UTTERANCES_IN_LIST = 100  # that are found, or of one intent of a pair
MAX_PAIRS = 30
MAX_LIKELY_INTENTS = 6  # of some utterances


class ReviewView:
    """The intents and utterances at one version of the review."""

    def __init__(self, session: ReviewSession, reviewed: ReviewedModel, entries: Sequence[Entry] = ()) -> None:
        self.session, self.reviewed, self.entries = session, reviewed, entries
        self.events, self.names = events(entries), list(reviewed.names)
        self.version = len(self.events)
        self._queue, self._queue_lock = lru_cache(partial(order_queue, self)), Lock()  # is ordered once for all who ask

    @cached_property
    def describer(self) -> IntentDescriber:
        _ = self.session.vectors  # The lock of the session makes sure that the utterances are encoded only once.
        return self.reviewed.describer(neighbours=lambda: self.session.neighbours)

    @cached_property
    def resizer(self) -> proposals.Resizer:
        return proposals.Resizer(self)

    def number(self, name: str) -> int:
        """Return the number of an intent, or raise a `DecisionError` if there is none of this name."""
        self.reviewed.review.check_exists(name)
        return self.names.index(name)

    @cached_property
    def state(self) -> views.ReviewState:
        """The intents in brief, and how far the review is."""
        intents = [self.reviewed.identified(self.describer.summary(c)) for c in range(len(self.names))]
        intents.sort(key=lambda i: (i.known, -i.size, i.name))
        review = self.reviewed.review
        traffic = traffic_of(self.describer.utterances, review.known)
        progress = views.Progress(
            logs=traffic.utterances,
            new_share=traffic.new,
            known_share=traffic.known,
            accepted=len(review.accepted),
            new=sum(not i.known for i in intents),
            checked=self.describer.occurrences(self.reviewed.decided_rows),
            expected_error=expected_error_of(self.describer.utterances),
            without_intent=self.describer.occurrences(self._rows_without_intent),
            known_check=KnownCheck.of(self.reviewed.model.provenance),
        )
        listed = (
            views.extend(
                views.ListedIntent,
                i,
                colour=self.reviewed.colours[i.name],
                comments=len(review.comments.get(i.name, ())),
                share=traffic.shares.get(i.name, 0.0),
            )
            for i in intents
        )
        return views.ReviewState(self.version, tuple(listed), progress)

    def details(self) -> list[views.IntentDetails]:
        """Return what the list shows of each intent besides its summary: examples and proposals."""
        return [self._details(intent) for intent in range(len(self.names))]

    def _details(self, intent: int) -> views.IntentDetails:
        name, rows = self.names[intent], self.describer.rows(intent)
        examples = self.session.examples(tuple(rows))[:MAX_EXAMPLES_IN_LIST]
        shown = (name, self.describer.keywords[intent], examples)
        if self.reviewed.review.status(name) == "known":
            return views.IntentDetails(*shown, None, None)
        overlaps = self.describer.overlaps_of(intent)
        merge = next((o.name for o in overlaps if o.share >= MIN_OVERLAP_TO_SUGGEST), None)
        parts = self.session.two_parts(tuple(rows))
        is_clear = parts is not None and parts[1] >= proposals.MIN_SEPARATION_TO_SUGGEST
        return views.IntentDetails(*shown, merge, parts[1] if parts is not None and is_clear else None)

    def intent(self, name: str, *, start: int = 0, logs_only: bool = False) -> views.IntentPage:
        """Return one intent with some of its utterances; on the first page, with proposals to merge and split it."""
        number, describer, vectors = self.number(name), self.describer, self.session.vectors
        rows = describer.rows(number)
        parts = self.session.two_parts(tuple(rows)) if start == 0 else None
        recorded = [e for e in self.entries if e.undone_at is None and e.kind == "comment"]
        return views.extend(
            views.IntentPage,
            self.reviewed.identified(describer.describe(number)),
            self._page(sorted(rows, key=lambda i: describer.utterances[i].probability), start, logs_only),
            merges=proposals.merge_proposals(describer, vectors, number) if start == 0 else (),
            split=None if parts is None else proposals.split_proposal(describer, vectors, number, parts),
            comments=tuple(recorded[i] for i in self.reviewed.review.comments.get(name, ())),
        )

    def without_intent(self, *, start: int = 0, logs_only: bool = False) -> views.Page:
        """Return utterances that belong to no intent, those that a person put there first."""
        checked = self.reviewed.review.checked
        rows = sorted(self._rows_without_intent, key=lambda i: self.describer.utterances[i].text not in checked)
        return self._page(rows, start, logs_only)

    @property
    def _rows_without_intent(self) -> list[int]:
        return (self.describer.label < 0).nonzero().squeeze(1).tolist()

    def pairs(self) -> list[views.ConfusedPair]:
        return proposals.confused_pairs(self.describer, self.undecided, MAX_PAIRS)

    def pair(self, first: str, second: str) -> views.PairPage:
        """Return the unchecked utterances of two intents, those first that are closest to the other intent."""
        one, other = self.number(first), self.number(second)
        return views.PairPage(self._closest(one, other), self._closest(other, one))

    def _closest(self, intent: int, other: int) -> tuple[views.PairedUtterance, ...]:
        undecided = set(self.undecided)
        rows = [i for i in self.describer.rows(intent) if i in undecided]
        of_other = self.describer.probabilities[rows, other]
        order = rank_descending(of_other)[:MAX_UTTERANCES_IN_LIST].tolist()
        return tuple(
            self.describe_utterance(views.PairedUtterance, rows[i], other=round(float(of_other[i]), 4)) for i in order
        )

    @cached_property
    def undecided(self) -> list[int]:
        """The utterances from the logs that nobody has assigned to one intent, or to none."""
        decided = {text for text, possible in self.reviewed.review.assigned.items() if len(possible) < 2}
        return [i for i, u in enumerate(self.describer.utterances) if not u.labelled and u.text not in decided]

    def describe_utterance(self, kind: type[Listed], i: int, **more: Any) -> Listed:
        """Return one utterance as a `ListedUtterance` or a subclass of it, whose further fields are given."""
        u = self.describer.utterances[i]
        checked, said = u.text in self.reviewed.review.assigned, replace(u.said, conversations=(), users=())
        shown = {"probability": round(u.probability, 4), "said": said, "id": i, "checked": checked}
        return views.extend(kind, u, **{**shown, **more})

    def queue(self, count: int = 20, shown: int | None = None) -> list[views.QueueItem]:
        """Return the utterances that most need a check; before them the one that a person reads, if it is undecided."""
        with self._queue_lock:
            questions, rows = self._queue(self.session.votes(wait=False))
        first = [i for i in self.undecided if i == shown] + [i for i in rows[:count] if i != shown]
        return [questions[i] if i in questions else queue_item(self, i) for i in first[:count]]

    def search(self, words: str, *, start: int = 0, logs_only: bool = False, by_meaning: bool = False) -> views.Page:
        """Return the number of utterances that contain all words, and some of them; by meaning, the most similar."""
        utterances = self.session.model.utterances
        if by_meaning:
            vector = F.normalize(torch.from_numpy(self.session.vectors_of((words,))), dim=-1)[0]
            ranked = rank_descending(self.session.vectors @ vector).tolist()
            rows = [i for i in ranked if not (logs_only and utterances[i].labelled)][:MAX_UTTERANCES_IN_LIST]
        else:
            wanted, texts = words.casefold().split(), [u.text.casefold() for u in utterances]
            rows = [i for i, text in enumerate(texts) if all(w in text for w in wanted)]
        return self._page(rows, start, logs_only, MAX_UTTERANCES_IN_LIST)

    def _page(
        self, rows: Sequence[int], start: int, logs_only: bool, count: int = MAX_UTTERANCES_ON_A_PAGE
    ) -> views.Page:
        if logs_only:
            rows = [i for i in rows if not self.describer.utterances[i].labelled]
        shown = tuple(self.describe_utterance(views.ListedUtterance, i) for i in rows[start : start + count])
        ids = tuple(rows[: views.MAX_UTTERANCES_TO_MOVE])
        return views.Page(len(rows), self.describer.occurrences(rows), shown, ids)

    def utterances(self, ids: Sequence[int]) -> views.Page:
        self._utterances(ids)
        return self._page(ids, 0, False, len(ids))

    def selection(self, ids: Sequence[int]) -> views.Selection:
        """Return which intents some utterances belong to, and so what moving them would take from these."""
        utterances = self._utterances(ids)
        sizes = sizes_of(utterances)
        before: dict[str | None, int] = {intent.name: intent.size for intent in self.state.intents}
        before[None] = self.state.progress.without_intent
        losses = tuple(views.Loss(name, n, before[name]) for name, n in sizes.most_common())
        mean = self.describer.probabilities[list(ids)].mean(0)
        likely = tuple((self.names[c], float(mean[c])) for c in rank_descending(mean)[:MAX_LIKELY_INTENTS].tolist())
        return views.Selection(losses, sum(u.count for u in utterances if u.labelled), likely)

    def with_texts(self, decision: Any) -> Any:
        """Return a decision as it is recorded: a move may name its utterances by their numbers, in `ids`."""
        arguments = decision.get("move") if isinstance(decision, dict) else None
        if not isinstance(arguments, dict) or "ids" not in arguments or "texts" in arguments:
            return decision
        ids = arguments["ids"]
        if not isinstance(ids, list) or not ids or not all(type(i) is int for i in ids):
            raise DecisionError("'ids' needs a list of at least one number of an utterance")
        if len(ids) > views.MAX_UTTERANCES_TO_MOVE:
            raise DecisionError(f"move: at most {views.MAX_UTTERANCES_TO_MOVE} utterances at once")
        texts = [u.text for u in self._utterances(ids)]
        others = {name: value for name, value in arguments.items() if name != "ids"}
        return {"move": {"texts": texts, **others}}

    def _utterances(self, ids: Sequence[int]) -> list[Utterance]:
        if not all(0 <= i < len(self.describer.utterances) for i in ids):
            raise DecisionError("no such utterance")
        return [self.describer.utterances[i] for i in ids]

    def points(self) -> views.LogMap:
        """Return the map of the logs, or of all utterances if there are no logs."""
        layout, is_final = self.session.layout(wait=False)
        utterances, checked = self.describer.utterances, self.reviewed.review.checked
        rows = [i for i, u in enumerate(utterances) if not u.labelled] or list(range(len(utterances)))
        return views.LogMap(
            self.version,
            tuple(self.names),
            tuple(self.reviewed.review.status(name) for name in self.names),
            positions=_base64(layout[rows]),
            intents=_base64(self.describer.label.numpy()[rows].astype("<i4")),
            counts=_base64(np.array([utterances[i].count for i in rows], "<i4")),
            ids=_base64(np.array(rows, "<i4")),
            probabilities=_base64(np.array([round(1_000 * utterances[i].probability) for i in rows], "<u2")),
            checked=_base64(np.array([utterances[i].text in checked for i in rows], "u1")),
            weeks=_base64(np.array([week_of(days[-1][0]) if (days := utterances[i].days) else 0 for i in rows], "<i4")),
            is_final=is_final,
        )

    def explain(self, text: str) -> Explanation:
        return Explainer(self.reviewed, self.session.vectors).classify([text], top=NEAREST)[0]


def _base64(column: npt.NDArray[np.generic]) -> str:
    return base64.b64encode(column.tobytes()).decode("ascii")
