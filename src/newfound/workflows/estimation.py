"""Estimate how many new intents the logs hold, with an interval, before any training."""

from __future__ import annotations

from dataclasses import dataclass

from newfound import defaults
from newfound.algorithms.estimation import Estimate, Strategy
from newfound.defaults import Conflicts, LogsHold
from newfound.encoders.encoder import Encoder
from newfound.encoders.languages import language_warning
from newfound.methods.estimation import estimate_for
from newfound.methods.settings import CountOrNone, check_types
from newfound.training.progress import LoggingReporter, Reporter
from newfound.workflows.fitting import loaded
from newfound.workflows.sources import (
    DEFAULT_READ_OPTIONS,
    KnownSource,
    LogSource,
    ReadOptions,
    distinct_logs,
    known_and_logs,
    sample_for,
    sampled,
)


@dataclass(frozen=True, slots=True)
class EstimateRequest:
    """What to count new intents in, and how.

    Attributes:
        known: Labelled utterances of the known intents: a file, a corpus, or texts and labels. None if no intent is
            known: then all intents are discovered in the logs.
        logs: Unlabelled utterances: a file, a corpus, or texts. If None, the utterances of `known` without a label.
        strategy: mean, tree or resolution (`newfound.algorithms.estimation` explains them); "auto" is mean in
            mixed logs and resolution in logs of new intents only, beside enough labels, and tree otherwise.
        logs_hold: "mixed" if the logs hold known intents too, "novel" if not.
        encoder: A short name, a folder, owner/name on the hub, or a loaded encoder.
        seed: Same seed, same estimate.
        read: How files are read.
        read_logs: How the logs are read, where that differs.
        conflicts: What becomes of a known text with several labels: error, first (its first label is kept) or drop.
        max_logs: Distinct utterances of the logs that are looked at; of larger logs a random sample of this size.
    """

    known: KnownSource | None = None
    logs: LogSource | None = None
    strategy: Strategy = "auto"
    logs_hold: LogsHold = defaults.LOGS_HOLD
    encoder: str | Encoder = defaults.ENCODER
    seed: CountOrNone = defaults.SEED
    read: ReadOptions = DEFAULT_READ_OPTIONS
    read_logs: ReadOptions | None = None
    conflicts: Conflicts = defaults.CONFLICTS
    max_logs: int = defaults.MAX_LOGS


def estimate(request: EstimateRequest, *, reporter: Reporter | None = None) -> Estimate:
    """Estimate the number of new intents.

    Args:
        request: What to count new intents in, and how.
        reporter: Is told what was odd in the files; by default nobody is.
    """
    reporter = reporter or LoggingReporter()
    check_types(request)
    sample = sample_for(request.max_logs, request.seed)
    known, logs = known_and_logs(
        request.known,
        request.logs,
        request.read,
        request.read_logs or request.read,
        reporter,
        conflicts=request.conflicts,
        sample=sample,
    )
    logs = sampled(distinct_logs(logs, reporter), sample, reporter)
    encoder = loaded(request.encoder)
    warning = language_warning(encoder, known.texts, logs.texts)
    if warning is not None:
        reporter.warn(warning)
    return estimate_for(
        known + logs,
        encoder,
        strategy=request.strategy,
        logs_hold=request.logs_hold,
        seed=request.seed,
    )
