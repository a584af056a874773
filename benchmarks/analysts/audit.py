"""Measure whether the interval of an audit holds the true accuracy, and how wide it is beside a simple random sample.

export NEWFOUND_DATA=...
python -m benchmarks.analysts.audit --out benchmarks/analysts/audit.json
python -m benchmarks.analysts.audit --table benchmarks/analysts/audit.json

An oracle answers the questions of many audits of the models of `oracle.py`. `cover` is the share of audits whose 90 %
interval holds the true accuracy, `width` its mean width; `simple` is a random sample of as many utterances with the
interval of Jeffreys. `corrected` is the same audit after what it found wrong was corrected, which also raises the true
accuracy. `intents` is the same for the intents that were asked about; `audit_intents.json` has it for the ten smaller
corpora, as the rows of `audit.json` were measured before intents were estimated in the same way. Shares are in percent.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from benchmarks.analysts.oracle import Answers, answers_of_models, study_options
from benchmarks.harness.studies import Row, append_row, read_rows
from scipy.stats import beta

from newfound.algorithms.audit import COVERAGE, N_DRAWS_OF_INTENT, accuracy_of_sample, choose_questions
from newfound.algorithms.thresholds import correction

QUESTIONS = (60, 200)
AUDITS, AUDITS_OF_INTENTS = 300, 30
Held = list[tuple[bool, float]]  # whether an interval holds the truth, and its width


def run(answers: Answers, questions: int) -> Row:
    """Audit a model again and again, with other utterances each time."""
    certainty, right, truth = answers.probability, answers.right, answers.right.mean()
    sampled: Held = []
    corrected: Held = []
    simple: Held = []
    intents: Held = []
    for seed in range(AUDITS):
        rows = choose_questions(certainty, questions, seed=seed)
        estimate = accuracy_of_sample(certainty, rows, right[rows], seed=seed)
        sampled.append((estimate.low <= truth <= estimate.high, estimate.high - estimate.low))
        better = accuracy_of_sample(certainty, rows, right[rows], settled=~right[rows], seed=seed)
        now = truth + (~right[rows]).sum() / len(right)
        corrected.append((better.low <= now <= better.high, better.high - better.low))
        plain = np.random.default_rng(seed).permutation(len(right))[:questions]
        yes = right[plain].sum()
        low, high = beta(yes + 0.5, len(plain) - yes + 0.5).interval(COVERAGE)
        simple.append((low <= truth <= high, high - low))
        if seed < AUDITS_OF_INTENTS:
            intents += _intents(answers, np.array(rows), seed)
    row: Row = {"shape": answers.shape, "utterances": len(right), "questions": questions, "accuracy": _percent(truth)}
    for name, held in (("", sampled), ("corrected_", corrected), ("simple_", simple), ("intents_", intents)):
        row[f"{name}cover"] = _percent(np.mean([inside for inside, _ in held]))
        row[f"{name}width"] = _percent(np.mean([width for _, width in held]))
    return row


def _intents(answers: Answers, rows: npt.NDArray[np.int64], seed: int) -> Held:
    certainty = correction(answers.probability[rows], answers.right[rows])(answers.probability)
    held = []
    for intent in np.unique(answers.intent[rows]):
        own, asked = np.flatnonzero(answers.intent == intent), np.sort(rows[answers.intent[rows] == intent])
        estimate = accuracy_of_sample(
            certainty[own], np.searchsorted(own, asked), answers.right[asked], seed=seed, n_draws=N_DRAWS_OF_INTENT
        )
        truth = answers.right[own].mean()
        held.append((estimate.low - 1e-9 <= truth <= estimate.high + 1e-9, estimate.high - estimate.low))
    return held


def _percent(share: float | np.floating[Any]) -> float:
    return round(100 * float(share), 1)


def table(rows: list[Row]) -> str:
    """Return the rows as a Markdown table."""
    columns = ("corpus", "questions", "accuracy", "held", "held after corrections", "width", "width of a simple sample")
    lines = ["| " + " | ".join((*columns, "intents held", "their width")) + " |", "|" + "---|" * 9]
    for r in rows:
        held = [r["cover"], r["corrected_cover"], r["width"], r["simple_width"]]
        held += [r.get("intents_cover", "–"), r.get("intents_width", "–")]
        lines.append("| " + " | ".join(map(str, (r["shape"], r["questions"], r["accuracy"], *held))) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run the cases that are missing, or print a table."""
    options = study_options(__doc__, table)
    done = {(row["shape"], row["seed"], row["questions"]) for row in read_rows(options.out)}
    for answers, seed in answers_of_models(options.seeds):
        for questions in QUESTIONS:
            if (answers.shape, seed, questions) not in done:
                append_row(options.out, {"seed": seed, **run(answers, questions)})


if __name__ == "__main__":
    main()
