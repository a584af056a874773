"""The methods by name. A method is one file and one entry here; nothing is imported until a method is asked for.

Help texts, HTTP schemas, figures and the documentation read this registry.
"""

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
    summary: str
    takes_mixed_logs: bool = False  # whether it tells utterances of known intents in the logs from new ones

    def load(self) -> type[Discoverer]:
        module, _, name = self.home.partition(":")
        method: type[Discoverer] = getattr(import_module(module), name)
        return method


METHODS: dict[str, MethodEntry] = {
    "kmeans": MethodEntry(
        "newfound.methods.kmeans:KMeans",
        "pre-trains on the known intents, clusters the logs, trains one classifier on labels and clusters",
    ),
    "deepaligned": MethodEntry(
        "newfound.methods.deepaligned:DeepAligned",
        "clusterings aligned from epoch to epoch as labels (Zhang et al., AAAI 2021), as the DPL paper uses it",
    ),
    "deepaligned-mix": MethodEntry(
        "newfound.methods.deepaligned_mix:DeepAlignedMix",
        "DeepAligned on known and new intents together",
    ),
    "e2e": MethodEntry(
        "newfound.methods.e2e:E2E",
        "end-to-end discovery with swapped prediction (Mou et al., COLING 2022)",
    ),
    "dpl": MethodEntry(
        "newfound.methods.dpl:DPL",
        "Decoupled Prototype Learning (Mou et al., ACL 2023)",
    ),
    "consensus": MethodEntry(
        "newfound.methods.consensus:Consensus",
        "newfound's own: many clusterings of the logs vote, and one classifier learns what they agree on",
        takes_mixed_logs=True,
    ),
}


def method_entry(name: str) -> MethodEntry:
    """Return the entry of a method, or raise a `SettingsError` that lists the names."""
    if name not in METHODS:
        raise SettingsError(f"no method {name!r}; one of {', '.join(METHODS)}")
    return METHODS[name]


def method_named(name: str) -> type[Discoverer]:
    """Return the class of a method."""
    return method_entry(name).load()
