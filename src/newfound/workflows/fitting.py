"""What discovery and updates share: the effort, and a fit whose checkpoints survive an interruption."""

from __future__ import annotations

from copy import copy
from pathlib import Path

from newfound.data.corpus import Corpus
from newfound.encoders.cache import FeatureCache
from newfound.encoders.encoder import Encoder
from newfound.errors import Interrupted, SettingsError
from newfound.methods.base import Discoverer, pick_device, resolve_tune
from newfound.paths import feature_cache_dir
from newfound.training.progress import Reporter
from newfound.training.run import Run


def with_cache(encoder: str | Encoder) -> str | Encoder:
    """Return the encoder with the user's feature cache, so that what was encoded before is not encoded again."""
    if isinstance(encoder, str) or encoder.cache is not None:
        return encoder
    cached = copy(encoder)  # the weights are shared; predictions go on without a cache
    cached.cache = FeatureCache(feature_cache_dir())
    return cached


EFFORTS = {"quick": "heads", "best": "last"}
"""What each effort trains."""


def resolve_effort(effort: str, tune: str, device: str, reporter: Reporter) -> str:
    """Return what trains: `tune` says it exactly, `effort` by what it is worth, and otherwise the device decides."""
    if effort != "auto" and effort not in EFFORTS:
        raise SettingsError(f"effort={effort!r} is not one of auto, {', '.join(EFFORTS)}")
    if tune != "auto":
        return tune
    chosen = EFFORTS.get(effort) or resolve_tune("auto", pick_device(device))
    if effort == "auto":
        why = "no GPU here" if chosen == "heads" else "there is a GPU"
        name = next(name for name, what in EFFORTS.items() if what == chosen)
        reporter.note(f"Effort {name}, since {why}.")
    return chosen


def run_beside(
    out: Path | None, reporter: Reporter, *, resume: bool = False, anew: bool = False, checkpoint_seconds: float = 5.0
) -> Run:
    """Return the run of a fit; its checkpoints lie beside the model to be, where there is a place for it."""
    return Run(
        reporter=reporter,
        folder=None if out is None else out.with_name(out.name + ".run"),
        resume=resume,
        anew=anew and not resume,
        seconds_between_checkpoints=checkpoint_seconds,
    )


def fit(method: Discoverer, corpus: Corpus, run: Run) -> None:
    """Fit; checkpoints stay until the caller has saved the model and calls `run.finish()`."""
    try:
        method.fit(corpus.texts, corpus.labels, origins=corpus.origins, run=run)
    except KeyboardInterrupt:
        raise Interrupted(run.folder if run.kept else None) from None
    finally:
        if not run.kept:
            run.finish()
