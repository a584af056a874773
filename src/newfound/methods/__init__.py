"""The methods, by the name that the CLI and the benchmarks use. Each is one file."""

from __future__ import annotations

from newfound.errors import SettingsError
from newfound.methods.base import Discoverer
from newfound.methods.consensus import Consensus
from newfound.methods.deepaligned import DeepAligned
from newfound.methods.deepaligned_mix import DeepAlignedMix
from newfound.methods.dpl import DPL
from newfound.methods.e2e import E2E
from newfound.methods.kmeans import KMeans

METHODS: dict[str, type[Discoverer]] = {
    "kmeans": KMeans,
    "deepaligned": DeepAligned,
    "deepaligned-mix": DeepAlignedMix,
    "e2e": E2E,
    "dpl": DPL,
    "consensus": Consensus,
}


def method_named(name: str) -> type[Discoverer]:
    if name not in METHODS:
        raise SettingsError(f"no method {name!r}; one of {', '.join(METHODS)}")
    return METHODS[name]
