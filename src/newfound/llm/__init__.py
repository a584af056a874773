"""A language model behind an HTTP endpoint, asked for names, and only on request."""

from newfound.llm.settings import LanguageModelSettings as LanguageModelSettings
