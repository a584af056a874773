"""Measure promised against reached precision of thresholds, and what is lost in coverage.

export NEWFOUND_DATA=...
python -m benchmarks.analysts.thresholds --out benchmarks/analysts/thresholds.json
python -m benchmarks.analysts.thresholds --table benchmarks/analysts/thresholds.json

Thresholds are computed on a random half of the logs of the models of `oracle.py`, and used on the other half: without
any answer, and with 60 answers of an audit. Values are means over ten halves, in percent.
"""

from __future__ import annotations

import numpy as np
from benchmarks.analysts.oracle import Answers, answers_of_models, study_options
from benchmarks.harness.studies import Row, append_row, group_rows, read_rows

from newfound.algorithms.audit import choose_questions, correction, threshold, weights_of_sample

PROMISES = (0.8, 0.9, 0.95)
HELP = ("none", "60 answers")
HALVES = 10


def run(answers: Answers, promise: float, help: str) -> Row:
    """Return the precision that is reached and the share of utterances that is above the thresholds."""
    reached, coverage = [], []
    for seed in range(HALVES):
        generator = np.random.default_rng(seed)
        is_seen = generator.random(len(answers.right)) < 0.5
        seen, other = np.flatnonzero(is_seen), np.flatnonzero(~is_seen)
        places = choose_questions(answers.probability[seen], 60, seed=seed) if help == "60 answers" else []
        asked, weight = seen[places], weights_of_sample(answers.probability[seen], places)
        corrected = correction(answers.probability[asked], answers.right[asked], weight)(answers.probability)
        together = threshold(answers.probability[seen], corrected[seen], promise)
        limit = np.full(int(answers.intent.max()) + 1, np.inf)
        for intent in range(len(limit)):
            own = seen[answers.intent[seen] == intent]
            least = threshold(answers.probability[own], corrected[own], promise) if len(own) else together
            limit[intent] = np.inf if least is None else least.probability
        above = other[answers.probability[other] >= limit[answers.intent[other]]]
        coverage.append(len(above) / len(other))
        if len(above):
            reached.append(answers.right[above].mean())
    precision = round(100 * float(np.mean(reached)), 1) if reached else None
    accuracy = round(100 * float(answers.right.mean()), 1)
    row = {"shape": answers.shape, "accuracy": accuracy, "promise": round(100 * promise), "help": help}
    return {**row, "precision": precision, "coverage": round(100 * float(np.mean(coverage)), 1)}


def table(rows: list[Row]) -> str:
    """Return a Markdown table: over the corpora, the mean, the worst, and how many are within two points."""
    lines = [
        "| promised | with | reached, mean | worst | within two points of it or above | coverage |",
        "|" + "---|" * 6,
    ]
    for (promise, help), own in group_rows(rows, ["promise", "help"]).items():
        if help not in HELP:  # the files have another one, which is no longer offered
            continue
        reached = [row["precision"] for row in own if row["precision"] is not None]
        kept = f"{sum(value >= promise - 2 for value in reached)} of {len(reached)}"
        coverage = np.mean([row["coverage"] for row in own])
        lines.append(f"| {promise} % | {help} | {np.mean(reached):.1f} | {min(reached)} | {kept} | {coverage:.0f} |")
    return "\n".join(lines)


def main() -> None:
    """Run the cases that are missing, or print a table."""
    options = study_options(__doc__, table)
    done = {(row["shape"], row["seed"], row["promise"], row["help"]) for row in read_rows(options.out)}
    for answers, seed in answers_of_models(options.seeds):
        for promise in PROMISES:
            for help in HELP:
                if (answers.shape, seed, round(100 * promise), help) not in done:
                    append_row(options.out, {"seed": seed, **run(answers, promise, help)})


if __name__ == "__main__":
    main()
