"""Methods of others that experiments compare with. Each is a function over the vectors of the frozen encoder.

Tables import this module for the names of the baselines, so that torch is loaded only when one runs.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from newfound.data.task import DiscoveryTask
from newfound.errors import MissingExtra

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder

Ids = npt.NDArray[np.int64]
Vectors = npt.NDArray[np.float32]
Clusterer = Callable[[DiscoveryTask, Vectors, Vectors, int | None, int], Ids]
"""Task, unit vectors of its training and test texts, number of intents in all (None: its own), seed -> test ids."""

OUTLIER_TOPIC = -1  # BERTopic's number for texts of no topic


def bertopic(task: DiscoveryTask, train: Vectors, test: Vectors, intents: int | None, seed: int) -> Ids:
    """Return the topics of the test texts.

    Test texts that HDBSCAN leaves out are given to the topic with the nearest mean vector.
    """
    observed = task.observed_train
    model, topics = fit_bertopic(
        observed.texts, train, observed.labels, seed=seed, hdbscan_model=_clusterer(intents, seed)
    )
    test_topics = np.asarray(model.transform(list(task.test.texts), test)[0])
    return to_nearest_topic(test_topics, test, topics, train)


def bertopic_clusters(texts: Sequence[str], x: Vectors, intents: int | None, seed: int) -> Ids:
    """Return the topics of the texts themselves, found without labels; what HDBSCAN leaves out is given to one."""
    _, topics = fit_bertopic(texts, x, [None] * len(texts), seed=seed, hdbscan_model=_clusterer(intents, seed))
    return to_nearest_topic(topics, x, topics, x)


def fit_bertopic(
    texts: Sequence[str], x: Vectors, labels: Sequence[str | None], *, seed: int, **settings: Any
) -> tuple[Any, Ids]:
    """Fit BERTopic on vectors [n, d], and return it with the topics [n]; -1 for what HDBSCAN leaves out.

    Labels that are there guide the reduction of dimensions. `settings` are BERTopic's.
    """
    from bertopic import BERTopic
    from umap import UMAP

    known = sorted({label for label in labels if label is not None})
    y = [OUTLIER_TOPIC if label is None else known.index(label) for label in labels]
    # BERTopic's own reduction, with a seed.
    reduction = UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=seed)
    model = BERTopic(umap_model=reduction, **settings)
    topics: Ids = np.asarray(model.fit_transform(list(texts), x, y=y if known else None)[0])
    return model, topics


def to_nearest_topic(topics: Ids, x: Vectors, fitted_topics: Ids, fitted_x: Vectors) -> Ids:
    """Return numbers from 0 for topics [n] of vectors x [n, d]; outliers get the topic with the nearest mean vector."""
    topics = topics.copy()
    left_out = topics == OUTLIER_TOPIC
    if left_out.any():
        names = np.unique(fitted_topics[fitted_topics != OUTLIER_TOPIC])
        means = np.stack([_unit(fitted_x[fitted_topics == name].mean(0, keepdims=True))[0] for name in names])
        topics[left_out] = names[(x[left_out] @ means.T).argmax(1)]
    numbers: Ids = np.unique(np.asarray(topics, dtype=np.int64), return_inverse=True)[1]
    return numbers


def _clusterer(intents: int | None, seed: int) -> Any:
    """Return k-means where the number is given, as BERTopic's documentation says for that case, else None: HDBSCAN."""
    from sklearn.cluster import KMeans

    return None if intents is None else KMeans(intents, n_init=10, random_state=seed)


@dataclass(frozen=True, slots=True)
class Baseline:
    """A method of others."""

    cluster: Clusterer
    modules: tuple[str, ...] = ()  # what it imports beside newfound's own requirements
    extra: str = "benchmarks"  # of newfound, which installs them


BASELINES: dict[str, Baseline] = {"bertopic": Baseline(bertopic, ("bertopic", "umap"))}


def check_baselines(methods: Iterable[str]) -> None:
    """Import what baselines need, before any cell is run."""
    for name in sorted(set(methods) & set(BASELINES)):
        for module in BASELINES[name].modules:
            try:
                importlib.import_module(module)
            except ModuleNotFoundError:
                what = f"the baseline {name} (the other methods run without it)"
                raise MissingExtra(what, module, BASELINES[name].extra) from None


def run_baseline(
    name: str, settings: Mapping[str, Any], task: DiscoveryTask, encoder: Encoder, seed: int
) -> dict[str, Any]:
    """Fit a baseline on the observed training data, and return its scores on the test data."""
    from benchmarks.harness.scoring import round_values, score_ids
    from benchmarks.harness.studies import frozen_vectors

    train, test = (_unit(frozen_vectors(encoder, c.texts).numpy()) for c in (task.train, task.test))
    intents = None if settings.get("n_new") == "auto" else len(task.known) + len(task.new)
    started = time.perf_counter()
    predicted = BASELINES[name].cluster(task, train, test, intents, seed)
    seconds = time.perf_counter() - started
    scores = score_ids(task, predicted)
    del scores["scores"], scores["clustering"]  # its topics do not say which intents are known
    return {**scores, "n_intents": int(predicted.max()) + 1, "timings": round_values({"fit": seconds})}


def _unit(x: Vectors) -> Vectors:
    unit: Vectors = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
    return unit
