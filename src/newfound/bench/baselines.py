"""Methods of others that experiments compare with. Each is a function over the vectors of the frozen encoder.

Tables import this module for the names of the baselines, so that torch is loaded only when one runs.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterable, Mapping
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

    BERTopic clusters with HDBSCAN, and test texts that it leaves out are given to the topic with the nearest mean
    vector. Where the number of intents is given, k-means takes HDBSCAN's place, as BERTopic's documentation says for a
    fixed number of topics without outliers. Labels that are there guide the reduction of dimensions.
    """
    from bertopic import BERTopic
    from sklearn.cluster import KMeans
    from umap import UMAP

    observed = task.observed_train
    number = {intent: i for i, intent in enumerate(observed.intents)}
    y = [OUTLIER_TOPIC if label is None else number[label] for label in observed.labels]
    # BERTopic's own reduction, with a seed.
    reduction = UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=seed)
    clusters = None if intents is None else KMeans(intents, n_init=10, random_state=seed)
    model = BERTopic(umap_model=reduction, hdbscan_model=clusters)
    topics = np.asarray(model.fit_transform(list(observed.texts), train, y=y if number else None)[0])
    test_topics = np.asarray(model.transform(list(task.test.texts), test)[0])
    left_out = test_topics == OUTLIER_TOPIC
    if left_out.any():
        names = np.unique(topics[topics != OUTLIER_TOPIC])
        means = np.stack([_unit(train[topics == name].mean(0, keepdims=True))[0] for name in names])
        test_topics[left_out] = names[(test[left_out] @ means.T).argmax(1)]
    predicted: Ids = np.unique(np.asarray(test_topics, dtype=np.int64), return_inverse=True)[1]
    return predicted


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
    from newfound.bench.scoring import round_values, score_ids
    from newfound.bench.studies import frozen_vectors

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
