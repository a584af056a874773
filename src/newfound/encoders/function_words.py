"""Frequent function words of languages in Latin letters, in lower case: few texts of a language have none of them.

Words of one letter are left out, since codes are full of them, and so are words that mean something else in English
("men", "care"). A word may belong to several languages.
"""

from __future__ import annotations

import json
from importlib import resources

_TABLE = json.loads(resources.files("newfound.encoders").joinpath("function_words.json").read_text("utf-8"))
FUNCTION_WORDS: dict[str, frozenset[str]] = {language: frozenset(words.split()) for language, words in _TABLE.items()}
