"""What newfound does, as functions: check, discover, update, refit, predict, estimate, export.

Command line, server and Python call the same functions. Each takes a request, a small dataclass, and returns a result;
none prints, knows a flag or speaks HTTP. The functions of this module take a request or its fields:

    newfound.discover("known.csv", "logs.csv", out="my-bot")
    newfound.discover(DiscoverRequest("known.csv", "logs.csv", out="my-bot"))
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from newfound.workflows import checking, discovery, estimation, exporting, prediction, refitting, updating
from newfound.workflows.checking import CheckRequest, CheckResult
from newfound.workflows.discovery import DiscoverRequest, DiscoverResult
from newfound.workflows.estimation import EstimateRequest
from newfound.workflows.exporting import ExportRequest, ExportResult
from newfound.workflows.prediction import PredictRequest
from newfound.workflows.refitting import RefitRequest, RefitResult
from newfound.workflows.sources import ReadOptions
from newfound.workflows.updating import UpdateRequest

P = ParamSpec("P")
Result = TypeVar("Result")

__all__ = [
    "CheckRequest",
    "CheckResult",
    "DiscoverRequest",
    "DiscoverResult",
    "EstimateRequest",
    "ExportRequest",
    "ExportResult",
    "PredictRequest",
    "ReadOptions",
    "RefitRequest",
    "RefitResult",
    "UpdateRequest",
    "check",
    "discover",
    "estimate",
    "export",
    "predict",
    "refit",
    "update",
]


def _taking_fields(request_type: Callable[P, Any], run: Callable[..., Result]) -> Callable[P, Result]:
    """Let a workflow be called with the fields of its request as well as with the request itself."""

    @wraps(run)
    def call(*args: P.args, **kwargs: P.kwargs) -> Result:
        reporter: Any = kwargs.pop("reporter", None)
        is_request = len(args) == 1 and not kwargs and type(args[0]) is request_type
        request: Any = args[0] if is_request else request_type(*args, **kwargs)
        return run(request, reporter=reporter)

    return call


check = _taking_fields(CheckRequest, checking.check)
discover = _taking_fields(DiscoverRequest, discovery.discover)
update = _taking_fields(UpdateRequest, updating.update)
refit = _taking_fields(RefitRequest, refitting.refit)
predict = _taking_fields(PredictRequest, prediction.predict)
estimate = _taking_fields(EstimateRequest, estimation.estimate)
export = _taking_fields(ExportRequest, exporting.export)
