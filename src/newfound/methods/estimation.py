"""What a corpus holds, before anything is trained: utterances of no intent, and how many new intents."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.estimation import Estimate, estimate_n_new
from newfound.algorithms.languages import assign_languages, without_languages, without_translations
from newfound.algorithms.no_intent import among_their_like, neighbourhoods, rows_of_no_intent, spread
from newfound.data.corpus import Corpus
from newfound.defaults import LOGS_HOLD, NO_INTENT, LogsHold, NoIntent
from newfound.encoders.encoder import Encoder
from newfound.encoders.languages import likely_languages
from newfound.errors import DataError
from newfound.small_talk import is_small_talk
from newfound.text import is_wordless
from newfound.training.seeding import derive

MIN_UTTERANCES_LEFT = 2  # so that there is something to tell apart


def put_aside(
    texts: Sequence[str], x: Tensor, labelled: Tensor, no_intent: NoIntent, *, comparable: bool = True, seed: int = 0
) -> Tensor:
    """Return which belong to no intent, [n] (CPU): without words, small talk, untypical, and what lies among such.

    x [n, d] has unit length and is to come from the frozen encoder: after a fine-tuning, labelled utterances lie closer
    to each other than to any others. Labelled utterances have an intent. In several languages, of which one may be
    labelled, they are not `comparable` with the logs, and "auto" does not look for untypical utterances. Where nothing
    is left to find intents in, a `DataError` says so.
    """
    if no_intent == "none":
        return torch.zeros(len(texts), dtype=torch.bool)
    values, near = neighbourhoods(x, seed=derive(seed, "density"))
    is_labelled, empty = labelled.numpy(), np.zeros(len(texts), dtype=np.bool_)
    for is_of_the_kind in (is_wordless, is_small_talk):
        such = np.array([is_of_the_kind(text) for text in texts], dtype=np.bool_)
        if not (such & is_labelled).any():  # a kind that has intents in the labels may have some in the logs
            empty |= such
    if no_intent != "auto":
        values[spread(empty, near, ~is_labelled)] = -1.0
        return torch.from_numpy(rows_of_no_intent(values, is_labelled, no_intent))
    low = empty.copy()
    if comparable:
        low[~empty] = rows_of_no_intent(values[~empty], is_labelled[~empty])
    aside = spread(empty | among_their_like(low, near), near, ~is_labelled)
    if not is_labelled.any() and (~aside).sum() < MIN_UTTERANCES_LEFT:
        example = texts[int(aside.argmax())]
        raise DataError(
            f"nearly all of the {len(texts):,} utterances hold no word or only small talk, such as {example!r}, "
            "and none is labelled; there is nothing to tell apart",
            "words",
            "put_none_aside",
        )
    return torch.from_numpy(aside)


def estimate_for(
    corpus: Corpus, encoder: Encoder, *, logs_hold: LogsHold = LOGS_HOLD, no_intent: NoIntent = NO_INTENT, seed: int = 0
) -> Estimate:
    """Estimate the number of new intents among the unlabelled texts of a corpus, on the vectors of a frozen encoder.

    With `logs_hold="mixed"` the unlabelled texts may be of known intents too, or (`no_intent`) of none.
    """
    x = F.normalize(torch.from_numpy(encoder.vectors(corpus.texts)), dim=-1)
    y, likely = torch.tensor(corpus.ids(corpus.intents)), likely_languages(encoder, corpus.texts)
    no_intent = no_intent if logs_hold == "mixed" else "none"
    aside = put_aside(corpus.texts, x, y >= 0, no_intent, comparable=likely is None, seed=seed)
    return estimate_from_vectors(x, y, aside, likely, logs_hold, seed=seed)


def estimate_from_vectors(
    x: Tensor,
    y: Tensor,
    aside: Tensor,
    languages: Tensor | None,
    logs_hold: LogsHold,
    *,
    seed: int,
    tuned: Tensor | None = None,
) -> Estimate:
    """Estimate the number of new intents among vectors [n, d] of unit length without a label in y [n] (CPU).

    Rows that are put aside [n] do not count. If `languages` [n] says that there are several, requests that mean the
    same in two of them count once where nothing is labelled. `tuned` [n, m] are vectors after a fine-tuning.
    """
    kept = ~aside
    if languages is not None:
        language = assign_languages(x, languages)
        x, tuned = without_languages(x, language), None if tuned is None else without_languages(tuned, language)
        if not bool((y >= 0).any()):
            kept &= torch.zeros_like(kept).index_fill(0, without_translations(x, language), True)
    seeds = partial(derive, seed, "number")
    tuned = None if tuned is None else tuned[kept]
    return estimate_n_new(x[kept], y.to(x.device)[kept], seeds, logs_hold=logs_hold, tuned=tuned)
