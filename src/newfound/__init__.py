"""newfound: extend an intent classifier to the intents its users really have."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from newfound.version import __version__

if TYPE_CHECKING:
    from newfound.data.corpus import Corpus as Corpus
    from newfound.data.task import partition as partition
    from newfound.encoders.encoder import load_encoder as load_encoder
    from newfound.methods.consensus import Consensus as Consensus
    from newfound.methods.deepaligned import DeepAligned as DeepAligned
    from newfound.methods.deepaligned_mix import DeepAlignedMix as DeepAlignedMix
    from newfound.methods.dpl import DPL as DPL
    from newfound.methods.e2e import E2E as E2E
    from newfound.methods.kmeans import KMeans as KMeans
    from newfound.model.classifier import IntentModel as IntentModel
    from newfound.model.types import Intent as Intent
    from newfound.review.reviewed import load as load
    from newfound.workflows import audit as audit
    from newfound.workflows import check as check
    from newfound.workflows import diff as diff
    from newfound.workflows import discover as discover
    from newfound.workflows import estimate as estimate
    from newfound.workflows import evaluate as evaluate
    from newfound.workflows import export as export
    from newfound.workflows import group as group
    from newfound.workflows import predict as predict
    from newfound.workflows import push as push
    from newfound.workflows import refit as refit
    from newfound.workflows import resize as resize
    from newfound.workflows import thresholds as thresholds
    from newfound.workflows import trends as trends
    from newfound.workflows import update as update
    from newfound.workflows import write_predictions as write_predictions


# Imported on first use: torch takes seconds to load, and `newfound --help` should not wait for it.
_NAMES_OF_MODULE = {
    "data.corpus": "Corpus",
    "data.task": "partition",
    "encoders.encoder": "load_encoder",
    "methods.consensus": "Consensus",
    "methods.deepaligned": "DeepAligned",
    "methods.deepaligned_mix": "DeepAlignedMix",
    "methods.dpl": "DPL",
    "methods.e2e": "E2E",
    "methods.kmeans": "KMeans",
    "model.classifier": "IntentModel",
    "model.types": "Intent",
    "review.reviewed": "load",
    "workflows": "audit check diff discover estimate evaluate export group predict push refit resize thresholds "
    "trends update write_predictions",
}
_MODULE_OF_NAME = {name: f"newfound.{module}" for module, names in _NAMES_OF_MODULE.items() for name in names.split()}
__all__ = [*sorted(_MODULE_OF_NAME), "__version__"]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF_NAME:
        return getattr(import_module(_MODULE_OF_NAME[name]), name)
    raise AttributeError(f"module 'newfound' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
