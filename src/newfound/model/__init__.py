"""The result of a fit: the classifier over known and new intents, its types, and its folder on disk."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from newfound.model.about import describe as describe
    from newfound.model.about import read_utterances as read_utterances
    from newfound.model.classifier import IntentModel as IntentModel
    from newfound.model.classifier import versions as versions
    from newfound.model.folder import load as load
    from newfound.model.types import Intent as Intent
    from newfound.model.types import Prediction as Prediction
    from newfound.model.types import Utterance as Utterance

# These are imported on first use, because the classifier needs torch and reading `model.json` does not.
_MODULE_OF = {
    "Intent": "types",
    "IntentModel": "classifier",
    "Prediction": "types",
    "Utterance": "types",
    "describe": "about",
    "load": "folder",
    "read_utterances": "about",
    "versions": "classifier",
}
__all__ = list(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
