"""Long messages, and messages that state several wishes, are read once more when a model knows what intents look like.

Before anything is known, a long message is read by words of wishing. A model reads what is most typical of an intent,
and tells where one wish ends and the next begins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from newfound.data.corpus import Corpus
from newfound.engines.parts import spans_of
from newfound.engines.predictor import PredictionLimits, Predictor
from newfound.preparation import Preparation
from newfound.training.progress import Reporter

if TYPE_CHECKING:
    from newfound.model.classifier import IntentModel

MIN_SHARE_READ_TWICE = 0.01  # of the utterances, for which a model is fitted first
MIN_SHARE_SINGLE = 0.5  # of the utterances that cannot be divided, to fit the first model on them alone


def with_second_look(
    corpus: Corpus,
    preparation: Preparation,
    first_look: Callable[[Corpus], IntentModel],
    *,
    several: bool,
    reporter: Reporter,
) -> Corpus:
    """Return a corpus as a first model reads it; as it is, if hardly anything could be read in another way.

    Args:
        corpus: Labelled and unlabelled utterances.
        preparation: How their messages were prepared.
        first_look: Fits the first model.
        several: Whether messages are divided that state several wishes.
        reporter: Is told what was changed.
    """
    long = set(_rows_with_readings(corpus, preparation))
    joined = {i for i in range(len(corpus)) if several and len(spans_of(corpus.texts[i])) > 1}
    if len(long | joined) < max(1, MIN_SHARE_READ_TWICE * len(corpus)):
        return corpus
    reporter.note(f"{len(long | joined):,} messages are long or may state several wishes: a first model reads them.")
    single = [i for i in range(len(corpus)) if i not in joined]
    model = first_look(corpus if len(single) < MIN_SHARE_SINGLE * len(corpus) else corpus.take(single))
    model.provenance["preparation"] = preparation.as_dict()
    return reread(corpus, model, several=several, reporter=reporter)


def reread(corpus: Corpus, model: IntentModel, *, several: bool, reporter: Reporter) -> Corpus:
    """Return a corpus as a model reads it, with the parts of unlabelled messages that state several wishes."""
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


def _divided(corpus: Corpus, model: IntentModel, reporter: Reporter) -> Corpus:
    """Return a corpus with the parts of unlabelled messages in place of those that state several wishes."""
    logs = [i for i, label in enumerate(corpus.labels) if label is None and len(spans_of(corpus.texts[i])) > 1]
    predictions = Predictor(model, PredictionLimits(several=True)).predictions([corpus.texts[i] for i in logs])
    parts = {
        i: [p.text[part.start : part.end] for part in p.intents or ()] for i, p in zip(logs, predictions, strict=True)
    }
    texts, labels, origins = list[str](), list[str | None](), []
    for i, (text, label, origin) in enumerate(zip(corpus.texts, corpus.labels, corpus.origins, strict=True)):
        own = parts.get(i, [])
        whole = origin if len(own) < 2 else replace(origin, said=origin.said.with_message(origin.said.message or text))
        for part in own if len(own) > 1 else [text]:
            texts.append(part)
            labels.append(label)
            origins.append(whole)
    n_divided = sum(len(own) > 1 for own in parts.values())
    reporter.note(f"{n_divided:,} of {len(corpus):,} messages state several wishes, and are learned from part by part.")
    return Corpus(tuple(texts), tuple(labels), tuple(origins))
