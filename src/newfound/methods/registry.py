"""The methods by name. A method is one file and one entry here; nothing is imported until a method is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from newfound.errors import SettingsError

if TYPE_CHECKING:
    from newfound.methods.base import Discoverer


@dataclass(frozen=True, slots=True)
class MethodEntry:
    """A method as the registry knows it."""

    home: str  # module and class, as "newfound.methods.dpl:DPL"
    takes_mixed_logs: bool = False  # whether it tells utterances of known intents in the logs from new ones

    def load(self) -> type[Discoverer]:
        module, _, name = self.home.partition(":")
        method: type[Discoverer] = getattr(import_module(module), name)
        return method


METHODS: dict[str, MethodEntry] = {
    "kmeans": MethodEntry("newfound.methods.kmeans:KMeans"),
    "deepaligned": MethodEntry("newfound.methods.deepaligned:DeepAligned"),
    "deepaligned-mix": MethodEntry("newfound.methods.deepaligned_mix:DeepAlignedMix"),
    "e2e": MethodEntry("newfound.methods.e2e:E2E"),
    "dpl": MethodEntry("newfound.methods.dpl:DPL"),
    "consensus": MethodEntry("newfound.methods.consensus:Consensus", takes_mixed_logs=True),
}


def method_entry(name: str) -> MethodEntry:
    """Return the entry of a method, or raise a `SettingsError` that lists the names."""
    if name not in METHODS:
        raise SettingsError(f"no method {name!r}; one of {', '.join(METHODS)}")
    return METHODS[name]
