"""Providers that name intents with a language model. A provider is one file here and one entry in `NAMERS`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

from newfound.errors import SettingsError
from newfound.model.types import Intent

NAMERS: dict[str, str] = {
    "openai": "newfound.intents.namers.openai:OpenAINamer",
}
"""Module and class of each provider."""


@dataclass(frozen=True, slots=True)
class NamerSettings:
    """Which provider names the new intents.

    Attributes:
        url: The address of the provider's endpoint.
        model: The model to ask for there.
        provider: One of `NAMERS`.
    """

    url: str
    model: str = ""
    provider: str = "openai"


class Namer(Protocol):
    """Names intents."""

    def __init__(self, settings: NamerSettings) -> None:
        """Check and store the settings.

        Raises:
            SettingsError: The settings cannot work.
        """

    def names(self, intents: Sequence[Intent], *, warn: Callable[[str], None]) -> list[str]:
        """Return one name for each intent, in order; an intent for which there is no better name keeps its name.

        Args:
            intents: The intents; known ones keep their names.
            warn: Called with a message of one line if something went wrong.
        """


def namer_for(settings: NamerSettings) -> Namer:
    """Return the provider that the settings name, or raise a `SettingsError` that lists the providers."""
    if settings.provider not in NAMERS:
        raise SettingsError(f"no namer {settings.provider!r}; one of {', '.join(NAMERS)}")
    module, _, name = NAMERS[settings.provider].partition(":")
    namer: Namer = getattr(import_module(module), name)(settings)
    return namer
