"""Which language a short text is likely in, and which utterances an encoder reads badly, above all for their language.

Languages in Latin letters are told apart by their function words. Of other scripts the script stands for the language,
so that Russian and Ukrainian are one; Chinese and Japanese are told apart by kana.

The language of an encoder is the one whose function words its tokenizer knows best, and its scripts are those of its
vocabulary. An utterance is in another language if it is written in another script, or has more function words of
another language than of the encoder's. Words that the tokenizer does not know are no sign of another language: names of
products and medicines, and identifiers, are not known either. Nothing is said about multilingual encoders, whose
vocabularies are large. An encoder also reads markup badly, and what is longer than it reads.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from newfound.encoders.function_words import FUNCTION_WORDS

if TYPE_CHECKING:
    from torch import Tensor

    from newfound.encoders.encoder import Encoder

UNKNOWN = ""
JAPANESE_SCRIPTS = frozenset({"HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"})
MIN_SHARE_OF_OTHER_LETTERS = 0.2  # of a text in another script; a name in Latin letters has more of them than Chinese
LETTERS_OF_A_CHINESE_CHARACTER = 3  # one of them says as much as a few letters
MULTILINGUAL_ENCODER = "multilingual"
MIN_VOCABULARY, MAX_VOCABULARY = 5_000, 100_000  # of a tokenizer that is made for one language
MAX_TEXTS_LOOKED_AT = 1_000
MIN_JUDGED_TEXTS = 10
MIN_SHARE_OF_KNOWN_FUNCTION_WORDS = 0.8  # of a language, in the vocabulary of an encoder that is made for it
MIN_SHARE_OF_SCRIPT = 0.05  # of the tokens, for a script that an encoder is made for
TOKENS_PER_TOKEN_LOOKED_AT = 10
MIN_SHARE_OF_WHOLE_WORDS = 0.7  # of the words of a text that the tokenizer knows whole, if no function word tells
# Fewer texts of a language do not tell its mean. On 20 English corpora, at most 0.7 % count as any one other language.
MIN_TEXTS_OF_A_LANGUAGE, MIN_SHARE_OF_A_LANGUAGE = 20, 0.02
MAX_SHARE_OF_FOREIGN_TEXTS = 0.05  # in another language; more are worth a warning: docs/howto/other-languages.md
# Tags and entities of HTML, and not what merely stands in angle brackets, such as the masks of personal data.
MARKUP = re.compile(
    r"<(?:/?(?:a|b|body|br|div|em|font|h[1-6]|head|hr|html|i|img|li|meta|ol|p|pre|script|span|strong|style|table|tbody"
    r"|td|th|title|tr|u|ul)\b[^<>]*|!doctype[^<>]*|!--.*?--)>|&(?:amp|gt|lt|nbsp|quot|#\d{2,5});",
    re.I | re.S,
)


def likely_language(text: str) -> str:
    """Return the language of a text, such as `German`, `ARABIC` or `CJK` (Chinese); empty if nothing tells it."""
    letters = Counter(script for character in text if (script := script_of(character)))
    latin = letters.pop("LATIN", 0)
    letters["CJK"] *= LETTERS_OF_A_CHINESE_CHARACTER
    if letters.total() > 0 and letters.total() >= MIN_SHARE_OF_OTHER_LETTERS * (latin + letters.total()):
        return "Japanese" if JAPANESE_SCRIPTS & set(letters) else letters.most_common(1)[0][0]
    words = plain_words(text)
    counts = {language: sum(word in own for word in words) for language, own in FUNCTION_WORDS.items()}
    best, second = sorted(counts, key=lambda language: -counts[language])[:2]
    return best if counts[best] > counts[second] else UNKNOWN


@lru_cache(maxsize=10_000)
def script_of(character: str) -> str:
    """Return the script of a letter, such as LATIN or CJK; an empty text for what is no letter."""
    return unicodedata.name(character, "").split(" ")[0] if character.isalpha() else ""


def plain_words(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation around them.

    What has a digit, an underscore or the like within it is no word but a code, of which no part is a word.
    """
    plain = unicodedata.normalize("NFKC", text).lower().replace("'", "").replace("’", "")
    words = [re.sub(r"^[\W_]+|[\W_]+$", "", part) for part in re.split(r"[\s,;:!?/…。、，]+", plain)]
    return [word for word in words if len(word) > 1 and not re.search(r"[\d_.:]", word)]


