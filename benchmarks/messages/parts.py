"""Measure how messages with several intents are divided, by a classifier that was trained on single utterances.

export NEWFOUND_DATA=...
python -m benchmarks.messages.parts --out benchmarks/messages/parts.jsonl
python -m benchmarks.messages.parts --table benchmarks/messages/parts.jsonl

The messages are one to three test utterances of BANKING77 or CLINC150, joined by sentence ends and words such as "and
also". The classifier is a head on the frozen encoder, fitted on the training rows. For the rule "all intents above a
threshold", the threshold is the one with which most messages joined of training rows get their exact intents.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from benchmarks.harness.datasets import read_part
from benchmarks.harness.studies import Row, append_row, read_rows, study_encoder
from benchmarks.harness.tables import as_markdown
from benchmarks.messages.wishes import read_table

from newfound.data.corpus import Corpus
from newfound.engines.predictor import PredictionLimits, Predictor
from newfound.methods.refit import Refit
from newfound.model.classifier import IntentModel
from newfound.model.types import MessagePart

CORPORA = ("banking77", "clinc150")
RULES = ("the most probable intent", "all intents above a threshold", "newfound")
CONNECTORS = (". ", "? ", ". Also, ", " and ", ", and also ", ". Another thing: ")
N_JOINED, THRESHOLDS = 1_000, np.linspace(0.02, 0.6, 30)
Answer = list[MessagePart]


def fitted(corpus: str) -> IntentModel:
    """Return a classifier over all intents of a corpus, which saw single utterances only."""
    return Refit(encoder=study_encoder(), tune="heads").fit(read_part(corpus, "train")).model_


def joined(rows: Corpus, generator: np.random.Generator) -> list[tuple[str, set[str]]]:
    """Return messages of one to three utterances of different intents, with these intents."""
    messages: list[tuple[str, set[str]]] = []
    while len(messages) < N_JOINED:
        chosen = generator.choice(len(rows), generator.integers(1, 4), replace=False)
        labels = {str(rows.labels[i]) for i in chosen}
        if len(labels) == len(chosen):
            messages.append((str(generator.choice(CONNECTORS)).join(rows.texts[i] for i in chosen), labels))
    return messages


def above(model: IntentModel, texts: Sequence[str], threshold: float) -> list[Answer]:
    """Return all intents of whole messages that are more probable than a threshold; at least one."""
    probabilities, names = model.predict_proba(texts), model.names
    limits = np.minimum(threshold, probabilities.max(1, keepdims=True))
    return [
        [MessagePart(names[i], float(row[i]), 0, len(text)) for i in np.flatnonzero(row >= limit)]
        for text, row, limit in zip(texts, probabilities, limits, strict=True)
    ]


def best_threshold(model: IntentModel, rows: Corpus) -> float:
    messages = joined(rows, np.random.default_rng(0))

    def exact(threshold: float) -> int:
        answers = above(model, [text for text, _ in messages], threshold)
        return sum({p.intent for p in parts} == gold for parts, (_, gold) in zip(answers, messages, strict=True))

    return float(max(THRESHOLDS, key=exact))


def answers_of(rule: str, model: IntentModel, corpus: str, texts: Sequence[str]) -> list[Answer]:
    """Return the intents of messages with their places, as a rule finds them."""
    if rule == "newfound":
        predictions = Predictor(model, PredictionLimits(several=True)).predictions(texts)
        return [list(prediction.intents or ()) for prediction in predictions]
    return above(model, texts, 1.0 if rule == RULES[0] else best_threshold(model, read_part(corpus, "train")))


def overlap(gold: Sequence[tuple[int, int]], parts: Answer) -> float:
    """Return the mean, over the gold spans, of the largest overlap with a part: shared characters by all of both."""

    def shared(start: int, end: int, part: MessagePart) -> float:
        inner = min(end, part.end) - max(start, part.start)
        return max(inner, 0) / (max(end, part.end) - min(start, part.start))

    return float(np.mean([max((shared(*span, part) for part in parts), default=0.0) for span in gold]))


def measure(corpus: str, rule: str, model: IntentModel) -> Row:
    """Return shares of messages in percent: exact sets of intents by their number, spans, wrongly divided ones."""
    rows = read_table(f"more/mix{corpus}.csv")
    answers = answers_of(rule, model, corpus, [row["text"] for row in rows])
    gold = [set(row["labels"].split("|")) for row in rows]
    exact = np.array([{p.intent for p in parts} == labels for parts, labels in zip(answers, gold, strict=True)])
    number = np.array([len(labels) for labels in gold])
    spans = [[(int(s), int(e)) for s, e in (span.split(":") for span in row["spans"].split("|"))] for row in rows]
    several = [overlap(spans[i], answers[i]) for i in np.flatnonzero(number > 1)]
    test = read_part(corpus, "test")
    divided = [len(parts) > 1 for parts in answers_of(rule, model, corpus, test.texts)]
    found = {"messages": len(rows), "exact": exact.mean(), "overlap": np.mean(several), "divided": np.mean(divided)}
    shares = found | {f"exact_of_{n}": exact[number == n].mean() for n in (1, 2, 3)}
    return {name: value if name == "messages" else round(100 * float(value), 1) for name, value in shares.items()}


def table(rows: list[Row]) -> str:
    header = ("messages of", "answer", "exact", "one", "two", "three", "overlap of spans", "singles divided")
    shown = ("exact", "exact_of_1", "exact_of_2", "exact_of_3", "overlap", "divided")
    return as_markdown(header, [(r["corpus"], r["rule"], *(f"{r[name]:.1f}" for name in shown)) for r in rows])


def main() -> None:
    """Measure what is missing, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", type=Path)
    options = parser.parse_args()
    if options.table:
        print(table(read_rows(options.table)))
        return
    done = {(row["corpus"], row["rule"]) for row in read_rows(options.out)}
    for corpus in CORPORA:
        if missing := [rule for rule in RULES if (corpus, rule) not in done]:
            model = fitted(corpus)
            for rule in missing:
                append_row(options.out, {"corpus": corpus, "rule": rule, **measure(corpus, rule, model)})


if __name__ == "__main__":
    main()
