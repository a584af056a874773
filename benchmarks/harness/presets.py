"""Published settings of methods, where they differ from newfound's defaults, and what was published for one corpus."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from newfound.errors import SettingsError

RELEASED_NETWORK: Mapping[str, Any] = {  # what the released code of all three methods has in common
    "tune": "last",
    "pooling": "padded-mean",
    "max_length": 55,
    "dense": True,
    "layer_std": 0.02,
    "trunk_dropout": True,
}
PRESETS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "dpl": {
        "paper": {
            "tune": "last",
            "tau": 0.5,
            "tau_ins": 0.5,
            "temperature": 0.1,
            "start": "random",
            "pcl_targets": "own",
            "ce_targets": "own",
            "prototype_norm": "sample",
            "denominator": "paper",
            "loss": "sum",
            "select": "new",
            "lr": 0.02,
            "min_lr": 0.01,
        },
        "released": {
            **RELEASED_NETWORK,
            "gamma": 0.9,
            "tau": 0.1,
            "tau_ins": 0.5,
            "temperature": 0.1,
            "start": "zeros",
            "pcl_targets": "swapped",
            "ce_targets": "swapped",
            "prototype_norm": "batch",
            "denominator": "code",
            "loss": "mean",
            "select": "all",
            "pretrain_weight_decay": 1e-4,
            "lr": 0.02,
            "min_lr": 0.001,
        },
    },
    "e2e": {
        "released": {
            **RELEASED_NETWORK,
            "temperature": 0.1,
            "pretrain_epochs": 200,
            "pretrain_batch_size": 256,
            "pretrain_weight_decay": 1e-4,
            "epochs": 200,
            "lr": 0.4,
            "min_lr": 0.01,
        }
    },
    "deepaligned": {
        "released": {
            **RELEASED_NETWORK,
            "optimizer": "adamw",
            "lr": 5e-5,
            "min_lr": 0.0,
            "pretrain_lr": 5e-5,
            "batch_size": 128,
            "head": "linear",
            "vectors": "raw",
            "patience": 20,
        }
    },
}
FOR_CORPUS: Mapping[tuple[str, str, str], Mapping[str, Any]] = {
    ("dpl", "paper", "clinc150"): {"lr": 0.1},
    ("dpl", "released", "clinc150"): {"lr": 0.1, "max_length": 30, "pretrain_epochs": 200, "pretrain_batch_size": 256},
    ("e2e", "released", "clinc150"): {"max_length": 30},
    ("deepaligned", "released", "clinc150"): {"max_length": 30},
}


def preset_settings(method: str, name: str, corpus: str = "") -> dict[str, Any]:
    """Return the settings of a preset; `corpus` is `banking77` or `clinc150`, for what was published for it alone."""
    presets = PRESETS.get(method, {})
    if name not in presets:
        raise SettingsError(f"{method} has no preset {name!r}; its presets: {', '.join(presets) or 'none'}")
    return {**presets[name], **FOR_CORPUS.get((method, name, corpus), {})}
