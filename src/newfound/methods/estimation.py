"""The estimate of how many new intents a corpus holds, on the vectors of an encoder."""

from __future__ import annotations

import numpy as np
import torch.nn.functional as F

from newfound.algorithms.estimation import Estimate, Strategy, estimate_n_new
from newfound.algorithms.languages import assign_languages, without_languages, without_translations
from newfound.data.corpus import Corpus
from newfound.defaults import LOGS_HOLD, NO_INTENT, LogsHold, NoIntent
from newfound.encoders.encoder import Encoder
from newfound.encoders.languages import likely_languages
from newfound.methods.no_intent import put_aside


def estimate_for(
    corpus: Corpus,
    encoder: Encoder,
    *,
    strategy: Strategy = "auto",
    logs_hold: LogsHold = LOGS_HOLD,
    no_intent: NoIntent = NO_INTENT,
    seed: int = 0,
) -> Estimate:
    """Estimate the number of new intents among the unlabelled texts of a corpus.

    Args:
        corpus: Labelled utterances of the known intents, if there are any, and unlabelled ones.
        encoder: Gives the vectors; it stays as it is.
        strategy: One of those in `newfound.algorithms.estimation`.
        logs_hold: "mixed" if the unlabelled texts may be of known intents too.
        no_intent: Which unlabelled texts are left out, because they belong to no intent; none in logs of new intents.
        seed: Same seed, same estimate.
    """
    x = encoder.features(corpus.texts, encoder.tune("heads")).data.flat
    ids = {intent: i for i, intent in enumerate(corpus.intents)}
    y = np.array([-1 if label is None else ids[label] for label in corpus.labels])
    likely = likely_languages(encoder, corpus.texts)
    aside = np.zeros(len(y), dtype=np.bool_)
    if logs_hold == "mixed":
        unit, comparable = F.normalize(x.float(), dim=-1), likely is None
        aside = put_aside(corpus.texts, unit, y >= 0, no_intent, comparable=comparable, seed=seed)
    if likely is not None:
        language = assign_languages(x, likely)
        x = without_languages(F.normalize(x, dim=-1), language)
        if not corpus.intents:
            rows = without_translations(x, language)
            x, y, aside = x[rows], y[rows.numpy()], aside[rows.numpy()]
    vectors = x.numpy()
    return estimate_n_new(
        vectors[y >= 0],
        y[y >= 0],
        vectors[(y < 0) & ~aside],
        strategy=strategy,
        logs_hold=logs_hold,
        seed=seed,
    )
