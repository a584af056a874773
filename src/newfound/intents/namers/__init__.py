"""Names of new intents from a language model (`newfound.llm`), which is asked only on request."""

from __future__ import annotations

from dataclasses import dataclass

from newfound.llm import LanguageModelSettings

KEY_VARIABLE = "NEWFOUND_NAMER_KEY"


@dataclass(frozen=True, slots=True)
class NamerSettings:
    """Which language model names the new intents, and is asked nothing else.

    Attributes:
        url: The address of the model's endpoint.
        model: The model to ask for there.
        provider: One of `newfound.llm.PROVIDERS`.
    """

    url: str
    model: str = ""
    provider: str = "openai"

    def language_model(self) -> LanguageModelSettings:
        """Return the settings of the language model; its key is in `NEWFOUND_NAMER_KEY`."""
        return LanguageModelSettings(self.url, self.model, provider=self.provider, key_variables=(KEY_VARIABLE,))
