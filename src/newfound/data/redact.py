"""Masks for what identifies a person: e-mail addresses, payment card numbers, IBANs and telephone numbers.

What is masked is recognised by its form alone. Names, addresses and the rest of what people type are not.
"""

from __future__ import annotations

import re

from newfound.data.corpus import Corpus

EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
DIGITS = re.compile(
    r"(?<![\w.,])[+(]{0,2}\d(?:[ ().\-/]{0,2}\d){6,18}(?!\w)"
)  # seven to nineteen, grouped as people do
DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}")


def redact(text: str) -> str:
    """The text with masks in place of what is recognised."""
    text = EMAIL.sub("<email>", text)
    text = IBAN.sub("<iban>", text)
    return DIGITS.sub(_mask_number, text)


def redact_corpus(corpus: Corpus) -> tuple[Corpus, int]:
    """The corpus with masks, and how many of its utterances have one."""
    texts = tuple(map(redact, corpus.texts))
    changed = sum(a != b for a, b in zip(texts, corpus.texts, strict=True))
    return Corpus(texts, corpus.labels), changed


def _mask_number(found: re.Match[str]) -> str:
    written = found.group()
    digits = re.sub(r"\D", "", written)
    if DATE.fullmatch(written):
        return written
    if 13 <= len(digits) <= 19 and _luhn(digits):
        return "<card>"
    return "<phone>" if 7 <= len(digits) <= 15 else written


def _luhn(digits: str) -> bool:
    """The check digit of payment cards."""
    doubled = (int(d) * (1 + i % 2) for i, d in enumerate(reversed(digits)))
    return sum(n - 9 if n > 9 else n for n in doubled) % 10 == 0
