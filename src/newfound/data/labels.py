"""Labels as text, and those that are likely misspelt."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches

from newfound.errors import DataError

FEW_EXAMPLES = 5  # below this an intent is too small to be learned or judged well
MIN_LIKENESS_OF_LABELS = 0.85  # as difflib measures it; of the 323 labels of seven corpora, one pair is as alike
MAX_RELATIVE_SIZE_OF_MISSPELT = 0.2  # of the size of the label that is meant, unless there are few examples
MAX_LABELS_COMPARED = 1_000  # a few seconds


def misspelt_labels(sizes: Mapping[str, int]) -> dict[str, str]:
    """Return labels that are likely misspelt, and the more frequent label that is likely meant.

    They differ in case and separators only, or are spelt alike and one of them is rare. Labels that differ in digits
    only are meant to differ. `sizes` has the number of utterances of each label.
    """
    if len(sizes) > MAX_LABELS_COMPARED:
        return {}
    intended = {}
    words = {label: re.sub(r"\d", "", label) for label in sizes}
    frequent: dict[str, str] = {}  # the letters and digits of each label that is not misspelt
    for label in sorted(sizes, key=lambda label: (-sizes[label], label)):
        letters = "".join(filter(str.isalnum, label.casefold()))
        if letters in frequent:
            intended[label] = frequent[letters]
            continue
        alike = {
            other.casefold(): other
            for other in frequent.values()
            if sizes[label] <= max(FEW_EXAMPLES - 1, MAX_RELATIVE_SIZE_OF_MISSPELT * sizes[other])
            and words[other] != words[label]
        }
        close = get_close_matches(label.casefold(), alike, n=1, cutoff=MIN_LIKENESS_OF_LABELS)
        if close:
            intended[label] = alike[close[0]]
        else:
            frequent[letters or label] = label
    return intended


def label_text(value: object) -> str | None:
    """Return a label as text: whole numbers as their digits, None and NaN (a missing value in pandas) as None."""
    if value is None or isinstance(value, str):
        return value
    if type(value).__name__ == "NAType":  # pandas.NA, which cannot be compared
        return None
    try:
        if value != value:
            return None
        is_whole = not isinstance(value, bool) and type(value).__name__ != "bool" and int(value) == value  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        is_whole = False
    if not is_whole:
        raise DataError(f"a label is {value!r}; give a text that is not empty, a whole number, or None for no label")
    return str(int(value))  # type: ignore[call-overload]
