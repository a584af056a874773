"""What a provider does: it sends one prompt to an endpoint and returns the answer, or says why there is none."""

from __future__ import annotations

from importlib import import_module
from typing import Protocol

from newfound.llm.settings import PROVIDERS, LanguageModelSettings


class NoAnswer(Exception):
    """A request that was not answered.

    Attributes:
        repeat: Whether it may be sent again.
        wait: Seconds that the endpoint asks to wait before that; None if it does not say.
        final: Whether every further request would fail too, for instance without a valid key.
    """

    def __init__(self, reason: str, *, repeat: bool = False, wait: float | None = None, final: bool = False) -> None:
        """Store the reason, which is part of a line, without the key and without what was asked."""
        super().__init__(reason)
        self.repeat, self.wait, self.final = repeat, wait, final


class Provider(Protocol):
    """Speaks the protocol of an endpoint."""

    address: str
    """Where prompts are sent to; it holds no key."""

    def __init__(self, settings: LanguageModelSettings) -> None:
        """Store the settings, which were checked."""

    def complete(self, prompt: str) -> str:
        """Return the answer to a prompt, or raise `NoAnswer`. Several threads may call it at the same time."""


def provider_for(settings: LanguageModelSettings) -> Provider:
    """Return the provider that the settings name."""
    module, _, name = PROVIDERS[settings.provider].partition(":")
    provider: Provider = getattr(import_module(module), name)(settings)
    return provider
