"""Mixed logs of many sizes: how many new intents are estimated where 0 to 60 are there, and how many rows are mistaken.

python benchmarks/subsets/measure.py [--seeds 2000,2001,2002] [--out FOLDER]   adds to subsets.jsonl
python benchmarks/subsets/measure.py --table                                    prints the rows by shape

Known intents, new intents and their utterances are drawn from the training rows of BANKING77 and CLINC150, encoded by
frozen MiniLM. The logs hold utterances of known intents as well. Settings were chosen on the seeds 1000 to 1002.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.estimation import estimate_n_new
from newfound.algorithms.recognition import recognise_known
from newfound.bench.studies import append_row, frozen_vectors, group_rows, read_rows, study_encoder, whole_numbers
from newfound.data.benchmarks import read_part
from newfound.encoders.encoder import Encoder
from newfound.training.seeding import derive

FILE = "subsets.jsonl"
RUNS = 4


@dataclass(frozen=True, slots=True)
class Shape:
    """What is drawn: so many intents, so many utterances of each, and the share of the logs that is known."""

    data: str
    known: int
    new: int
    utterances: int
    known_share: float


SHAPES = (
    *(Shape("clinc150", known, 0, size, 1.0) for known, size in ((15, 30), (40, 50), (100, 40))),
    *(Shape("banking77", known, 0, size, 1.0) for known, size in ((30, 60), (60, 40))),
    *(Shape("clinc150", *rest) for rest in ((10, 8, 30, 0.3), (20, 8, 50, 0.4), (60, 26, 50, 0.6), (60, 60, 60, 0.3))),
    Shape("clinc150", 100, 8, 40, 0.7),
    *(Shape("banking77", *rest) for rest in ((30, 8, 60, 0.4), (40, 26, 60, 0.5), (46, 31, 60, 0.3))),
)
Ids = npt.NDArray[np.int64]


def draw(x: Tensor, labels: npt.NDArray[np.str_], shape: Shape, seed: int) -> tuple[Tensor, Tensor, Ids]:
    """Vectors, labels (-1 in the logs) and gold labels of one drawing."""
    rng = np.random.default_rng(seed)
    intents = rng.permutation(np.unique(labels))[: shape.known + shape.new]
    labelled, in_logs, new = [], [], []
    for number, intent in enumerate(intents):
        rows = rng.permutation(np.flatnonzero(labels == intent))
        if number >= shape.known:
            new += [(row, number) for row in rows[: shape.utterances]]
            continue
        rows = rows[: 2 * shape.utterances]
        labelled += [(row, number) for row in rows[: len(rows) // 2]]
        in_logs += [(row, number) for row in rows[len(rows) // 2 :]]
    if shape.new:
        wanted = int(len(new) * shape.known_share / (1 - shape.known_share))
        in_logs = [in_logs[i] for i in rng.permutation(len(in_logs))[:wanted]]
    drawn = labelled + in_logs + new
    gold = np.array([number for _, number in drawn])
    y = torch.from_numpy(np.where(np.arange(len(drawn)) < len(labelled), gold, -1))
    return x[[row for row, _ in drawn]], y, gold


def measure(x: Tensor, y: Tensor, gold: Ids, shape: Shape) -> dict[str, Any]:
    """The estimate, and the shares of known and new rows of the logs that are taken for known."""
    logs = (y < 0).numpy()
    found = estimate_n_new(x, y, partial(derive, 0, "number"))
    ids = recognise_known(x, y, shape.known, max(1, found.n_new), RUNS, partial(derive, 0, "known"))
    taken, is_known = ids.numpy()[logs] >= 0, gold[logs] < shape.known
    return {
        "n_new": found.n_new,
        "low": found.low,
        "high": found.high,
        "known recognised": round(100 * float(taken[is_known].mean()), 1),
        "new mistaken": round(100 * float(taken[~is_known].mean()), 1) if shape.new else None,
    }


def rows_to_measure(seeds: list[int], done: set[tuple[Any, ...]]) -> Iterator[tuple[Shape, int]]:
    for shape in SHAPES:
        for seed in seeds:
            if (*asdict(shape).values(), seed) not in done:
                yield shape, seed


def run(folder: Path, seeds: list[int]) -> None:
    path = folder / FILE
    done = {(*(row[key] for key in asdict(SHAPES[0])), row["seed"]) for row in read_rows(path)}
    encoder: Encoder = study_encoder()
    vectors: dict[str, tuple[Tensor, npt.NDArray[np.str_]]] = {}
    for shape, seed in rows_to_measure(seeds, done):
        if shape.data not in vectors:
            corpus = read_part(shape.data, "train")
            unit = F.normalize(frozen_vectors(encoder, corpus.texts), dim=-1)
            vectors[shape.data] = unit, np.array(corpus.labels, dtype=np.str_)
        row = {**asdict(shape), "seed": seed, **measure(*draw(*vectors[shape.data], shape, seed), shape)}
        append_row(path, row)
        print(row, flush=True)


def table(folder: Path) -> None:
    print("| data | known | new | utterances each | known in the logs | estimates | known recognised | new mistaken |")
    print("|---|---|---|---|---|---|---|---|")
    rows = read_rows(folder / FILE)
    for key, own in group_rows(rows, ("data", "known", "new", "utterances", "known_share")).items():
        data, known, new, size, share = key
        estimates = ", ".join(str(row["n_new"]) for row in own)
        recognised = np.mean([row["known recognised"] for row in own])
        lost = "–" if not new else f"{np.mean([row['new mistaken'] for row in own]):.1f} %"
        print(f"| {data} | {known} | {new} | {size} | {share:.0%} | {estimates} | {recognised:.1f} % | {lost} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="2000,2001,2002")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.table:
        table(options.out)
    else:
        run(options.out, whole_numbers(options.seeds))


if __name__ == "__main__":
    main()
