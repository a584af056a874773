"""A language model behind an HTTP endpoint, asked only on request. Names and short labels share it."""

from newfound.llm.settings import LanguageModelSettings as LanguageModelSettings
