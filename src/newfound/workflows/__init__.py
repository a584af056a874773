"""What newfound does, as functions: check, discover, update, review and refit, group, diff, predict, audit, export, ...

Command line, server and Python call the same functions, which return a result; none prints, knows a flag or speaks
HTTP. Some of them take a request, a small dataclass; as functions of this module they take its fields as well:

    newfound.discover("known.csv", "logs.csv", out="my-bot")
    newfound.discover(DiscoverRequest("known.csv", "logs.csv", out="my-bot"))

Names are imported on first use, and workflows import torch only when they need it, so that wrong options and files are
refused at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache, wraps
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from newfound.model.hub import is_on_hub, model_folder

P = ParamSpec("P")
Result = TypeVar("Result")

# Module, request and function of each workflow; the function has the workflow's name.
_WORKFLOWS = {
    "check": ("checking", "CheckRequest"),
    "discover": ("discovery", "DiscoverRequest"),
    "estimate": ("estimation", "EstimateRequest"),
    "evaluate": ("evaluation", "EvaluateRequest"),
    "export": ("exporting", "ExportRequest"),
    "predict": ("prediction", "PredictRequest"),
    "push": ("publishing", "PushRequest"),
    "refit": ("refitting", "RefitRequest"),
    "resize": ("resizing", "ResizeRequest"),
    "update": ("updating", "UpdateRequest"),
    "write_predictions": ("writing", "WritePredictionsRequest"),
}
# Workflows that are plain functions with keywords, and their modules.
_PLAIN = {
    "audit": "auditing",
    "diff": "comparing",
    "group": "grouping",
    "thresholds": "thresholding",
    "trends": "trending",
}
_MODULE_OF_REQUEST = {request: module for module, request in _WORKFLOWS.values()}
__all__ = [*_PLAIN, *_WORKFLOWS, *_MODULE_OF_REQUEST]


def _accept_fields(request_type: Callable[P, Any], run: Callable[..., Result]) -> Callable[P, Result]:
    """Let a workflow be called with the fields of its request as well as with the request itself."""

    @wraps(run)
    def call(*args: P.args, **kwargs: P.kwargs) -> Result:
        reporter: Any = {"reporter": kwargs.pop("reporter")} if "reporter" in kwargs else {}
        is_request = len(args) == 1 and not kwargs and type(args[0]) is request_type
        request: Any = args[0] if is_request else request_type(*args, **kwargs)
        return run(_with_fetched_models(request), **reporter)

    reporters = [parameter for name, parameter in signature(run).parameters.items() if name == "reporter"]
    fields_and_reporter = [*signature(request_type).parameters.values(), *reporters]
    call.__signature__ = signature(run).replace(parameters=fields_and_reporter)  # type: ignore[attr-defined]
    return call


def _with_fetched_models(request: Any) -> Any:
    """Return a request in which models on the hub (`hf://owner/name`) are folders of newfound's cache."""
    values = {field.name: getattr(request, field.name) for field in fields(request)}
    addresses = {name: v for name, v in values.items() if isinstance(v, str | Path) and is_on_hub(v)}
    return replace(request, **{name: model_folder(address) for name, address in addresses.items()})


if TYPE_CHECKING:
    from newfound.workflows import (
        checking,
        discovery,
        estimation,
        evaluation,
        exporting,
        prediction,
        publishing,
        refitting,
        resizing,
        updating,
        writing,
    )
    from newfound.workflows.auditing import audit as audit
    from newfound.workflows.checking import CheckRequest as CheckRequest
    from newfound.workflows.comparing import diff as diff
    from newfound.workflows.discovery import DiscoverRequest as DiscoverRequest
    from newfound.workflows.estimation import EstimateRequest as EstimateRequest
    from newfound.workflows.evaluation import EvaluateRequest as EvaluateRequest
    from newfound.workflows.exporting import ExportRequest as ExportRequest
    from newfound.workflows.grouping import group as group
    from newfound.workflows.prediction import PredictRequest as PredictRequest
    from newfound.workflows.publishing import PushRequest as PushRequest
    from newfound.workflows.refitting import RefitRequest as RefitRequest
    from newfound.workflows.resizing import ResizeRequest as ResizeRequest
    from newfound.workflows.thresholding import thresholds as thresholds
    from newfound.workflows.trending import trends as trends
    from newfound.workflows.updating import UpdateRequest as UpdateRequest
    from newfound.workflows.writing import WritePredictionsRequest as WritePredictionsRequest

    check = _accept_fields(CheckRequest, checking.check)
    discover = _accept_fields(DiscoverRequest, discovery.discover)
    update = _accept_fields(UpdateRequest, updating.update)
    refit = _accept_fields(RefitRequest, refitting.refit)
    resize = _accept_fields(ResizeRequest, resizing.resize)
    predict = _accept_fields(PredictRequest, prediction.predict)
    push = _accept_fields(PushRequest, publishing.push)
    estimate = _accept_fields(EstimateRequest, estimation.estimate)
    evaluate = _accept_fields(EvaluateRequest, evaluation.evaluate)
    export = _accept_fields(ExportRequest, exporting.export)
    write_predictions = _accept_fields(WritePredictionsRequest, writing.write_predictions)
else:

    @cache
    def __getattr__(name: str) -> Any:
        if name in _PLAIN:
            return getattr(import_module(f"{__name__}.{_PLAIN[name]}"), name)
        if name in _WORKFLOWS:
            module, request = _WORKFLOWS[name]
            home = import_module(f"{__name__}.{module}")
            return _accept_fields(getattr(home, request), getattr(home, name))
        if name in _MODULE_OF_REQUEST:
            return getattr(import_module(f"{__name__}.{_MODULE_OF_REQUEST[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
