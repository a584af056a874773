"""A language model behind an HTTP endpoint, asked only on request. Names and questions share it.

`LanguageModel` (in `newfound.llm.asking`) is given prompts and returns answers. It keeps a budget, masks what leaves
the machine, writes a transcript and remembers answers.
"""

from __future__ import annotations

from newfound.llm.settings import LanguageModelSettings

__all__ = ["LanguageModelSettings"]
