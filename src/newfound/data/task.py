"""`DiscoveryTask`: a labelled corpus in which some intents are declared new, so that discovery can be scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from newfound.data.corpus import Corpus
from newfound.errors import DataError


@dataclass(frozen=True, slots=True)
class DiscoveryTask:
    """Known and new intents of one corpus, with gold labels.

    Gold labels are for scoring only. A method sees `observed_train`, which has no labels of new intents.

    Attributes:
        name: What results call the task.
        known: The known intents.
        new: The new intents.
        train: Training utterances with gold labels; one without a label belongs to no intent.
        dev: Validation utterances with gold labels.
        test: Test utterances with gold labels.
        unlabelled: Rows of `train` that belong to known intents and are part of the logs all the same.
        out_of_scope: Test utterances that belong to no intent.
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
        """The training utterances as a method may see them."""
        seen = self.train.hiding(self.new)
        labels = (None if i in self.unlabelled else label for i, label in enumerate(seen.labels))
        return Corpus(seen.texts, tuple(labels))

    def gold_ids(self, corpus: Corpus) -> npt.NDArray[np.int64]:
        """Return the gold intent of each utterance as a number, [n].

        Known intents are 0 to N-1 and new ones N to N+M-1, each in sorted order; -1 is an utterance of no intent.
        """
        return np.array(corpus.ids(self.known + self.new), dtype=np.int64)


def partition(corpus: Corpus, ood_ratio: float, seed: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Divide the intents of a corpus at random into known and new ones.

    Args:
        corpus: A labelled corpus.
        ood_ratio: The share of new intents.
        seed: Chooses the new intents.

    Returns:
        The known and the new intents.
    """
    if not 0 < ood_ratio < 1:
        raise DataError(f"ood_ratio={ood_ratio} must lie between 0 and 1, for instance 0.4")
    intents = corpus.intents
    n_new = round(len(intents) * ood_ratio)
    if n_new < 1 or len(intents) - n_new < 2:
        raise DataError(
            f"{len(intents)} intents at ood_ratio={ood_ratio} leave {len(intents) - n_new} known and {n_new} new; "
            "at least two known and one new are needed"
        )
    new = {intents[i] for i in np.random.default_rng(seed).permutation(len(intents))[:n_new].tolist()}
    return tuple(sorted(set(intents) - new)), tuple(sorted(new))


def make_task(
    name: str, known: Sequence[str], new: Sequence[str], *, train: Corpus, dev: Corpus, test: Corpus
) -> DiscoveryTask:
    """Build a task, after a check that every label is a known or a new intent."""
    others = set(train.intents + dev.intents + test.intents) - set(known) - set(new)
    if others:
        examples = ", ".join(sorted(others)[:5])
        raise DataError(f"{name}: the data hold intents that are neither known nor new: {examples}")
    return DiscoveryTask(name, tuple(sorted(known)), tuple(sorted(new)), train, dev, test)
