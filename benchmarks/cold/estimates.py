"""Compare estimates of the number of intents in logs without any label with the truth.

python benchmarks/cold/estimates.py chosen    class subsets on which the strategy was chosen (seeds 1000, 1001)
python benchmarks/cold/estimates.py fresh     class subsets that no setting was chosen on (seeds 2000, 2001)
python benchmarks/cold/estimates.py table     the errors by strategy, from the files

The first two write one JSON file beside this one and skip what is in it. Logs are the training utterances of some
intents of BANKING77 or CLINC150, all of them or in a long tail (largest over smallest intent: 12). `separation` is the
strategy of `newfound.algorithms.estimation`. `silhouette` is the cut of the same Ward tree with the highest silhouette,
`unanimity` the number at which k-means from two starts agrees most (adjusted Rand index), `hdbscan` the number of
clusters that HDBSCAN finds with at least ten utterances each.
"""

from __future__ import annotations

import argparse
import math
import statistics
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from sklearn.cluster import HDBSCAN
from sklearn.metrics import adjusted_rand_score

from newfound.algorithms.clustering import kmeans
from newfound.algorithms.estimation import WardTree, separation_curve
from newfound.bench.studies import Row, append_row, frozen_vectors, read_rows, study_encoder
from newfound.data.benchmarks import read_part

HERE = Path(__file__).parent
SEEDS = {"chosen": (1000, 1001), "fresh": (2000, 2001)}
SIZES = {"banking77": (8, 20, 40, 77), "clinc150": (8, 20, 40, 150)}
TAILS = (1, 12)
ROWS, CUTS = 2_000, 20
STRATEGIES = ("separation", "silhouette", "unanimity", "hdbscan")
Vectors = npt.NDArray[np.float32]


def subset(labels: list[str], intents: int, tail: float, seed: int) -> list[int]:
    """Return the rows of some intents; of each, a share that falls geometrically from 1 to 1 / tail."""
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(sorted(set(labels)))[:intents].tolist()
    of_intent = np.array(labels)
    rows: list[int] = []
    for intent, share in zip(chosen, np.geomspace(1, 1 / tail, intents), strict=True):
        every = rng.permutation(np.flatnonzero(of_intent == intent))
        rows += every[: max(1, round(share * len(every)))].tolist()
    return rows


def estimates(x: Vectors, seed: int) -> dict[str, int]:
    """Return the number of intents in vectors [n, d] by every strategy."""
    clusters, separation = separation_curve(x, seed)
    drawn = x[np.random.default_rng(seed).permutation(len(x))[:ROWS]]
    unit = F.normalize(torch.from_numpy(drawn), dim=-1)
    counts = np.unique(np.geomspace(2, len(drawn) // 4, CUTS).round().astype(int)).tolist()
    tree = WardTree(drawn)
    alike = [
        adjusted_rand_score(*(kmeans(unit, k, restarts=1, seed=start).labels for start in (seed, seed + 1)))
        for k in counts
    ]
    distance = (1 - unit @ unit.T).clamp(min=0).double().numpy()
    found = HDBSCAN(min_cluster_size=10, metric="precomputed", copy=True).fit(distance).labels_
    return {
        "separation": round(clusters[int(np.argmax(separation))]),
        "silhouette": counts[int(np.argmax([tree.silhouette(k) for k in counts]))],
        "unanimity": counts[int(np.argmax(alike))],
        "hdbscan": max(1, int(found.max()) + 1),
    }


def measure(study: str) -> None:
    """Estimate on every subset that the study's file does not have yet."""
    path = HERE / f"estimates-{study}.json"
    key = ("data", "intents", "tail", "seed")
    finished = {tuple(row[name] for name in key) for row in read_rows(path)}
    encoder = study_encoder()
    for data, sizes in SIZES.items():
        corpus = read_part(data, "train")
        x = frozen_vectors(encoder, corpus.texts).numpy()
        labels = [str(label) for label in corpus.labels]
        for intents in sizes:
            for tail in TAILS:
                for seed in SEEDS[study]:
                    if (data, intents, tail, seed) in finished:
                        continue
                    rows = subset(labels, intents, tail, seed)
                    row: Row = {"data": data, "intents": intents, "tail": tail, "seed": seed, "rows": len(rows)}
                    row |= estimates(x[rows], seed)
                    append_row(path, row)
                    print(row, flush=True)


def print_table() -> None:
    """Print, by study and strategy, the root mean square of log(estimate / truth) as a factor, and the worst one."""
    for study in SEEDS:
        rows = read_rows(HERE / f"estimates-{study}.json")
        for name in STRATEGIES if rows else ():
            off = [math.log(row[name] / row["intents"]) for row in rows]
            typical = math.exp(math.sqrt(statistics.fmean(value**2 for value in off)))
            worst, middle = math.exp(max(map(abs, off))), math.exp(statistics.median(off))
            within = 100 * statistics.fmean(abs(value) < math.log(1.5) for value in off)
            print(f"| {study} | {name} | {typical:.2f} | {middle:.2f} | {worst:.1f} | {within:.0f} % | {len(rows)} |")


def main() -> None:
    """Run one of the studies, or print the table of both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=[*SEEDS, "table"])
    options = parser.parse_args()
    if options.study == "table":
        print_table()
    else:
        measure(options.study)


if __name__ == "__main__":
    main()
