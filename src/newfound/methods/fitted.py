"""From a trained network to the model that a user gets: names and descriptions, probabilities, what is typical."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

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
from newfound.methods.context import FitContext
from newfound.model.arrays import TRUST_IN_LABELS, best_of, reliability_of, temperature_of, with_reliability
from newfound.model.classifier import IntentModel, stamp_provenance
from newfound.model.network import CosineClassifier, IntentNetwork
from newfound.model.types import AssignedUtterance, Calibration, Intent, Status, Utterance
from newfound.text import is_wordless

MAX_QUANTILE_ROWS = 1_000_000  # torch.quantile takes no more than some millions
MIN_INTENTS = 2  # of a classifier
MIN_TYPICAL_ROWS = 100  # labelled ones that say what is typical; if there are fewer, those of the logs say it too
SIMILARITY_TOLERANCE = 2e-6  # rows at a limit, of which there may be many that are alike, are not below it by rounding
MIN_COSINE_OF_ONE_INTENT = 0.99  # of two columns that stand for one intent


def build_model(corpus: Corpus, context: FitContext, network: IntentNetwork, temperature: float) -> IntentModel:
    """Return the model of a trained network, without surplus columns; its softmax was trained with the temperature."""
    x = context.embed(network)
    network.tail.trunk = None  # from here on its frozen layers run without dropout, like any encoder's
    _drop_surplus(context, network, x)
    limits = _Limits.of(context, network, x, corpus)
    with torch.inference_mode():
        temperature = _temperature(context, network, x[(~limits.outside & (context.y < 0)).to(x.device)], temperature)
        taught = (network.classifier(x) / temperature).softmax(1)
        is_new = torch.arange(taught.shape[1], device=taught.device) >= context.n_known
        reliability = _reliability(context, taught, is_new)
        corrected = with_reliability(taught.float().cpu().numpy(), is_new.cpu().numpy(), reliability)
    probabilities = torch.from_numpy(corrected).masked_fill(limits.outside[:, None], 0.0)
    identity, sizes = context.run.identity, (len(context.known_rows), len(context.unlabelled_rows))
    provenance = {
        **{key: identity[key] for key in ("method", "settings")},
        "data": {"fingerprint": identity["data"], "labelled": sizes[0], "unlabelled": sizes[1]},
        "device": str(context.device),
        "precision": context.encoder.precision,
        **({"no_intent": limits.provenance(context)} if limits.outside.any() else {}),
        **({"choices": context.choices} if context.choices else {}),
    }
    utterances = _utterances(corpus, context.y, probabilities)
    embed = IntentModel(context.encoder, context.tune, network, (), Calibration(temperature), {}).transform
    described = _describe_intents(corpus.intents, utterances, x.float().cpu(), probabilities, embed)
    intents = [
        replace(intent, min_similarity=least, takes_wordless=wordless)
        for intent, least, wordless in zip(described, limits.min_similarity, limits.takes_wordless, strict=True)
    ]
    calibration = Calibration(temperature, reliability, tuple(_typical(context, network, x)))
    stamped = stamp_provenance(provenance)
    return IntentModel(context.encoder, context.tune, network, tuple(intents), calibration, stamped, utterances)


@dataclass(frozen=True, slots=True)
class _Limits:
    """What a text must be like to belong to an intent; see `Intent.min_similarity` and `Intent.takes_wordless`."""

    min_similarity: list[float]  # the limit of each column of the classifier
    takes_wordless: list[bool]  # whether each column takes texts without a word
    outside: Tensor  # [n] (CPU) which rows of the logs belong to no intent

    @classmethod
    @torch.inference_mode()
    def of(cls, context: FitContext, network: IntentNetwork, x: Tensor, corpus: Corpus) -> _Limits:
        """As many rows of the logs lie below the limits as the method has put aside.

        Known intents differ in how close their labelled utterances lie; new ones are measured alike.
        """
        value, best = (v.cpu() for v in network.classifier(x).max(1))
        columns, logs = len(network.classifier.weight), context.y < 0
        share = context.estimates.get("no_intent")
        if share is None:
            return cls([-1.0] * columns, [True] * columns, torch.zeros(len(x), dtype=torch.bool))
        wordless = torch.tensor([is_wordless(text) for text in corpus.texts], dtype=torch.bool)
        takes_wordless = _takes_wordless(context, wordless, round(share * int(logs.sum())), columns)
        refused = wordless & logs & ~takes_wordless[best]
        usual = torch.zeros(columns)
        if context.n_known:
            y = context.y[~logs]
            own = network.classifier(x[context.known_rows.to(x.device)]).cpu().gather(1, y[:, None]).squeeze(1)
            total = torch.zeros(columns).index_add_(0, y, own)
            count = torch.bincount(y, minlength=columns)
            usual[: context.n_known] = (total / count.clamp(min=1))[: context.n_known] - own.mean()
        margin = value - usual[best]
        among = logs & ~refused
        wanted = round(share * int(logs.sum())) - int(refused.sum())
        least = [-1.0] * columns
        if 0 < wanted < int(among.sum()):
            limit = float(margin[among].sort().values[wanted - 1 : wanted + 1].mean())
            least = [round(max(-1.0, limit + float(u) - SIMILARITY_TOLERANCE), 6) for u in usual]
        outside = logs & (refused | (value < torch.tensor(least)[best]))
        return cls(least, takes_wordless.tolist(), outside)

    def provenance(self, context: FitContext) -> dict[str, float]:
        """Return how many utterances belong to no intent, and how sure the recognition of known intents is."""
        count = int(self.outside.sum())
        precision = context.estimates.get("known_precision")
        return {"utterances": count} | ({} if precision is None else {"known_precision": round(precision, 4)})


def _takes_wordless(context: FitContext, wordless: Tensor, put_aside: int, columns: int) -> Tensor:
    """Which intents texts without words may belong to, [columns].

    Known intents whose labelled utterances hold such a text take them, and beside those the new intents, which then may
    consist of them. If nothing of the kind is labelled, but more of the logs than were put aside, all intents do.
    """
    of_labelled = context.y[wordless & (context.y >= 0)]
    if not len(of_labelled):
        return torch.full((columns,), int((wordless & (context.y < 0)).sum()) > put_aside)
    takes = torch.arange(columns) >= context.n_known
    takes[of_labelled] = True
    return takes


def _reliability(context: FitContext, probabilities: Tensor, is_new: Tensor) -> float:
    """The share of the probability of new intents that is to stay with them; all of it without an estimate."""
    if "label_accuracy" not in context.estimates:
        return 1.0
    logs = probabilities[context.unlabelled_rows.to(probabilities.device)]
    trust = 1.0 if "no_intent" in context.estimates else TRUST_IN_LABELS  # in mixed logs nothing else is known
    return round(reliability_of(logs, is_new, context.estimates["label_accuracy"], trust=trust), 4)


def _temperature(context: FitContext, network: IntentNetwork, x: Tensor, temperature: float) -> float:
    """The temperature of the softmax; with it, rows x [m, d] of the logs in known intents are as sure as right."""
    if "known_accuracy" not in context.estimates:
        return temperature
    cosines = network.classifier(x).float()
    is_known = cosines.argmax(1) < context.n_known
    return temperature_of(cosines[is_known], context.estimates["known_accuracy"], temperature)


def _drop_surplus(context: FitContext, network: IntentNetwork, x: Tensor) -> None:
    """Where more new intents were asked for than there are: drop columns without utterances, and doubles."""
    empty, double = surplus_columns(network.classifier, x[context.unlabelled_rows.to(x.device)], context.n_known)
    keep = [c for c in range(context.n_known + context.n_new) if c not in {*empty, *double}]
    if len(keep) < max(context.n_known + 1, MIN_INTENTS):  # all utterances look known: keep what was asked for
        if empty:
            why = (
                "the logs look like the known intents. Give each known intent more examples, or look for fewer new ones"
            )
            if context.estimates.get("no_intent") == 1:
                why = "all utterances of the logs belong to no intent. Give logs that hold words, or put none aside"
            context.run.reporter.warn(f"{len(empty)} of {context.n_new} new intents have no utterance: {why}")
        return
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
def _typical(context: FitContext, network: IntentNetwork, x: Tensor) -> list[float]:
    """Quantiles of how close labelled utterances lie to the nearest intent; all utterances, where few are labelled."""
    rows = context.known_rows if len(context.known_rows) >= MIN_TYPICAL_ROWS else torch.arange(len(x))
    closest = network.classifier(x[rows.to(x.device)].float()).amax(1).double().cpu()
    return [round(float(q), 6) for q in torch.quantile(closest[:MAX_QUANTILE_ROWS], torch.linspace(0, 1, 101).double())]


def _utterances(corpus: Corpus, y: Tensor, probabilities: Tensor) -> list[Utterance]:
    """The training utterances with their intents: as labelled by a person, and as predicted where none did."""
    probability, predicted = best_of(probabilities.numpy())
    n_intents = probabilities.shape[1]
    utterances = []
    rows = zip(corpus.texts, corpus.origins, y.tolist(), predicted.tolist(), probability.tolist(), strict=True)
    for text, origin, known, column, p in rows:
        intent = known if known >= 0 and origin.labelled else column if column < n_intents else None
        utterances.append(
            Utterance(text, intent, origin.labelled, round(p, 4), origin.count, origin.source, origin.days)
        )
    return utterances


def _describe_intents(
    known: Sequence[str],
    utterances: Sequence[Utterance],
    x: Tensor,
    probabilities: Tensor,
    embed: Callable[[Sequence[str]], npt.NDArray[np.float32]],
) -> list[Intent]:
    """The description of every intent, known ones first; new ones get their names here."""
    columns = probabilities.shape[1]
    texts: list[list[str]] = [[] for _ in range(columns)]
    for u in utterances:
        if u.intent is not None:
            texts[u.intent].append(u.text)
    column = torch.tensor([columns if u.intent is None else u.intent for u in utterances])
    unit = F.normalize(x, dim=-1)
    centres = F.normalize(torch.zeros(columns + 1, x.shape[1]).index_add_(0, column, unit), dim=-1)
    centres = centres[len(known) : columns]

    def likeness(phrases: Sequence[str]) -> npt.NDArray[np.float32]:
        near: npt.NDArray[np.float32] = (F.normalize(torch.from_numpy(embed(phrases)), dim=-1) @ centres.T).numpy()
        return near

    spoken = languages_of([u.text for u in utterances if u.labelled])
    language, others = spoken[0] if spoken else UNKNOWN, texts[: len(known)]
    new_names = name_intents(texts[len(known) :], taken=known, others=others, likeness=likeness, language=language)
    names = [*known, *new_names]
    statuses: dict[str, Status] = {name: "known" if i < len(known) else "new" for i, name in enumerate(names)}
    assigned = []
    for u in utterances:
        name, probability = None if u.intent is None else names[u.intent], 1.0 if u.labelled else u.probability
        assigned.append(AssignedUtterance(u.text, name, u.labelled, probability, u.count, u.source, u.days))
    return IntentDescriber(statuses, assigned, x, lambda: probabilities).describe_all()


def count_parameters(encoder: Encoder, network: IntentNetwork) -> dict[str, int]:
    """Trainable, total (with the frozen encoder) and what inference runs of the trainable ones."""
    trainable = sum(p.numel() for p in network.parameters() if p.requires_grad)
    tail = sum(t.numel() for t in network.tail.trained().values())
    whole = sum(p.numel() for p in encoder.model.parameters())
    inference = sum(t.numel() for t in network.classifier_branch().values())
    return {"trainable": trainable, "total": whole - tail + trainable, "inference": inference}
