"""What answers to questions about doubtful utterances gain, if all of them are right: an oracle that reads gold labels.

python -m benchmarks.questions.measure GID-SD:1 GID-SD:2 GID-SD:3 --seeds 0,1,2 --out FILE
python -m benchmarks.questions.measure FRESH-BANKING77:1000 --errors 0.2 --out FILE      every fifth answer is wrong
python -m benchmarks.questions.measure FRESH-BANKING77:1000 --mixed 0.3 --out FILE       the logs hold known intents too
python -m benchmarks.questions.measure --show FILE

The recipe is `quick` (frozen MiniLM). Fresh partitions are scored on dev rows, splits 1 to 3 on test rows. Gold labels
of the logs reach the fit through the answers alone, which is why the results are marked as an oracle's.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from benchmarks.harness.cells import with_condition
from benchmarks.harness.conditions import Condition
from benchmarks.harness.experiments import Column
from benchmarks.harness.partitions import load_partition
from benchmarks.harness.scoring import score_predictor
from benchmarks.harness.studies import Row, append_row, read_rows, study_encoder, whole_numbers
from benchmarks.harness.tables import as_markdown, table_of_rows

from newfound.data.task import DiscoveryTask
from newfound.encoders.encoder import Encoder
from newfound.methods.consensus import Consensus
from newfound.questions.annotators import Answer, PosedQuestion

FIELDS = ("ind_acc", "ood_acc", "all_acc")
COLUMNS = tuple(Column(name.upper().replace("_", " "), (name,)) for name in FIELDS)


class Oracle:
    """Answers by the gold labels; a share of the answers is wrong on purpose."""

    def __init__(self, task: DiscoveryTask, errors: float, seed: int) -> None:
        """Read the gold labels; `errors` is the share of wrong answers, and `seed` chooses them."""
        self._gold = dict(zip(task.train.texts, task.train.labels, strict=True))
        self._errors = errors
        self.reliability = 1 - errors
        self._rng = np.random.default_rng(seed)
        self.asked = 0

    def answer(self, question: PosedQuestion) -> Answer:
        """Return the first candidate whose examples have the utterance's gold label."""
        self.asked += 1
        gold = self._gold[question.text]
        fits = [i for i, texts in enumerate(question.candidates) if self._gold[texts[0]] == gold]
        right = fits[0] if fits else None
        if self._rng.random() >= self._errors:
            return Answer(right)
        wrong = [choice for choice in (*range(len(question.candidates)), None) if choice != right]
        return Answer(wrong[int(self._rng.integers(len(wrong)))])


def measure(partition: str, encoder: Encoder, count: int, errors: float, seed: int, mixed: float) -> Row:
    """Fit with that many questions, and score; a share of the logs may be of known intents."""
    benchmark, _, split = partition.partition(":")
    task = load_partition(benchmark, split=int(split))
    if mixed:
        task = with_condition(task, Condition(mixed=mixed), seed=seed)
    oracle = Oracle(task, errors, seed)
    observed = task.observed_train
    method = Consensus(n_new=len(task.new), encoder=encoder, tune="heads", device="cpu", seed=seed)
    method.set_params(questions=count, logs="mixed" if mixed else "novel")
    method.fit(observed.texts, observed.labels, annotator=oracle if count else None)
    scores = score_predictor(method.model_.with_cache(encoder.cache), task)["scores"]["strict"]
    return {
        "data": partition,
        "seed": seed,
        "oracle": True,
        "errors": errors,
        **({"mixed": mixed} if mixed else {}),
        "questions": count,
        "asked": oracle.asked,
        **{name: scores[name] for name in FIELDS},
    }


def show(rows: list[Row]) -> None:
    """Print mean and standard deviation of the strict scores for each benchmark and number of answers."""
    for row in rows:
        row["benchmark"] = row["data"].partition(":")[0] + (", mixed" if row.get("mixed") else "")
        row["answers"], row["wrong"] = row["questions"], f"{row['errors']:.0%}"
    rows.sort(key=lambda row: (row["benchmark"], row["errors"], row["answers"]))
    print(as_markdown(*table_of_rows(rows, ("benchmark", "answers", "wrong"), COLUMNS)))


def main() -> None:
    """Run or show the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("partitions", nargs="*", help="BENCHMARK:SPLIT")
    parser.add_argument("--questions", default="0,50,100,200,300", help="numbers of questions")
    parser.add_argument("--errors", type=float, default=0.0, help="the share of wrong answers")
    parser.add_argument("--mixed", type=float, default=0.0, help="the share of the logs that is of known intents")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--show", type=Path)
    options = parser.parse_args()
    if options.show is not None:
        show(read_rows(options.show))
        return
    encoder = study_encoder()
    for partition in options.partitions:
        for seed in whole_numbers(options.seeds):
            for count in whole_numbers(options.questions):
                row = measure(partition, encoder, count, options.errors, seed, options.mixed)
                append_row(options.out, row)
                print(row, flush=True)


if __name__ == "__main__":
    main()
