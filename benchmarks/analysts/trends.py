"""How often `newfound trends` raises a false alarm, and how often it sees an intent that the model has never seen.

Each fit sees some labelled rows and logs of the intents that are not hidden; newer logs hold other rows of the same
intents, and in a part of the runs some rows of one hidden intent. Only training rows are used, in partitions with
seeds from 1000 up. Run it from the repository's root; fits are kept in the folder of `--work`.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from newfound.bench.studies import Row, append_row, study_encoder, whole_numbers
from newfound.data.benchmarks import out_of_scope, read_part

SIZES = (15, 30)  # utterances of a hidden intent in newer logs
NEWER_ROWS = 1_000
REPEATS = 5
SHUFFLES, WEEKS = 200, 12
HIDDEN = 10  # intents that are in no log
NEW_SHARE = 0.4  # of the other intents
LABELLED, LOGS, NEWER = 20, 30, 30  # rows of each intent
OUTSIDE = 60  # rows of no intent in the logs, and as many in newer logs, in partitions with an odd seed


@dataclass(frozen=True, slots=True)
class Partition:
    """The rows of one partition: text and true intent; None for a row of no intent."""

    known: list[tuple[str, str]]
    logs: list[tuple[str, str | None]]
    newer: list[tuple[str, str | None]]
    hidden: dict[str, list[str]]


def partition(dataset: str, seed: int) -> Partition:
    """Divide the training rows of a data set."""
    rng, part = np.random.default_rng(seed), read_part(dataset, "train")
    rows: dict[str, list[str]] = {}
    for text, label in dict(zip(part.texts, part.labels, strict=True)).items():
        rows.setdefault(str(label), []).append(text)
    names = [str(name) for name in rng.permutation(sorted(rows))]
    shown = names[HIDDEN:]
    new = set(shown[: round(NEW_SHARE * len(shown))])
    known, logs, newer = [], [], []
    for name in shown:
        own = [rows[name][i] for i in rng.permutation(len(rows[name]))]
        if name not in new:
            known += [(text, name) for text in own[:LABELLED]]
        logs += [(text, name) for text in own[LABELLED : LABELLED + LOGS]]
        newer += [(text, name) for text in own[LABELLED + LOGS : LABELLED + LOGS + NEWER]]
    outside: list[tuple[str, str | None]] = [(text, None) for text in out_of_scope()]
    chosen = [outside[i] for i in rng.permutation(len(outside))[: 2 * OUTSIDE]] if seed % 2 else []
    return Partition(
        known, [*logs, *chosen[:OUTSIDE]], [*newer, *chosen[OUTSIDE:]], {name: rows[name] for name in names[:HIDDEN]}
    )


def fitted(dataset: str, seed: int, work: Path) -> Path:
    """Return the folder of the model of a partition, which is fitted if it is not there yet."""
    from newfound.workflows import discover

    folder, rows = work / f"{dataset}-{seed}", partition(dataset, seed)
    if not folder.exists():
        known: tuple[list[str], list[str | int | None]] = [t for t, _ in rows.known], [y for _, y in rows.known]
        logs = [text for text, _ in rows.logs]
        discover(known, logs, folder, encoder=study_encoder(), effort="quick", seed=seed, device="cpu")
    return folder


def measure(dataset: str, seed: int, work: Path, rng: np.random.Generator) -> Row:
    """Return what `trends` says of newer logs without and with a hidden intent, and of shuffled times."""
    from newfound.algorithms.trends import weekly_trends
    from newfound.review.reviewed import load
    from newfound.workflows.trending import TrendsRequest, trends

    rows, model = partition(dataset, seed), load(fitted(dataset, seed, work), encoder=study_encoder())
    names = {name: i for i, name in enumerate(model.names)}
    intents = [names[u.intent] for u in model.assigned if u.intent is not None and not u.labelled]
    alarms = []
    for _ in range(SHUFFLES):
        counts = np.zeros((len(names), WEEKS), dtype=np.int64)
        np.add.at(counts, (np.array(intents), rng.integers(0, WEEKS, len(intents))), 1)
        alarms.append(any(trend != "steady" for trend in weekly_trends(counts)))
    none, shifted, found = [], [], {size: [] for size in SIZES}  # type: ignore[var-annotated]
    for repeat in range(REPEATS):
        newer = [rows.newer[i][0] for i in rng.permutation(len(rows.newer))[:NEWER_ROWS]]
        result = trends(TrendsRequest(model, newer))
        none.append(bool(result.emerging))
        shifted.append(bool(result.shifts))
        for hidden in list(rows.hidden.values())[repeat::REPEATS]:
            for size in SIZES:
                own = {hidden[i] for i in rng.permutation(len(hidden))[:size]}
                groups = trends(TrendsRequest(model, [*newer, *own])).emerging
                found[size].append(any(2 * len(own.intersection(g.exemplars)) > len(g.exemplars) for g in groups))
    return {
        "dataset": dataset,
        "seed": seed,
        "false alarms of weekly trends": float(np.mean(alarms)),
        "runs with a false shift": float(np.mean(shifted)),
        "runs with a false new intent": float(np.mean(none)),
        **{f"hidden intents found, {size} utterances": float(np.mean(found[size])) for size in SIZES},
    }


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seeds", default="1000,1001,1002,1003")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    options = parser.parse_args()
    for seed in whole_numbers(options.seeds):
        for dataset in ("banking77", "clinc150"):
            row = measure(dataset, seed, options.work, np.random.default_rng(seed))
            append_row(options.out, row)
            print(row, flush=True)


if __name__ == "__main__":
    main()
