"""Estimate how many new intents the logs hold, with an interval, before any training."""

from __future__ import annotations

from dataclasses import dataclass

from newfound import defaults
from newfound.algorithms.estimation import Estimate
from newfound.defaults import LogsHold
from newfound.encoders.encoder import Encoder
from newfound.encoders.suitability import text_warnings
from newfound.methods.estimation import estimate_for
from newfound.methods.settings import check_types
from newfound.training.progress import Reporter
from newfound.workflows.runtime import Runtime
from newfound.workflows.sources import InputOptions, KnownSource, LogSource, read_inputs


@dataclass(frozen=True, slots=True)
class EstimateRequest(InputOptions):
    """What to count new intents in, and how; `InputOptions` has how it is read.

    Attributes:
        known: Labelled utterances of the known intents: a file, a corpus, or texts and labels. None if no intent is
            known: then all intents are discovered in the logs.
        logs: Unlabelled utterances: a file, a corpus, or texts. If None, the utterances of `known` without a label.
        logs_hold: "mixed" if the logs hold known intents too, "novel" if not.
        encoder: A short name, a folder, owner/name on the hub, or a loaded encoder.
    """

    known: KnownSource | None = None
    logs: LogSource | None = None
    logs_hold: LogsHold = defaults.LOGS_HOLD
    encoder: str | Encoder = defaults.ENCODER


def estimate(request: EstimateRequest, *, reporter: Reporter | None = None) -> Estimate:
    """Estimate the number of new intents.

    Args:
        request: What to count new intents in, and how.
        reporter: Is told what was odd in the files; by default nobody is.
    """
    check_types(request)
    runtime = Runtime.of(request, reporter)
    known, logs = read_inputs(request.known, request.logs, request, runtime)
    encoder = runtime.load_encoder()
    for warning in text_warnings(encoder, known.texts, logs.texts):
        runtime.reporter.warn(warning)
    corpus = known + logs
    return estimate_for(corpus, encoder, logs_hold=request.logs_hold, seed=request.seed)
