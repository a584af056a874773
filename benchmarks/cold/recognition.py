"""Compare two ways to recognise known intents in mixed logs, by neighbours and around the labels, for few labels.

python benchmarks/cold/recognition.py            appends to recognition.json beside this file, skips what is there
python benchmarks/cold/recognition.py --table    prints F1 in percent

Class partitions are fresh ones (seed 1000): some intents of BANKING77 or CLINC150, of which some are known, with few
labelled utterances each. All other utterances are the logs. The true number of new intents is given.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F

from newfound.algorithms.recognition import recognise_around_labels, recognise_known
from newfound.bench.scoring import binary_f1
from newfound.bench.studies import Row, append_row, frozen_vectors, read_rows, study_encoder
from newfound.data.benchmarks import read_part

HERE = Path(__file__).parent
FILE = HERE / "recognition.json"
SEED = 1000
KEY = ("data", "intents", "known", "labels")
CASES = {
    "banking77": (
        (40, 5, (3, 10, 60)),
        (40, 10, (3, 10, 60)),
        (40, 30, (3, 10, 60)),
        (77, 19, (3, 10)),
        (77, 58, (3, 10)),
    ),
    "clinc150": (
        (40, 5, (3, 10, 60)),
        (40, 10, (3, 10, 60)),
        (40, 30, (3, 10, 60)),
        (150, 38, (3, 10)),
        (150, 112, (3, 10)),
    ),
}
Ids = npt.NDArray[np.int64]


def drawn_rows(y: Ids, intents: int, known: int, labels: int) -> tuple[list[int], list[int]]:
    """Return the labelled rows and the logs."""
    rng = np.random.default_rng(SEED)
    labelled: list[int] = []
    logs: list[int] = []
    for number, intent in enumerate(rng.permutation(np.unique(y))[:intents].tolist()):
        rows = rng.permutation(np.flatnonzero(y == intent)).tolist()
        kept = labels if number < known else 0
        labelled, logs = labelled + rows[:kept], logs + rows[kept:]
    return labelled, logs


def rows() -> Iterator[Row]:
    """Yield the row of every case that the file does not have yet."""
    finished = {tuple(row[name] for name in KEY) for row in read_rows(FILE)}
    encoder = study_encoder()
    for data, cases in CASES.items():
        corpus = read_part(data, "train")
        x = F.normalize(frozen_vectors(encoder, corpus.texts), dim=-1)
        y = np.unique(np.array([str(label) for label in corpus.labels]), return_inverse=True)[1]
        for intents, known, numbers in cases:
            for labels in numbers:
                if (data, intents, known, labels) in finished:
                    continue
                labelled, logs = drawn_rows(y, intents, known, labels)
                ids = np.unique(y[labelled], return_inverse=True)[1]
                given = torch.from_numpy(np.concatenate([ids, np.full(len(logs), -1)]))
                vectors, is_known = x[[*labelled, *logs]], np.isin(y[logs], y[labelled])
                by_neighbours = recognise_known(vectors, given, known).numpy()
                around = recognise_around_labels(vectors, given, known, intents - known).numpy()
                yield {
                    **dict(zip(KEY, (data, intents, known, labels), strict=True)),
                    "by neighbours": round(binary_f1(is_known, by_neighbours >= 0), 1),
                    "around the labels": round(binary_f1(is_known, around >= 0), 1),
                }


def main() -> None:
    """Run the study, or print its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true", help="print the table")
    if parser.parse_args().table:
        for row in read_rows(FILE):
            print("| " + " | ".join(str(value) for value in row.values()) + " |")
        return
    for row in rows():
        append_row(FILE, row)
        print(row, flush=True)


if __name__ == "__main__":
    main()
