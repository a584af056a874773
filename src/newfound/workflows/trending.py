"""What newer logs say that a model's logs do not: shifts in volume, trends within them, and intents that came up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from newfound import defaults
from newfound.data.corpus import Origin
from newfound.data.duplicates import DistinctSample, same_words
from newfound.data.rows import DEFAULT_READ_OPTIONS, ReadOptions
from newfound.defaults import Precision
from newfound.errors import DataError, ModelError
from newfound.model.types import Prediction, Trend, Utterance
from newfound.training.progress import Reporter
from newfound.workflows.runtime import ModelSource, Runtime
from newfound.workflows.sources import LogSource, open_source

if TYPE_CHECKING:
    from newfound.encoders.encoder import Encoder
    from newfound.engines.predictor import Predictor
    from newfound.review.reviewed import ReviewedModel

TEXTS_AT_ONCE = 1_024
MIN_OUTLIER = 0.8  # from which score on an utterance is looked at, whether it belongs to an intent that came up
MAX_NEWER = 5_000  # distinct utterances of the newer logs among which intents that came up are looked for
MAX_EARLIER = 10_000  # distinct utterances of the model's logs that they are compared with
EXEMPLARS = 3


@dataclass(frozen=True, slots=True)
class TrendsRequest:
    """Which model to compare newer logs with.

    Attributes:
        model: A model folder with its utterances, or a loaded model.
        logs: Newer unlabelled utterances: a file, a corpus, or texts.
        encoder: Where the model's encoder lies, if it cannot be found.
        device: auto, cpu or cuda.
        read: How the file is read.
        precision: fp32, or int8 on a CPU.
    """

    model: ModelSource
    logs: LogSource
    encoder: str | Encoder | None = None
    device: str = defaults.DEVICE
    read: ReadOptions = DEFAULT_READ_OPTIONS
    precision: Precision = defaults.PRECISION


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
class WeeklyTrend:
    """An intent whose share changes within the newer logs, with the number of its utterances in each week."""

    intent: str
    trend: Trend
    first_week: str
    counts: tuple[int, ...]


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
        utterances: The number of utterances of the newer logs.
        before: The number of utterances of the model's logs.
        unusual: The number of utterances of the newer logs that hardly fit any intent.
        weeks: The number of weeks of the newer logs; 0 if they have no times.
        shifts: The intents whose share has changed, the largest change first.
        trends: The intents whose share changes within the newer logs.
        emerging: The intents that seem to have come up, the largest first.
    """

    utterances: int
    before: int
    unusual: int
    weeks: int
    shifts: tuple[Shift, ...]
    trends: tuple[WeeklyTrend, ...]
    emerging: tuple[EmergingIntent, ...]

    @property
    def changed(self) -> bool:
        """Whether anything changed."""
        return bool(self.shifts or self.trends or self.emerging)

    def as_dict(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return {"changed": self.changed, **asdict(self)}


def trends(request: TrendsRequest, *, reporter: Reporter | None = None) -> Trends:
    """Classify newer logs, batch by batch, and compare them with the logs that the model was made from.

    Args:
        request: Which model, and the newer logs.
        reporter: Is told what was odd in the file; by default nobody is.

    Raises:
        ModelError: The model was saved without its utterances.
        DataError: There is no utterance in the logs.
    """
    from newfound.engines.predictor import Predictor
    from newfound.intents.volume import weekly_volumes

    runtime = Runtime.of(request, reporter)
    model = runtime.open_model(request.model)
    if not model.model.utterances:
        raise ModelError("the model was saved without its utterances; discover again and keep them")
    predictor, newer = Predictor(model.classifier), DistinctSample(MAX_NEWER)
    in_logs = Counter({same_words(u.text): u.count for u in model.model.utterances if _is_of_logs(u)})
    again: Counter[str] = Counter()
    after: Counter[str | None] = Counter()
    days: Counter[tuple[str | None, str]] = Counter()
    settled: dict[str, str] = {}
    unusual = 0
    for batch in _batches(request, runtime, settled):
        for prediction, (_, origin) in zip(predictor.predictions([text for text, _ in batch]), batch, strict=True):
            after[prediction.intent] += origin.count
            for day, count in origin.days:
                days[prediction.intent, day] += count
            unusual += origin.count * _is_unusual(prediction)
            newer.add(prediction.text, origin)
            if (words := same_words(prediction.text)) in in_logs:
                again[words] += origin.count
    if not after:
        raise DataError("no utterance in the newer logs; they need one text a row")
    by_intent: dict[str, list[tuple[str, int]]] = {name: [] for name in model.names}
    for (intent, day), count in days.items():
        if intent is not None:
            by_intent[intent].append((settled.get(day, day), count))
    volumes = dict(zip(by_intent, weekly_volumes(list(by_intent.values())), strict=True))
    known_volumes = {name: volume for name, volume in volumes.items() if volume is not None}
    earlier = _earlier_counts(model)
    return Trends(
        utterances=after.total(),
        before=sum(earlier.values()),
        unusual=unusual,
        weeks=max((len(volume.counts) for volume in known_volumes.values()), default=0),
        shifts=_shifts(model.names, earlier, after),
        trends=tuple(
            WeeklyTrend(name, volume.trend, volume.first_week, volume.counts)
            for name, volume in known_volumes.items()
            if volume.trend not in (None, "steady")
        ),
        emerging=_emerging(model, predictor, newer.corpus().texts, _drawn_as_newer(in_logs, again)),
    )


def _batches(request: TrendsRequest, runtime: Runtime, settled: dict[str, str]) -> Iterator[list[tuple[str, Origin]]]:
    """Yield texts with their counts and days; at the end, `settled` says what days with two meanings mean."""
    rows, report = open_source(request.logs, request.read, "ignored")
    timed = ((row.text, row.origin) for row in rows)
    yield from iter(lambda: list(islice(timed, TEXTS_AT_ONCE)), [])
    if report.days is not None:
        settled |= report.days.settle()
    runtime.tell(report)


def _earlier_counts(model: ReviewedModel) -> Counter[str]:
    """Return how often each intent occurs in the model's logs."""
    from newfound.review.state import assigned_without_network

    assigned = assigned_without_network(model.review, model.model.intents, model.model.utterances) or model.assigned
    counts: Counter[str] = Counter()
    for u in assigned:
        if u.intent is not None and _is_of_logs(u):
            counts[u.intent] += u.count
    return counts


def _shifts(names: Sequence[str], before: Counter[str], after: Counter[str | None]) -> tuple[Shift, ...]:
    import numpy as np

    from newfound.algorithms.trends import MIN_RATIO, alarms, shift_test

    if not before:
        return ()
    counts = [np.array([some[name] for name in names], dtype=np.float64) for some in (before, after)]
    p_value, ratio = shift_test(*counts)
    is_shift = alarms(p_value) & ((ratio >= MIN_RATIO) | (ratio <= 1 / MIN_RATIO))
    found = [
        Shift(name, before[name], after[name], round(float(change), 2))
        for name, change, shifted in zip(names, ratio, is_shift, strict=True)
        if shifted
    ]
    return tuple(sorted(found, key=lambda shift: -max(shift.ratio, 1 / max(shift.ratio, 0.01))))


def _is_of_logs(u: Utterance) -> bool:
    return not u.labelled or bool(u.days)


def _is_unusual(prediction: Prediction) -> bool:
    return prediction.intent is None or prediction.outlier > MIN_OUTLIER


def _drawn_as_newer(before: Counter[str], again: Counter[str]) -> set[str]:
    """Return which texts of both logs stand for a newer utterance, by a lot among all their occurrences.

    Each text counts once, or one that is repeated often would look like an intent. The lot does not favour either logs;
    to count it in both would, as the larger logs repeat more.
    """
    import numpy as np

    texts = sorted(again)
    lots = np.random.default_rng(0).random(len(texts))
    return {text for text, lot in zip(texts, lots, strict=True) if lot < again[text] / (again[text] + before[text])}


def _emerging(
    model: ReviewedModel, predictor: Predictor, newer: Sequence[str], drawn: set[str]
) -> tuple[EmergingIntent, ...]:
    import numpy as np
    import torch

    from newfound.algorithms.emergence import emerging_groups
    from newfound.encoders.cache import FeatureCache
    from newfound.intents.description import exemplars
    from newfound.intents.naming import name_intents
    from newfound.model.arrays import unit
    from newfound.paths import feature_cache_dir

    seen = {same_words(u.text) for u in model.model.utterances} - drawn
    texts = [text for text in newer if same_words(text) not in seen]
    logs = [u for u in model.model.utterances if _is_of_logs(u) and same_words(u.text) not in drawn]
    logs = [logs[i] for i in np.sort(np.random.default_rng(0).permutation(len(logs))[:MAX_EARLIER])]
    unusual = [_is_unusual(prediction) for prediction in predictor.predictions(texts)]
    if not texts or not logs or not any(unusual):
        return ()
    embedder, cache = model.model.embedder, model.model.encoder.cache or FeatureCache(feature_cache_dir())
    earlier = replace(embedder, cache=cache).pretrained([u.text for u in logs])
    x = unit(np.concatenate([embedder.pretrained(texts), earlier]))
    is_newer = np.arange(len(x)) < len(texts)
    groups = emerging_groups(x, is_newer, np.array([*unusual, *[False] * len(logs)]))
    members = [[texts[i] for i in rows] for rows in groups]
    names = name_intents(members, taken=model.names, others=[[u.text for u in logs if u.intent is not None]])
    emerging = []
    for name, own, rows in zip(names, members, groups, strict=True):
        vectors = torch.from_numpy(x[rows])
        central = tuple(own[i] for i in exemplars(vectors, vectors.mean(0), own, EXEMPLARS))
        emerging.append(EmergingIntent(name, len(own), central))
    return tuple(emerging)