def foreign_share(tokenizer: Any, texts: Sequence[str]) -> float | None:
    """Return the share of texts that are likely in another language than that of a tokenizer.

    Texts that cannot be judged, such as a list of product codes, are left out, and of many texts an evenly spread part
    is looked at. The result is None if too few texts can be judged, or the tokenizer is made for many languages.
    """
    if not MIN_VOCABULARY <= len(tokenizer) <= MAX_VOCABULARY:
        return None
    step = max(1, -(-len(texts) // MAX_TEXTS_LOOKED_AT))
    judgements = map(_judge_of(tokenizer, texts[::step]), texts[::step])
    judged = [is_foreign for is_foreign in judgements if is_foreign is not None]
    return sum(judged) / len(judged) if len(judged) >= MIN_JUDGED_TEXTS else None


def _judge_of(tokenizer: Any, texts: Sequence[str]) -> Callable[[str], bool | None]:
    """Return what says whether one of these texts is in another language than a tokenizer's; None if it cannot tell."""
    words = {word for text in texts for word in plain_words(text)}.union(*FUNCTION_WORDS.values())
    distinct = sorted(words)
    # With a space before the word, tokenizers that mark the start of words see one.
    pieces = tokenizer([f" {word}" for word in distinct], add_special_tokens=False)["input_ids"]
    whole = frozenset(  # the words that the tokenizer knows whole
        word for word, ids in zip(distinct, pieces, strict=True) if len(ids) == 1 and ids[0] != tokenizer.unk_token_id
    )
    shares = {language: len(words & whole) / len(words) for language, words in FUNCTION_WORDS.items()}
    best = max(shares, key=lambda language: shares[language])
    of_encoder = FUNCTION_WORDS[best] if shares[best] >= MIN_SHARE_OF_KNOWN_FUNCTION_WORDS else frozenset()
    of_others = [words for language, words in FUNCTION_WORDS.items() if language != best]
    tokens = sorted(tokenizer.get_vocab())[::TOKENS_PER_TOKEN_LOOKED_AT]
    counts = Counter(script for token in tokens for script in {script_of(character) for character in token} if script)
    scripts = frozenset(script for script, n in counts.items() if n >= MIN_SHARE_OF_SCRIPT * len(tokens))

    def is_foreign(text: str) -> bool | None:
        words = plain_words(text)
        known = sum(word in whole for word in words) >= MIN_SHARE_OF_WHOLE_WORDS * len(words)
        letters = [script for word in words for character in word if (script := script_of(character))]
        other_letters = sum(script not in scripts for script in letters)
        if not letters:
            return None
        if other_letters > 1 and other_letters >= MIN_SHARE_OF_OTHER_LETTERS * len(letters):
            return not known
        own = sum(word in of_encoder for word in words)
        other = max(sum(word in others for word in words) for others in of_others)
        if of_encoder and own != other:
            return other > own
        return False if known else None

    return is_foreign


def likely_languages(encoder: Encoder, texts: Sequence[str]) -> Tensor | None:
    """Return the number of the language that each text is likely in, [n], -1 where its words do not tell.

    The result is None if the texts are in one language, or if the encoder is made for a single one: it does not tell
    intents of others.
    """
    import torch

    if len(encoder.tokenizer) <= MAX_VOCABULARY:
        return None
    languages = [likely_language(text) for text in texts]
    least = max(MIN_TEXTS_OF_A_LANGUAGE, MIN_SHARE_OF_A_LANGUAGE * len(texts))
    counts = Counter(language for language in languages if language != UNKNOWN)
    frequent = sorted(language for language, n in counts.items() if n >= least)
    if len(frequent) < 2:
        return None
    number = {language: i for i, language in enumerate(frequent)}
    return torch.tensor([number.get(language, -1) for language in languages])


def language_warning(encoder: Encoder, known_texts: Sequence[str], log_texts: Sequence[str] = ()) -> str | None:
    """Return what to say about utterances that are not in an encoder's language; None if there is nothing to say."""
    name = encoder.name
    known, logs = (foreign_share(encoder.tokenizer, texts) or 0.0 for texts in (known_texts, log_texts))
    if max(logs, known) <= MAX_SHARE_OF_FOREIGN_TEXTS:
        return None
    remedy = f"the encoder `{MULTILINGUAL_ENCODER}` is made for several languages"
    if known_texts and known <= MAX_SHARE_OF_FOREIGN_TEXTS / 2:
        return (
            f"{100 * logs:.0f} % of the logs, but {100 * known:.0f} % of the known utterances, are not in the language "
            f"of the encoder {name}: known intents and logs seem to differ in language; {remedy}"
        )
    share = f"{100 * max(logs, known):.0f} % of the {'logs' if logs >= known else 'known utterances'}"
    return f"{share} are likely not in the language of the encoder {name}; {remedy}"


def text_warnings(encoder: Encoder, known_texts: Sequence[str], log_texts: Sequence[str] = ()) -> list[str]:
    """Return what to say about texts that an encoder reads badly: one line for each kind."""
    texts = [*known_texts, *log_texts]
    language = language_warning(encoder, known_texts, log_texts)
    with_markup = sum(MARKUP.search(text) is not None for text in texts)
    said = [] if language is None else [language]
    if with_markup:
        said.append(f"{with_markup:,} of {len(texts):,} texts with HTML; newfound.discover reads them without it")
    # A token has at least one byte, so that short texts need not be tokenised.
    prompted, most = [encoder.prompt + text for text in texts], encoder.max_length
    may_be_cut = [text for text in prompted if len(text.encode(errors="replace")) > most - 4]
    ids = encoder.tokenizer(may_be_cut, truncation=True, max_length=most + 1)["input_ids"] if may_be_cut else []
    if cut := sum(len(own) > most for own in ids):
        said.append(
            f"{cut:,} of {len(texts):,} texts longer than {most} tokens (about {most * 3 // 4} words), of which the "
            "encoder reads no more"
        )
    return said
