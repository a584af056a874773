"""Changes the logs of a task to be like real logs: long-tailed, with utterances of no intent and of known intents.

A `Condition` changes the unlabelled part of a task and leaves its test part alone. Its levels can be compared: `noise`
and `mixed` keep the same share of the new intents' utterances at every level, 0 included, and add others to them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from newfound.data.corpus import Corpus
from newfound.data.task import DiscoveryTask
from newfound.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_NOISE_SHARE, MAX_MIXED_SHARE = 0.3, 0.6
HELD_OUT_SHARE = 0.25  # of the out-of-scope utterances; these are for the test
MIN_OUT_OF_SCOPE = 8  # utterances that noise needs to draw from


@dataclass(frozen=True, slots=True)
class Condition:
    """How the logs of a task are changed; None adds nothing, and keeps all utterances and labels."""

    imbalance: float = 1.0  # size of the largest new intent over that of the smallest
    noise: float | None = None  # share of the logs that belongs to no intent
    mixed: float | None = None  # share of the logs that belongs to known intents
    labelled: float | None = None  # share of each known intent that keeps its labels; the others are part of the logs

    def __post_init__(self) -> None:
        if self.imbalance < 1:
            raise SettingsError(f"imbalance={self.imbalance} must be 1 or more")
        for name, share, maximum in (
            ("noise", self.noise, MAX_NOISE_SHARE),
            ("mixed", self.mixed, MAX_MIXED_SHARE),
            ("labelled", self.labelled, 1),
        ):
            if share is not None and not 0 <= share <= maximum:
                raise SettingsError(f"{name}={share} must lie between 0 and {maximum}")

    @property
    def adds_known(self) -> bool:
        return self.mixed is not None or self.labelled is not None

    @property
    def changes_nothing(self) -> bool:
        return self == Condition()


def apply_condition(
    task: DiscoveryTask, condition: Condition, *, out_of_scope: Sequence[str] = (), seed: int = 0
) -> DiscoveryTask:
    """Return the task with its logs changed; noise is drawn from the utterances that are out of scope."""
    rng = np.random.default_rng(seed)
    if condition.imbalance > 1:
        task = _make_long_tailed(task, condition.imbalance, rng)
    if condition.mixed is not None:
        task = _mix_known(task, condition.mixed, rng)
    if condition.labelled is not None:
        task = _hide_labels(task, condition.labelled, rng)
    if condition.noise is not None:
        task = _add_noise(task, condition.noise, out_of_scope, rng)
    return task


def _make_long_tailed(task: DiscoveryTask, factor: float, rng: np.random.Generator) -> DiscoveryTask:
    """Keep a share of each new intent's utterances that falls geometrically from 1 to 1 / factor, in random order."""
    order = rng.permutation(task.new).tolist()
    share = dict(zip(order, np.geomspace(1.0, 1.0 / factor, len(order)).tolist(), strict=True))
    shuffled = zip(task.new, _shuffled_rows(task, task.new, rng), strict=True)
    kept = [rows[: max(1, round(len(rows) * share[intent]))] for intent, rows in shuffled]
    return replace(task, train=task.train.take(_sort_rows(_known_rows(task), *kept)))


def _mix_known(task: DiscoveryTask, share: float, rng: np.random.Generator) -> DiscoveryTask:
    """Keep the labels of half of the known intents' utterances, and add some of the others to the logs."""
    by_intent = _shuffled_rows(task, task.known, rng)
    labelled = [rows[: (len(rows) + 1) // 2] for rows in by_intent]
    pool = rng.permutation(np.concatenate([rows[(len(rows) + 1) // 2 :] for rows in by_intent]))
    new = _draw_new(task, int(len(pool) * (1 - MAX_MIXED_SHARE) / MAX_MIXED_SHARE), rng)
    moved = pool[: round(len(new) * share / (1 - share))]
    kept = _sort_rows(*labelled, new, moved)
    unlabelled = frozenset(np.flatnonzero(np.isin(kept, moved)).tolist())
    return replace(task, train=task.train.take(kept), unlabelled=unlabelled)


def _hide_labels(task: DiscoveryTask, share: float, rng: np.random.Generator) -> DiscoveryTask:
    """Keep the labels of a share of each known intent's utterances, of one at least unless the share is 0."""
    by_intent = _shuffled_rows(task, task.known, rng)
    hidden = [rows[max(1 if share else 0, round(share * len(rows))) :] for rows in by_intent]
    return replace(task, unlabelled=frozenset(int(row) for rows in hidden for row in rows))


def _add_noise(
    task: DiscoveryTask, share: float, out_of_scope: Sequence[str], rng: np.random.Generator
) -> DiscoveryTask:
    """Add utterances of no intent to the logs, and hold others out for the test."""
    if len(out_of_scope) < MIN_OUT_OF_SCOPE:
        raise SettingsError("noise needs out-of-scope utterances to draw from")
    shuffled = [out_of_scope[i] for i in rng.permutation(len(out_of_scope))]
    n_held_out = round(HELD_OUT_SHARE * len(shuffled))
    pool = shuffled[n_held_out:]
    new = _draw_new(task, int(len(pool) * (1 - MAX_NOISE_SHARE) / MAX_NOISE_SHARE), rng)
    noise = pool[: round(len(new) * share / (1 - share))]
    train = task.train.take(_sort_rows(_known_rows(task), new)) + Corpus.of(noise)
    return replace(task, train=train, out_of_scope=tuple(shuffled[:n_held_out]))


def _shuffled_rows(
    task: DiscoveryTask, intents: Sequence[str], rng: np.random.Generator
) -> list[npt.NDArray[np.int64]]:
    labels = np.array(task.train.labels, dtype=object)
    return [rng.permutation(np.flatnonzero(labels == intent)) for intent in intents]


def _known_rows(task: DiscoveryTask) -> npt.NDArray[np.int64]:
    return np.flatnonzero(np.isin(np.array(task.train.labels, dtype=object), task.known))


def _draw_new(task: DiscoveryTask, maximum: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return rows of new intents, the same share of each intent, and about `maximum` at most."""
    by_intent = _shuffled_rows(task, task.new, rng)
    share = min(1.0, maximum / sum(map(len, by_intent)))
    return np.concatenate([rows[: max(1, int(len(rows) * share))] for rows in by_intent])


def _sort_rows(*rows: npt.NDArray[np.int64]) -> list[int]:
    return sorted(np.concatenate(rows).tolist())
