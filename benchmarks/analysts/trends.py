"""How often `newfound trends` raises a false alarm, and how often it sees an intent that the model has never seen.

Each fit sees some labelled rows and logs of the intents that are not hidden; newer logs hold other rows of the same
intents, and in a part of the runs some rows of one hidden intent. Only training rows are used, in partitions with
seeds from 1000 up. Run it from the repository's root; fits are kept in the folder of `--work`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from newfound.bench.studies import study_encoder
from newfound.data.benchmarks import out_of_scope, read_part

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
        known = [text for text, _ in rows.known], [label for _, label in rows.known]
        discover(
            known, [text for text, _ in rows.logs], folder, encoder=study_encoder(), effort="quick", seed=seed,
            device="cpu",
        )  # fmt: skip
    return folder
