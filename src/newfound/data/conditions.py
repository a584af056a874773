"""Logs as they really are: long tails, utterances of no intent, utterances of known intents.

A `Condition` changes the unlabelled part of a task and leaves its test part alone. Its levels are comparable: `noise`
and `mixed` take the same share of the new intents' utterances at every level, 0 included, and add to them.
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

MOST_NOISE, MOST_MIXED = 0.3, 0.6
HELD_OUT_NOISE = 0.25  # of the out-of-scope utterances: for the test part


@dataclass(frozen=True, slots=True)
class Condition:
    """imbalance: largest over smallest new intent; noise, mixed: share of the logs that is of no, of a known intent."""

    imbalance: float = 1.0
    noise: float | None = None
    mixed: float | None = None

    def __post_init__(self) -> None:
        if self.imbalance < 1:
            raise SettingsError(f"imbalance={self.imbalance} must be 1 or more")
        for name, share, most in (("noise", self.noise, MOST_NOISE), ("mixed", self.mixed, MOST_MIXED)):
            if share is not None and not 0 <= share <= most:
                raise SettingsError(f"{name}={share} must lie between 0 and {most}")

    @property
    def changes_nothing(self) -> bool:
        return self == Condition()


def under(
    task: DiscoveryTask, condition: Condition, *, out_of_scope: Sequence[str] = (), seed: int = 0
) -> DiscoveryTask:
    """The task with its logs changed; `out_of_scope` are the utterances that noise is drawn from."""
    rng = np.random.default_rng(seed)
    if condition.imbalance > 1:
        task = _long_tailed(task, condition.imbalance, rng)
    if condition.mixed is not None:
        task = _mixed(task, condition.mixed, rng)
    if condition.noise is not None:
        task = _noisy(task, condition.noise, out_of_scope, rng)
    return task


def _long_tailed(task: DiscoveryTask, factor: float, rng: np.random.Generator) -> DiscoveryTask:
    """New intents keep a share of their utterances that falls geometrically from 1 to 1 / factor, in random order."""
    share = dict(
        zip(rng.permutation(task.new).tolist(), np.geomspace(1.0, 1.0 / factor, len(task.new)).tolist(), strict=True)
    )
    labels = np.array(task.train.labels, dtype=object)
    keep = []
    for intent in task.new:
        rows = rng.permutation(np.flatnonzero(labels == intent))
        keep.append(rows[: max(1, round(len(rows) * share[intent]))])
    return replace(task, train=task.train.take(_ordered(_known_rows(task), *keep)))


def _mixed(task: DiscoveryTask, share: float, rng: np.random.Generator) -> DiscoveryTask:
    """Half of the known intents' utterances keep their label; the rest is what the logs' known utterances come from."""
    labelled, pool = [], []
    labels = np.array(task.train.labels, dtype=object)
    for intent in task.known:
        rows = rng.permutation(np.flatnonzero(labels == intent))
        labelled.append(rows[: (len(rows) + 1) // 2])
        pool.append(rows[(len(rows) + 1) // 2 :])
    spare = rng.permutation(np.concatenate(pool))
    new = _draw_new(task, int(len(spare) * (1 - MOST_MIXED) / MOST_MIXED), rng)
    moved = spare[: round(len(new) * share / (1 - share))]
    kept = _ordered(*labelled, new, moved)
    hidden = frozenset(np.flatnonzero(np.isin(kept, moved)).tolist())
    return replace(task, train=task.train.take(kept), unlabelled=hidden)


def _noisy(task: DiscoveryTask, share: float, out_of_scope: Sequence[str], rng: np.random.Generator) -> DiscoveryTask:
    """Utterances of no intent among the logs, and others of them to be recognised at test time."""
    if len(out_of_scope) < 8:
        raise SettingsError("noise needs out-of-scope utterances to draw from")
    stray = [out_of_scope[i] for i in rng.permutation(len(out_of_scope))]
    held_out = round(HELD_OUT_NOISE * len(stray))
    pool = stray[held_out:]
    new = _draw_new(task, int(len(pool) * (1 - MOST_NOISE) / MOST_NOISE), rng)
    noise = pool[: round(len(new) * share / (1 - share))]
    train = task.train.take(_ordered(_known_rows(task), new)) + Corpus.of(noise)
    return replace(task, train=train, out_of_scope=tuple(stray[:held_out]))


def _known_rows(task: DiscoveryTask) -> npt.NDArray[np.int64]:
    return np.flatnonzero(np.isin(np.array(task.train.labels, dtype=object), task.known))


def _draw_new(task: DiscoveryTask, most: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """At most so many utterances of new intents, the same share of each."""
    labels = np.array(task.train.labels, dtype=object)
    by_intent = [rng.permutation(np.flatnonzero(labels == intent)) for intent in task.new]
    share = min(1.0, most / sum(map(len, by_intent)))
    return np.concatenate([rows[: max(1, int(len(rows) * share))] for rows in by_intent])


def _ordered(*rows: npt.NDArray[np.int64]) -> list[int]:
    return sorted(np.concatenate(rows).tolist())
