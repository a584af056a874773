"""Masks e-mail addresses, payment card numbers, IBANs and telephone numbers.

They are recognised by their form. Names, postal addresses and other personal data are not recognised.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from newfound.data.rows import ReadReport, Row

EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
# Seven to nineteen digits, which may be grouped with spaces, brackets, dots, dashes and slashes.
DIGITS = re.compile(r"(?<![\w.,])[+(]{0,2}\d(?:[ ().\-/]{0,2}\d){6,18}(?!\w)")
DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}")


def redact(text: str) -> str:
    """Return the text with `<email>`, `<iban>`, `<card>` or `<phone>` in place of what is recognised."""
    text = EMAIL.sub("<email>", text)
    text = IBAN.sub("<iban>", text)
    return DIGITS.sub(_mask_number, text)


def redact_rows(rows: Iterable[Row], report: ReadReport) -> Iterator[Row]:
    """Yield rows with masked texts; at the end, the report is told how many were changed."""
    seen = changed = 0
    for row in rows:
        text, said = redact(row.text), row.origin.said
        seen, changed = seen + 1, changed + (text != row.text)
        said = replace(
            said,
            conversation=redact(said.conversation),
            before=tuple(map(redact, said.before)),
            message=redact(said.message),
        )
        yield replace(row, text=text, origin=replace(row.origin, said=said))
    if seen:
        report.note(f"masked something in {changed:,} of {seen:,} utterances")


def _mask_number(match: re.Match[str]) -> str:
    number = match.group()
    digits = re.sub(r"\D", "", number)
    if DATE.fullmatch(number):
        return number
    if 13 <= len(digits) <= 19 and _passes_luhn_check(digits):
        return "<card>"
    return "<phone>" if 7 <= len(digits) <= 15 else number


def _passes_luhn_check(digits: str) -> bool:
    """Return whether the check digit is that of a payment card number (Luhn algorithm)."""
    doubled = (int(d) * (1 + i % 2) for i, d in enumerate(reversed(digits)))
    return sum(n - 9 if n > 9 else n for n in doubled) % 10 == 0
