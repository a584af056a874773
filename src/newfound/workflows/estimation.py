"""Estimate how many new intents the logs hold, with an interval, before any training."""

from __future__ import annotations

from dataclasses import dataclass

from newfound import defaults
from newfound.algorithms.estimation import Estimate, Strategy
from newfound.defaults import LogsHold
from newfound.encoders.cache import FeatureCache
from newfound.encoders.encoder import Encoder, load_encoder
from newfound.methods.estimation import estimate_for
from newfound.methods.settings import Count, CountOrNone, check_types
from newfound.paths import feature_cache_dir
from newfound.training.progress import Reporter, Silent
from newfound.workflows.fitting import with_cache
from newfound.workflows.sources import (
    DEFAULT_READ_OPTIONS,
    KnownSource,
    LogSource,
    ReadOptions,
    distinct_logs,
    known_corpus,
    logs_corpus,
)


@dataclass(frozen=True, slots=True)
class EstimateRequest:
    """What to count new intents in, and how.

    Attributes:
        known: Labelled utterances of the known intents: a file, a corpus, or texts and labels.
        logs: Unlabelled utterances: a file, a corpus, or texts.
        strategy: resolution, height or drop (`newfound.algorithms.estimation` explains them).
        logs_hold: "mixed" if the logs hold known intents too, "novel" if not.
        expected: Where the strategy "drop" starts.
        encoder: A short name, a folder, owner/name on the hub, or a loaded encoder.
        seed: Same seed, same estimate.
        read: How files are read.
    """

    known: KnownSource
    logs: LogSource
    strategy: Strategy = "resolution"
    logs_hold: LogsHold = defaults.LOGS_HOLD
    expected: Count | None = None
    encoder: str | Encoder = defaults.ENCODER
    seed: CountOrNone = defaults.SEED
    read: ReadOptions = DEFAULT_READ_OPTIONS


def estimate(request: EstimateRequest, *, reporter: Reporter | None = None) -> Estimate:
    """Estimate the number of new intents.

    Args:
        request: What to count new intents in, and how.
        reporter: Is told what was odd in the files; by default nobody is.
    """
    reporter = reporter or Silent()
    check_types(request)
    known = known_corpus(request.known, request.read, reporter)
    logs = distinct_logs(logs_corpus(request.logs, request.read, reporter), reporter)
    encoder = with_cache(request.encoder)
    if isinstance(encoder, str):
        encoder = load_encoder(encoder, cache=FeatureCache(feature_cache_dir()))
    return estimate_for(
        known + logs,
        encoder,
        strategy=request.strategy,
        logs_hold=request.logs_hold,
        expected=request.expected,
        seed=request.seed,
    )
