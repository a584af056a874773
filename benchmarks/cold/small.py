"""Compare two ways to recognise known intents in mixed logs, by neighbours and around the labels, where logs are small.

python benchmarks/cold/small.py        prints F1 in percent, the mean of five drawings (class seeds 1000 to 1004)

Some intents of CLINC150 or BANKING77, of which some are known, with few labelled utterances each and 10 or 20
utterances of every intent in the logs. The true number of new intents is given.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.recognition import recognise_around_labels, recognise_known
from newfound.bench.scoring import binary_f1
from newfound.bench.studies import frozen_vectors, study_encoder
from newfound.data.benchmarks import read_part

SEEDS = range(1000, 1005)
INTENTS_AND_KNOWN = ((6, 3), (12, 6), (20, 15), (30, 10))
LABELS, IN_LOGS = (3, 5, 8, 12), (10, 20)
HEAD = "| data | intents | known | labels each | in the logs each | by neighbours | around the labels |"


def scores(
    x: Tensor, y: npt.NDArray[np.int64], intents: int, known: int, labels: int, in_logs: int, seed: int
) -> tuple[float, float]:
    """Return F1 of both ways on one drawing."""
    rng = np.random.default_rng(seed)
    labelled: list[int] = []
    logs: list[int] = []
    given: list[int] = []
    is_known: list[bool] = []
    for number, intent in enumerate(rng.permutation(np.unique(y))[:intents].tolist()):
        rows = rng.permutation(np.flatnonzero(y == intent)).tolist()
        count = labels if number < known else 0
        labelled, given = labelled + rows[:count], given + [number] * count
        logs, is_known = logs + rows[count : count + in_logs], is_known + [number < known] * in_logs
    points = x[labelled + logs]
    seen = torch.tensor(given + [-1] * len(logs))
    by_neighbours = recognise_known(points, seen, known).numpy()
    around = recognise_around_labels(points, seen, known, intents - known).numpy()
    return binary_f1(np.array(is_known), by_neighbours >= 0), binary_f1(np.array(is_known), around >= 0)


def main() -> None:
    """Print the table."""
    encoder = study_encoder()
    print(HEAD + "\n|" + "---|" * 7)
    for data in ("clinc150", "banking77"):
        part = read_part(data, "train")
        x = F.normalize(frozen_vectors(encoder, part.texts), dim=-1)
        y = np.unique(np.array(part.labels), return_inverse=True)[1]
        for (intents, known), labels, in_logs in product(INTENTS_AND_KNOWN, LABELS, IN_LOGS):
            found = [scores(x, y, intents, known, labels, in_logs, seed) for seed in SEEDS]
            neighbours, around = np.mean(found, axis=0)
            print(f"| {data} | {intents} | {known} | {labels} | {in_logs} | {neighbours:.0f} | {around:.0f} |")


if __name__ == "__main__":
    main()
