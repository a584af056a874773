"""Names for new intents."""

from __future__ import annotations

import re
from collections.abc import Collection

MOST_WORDS = 6
LONGEST_NAME = 48


def plain_name(utterance: str, *, taken: Collection[str]) -> str:
    """A first name from an intent's most central utterance: its opening words in snake_case, unique."""
    words = re.findall(r"[^\W_]+", utterance.lower().replace("'", "").replace("’", ""))
    base = "_".join(words[:MOST_WORDS])[:LONGEST_NAME].strip("_") or "new_intent"
    name, number = base, 2
    while name in taken:
        name, number = f"{base}_{number}", number + 1
    return name
