"""Which utterances of the logs are put aside before a discovery, because they belong to no intent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from torch import Tensor

from newfound.algorithms.no_intent import density, rows_of_no_intent
from newfound.defaults import NoIntent
from newfound.errors import DataError
from newfound.text import is_wordless

MIN_UTTERANCES_LEFT = 2  # so that there is something to tell apart


def put_aside(
    texts: Sequence[str],
    x: Tensor,
    is_labelled: npt.NDArray[np.bool_],
    no_intent: NoIntent,
    *,
    comparable: bool = True,
    seed: int = 0,
) -> npt.NDArray[np.bool_]:
    """Return which utterances belong to no intent, [n]: those without words, and those that are like no others.

    Args:
        texts: All utterances.
        x: Their vectors, [n, d] of unit length.
        is_labelled: Which ones are labelled; they have an intent.
        no_intent: "auto", a share of the logs, or "none".
        comparable: Whether labelled utterances show what those of the logs are like; in several languages, of which
            one may be labelled, they do not, and "auto" puts only utterances without words aside.
        seed: Draws those that are compared with, of very many.

    Raises:
        DataError: Nothing is left to find intents in.
    """
    if no_intent == "none":
        return np.zeros(len(texts), dtype=np.bool_)
    wordless = np.array([is_wordless(text) for text in texts], dtype=np.bool_)
    wordless &= not bool((wordless & is_labelled).any())  # then such texts have intents here
    if no_intent == "auto" and not comparable:
        return wordless
    values = density(x, seed=seed)
    values[wordless] = -1.0
    if no_intent != "auto":
        return rows_of_no_intent(values, is_labelled, no_intent)
    aside = wordless.copy()
    aside[~wordless] = rows_of_no_intent(values[~wordless], is_labelled[~wordless])
    if not is_labelled.any() and (~aside).sum() < MIN_UTTERANCES_LEFT:
        example = texts[int(aside.argmax())]
        raise DataError(
            f"nearly all of the {len(texts):,} utterances hold no word, such as {example!r}, and none is labelled; "
            "there is nothing to tell apart",
            "words",
            "put_none_aside",
        )
    return aside
