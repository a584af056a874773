"""What of some texts an encoder reads badly: another language, markup, and what is longer than it reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from newfound.encoders.languages import language_warning

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder

# Tags and entities of HTML, and not what merely stands in angle brackets, such as the masks of personal data.
MARKUP = re.compile(
    r"<(?:/?(?:a|b|body|br|div|em|font|h[1-6]|head|hr|html|i|img|li|meta|ol|p|pre|script|span|strong|style|table|tbody"
    r"|td|th|title|tr|u|ul)\b[^<>]*|!doctype[^<>]*|!--.*?--)>|&(?:amp|gt|lt|nbsp|quot|#\d{2,5});",
    re.I | re.S,
)


def text_warnings(encoder: Encoder, known_texts: Sequence[str], log_texts: Sequence[str] = ()) -> list[str]:
    """Return what to say about texts that an encoder reads badly: one line for each kind."""
    texts = [*known_texts, *log_texts]
    language = language_warning(encoder, known_texts, log_texts)
    with_markup = sum(MARKUP.search(text) is not None for text in texts)
    said = [] if language is None else [language]
    if with_markup:
        said.append(f"{with_markup:,} of {len(texts):,} texts with HTML; newfound.discover reads them without it")
    if cut := _number_cut(encoder, texts):
        said.append(
            f"{cut:,} of {len(texts):,} texts longer than {encoder.max_length} tokens (about "
            f"{encoder.max_length * 3 // 4} words), of which the encoder reads no more"
        )
    return said


def _number_cut(encoder: Encoder, texts: Sequence[str]) -> int:
    """Return how many texts are cut. A token has at least one byte, so that short texts need not be tokenised."""
    most = encoder.max_length
    prompted = [encoder.prompt + text for text in texts]
    may_be_cut = [text for text in prompted if len(text.encode(errors="replace")) > most - 4]
    if not may_be_cut:
        return 0
    ids = encoder.tokenizer(may_be_cut, truncation=True, max_length=most + 1)["input_ids"]
    return sum(len(own) > most for own in ids)
