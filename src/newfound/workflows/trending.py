"""What newer logs say that a model's logs do not: shifts in volume, and intents that came up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from newfound import defaults
from newfound.data.duplicates import DistinctSample, same_words
from newfound.data.rows import DEFAULT_READ_OPTIONS, ReadOptions
from newfound.errors import DataError, ModelError
from newfound.intents.overview import sizes_of
from newfound.model.types import Utterance
from newfound.training.progress import Reporter
from newfound.workflows.runtime import ModelSource, Runtime
from newfound.workflows.sources import LogSource, open_source

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder
    from newfound.review.reviewed import ReviewedModel

TEXTS_AT_ONCE = 1_024
MIN_OUTLIER = 0.8  # from which score on an utterance is looked at, whether it belongs to an intent that came up
MAX_NEWER = 5_000  # distinct utterances of the newer logs among which intents that came up are looked for
MAX_EARLIER = 10_000  # distinct utterances of the model's logs that they are compared with
EXEMPLARS = 3


@dataclass(frozen=True, slots=True)
class Shift:
    """An intent whose share of the newer logs differs from that of the model's logs.

    Attributes:
        before: The number of its utterances in the model's logs.
        after: The number of its utterances in the newer logs.
        ratio: Its share of the newer logs, divided by that of the model's logs.
    """

    intent: str
    before: int
    after: int
    ratio: float


@dataclass(frozen=True, slots=True)
class EmergingIntent:
    """Distinct utterances that fit no intent, look like one, and are hardly found in the model's logs."""

    name: str
    size: int
    exemplars: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trends:
    """What changed since a model was made.

    Attributes:
        changed: Whether anything did.
        utterances: The number of utterances of the newer logs.
        before: The number of utterances of the model's logs.
        unusual: The number of utterances of the newer logs that hardly fit any intent.
        shifts: The intents whose share has changed, the largest change first.
        emerging: The intents that seem to have come up, the largest first.
    """

    changed: bool
    utterances: int
    before: int
    unusual: int
    shifts: tuple[Shift, ...]
    emerging: tuple[EmergingIntent, ...]


def trends(
    model: ModelSource,
    logs: LogSource,
    *,
    encoder: str | Encoder | None = None,
    device: str = defaults.DEVICE,
    read: ReadOptions = DEFAULT_READ_OPTIONS,
    reporter: Reporter | None = None,
) -> Trends:
    """Classify newer logs, batch by batch, and compare them with the logs that the model was made from.

    The parameters that several functions have are described in `newfound.workflows`.

    Args:
        model: A model folder with its utterances, or a loaded model.
        logs: Newer unlabelled utterances: a file, a corpus, or texts.

    Raises:
        ModelError: The model was saved without its utterances.
        DataError: There is no utterance in the logs.
    """
    from newfound.engines.predictor import Predictor
    from newfound.review.state import assigned_without_network

    runtime = Runtime.of(reporter, encoder, device)
    reviewed = runtime.open_model(model)
    fitted = reviewed.model.utterances
    if not fitted:
        raise ModelError("the model was saved without its utterances; discover again and keep them")
    predictor, newer, prepare = Predictor(reviewed.classifier), DistinctSample(MAX_NEWER), reviewed.model.preparation
    in_logs = Counter({same_words(u.text): u.count for u in fitted if _is_of_logs(u)})
    again, after, unusual = Counter[str](), Counter[str | None](), Counter[str]()
    rows, report = open_source(logs, read, "ignored", times=False)
    while batch := list(islice(rows, TEXTS_AT_ONCE)):
        for prediction, row in zip(predictor.predictions([row.text for row in batch]), batch, strict=True):
            text = row.text if prepare is None else prepare(row.text)
            after[prediction.intent] += row.origin.count
            if prediction.intent is None or prediction.outlier > MIN_OUTLIER:
                unusual[text] += row.origin.count
            newer.add(text, row.origin)
            if (words := same_words(text)) in in_logs:
                again[words] += row.origin.count
    runtime.report_warnings(report)
    if not after:
        raise DataError("no utterance in the newer logs; they need one text a row")
    assigned = assigned_without_network(reviewed.review, reviewed.model.intents, fitted) or reviewed.assigned
    before = sizes_of(u for u in assigned if u.intent is not None and _is_of_logs(u))
    shifts = _shifts(reviewed.names, before, after)
    emerging = _emerging(reviewed, newer.corpus().texts, unusual, _drawn_as_newer(in_logs, again))
    return Trends(bool(shifts or emerging), after.total(), before.total(), unusual.total(), shifts, emerging)


