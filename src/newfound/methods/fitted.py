"""From a trained network to the model that a user gets: names and descriptions, probabilities, what is typical."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.data.corpus import Corpus
from newfound.encoders.encoder import Encoder
from newfound.encoders.languages import UNKNOWN
from newfound.intents.description import IntentDescriber
from newfound.intents.languages import languages_of
from newfound.intents.naming import name_intents
from newfound.methods.context import Discovery, FitContext
from newfound.model.classifier import IntentModel, versions
from newfound.model.head import reliability_of, temperature_of, with_reliability
from newfound.model.network import CosineClassifier, IntentNetwork, NetworkEmbedder
from newfound.model.types import Calibration, Status, Utterance
from newfound.small_talk import is_small_talk
from newfound.text import is_wordless

MAX_QUANTILE_ROWS = 1_000_000  # torch.quantile takes no more than some millions
MIN_INTENTS = 2  # of a classifier
MIN_TYPICAL_ROWS = 100  # labelled ones that say what is typical; if there are fewer, those of the logs say it too
SIMILARITY_TOLERANCE = 2e-6  # rows at a limit, of which there may be many that are alike, are not below it by rounding
MAX_SHARE_LOST = 0.005  # of the rows of the logs that have an intent, below the limits
ROWS_OF_THE_PRIOR = 5  # that the mean of all intents counts for, beside the rows of an intent
MIN_COSINE_OF_ONE_INTENT = 0.99  # of two columns that stand for one intent
MIN_ACCURACY = 0.05  # that is expected of new intents
ACCURACY_BEFORE_CHECK, LABELS_OF_IT = 0.9, 20  # of held-out labels, and how many labels this guess counts for
SHARE_OF_NEW_AMONG_KNOWN = 0.1


def build_model(corpus: Corpus, context: FitContext, discovery: Discovery) -> IntentModel:
    """Return the model of what a method discovered, without surplus columns."""
    network = discovery.network
    x = context.embed(network) if discovery.vectors is None else discovery.vectors
    network.tail.trunk = None  # from here on its frozen layers run without dropout, like any encoder's
    _drop_surplus(context, discovery, x)
    limits = _Limits.of(context, discovery, x, corpus)
    with torch.inference_mode():
        calibration = _calibrate(context, discovery, x, limits.has_intent)
        uncorrected = (network.classifier(x) / calibration.temperature).softmax(1).float().cpu().numpy()
        is_new = np.arange(uncorrected.shape[1]) >= context.n_known
        corrected = with_reliability(uncorrected, is_new, calibration.reliability)
    probabilities = torch.from_numpy(corrected).masked_fill(limits.outside[:, None], 0.0)
    identity, sizes = context.run.identity, (len(context.known_rows), len(context.unlabelled_rows))
    check = discovery.known_check
    provenance = {
        **{key: identity[key] for key in ("method", "settings")},
        "data": {"fingerprint": identity["data"], "labelled": sizes[0], "unlabelled": sizes[1]},
        "device": str(context.device),
        **({"no_intent": {"utterances": int(limits.outside.sum())}} if limits.outside.any() else {}),
        **({"choices": dict(discovery.choices)} if discovery.choices else {}),
        **({} if check is None else {"known_check": asdict(check)}),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
    }
    embedder = NetworkEmbedder(context.encoder, context.tune, network)
    none, vectors = corrected.shape[1], x.float().cpu()  # the number after the last column is no intent
    predicted = torch.from_numpy(corrected.argmax(1)).masked_fill(limits.outside, none)
    columns = torch.where(context.train.by_person & (context.y >= 0), context.y, predicted)  # [n]
    names = _names(corpus, columns, vectors, none, embedder)
    meaning = [*names, None]
    rows = zip(corpus.texts, corpus.origins, columns.tolist(), corrected.max(1).tolist(), strict=True)
    utterances = [
        Utterance(text, meaning[column], o.labelled, round(p, 4), o.count, o.source, o.days, o.said)
        for text, o, column, p in rows
    ]
    statuses: dict[str, Status] = {name: "known" if i < context.n_known else "new" for i, name in enumerate(names)}
    described = IntentDescriber(statuses, utterances, vectors, lambda: probabilities).describe_all()
    intents = [
        replace(intent, min_similarity=least, takes_wordless=wordless, takes_small_talk=small_talk)
        for intent, least, wordless, small_talk in zip(
            described, limits.min_similarity, limits.takes_wordless, limits.takes_small_talk, strict=True
        )
    ]
    return IntentModel.of(embedder, intents, calibration, provenance, utterances)


@dataclass(frozen=True, slots=True)
class _Limits:
    """What a text must be like to belong to an intent; see `Intent.min_similarity` and `Intent.takes_wordless`."""

    min_similarity: list[float]  # the limit of each column of the classifier
    takes_wordless: list[bool]  # whether each column takes texts without a word
    takes_small_talk: list[bool]  # whether each column takes texts that are nothing but small talk
    outside: Tensor  # [n] (CPU) which rows of the logs belong to no intent
    has_intent: Tensor  # [n] (CPU) which rows of the logs belong to one

    @classmethod
    @torch.inference_mode()
    def of(cls, context: FitContext, discovery: Discovery, x: Tensor, corpus: Corpus) -> _Limits:
        """At most as many rows of the logs lie below the limits as the method has put aside, and few of the others.

        Intents differ in how close their utterances lie to them. Only rows of the logs are compared: an encoder or a
        classifier that was trained on labelled rows puts these closer than anything else. Where all rows have a label,
        it is those whose label no person gave.
        """
        classifier, no_intent = discovery.network.classifier, discovery.no_intent
        value, best = (v.cpu() for v in classifier(x).max(1))
        columns = len(classifier.weight)
        logs = ~context.train.by_person if discovery.is_final else context.y < 0
        if no_intent is None:
            everything = [True] * columns
            return cls([-1.0] * columns, everything, everything, torch.zeros(len(x), dtype=torch.bool), logs)
        takes, refused = [], torch.zeros(len(x), dtype=torch.bool)
        for is_such in (is_wordless, is_small_talk):
            such = torch.tensor([is_such(text) for text in corpus.texts], dtype=torch.bool)
            takes.append(_takes(context, such, int(no_intent.sum()), columns))
            refused |= such & logs & ~takes[-1][best]
        kept = logs & ~no_intent & ~refused
        fair = value - _optimism(x, best.to(x.device), kept | ~logs, columns).cpu()
        usual = _mean_by_column(fair[kept], best[kept], columns)
        margin = value - usual[best]
        least = torch.full((columns,), -1.0)
        wanted = int((no_intent & ~refused).sum())
        if discovery.share_of_no_intent is not None:
            wanted = max(0, round(discovery.share_of_no_intent * int(logs.sum())) - int(refused.sum()))
        if wanted and int(kept.sum()):
            below = margin[logs & ~refused].sort().values
            lost = (fair - usual[best])[kept].sort().values
            limit = float(below[min(wanted, len(below) - 1)])
            if discovery.share_of_no_intent is None:
                limit = min(limit, float(lost[int(MAX_SHARE_LOST * len(lost))]))
            least = (usual + limit - SIMILARITY_TOLERANCE).clamp(min=-1.0)
            rows_left = torch.bincount(best[logs & ~refused & (value >= least[best])], minlength=columns)
            least[rows_left == 0] = -1.0  # an intent that would lose all its rows keeps them
        outside = no_intent if discovery.is_final else logs & (refused | (value < least[best]))
        limits = [round(v, 6) for v in least.tolist()]
        return cls(limits, takes[0].tolist(), takes[1].tolist(), outside, logs & ~outside)


def _optimism(x: Tensor, column: Tensor, teaches: Tensor, columns: int) -> Tensor:
    """Return by how much rows [n] that taught a column are closer to its mean than they would be had they not.

    Other texts lie farther from an intent than those that it was learned from, above all if these were few.
    """
    points, rows = F.normalize(x.float(), dim=-1), teaches.to(x.device).float()[:, None]
    total = torch.zeros(columns, x.shape[1], device=x.device).index_add_(0, column, points * rows)
    with_row = (points * F.normalize(total, dim=-1)[column]).sum(1)
    without_row = (points * F.normalize(total[column] - points, dim=-1)).sum(1)
    return (with_row - without_row).clamp(min=0) * rows.squeeze(1)


def _mean_by_column(values: Tensor, column: Tensor, columns: int) -> Tensor:
    """Return the mean [columns] of values [n] by column [n]; one with few values is near the mean of all."""
    prior = values.mean() if len(values) else torch.tensor(0.0)
    total = torch.zeros(columns).index_add_(0, column, values.float()) + ROWS_OF_THE_PRIOR * prior
    return total / (torch.bincount(column, minlength=columns) + ROWS_OF_THE_PRIOR)


def _takes(context: FitContext, such: Tensor, put_aside: int, columns: int) -> Tensor:
    """Which intents `such` texts [n] (without words, or small talk) may belong to, [columns].

    Known intents whose labelled utterances hold such a text take them, and beside those the new intents, which then may
    consist of them. If nothing of the kind is labelled, but more of the logs than were put aside, all intents do.
    """
    of_labelled = context.y[such & (context.y >= 0)]
    if not len(of_labelled):
        return torch.full((columns,), int((such & (context.y < 0)).sum()) > put_aside)
    takes = torch.arange(columns) >= context.n_known
    takes[of_labelled] = True
    return takes


def _calibrate(context: FitContext, discovery: Discovery, x: Tensor, has_intent: Tensor) -> Calibration:
    """How cosines become probabilities: on rows of the logs that have an intent, as sure as they are probably right."""
    typical = tuple(_typical(context, discovery.network, x, has_intent))
    cosines = discovery.network.classifier(x[has_intent.to(x.device)]).float()
    if discovery.expected_accuracy is not None:
        temperature = temperature_of(cosines, discovery.expected_accuracy, discovery.temperature)
        return Calibration(temperature, 1.0, typical)
    expected = expected_accuracy(discovery)
    if expected is None or not len(cosines):
        return Calibration(discovery.temperature, 1.0, typical)
    of_known, of_new = expected
    is_new = torch.arange(cosines.shape[1], device=cosines.device) >= context.n_known
    is_known = cosines.argmax(1) < context.n_known
    temperature = temperature_of(cosines[is_known], of_known, discovery.temperature)
    reliability = reliability_of((cosines / temperature).softmax(1), is_new, of_new)
    return Calibration(temperature, round(reliability, 4), typical)


def expected_accuracy(discovery: Discovery) -> tuple[float, float] | None:
    """Return the shares of the logs' rows in known and in new intents that are probably right, without gold labels.

    Of new intents, it is the share of clusterings that agree with the consensus, times how consistent they are with
    each other: in trials on ten corpora (140 runs) the product was off by 11 points on average, without a bias. Of
    known intents, it is the share of held-out labels that are found again, less what held-out labels cannot show:
    utterances of new intents that fall among the known ones. It is None for a method that does not say what it agreed
    on.
    """
    if discovery.agreement is None:
        return None
    check = discovery.known_check
    labels, now = (0, 0.0) if check is None else (check.labels, check.now)
    found_again = (labels * now + LABELS_OF_IT * ACCURACY_BEFORE_CHECK) / (labels + LABELS_OF_IT)
    return found_again - SHARE_OF_NEW_AMONG_KNOWN, max(MIN_ACCURACY, discovery.agreement * discovery.consistency)


def _drop_surplus(context: FitContext, discovery: Discovery, x: Tensor) -> None:
    """Where more new intents were asked for than there are: drop columns without utterances, and doubles."""
    network, no_intent = discovery.network, discovery.no_intent
    empty, double = surplus_columns(network.classifier, x[context.unlabelled_rows.to(x.device)], context.n_known)
    keep = [c for c in range(context.n_known + context.n_new) if c not in {*empty, *double}]
    if len(keep) < MIN_INTENTS:
        return
    if context.n_new and len(keep) == context.n_known:
        why = "they look like the known intents. Give each known intent more examples if there should be new ones"
        if no_intent is not None and bool(no_intent[context.unlabelled_rows].all()):
            why = "all utterances of the logs belong to no intent. Give logs that hold words, or put none aside"
        context.run.reporter.warn(f"no utterance of the logs was put into a new intent: {why}")
    for columns, why in ((empty, "got no utterance"), (double, "repeated another")):
        if columns:
            context.run.reporter.note(f"{len(columns)} of {context.n_new} new intents {why} and were dropped")
    network.classifier.weight = torch.nn.Parameter(network.classifier.weight.detach()[keep])


@torch.inference_mode()
def surplus_columns(classifier: CosineClassifier, x: Tensor, n_known: int) -> tuple[list[int], list[int]]:
    """New columns that no row of x is predicted with, and new columns that all but repeat a larger one."""
    columns = len(classifier.weight)
    size = torch.bincount(classifier(x).argmax(1), minlength=columns).tolist()
    unit = torch.nn.functional.normalize(classifier.weight, dim=-1)
    alike = (unit @ unit.T > MIN_COSINE_OF_ONE_INTENT).tolist()
    new = range(n_known, columns)
    empty = [c for c in new if not size[c]]
    double = [c for c in new if size[c] and any(alike[c][d] and (size[d], -d) > (size[c], -c) for d in new)]
    return empty, double


@torch.inference_mode()
def _typical(context: FitContext, network: IntentNetwork, x: Tensor, has_intent: Tensor) -> list[float]:
    """Quantiles of how close labelled utterances lie to the nearest intent.

    Where few are labelled, or the encoder was trained on them, it is all utterances of the logs that have an intent.
    """
    is_fair = len(context.known_rows) >= MIN_TYPICAL_ROWS and not context.tune.layers
    rows = context.known_rows if is_fair or not bool(has_intent.any()) else has_intent.nonzero().squeeze(1)
    closest = network.classifier(x[rows.to(x.device)].float()).amax(1).double().cpu()
    return [round(float(q), 6) for q in torch.quantile(closest[:MAX_QUANTILE_ROWS], torch.linspace(0, 1, 101).double())]


def _names(corpus: Corpus, column: Tensor, x: Tensor, columns: int, embed: NetworkEmbedder) -> list[str]:
    """The name of every intent, known ones first; new ones are named by their utterances, rows [n] of a column."""
    known = corpus.intents
    texts: list[list[str]] = [[] for _ in range(columns + 1)]  # at the end, those of no intent
    for text, own in zip(corpus.texts, column.tolist(), strict=True):
        texts[own].append(text)
    unit = F.normalize(x, dim=-1)
    sums = torch.zeros(columns + 1, x.shape[1]).index_add_(0, column, unit)
    centres = F.normalize(sums[len(known) : columns], dim=-1)

    def likeness(phrases: Sequence[str]) -> npt.NDArray[np.float32]:
        near: npt.NDArray[np.float32] = (F.normalize(torch.from_numpy(embed(phrases)), dim=-1) @ centres.T).numpy()
        return near

    spoken = languages_of([text for text, o in zip(corpus.texts, corpus.origins, strict=True) if o.labelled])
    of_known, of_new, language = texts[: len(known)], texts[len(known) : columns], spoken[0] if spoken else UNKNOWN
    return [*known, *name_intents(of_new, taken=known, others=of_known, likeness=likeness, language=language)]


def count_parameters(encoder: Encoder, network: IntentNetwork) -> dict[str, int]:
    """Trainable, total (with the frozen encoder) and what inference runs of the trainable ones."""
    trainable = sum(p.numel() for p in network.parameters() if p.requires_grad)
    tail = sum(t.numel() for t in network.tail.trained().values())
    whole = sum(p.numel() for p in encoder.model.parameters())
    inference = sum(t.numel() for t in network.classifier_branch().values())
    return {"trainable": trainable, "total": whole - tail + trainable, "inference": inference}
