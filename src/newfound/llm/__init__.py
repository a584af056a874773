"""A language model behind an HTTP endpoint, asked only on request. Names and questions share it."""

from newfound.llm.settings import LanguageModelSettings as LanguageModelSettings