def _is_of_logs(u: Utterance) -> bool:
    return not u.labelled or bool(u.days)


def _shifts(names: Sequence[str], before: Counter[str | None], after: Counter[str | None]) -> tuple[Shift, ...]:
    from newfound.algorithms.trends import MIN_RATIO, alarms, shift_test

    if not before:
        return ()
    p_value, ratio = shift_test(*(np.array([some[name] for name in names], dtype=float) for some in (before, after)))
    is_shift = alarms(p_value) & ((ratio >= MIN_RATIO) | (ratio <= 1 / MIN_RATIO))
    shifted = [(names[i], round(float(ratio[i]), 2)) for i in np.flatnonzero(is_shift).tolist()]
    shifts = (Shift(name, before[name], after[name], change) for name, change in shifted)
    return tuple(sorted(shifts, key=lambda shift: -max(shift.ratio, 1 / max(shift.ratio, 0.01))))


def _drawn_as_newer(before: Counter[str], again: Counter[str]) -> set[str]:
    """Return which texts of both logs stand for a newer utterance, by a lot among all their occurrences.

    Each text counts once, or one that is repeated often would look like an intent. The lot does not favour either logs;
    to count it in both would, as the larger logs repeat more.
    """
    texts = sorted(again)
    lots = np.random.default_rng(0).random(len(texts))
    return {text for text, lot in zip(texts, lots, strict=True) if lot < again[text] / (again[text] + before[text])}


def _emerging(
    model: ReviewedModel, newer: Sequence[str], unusual: Collection[str], drawn: Collection[str]
) -> tuple[EmergingIntent, ...]:
    import torch

    from newfound.algorithms.trends import emerging_groups
    from newfound.encoders.cache import FeatureCache
    from newfound.intents.description import exemplars
    from newfound.intents.naming import name_intents
    from newfound.model.head import unit
    from newfound.paths import feature_cache_dir

    earlier = [u for u in model.model.utterances if same_words(u.text) not in drawn]
    seen = {same_words(u.text) for u in earlier}
    texts = [text for text in newer if same_words(text) not in seen]
    logs = [u for u in earlier if _is_of_logs(u)]
    logs = [logs[i] for i in np.sort(np.random.default_rng(0).permutation(len(logs))[:MAX_EARLIER])]
    is_unusual = np.array([text in unusual for text in texts] + [False] * len(logs))
    if not logs or not is_unusual.any():
        return ()
    embedder, cache = model.model.embedder, model.model.encoder.cache or FeatureCache(feature_cache_dir())
    vectors_of_logs = replace(embedder, cache=cache).pretrained([u.text for u in logs])
    x = unit(np.concatenate([embedder.pretrained(texts), vectors_of_logs]))
    groups = emerging_groups(x, np.arange(len(x)) < len(texts), is_unusual)
    members = [[texts[i] for i in rows] for rows in groups]
    names = name_intents(members, taken=model.names, others=[[u.text for u in logs if u.intent is not None]])
    emerging = []
    for name, own, rows in zip(names, members, groups, strict=True):
        vectors = torch.from_numpy(x[rows])
        central = tuple(own[i] for i in exemplars(vectors, vectors.mean(0), own, EXEMPLARS))
        emerging.append(EmergingIntent(name, len(own), central))
    return tuple(emerging)
