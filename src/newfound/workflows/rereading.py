"""Long messages, and messages that state several wishes, are read once more when a model knows what intents look like.

Before anything is known, a long message is read by words of wishing. A model reads what is most typical of an intent,
and tells where one wish ends and the next begins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from newfound.data.corpus import Corpus, Origin
from newfound.engines.parts import spans_of
from newfound.engines.predictor import PredictionLimits, Predictor
from newfound.preparation import Preparation
from newfound.training.progress import Reporter

if TYPE_CHECKING:
    from newfound.model.classifier import IntentModel

MIN_SHARE_READ_TWICE = 0.01  # of the utterances, for which a model is fitted first
MIN_SHARE_SINGLE = 0.5  # of the utterances that cannot be divided, to fit the first model on them alone
# Of a sample of the logs, the share whose parts have different known intents, from which on messages are divided. In
# logs of single wishes it was at most 1.5 % (docs/howto/several.md).
SAMPLE, MIN_SHARE_JOINED = 200, 0.04


def with_second_look(
    corpus: Corpus,
    preparation: Preparation,
    first_look: Callable[[Corpus], IntentModel],
    *,
    several: bool | None,
    reporter: Reporter,
) -> Corpus:
    """Return a corpus as a first model reads it; as it is, if hardly anything could be read in another way.

    `first_look` fits that model. Messages that state several wishes are divided if `several` is true, or if it is None
    and many of the logs do.
    """
    long, joined = set(_rows_with_readings(corpus, preparation)), set(_rows_to_divide(corpus))
    if several is None:
        known = corpus.labelled()
        several = len(known.intents) > 1 and share_joined(corpus, lambda: first_look(known)) > MIN_SHARE_JOINED
    joined = joined if several else set()
    if len(long | joined) < max(1, MIN_SHARE_READ_TWICE * len(corpus)):
        return corpus
    reporter.note(f"{len(long | joined):,} messages are long or may state several wishes: a first model reads them.")
    single = [i for i in range(len(corpus)) if i not in joined]
    model = first_look(corpus if len(single) < MIN_SHARE_SINGLE * len(corpus) else corpus.take(single))
    model.provenance["preparation"] = preparation.as_dict()
    return reread(corpus, model, several=several, reporter=reporter)


def reread(corpus: Corpus, model: IntentModel, *, several: bool | None, reporter: Reporter) -> Corpus:
    """Return a corpus as a model reads it, with the parts of unlabelled messages that state several wishes."""
    if several is None:
        several = share_joined(corpus, lambda: model) > MIN_SHARE_JOINED
    if model.preparation is not None and (long := _rows_with_readings(corpus, model.preparation)):
        texts = list(corpus.texts)
        for i, text in zip(long, model.read([corpus.origins[i].said.message for i in long])[0], strict=True):
            texts[i] = text
        changed = sum(a != b for a, b in zip(texts, corpus.texts, strict=True))
        reporter.note(f"Of {len(long):,} long messages, {changed:,} were read anew by a first model of the intents.")
        corpus = replace(corpus, texts=tuple(texts))
    return _divided(corpus, model, reporter) if several else corpus


def _rows_with_readings(corpus: Corpus, preparation: Preparation) -> list[int]:
    """Return the rows of which more than one thing may be read."""
    messages = ((i, origin.said.message) for i, origin in enumerate(corpus.origins))
    return [i for i, message in messages if message and len(preparation.readings(message)) > 1]


def _rows_to_divide(corpus: Corpus) -> list[int]:
    """Return the unlabelled rows that can be divided at all."""
    return [i for i, label in enumerate(corpus.labels) if label is None and len(spans_of(corpus.texts[i])) > 1]


def share_joined(corpus: Corpus, model: Callable[[], IntentModel]) -> float:
    """Return the share of the logs that state several intents of a model, in a sample; 0 if hardly any can."""
    logs = [i for i in corpus.by_content() if corpus.labels[i] is None]
    sample = logs[:: max(1, len(logs) // SAMPLE)]
    texts = [corpus.texts[i] for i in sample if len(spans_of(corpus.texts[i])) > 1]
    if len(texts) <= MIN_SHARE_JOINED * len(sample):
        return 0.0
    return sum(len(parts) > 1 for parts in _parts_of(texts, model())) / len(sample)


def _parts_of(texts: Sequence[str], model: IntentModel) -> list[list[str]]:
    """Return the parts of messages that have an intent of their own; one or none of a message that stays whole."""
    predictions = Predictor(model, PredictionLimits(several=True)).predictions(texts)
    return [[p.text[part.start : part.end] for part in p.intents or ()] for p in predictions]


def _divided(corpus: Corpus, model: IntentModel, reporter: Reporter) -> Corpus:
    """Return a corpus with the parts of unlabelled messages in place of those that state several wishes."""
    rows = _rows_to_divide(corpus)
    parts = dict(zip(rows, _parts_of([corpus.texts[i] for i in rows], model), strict=True))
    divided = {i: own for i, own in parts.items() if len(own) > 1}
    texts, labels, origins = list[str](), list[str | None](), list[Origin]()
    for i, (text, label, origin) in enumerate(zip(corpus.texts, corpus.labels, corpus.origins, strict=True)):
        own = divided.get(i, [text])
        said = replace(origin.said, message=origin.said.message or text) if i in divided else origin.said
        texts += own
        labels += [label] * len(own)
        origins += [replace(origin, said=said)] * len(own)
    n_logs = sum(label is None for label in corpus.labels)
    reporter.note(f"{len(divided):,} of {n_logs:,} messages of the logs state several wishes: their parts are learned.")
    return Corpus(tuple(texts), tuple(labels), tuple(origins))
