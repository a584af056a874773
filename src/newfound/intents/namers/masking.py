"""Keywords and names without the words of what is masked.

Both were made from texts as they are: `ana.schmidt@example.org` gives the keywords `ana`, `schmidt` and `example`,
which no mask recognises.
"""

from __future__ import annotations

from newfound.intents.english import NEGATIONS, verb_forms
from newfound.llm.messages import message_of
from newfound.model.types import Intent
from newfound.text import words_of

HARMLESS = NEGATIONS | {"cannot"}  # names have them in place of other words, and they are nobody's


def keywords_to_send(intent: Intent) -> list[str]:
    """Return the keywords that the masked exemplars have too."""
    said = _words_sent(intent)
    return [word for word in intent.keywords if word in said]


def name_to_send(intent: Intent) -> str:
    """Return the name of an intent without words that may be of an address; empty if no word is left.

    A person gave or accepted the names of known and accepted intents: these lose only words that are masked in their
    exemplars. Names of new intents may have words of any utterance, and keep those that the masked exemplars have
    too, in any form, and common verbs.
    """
    sent = _words_sent(intent)
    if intent.status != "new":
        masked = {word for text in intent.exemplars for word in words_of(text)} - sent
        if not masked & set(_words_of_name(intent)):
            return intent.name
        return "_".join(word for word in _words_of_name(intent) if word not in masked)
    bases = {_base(word) for word in sent}
    kept = [word for word in _words_of_name(intent) if _base(word) in bases or word in verb_forms() or word in HARMLESS]
    return "_".join(kept)


def _words_of_name(intent: Intent) -> list[str]:
    return words_of(intent.name.replace("_", " "))


def _words_sent(intent: Intent) -> set[str]:
    return {word for text in intent.exemplars for word in words_of(message_of(text, masked=True))}


def _base(word: str) -> str:
    """Return one form for all forms of a word; it need not be a word."""
    if word in verb_forms():
        return verb_forms()[word]
    return f"{word[:-3]}y" if word.endswith("ies") else word.rstrip("s") or word
