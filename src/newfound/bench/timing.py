"""Measures how long the phases of a fit and its epochs take."""

from __future__ import annotations

import time
from typing import Any

from newfound.bench.provenance import hardware
from newfound.data.task import DiscoveryTask
from newfound.encoders.encoder import Encoder
from newfound.methods.registry import method_named
from newfound.model.classifier import versions


def measure(
    method: str,
    task: DiscoveryTask,
    encoder: Encoder,
    *,
    tune: str,
    device: str,
    epochs: int = 5,
    **settings: Any,
) -> dict[str, Any]:
    """Measure the seconds of each phase of a fit and the seconds per epoch.

    Args:
        method: Name of the method, as in the registry.
        task: Its training data are fitted on.
        encoder: The loaded encoder.
        tune: How much of the encoder trains.
        device: auto, cpu or cuda.
        epochs: Number of epochs to time in each stage.
        **settings: Settings of the method.

    Returns:
        The content of a result file.
    """
    corpus = task.observed_train
    common = {"n_new": len(task.new), "encoder": encoder, "tune": tune, "device": device, **settings}
    make = method_named(method)
    # The first fit is not timed: it compiles kernels, fills caches and starts threads.
    make(**{**common, "pretrain_epochs": 1}, epochs=1).fit(corpus.texts, corpus.labels)
    fitted = make(**{"pretrain_epochs": epochs, **common}, epochs=epochs)
    started = time.perf_counter()
    fitted.fit(corpus.texts, corpus.labels)
    fitted_at = time.perf_counter()
    fitted.model_.predict_ids(task.test.texts)
    seconds = {
        "encode": fitted.timings_["encode"],
        "discover": fitted.timings_["discover"],
        "predict": time.perf_counter() - fitted_at,
        "whole fit": fitted_at - started,
    }
    per_epoch = {
        stage: min(record["seconds"] for record in history) for stage, history in fitted.history_.items() if history
    }
    return {
        "method": method,
        "benchmark": task.name,
        "encoder": encoder.name,
        "tune": tune,
        "utterances": len(corpus),
        "seconds": {name: round(value, 4) for name, value in seconds.items()},
        "seconds per epoch": {name: round(value, 5) for name, value in per_epoch.items()},
        "parameters": fitted.parameters_,
        "hardware": hardware(device),
        "versions": versions(),
    }
