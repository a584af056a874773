"""How often `newfound trends` raises a false alarm, and how often it sees an intent that the model has never seen.

export NEWFOUND_DATA=...
python -m benchmarks.analysts.trends --work FOLDER
python -m benchmarks.analysts.trends --table benchmarks/analysts/trends.json

One log of 60 intents is divided by lot into earlier and newer logs, so that nothing has changed. `alarms` is the share
of such divisions in which the search finds a new intent although every newer utterance may belong to one: the command
looks at unusual ones alone, so that it finds no more. For some divisions a model is fitted to the earlier logs and some
labelled rows, and the command is run on the newer ones, without and with the rows of an intent that the model has never
seen. Only training rows are used. Fits are kept in the folder of `--work`; partitions with an odd seed have rows of no
intent, too.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from newfound.bench.studies import Row, append_row, frozen_vectors, group_rows, read_rows, study_encoder, whole_numbers
from newfound.data.benchmarks import out_of_scope, read_part

if TYPE_CHECKING:
    from newfound.review.reviewed import ReviewedModel

DATASETS = ("banking77", "clinc150")
SHARES = (0.5, 0.33, 0.2, 0.1)  # of the newer logs
SIZES = (15, 30, 60)  # utterances of a hidden intent in newer logs
DIVISIONS = 60
SHUFFLES, WEEKS = 200, 12
SHOWN, HIDDEN = 60, 5  # intents, the latter in no log
NEW_SHARE = 0.4  # of the intents that are shown
LABELLED, LOGS = 20, 45  # rows of each intent
OUTSIDE = 120  # rows of no intent in both logs together


@dataclass(frozen=True, slots=True)
class Partition:
    """The rows of one partition: labelled ones with their intent, one log, and the rows of hidden intents."""

    known: dict[str, str]
    log: list[str]
    hidden: list[list[str]]


def partition(dataset: str, seed: int) -> Partition:
    """Choose training rows of a data set."""
    rng, part = np.random.default_rng(seed), read_part(dataset, "train")
    rows: dict[str, list[str]] = {}
    for text, label in dict(zip(part.texts, part.labels, strict=True)).items():
        rows.setdefault(str(label), []).append(text)
    names = [str(name) for name in rng.permutation(sorted(rows))][: SHOWN + HIDDEN]
    shuffled = {name: [rows[name][i] for i in rng.permutation(len(rows[name]))] for name in names}
    known = {t: name for name in names[round(NEW_SHARE * SHOWN) : SHOWN] for t in shuffled[name][:LABELLED]}
    log = [text for name in names[:SHOWN] for text in shuffled[name][LABELLED : LABELLED + LOGS]]
    outside = out_of_scope()
    log += [outside[i] for i in rng.permutation(len(outside))[:OUTSIDE]] if seed % 2 else []
    return Partition(known, log, [shuffled[name] for name in names[SHOWN:]])


def false_alarms(dataset: str, share: float, seeds: Sequence[int]) -> Row:
    """Divide logs by lot, and search the newer part."""
    from newfound.algorithms.emergence import emerging_groups
    from newfound.model.arrays import unit

    encoder, alarms = study_encoder(), 0
    vectors = [unit(frozen_vectors(encoder, partition(dataset, seed).log).numpy()) for seed in seeds]
    for division in range(DIVISIONS):
        x = vectors[division % len(vectors)]
        is_newer = np.random.default_rng(division).permutation(len(x)) < share * len(x)
        alarms += bool(emerging_groups(x, is_newer, np.ones(len(x), dtype=np.bool_)))
    return {"dataset": dataset, "share": share, "divisions": DIVISIONS, "alarms": alarms}


def fitted(dataset: str, seed: int, earlier: list[str], folder: Path) -> ReviewedModel:
    """Return the model of a partition, which is fitted if it is not there yet."""
    from newfound.review.reviewed import ReviewedModel, load
    from newfound.workflows import discover

    encoder, known = study_encoder(), partition(dataset, seed).known
    if not folder.exists():
        discover((list(known), list(known.values())), earlier, folder, encoder=encoder, effort="quick", seed=seed)
    model = load(folder, encoder=encoder)
    return ReviewedModel(model.model.with_cache(encoder.cache), model.review)


def measure(dataset: str, seed: int, share: float, work: Path) -> Row:
    """Return what `trends` says of newer logs without and with a hidden intent, and of shuffled times."""
    from newfound.algorithms.trends import weekly_trends
    from newfound.workflows.trending import trends

    rows, rng = partition(dataset, seed), np.random.default_rng(seed)
    log = [rows.log[i] for i in rng.permutation(len(rows.log))]
    newer, earlier = log[: round(share * len(log))], log[round(share * len(log)) :]
    model = fitted(dataset, seed, earlier, work / f"{dataset}-{seed}-{share}")
    names = {name: i for i, name in enumerate(model.names)}
    intents = [names[u.intent] for u in model.assigned if u.intent is not None and not u.labelled]
    weekly = []
    for _ in range(SHUFFLES):
        counts = np.zeros((len(names), WEEKS), dtype=np.int64)
        np.add.at(counts, (np.array(intents), rng.integers(0, WEEKS, len(intents))), 1)
        weekly.append(any(trend != "steady" for trend in weekly_trends(counts)))
    same = trends(model, newer)
    found: dict[int, list[bool]] = {size: [] for size in SIZES}
    for hidden in rows.hidden:
        for size in SIZES:
            own = set(hidden[:size])
            groups = trends(model, [*newer, *own]).emerging
            found[size].append(any(2 * len(own.intersection(g.exemplars)) > len(g.exemplars) for g in groups))
    return {
        "dataset": dataset,
        "seed": seed,
        "share": share,
        "false alarms of weekly trends": float(np.mean(weekly)),
        "false shifts": len(same.shifts),
        "false new intents": len(same.emerging),
        **{f"hidden intents found, {size} utterances": float(np.mean(found[size])) for size in SIZES},
    }


def table(rows: list[Row]) -> str:
    """Return false alarms and power at each share as a Markdown table."""
    lines = ["| newer share | false alarms | " + " | ".join(f"found with {size}" for size in SIZES) + " |"]
    lines.append("|" + "---|" * (2 + len(SIZES)))
    for (share,), own in group_rows(rows, ["share"]).items():
        lots, fits = [r for r in own if "alarms" in r], [r for r in own if "alarms" not in r]
        cells = [f"{sum(r['alarms'] for r in lots)} of {sum(r['divisions'] for r in lots)}"]
        for size in SIZES:
            cells.append(f"{100 * np.mean([r[f'hidden intents found, {size} utterances'] for r in fits]):.0f} %")
        lines.append(f"| {100 * share:.0f} % | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run the cases that are missing, or print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("trends-work"))
    parser.add_argument("--seeds", type=whole_numbers, default=[1000, 1001])
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    parser.add_argument("--table", type=Path)
    options = parser.parse_args()
    if options.table:
        print(table(read_rows(options.table)))
        sys.exit()
    done = {(row["dataset"], row["share"], row.get("seed")) for row in read_rows(options.out)}
    for dataset, share in product(DATASETS, SHARES):
        if (dataset, share, None) not in done:
            append_row(options.out, false_alarms(dataset, share, options.seeds))
    for seed, dataset, share in product(options.seeds, DATASETS, SHARES):
        if (dataset, share, seed) not in done:
            append_row(options.out, measure(dataset, seed, share, options.work))


if __name__ == "__main__":
    main()
