"""Notices utterances in a language that an encoder was not made for, by how its tokenizer cuts their words.

A tokenizer of one language knows most words of that language whole, and cuts those of others into many pieces or does
not know them at all. Tokenizers of multilingual encoders have large vocabularies and cut all languages, so that nothing
is said about them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder

MULTILINGUAL_ENCODER = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
MIN_VOCABULARY, MAX_VOCABULARY = 5_000, 100_000  # of a tokenizer that is made for one language
MAX_TEXTS_LOOKED_AT = 1_000
MIN_TEXTS = 10
MIN_WORDS = 2  # in a text that can be judged, where words have spaces between them
MIN_WHOLE_WORDS = 0.7  # share of the words of a text that the tokenizer knows whole; docs/howto/other-languages.md
MAX_FOREIGN_TEXTS = 0.2  # share of texts below that; more of them are worth a warning


def foreign_share(tokenizer: Any, texts: Sequence[str]) -> float | None:
    """Return the share of texts that are likely in another language than that of a tokenizer.

    Args:
        tokenizer: A tokenizer of transformers.
        texts: The utterances; an evenly spread part of them is looked at if they are many.

    Returns:
        The share, or None if there are too few texts with words, or the tokenizer is made for many languages.
    """
    if not MIN_VOCABULARY <= len(tokenizer) <= MAX_VOCABULARY:
        return None
    step = max(1, -(-len(texts) // MAX_TEXTS_LOOKED_AT))
    words = [found for text in texts[::step] if _can_be_judged(found := _words(text))]
    if len(words) < MIN_TEXTS:
        return None
    distinct = sorted({word for found in words for word in found})
    # With a space before the word, tokenizers that mark the start of words see one.
    pieces = tokenizer([f" {word}" for word in distinct], add_special_tokens=False)["input_ids"]
    whole = {
        word for word, ids in zip(distinct, pieces, strict=True) if len(ids) == 1 and ids[0] != tokenizer.unk_token_id
    }
    foreign = sum(sum(word in whole for word in found) < MIN_WHOLE_WORDS * len(found) for found in words)
    return foreign / len(words)


def _words(text: str) -> list[str]:
    """Return the words of a text that have at least two letters; marks such as vowel signs belong to a word."""
    spaced = "".join(c if unicodedata.category(c)[0] in "LM" else " " for c in text.replace("'", "").replace("’", ""))
    return [word for word in spaced.split() if len(word) > 1]


def _can_be_judged(words: Sequence[str]) -> bool:
    # Scripts without spaces between words, such as Chinese, have letters without case.
    return len(words) >= MIN_WORDS or any(unicodedata.category(c) == "Lo" for word in words for c in word)


def language_warning(encoder: Encoder, known_texts: Sequence[str], log_texts: Sequence[str] = ()) -> str | None:
    """Return what to say about utterances that are not in an encoder's language; None if there is nothing to say.

    Args:
        encoder: The encoder.
        known_texts: The utterances of the known intents.
        log_texts: The utterances of the logs.
    """
    name = encoder.name
    known, logs = (foreign_share(encoder.tokenizer, texts) or 0.0 for texts in (known_texts, log_texts))
    if max(logs, known) <= MAX_FOREIGN_TEXTS:
        return None
    remedy = f"a multilingual encoder such as {MULTILINGUAL_ENCODER} will serve them better"
    if known_texts and known <= MAX_FOREIGN_TEXTS / 2:
        return (
            f"{100 * logs:.0f} % of the logs, but {100 * known:.0f} % of the known utterances, are not in the language "
            f"of the encoder {name}: known intents and logs seem to differ in language; {remedy}"
        )
    share = f"{100 * max(logs, known):.0f} % of the {'logs' if logs >= known else 'known utterances'}"
    return f"{share} are likely not in the language of the encoder {name}; {remedy}"
