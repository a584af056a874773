"""`DiscoveryTask`: a labelled corpus of which some intents are declared unknown, so that discovery can be scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from newfound.data.corpus import Corpus
from newfound.errors import DataError


@dataclass(frozen=True, slots=True)
class DiscoveryTask:
    """Known and new intents of one corpus, with gold labels throughout.

    `observed_*` is what a method may see: the labels of new intents are gone. Gold labels serve scoring only.
    Logs that are not as the paper has them: `unlabelled` are training rows of known intents that stand in the logs;
    a training row of no intent has no label at all; `out_of_scope` are more of those, for the test.
    """

    name: str
    known: tuple[str, ...]
    new: tuple[str, ...]
    train: Corpus
    dev: Corpus
    test: Corpus
    unlabelled: frozenset[int] = frozenset()
    out_of_scope: tuple[str, ...] = ()

    @property
    def observed_train(self) -> Corpus:
        seen = self.train.hiding(self.new)
        labels = (None if i in self.unlabelled else label for i, label in enumerate(seen.labels))
        return Corpus(seen.texts, tuple(labels))

    @property
    def observed_dev(self) -> Corpus:
        return self.dev.hiding(self.new)

    def gold_ids(self, corpus: Corpus) -> npt.NDArray[np.int64]:
        """Known intents are 0..N-1 and new ones N..N+M-1, each in sorted order; -1 is a row of no intent."""
        ids = {intent: i for i, intent in enumerate(self.known + self.new)}
        return np.array([ids[label] if label is not None else -1 for label in corpus.labels], dtype=np.int64)


def partition(corpus: Corpus, ood_ratio: float, seed: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A fresh division of the corpus's intents into known and new, by seed; `ood_ratio` of them are new."""
    if not 0 < ood_ratio < 1:
        raise DataError(f"ood_ratio={ood_ratio} must lie between 0 and 1, for instance 0.4")
    intents = corpus.intents
    n_new = round(len(intents) * ood_ratio)
    if n_new < 1 or len(intents) - n_new < 2:
        raise DataError(
            f"{len(intents)} intents at ood_ratio={ood_ratio} leave {len(intents) - n_new} known and {n_new} new; "
            "at least two known and one new are needed"
        )
    new = set(np.random.default_rng(seed).permutation(len(intents))[:n_new].tolist())
    return (
        tuple(intent for i, intent in enumerate(intents) if i not in new),
        tuple(intent for i, intent in enumerate(intents) if i in new),
    )


def make_task(
    name: str, known: Sequence[str], new: Sequence[str], *, train: Corpus, dev: Corpus, test: Corpus
) -> DiscoveryTask:
    """A task over the given intents; every label of the corpora must be one of them."""
    stray = set(train.intents + dev.intents + test.intents) - set(known) - set(new)
    if stray:
        raise DataError(f"{name}: the data hold intents that are neither known nor new: {', '.join(sorted(stray)[:5])}")
    return DiscoveryTask(name, tuple(sorted(known)), tuple(sorted(new)), train, dev, test)
