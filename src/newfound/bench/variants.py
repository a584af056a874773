"""Variants: named differences from the default cell, in the method's settings, in the logs or in what is recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from newfound.data.conditions import Condition

Record = Literal["scores", "history", "maps", "speed"]
UNCHANGED = Condition()


@dataclass(frozen=True, slots=True)
class Variant:
    """How a cell differs from the default.

    Attributes:
        settings: Settings of the method.
        preset: A preset of the method, whose settings come before `settings`.
        condition: How the logs are changed.
        record: What the result file has: `scores`; `history` adds values by epoch, `maps` points to draw; `speed` has
            times instead.
        level: Where the variant is on the horizontal axis of a figure over levels.
        label: What tables and figures call it.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    condition: Condition = UNCHANGED
    record: Record = "scores"
    level: float | None = None
    label: str = ""
    preset: str = ""


GAMMAS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
IMBALANCES = (1, 2, 3, 6, 12, 24)  # size of the largest new intent over that of the smallest
NOISE_PERCENTAGES = (0, 10, 20, 30)
KNOWN_PERCENTAGES = (0, 15, 30, 45, 60)  # utterances of known intents in the logs

VARIANTS: dict[str, Variant] = {
    "default": Variant(),
    "standard": Variant({"rounds": 0}, label="effort standard"),
    "paper": Variant(preset="paper", label="settings of the paper"),
    "released": Variant(preset="released", label="settings of the released code"),
    "start-random": Variant({"start": "random"}, label="random start"),
    "start-balanced": Variant({"start": "balanced"}, label="balanced k-means start"),
    "watched": Variant(record="history"),
    "maps": Variant(record="maps"),
    "speed": Variant(record="speed", label="cached trunk"),
    "speed-trunk-dropout": Variant({"trunk_dropout": True}, record="speed", label="dropout in the trunk"),
    "trunk-dropout": Variant({"trunk_dropout": True}, label="dropout in the trunk"),
    "without-ins": Variant({"objectives": "pcl"}, label="without L_ins"),
    "without-pcl": Variant({"objectives": "ins"}, label="without L_PCL"),
    "scl": Variant({"objectives": "scl"}, label="L_SCL alone"),
    "pcl+scl": Variant({"objectives": "pcl+scl"}, label="L_PCL + L_SCL"),
    "random-without-ins": Variant({"start": "random", "objectives": "pcl"}, label="random start, without L_ins"),
    "random-without-pcl": Variant({"start": "random", "objectives": "ins"}, label="random start, without L_PCL"),
    "k-26": Variant({"n_new": 26}, label="26 (the paper's estimate)"),
    "k-auto": Variant({"n_new": "auto"}, label="estimated by newfound"),
    "labels-10": Variant(condition=Condition(labelled=0.1), label="number given"),
    "labels-10-auto": Variant({"n_new": "auto"}, Condition(labelled=0.1), label="number estimated"),
    "k-given": Variant(label="number given"),
    "k-estimated": Variant({"n_new": "auto"}, label="number estimated"),
    **{f"gamma-{g}": Variant({"gamma": g}, level=g, label=f"γ = {g}") for g in GAMMAS},
    **{f"imbalance-{f}": Variant(condition=Condition(imbalance=f), level=f, label=f"factor {f}") for f in IMBALANCES},
    **{f"noise-{p}": Variant(condition=Condition(noise=p / 100), level=p, label=f"{p} %") for p in NOISE_PERCENTAGES},
    **{f"mixed-{p}": Variant(condition=Condition(mixed=p / 100), level=p, label=f"{p} %") for p in KNOWN_PERCENTAGES},
    "imbalance-12-estimated": Variant(
        {"start": "kmeans", "sizes": "estimated"}, Condition(imbalance=12), label="factor 12, sizes estimated"
    ),
    "imbalance-12-equal": Variant(
        {"sizes": "equal"}, Condition(imbalance=12), label="factor 12, sizes taken to be equal"
    ),
}
