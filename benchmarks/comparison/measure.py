"""Cluster the test rows of BANKING77 and CLINC150 without labels: k-means, BERTopic, EVoC and newfound on one encoder.

export NEWFOUND_DATA=...
python -m benchmarks.comparison.measure                    (needs the extra `benchmarks`)
python -m benchmarks.comparison.measure --table scores     or cost, published, semi-supervised

The rows are clustered and scored themselves (transductive), as in the papers whose figures are in `published.json`. All
methods get the same unit vectors of all-MiniLM-L6-v2. Where the number of clusters is not given, BERTopic's is that of
HDBSCAN, EVoC's that of its layer, and newfound's its estimate, which k-means is given too. Every row gets a cluster.

Each method runs on each corpus in a process of its own with one thread. That process encodes the rows, fits the method
once on a part of them (this compiles what is compiled at first use, and is not timed), and then once for each seed.
Rows of the result file have the processor time of a fit and of the encoding, and the peak memory of the process. Rows
in the file are skipped.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.harness.baselines import Vectors, bertopic_clusters, to_nearest_topic
from benchmarks.harness.cells import Cell, read_results
from benchmarks.harness.datasets import read_part
from benchmarks.harness.experiments import Column
from benchmarks.harness.partitions import WHOLE_DATASETS
from benchmarks.harness.scoring import clustering_scores, round_values
from benchmarks.harness.studies import Row, append_row, frozen_vectors, group_rows, read_rows, whole_numbers
from benchmarks.harness.tables import as_markdown, table_of_rows

from newfound.algorithms.metrics import Ids, accuracy, map_clusters
from newfound.data.corpus import Corpus
from newfound.encoders.cache import FeatureCache
from newfound.encoders.encoder import Encoder, load_encoder
from newfound.methods.consensus import Consensus
from newfound.methods.estimation import estimate_for

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results"
KEY = ("corpus", "method", "number", "seed")
CORPORA = ("banking77", "clinc150")
NUMBERS = ("given", "estimated")
WARM_UP_ROWS = 400
SCORES = tuple(Column(name.upper(), (name,)) for name in ("nmi", "ari", "acc"))
KNOWN_SHARES = (25, 50, 75)
SPLITS = (1, 2, 3)
OWN_CELLS = (  # label, method, encoder, how much of it trains
    ("BERTopic", "bertopic", "minilm", "heads"),
    ("newfound, `quick`", "consensus", "minilm", "heads"),
    ("newfound, `best` (GPU)", "consensus", "minilm", "layers"),
    ("newfound, `best` (GPU)", "consensus", "mpnet", "layers"),
)
ENCODERS = {"minilm": "all-MiniLM-L6-v2", "mpnet": "all-mpnet-base-v2"}
WHERE_RESULTS_ARE = "[results](few-labels.md#a-tenth-of-the-labels-new-intent-discovery)"
# Threads that wait for one another on a busy machine would be counted as processor time.
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
MEGABYTE = 1024  # of the kilobytes that Linux counts the resident memory in

Method = Callable[[Sequence[str], Vectors, int | None, int, Encoder], Ids]
"""Texts, their unit vectors, number of clusters (None: estimated), seed, encoder -> clusters of the texts."""


def kmeans(texts: Sequence[str], x: Vectors, k: int | None, seed: int, encoder: Encoder) -> Ids:
    """Return the clusters of scikit-learn's k-means."""
    from sklearn.cluster import KMeans

    k = k or estimate_for(Corpus.of(texts), encoder, logs_hold="novel", seed=seed).n_new
    labels: Ids = KMeans(k, n_init=10, random_state=seed).fit_predict(x).astype(np.int64)
    return labels


def topics(texts: Sequence[str], x: Vectors, k: int | None, seed: int, encoder: Encoder) -> Ids:
    """Return BERTopic's topics; those that HDBSCAN leaves out are given to the topic with the nearest mean vector."""
    return bertopic_clusters(texts, x, k, seed)


def evoc(texts: Sequence[str], x: Vectors, k: int | None, seed: int, encoder: Encoder) -> Ids:
    """Return EVoC's clusters with its defaults; rows that it leaves out go to the cluster with the nearest mean."""
    from evoc import EVoC

    clusters = EVoC(approx_n_clusters=k, random_state=seed).fit_predict(x)
    return to_nearest_topic(clusters, x, clusters, x)


def consensus(texts: Sequence[str], x: Vectors, k: int | None, seed: int, encoder: Encoder) -> Ids:
    """Return the intents that `newfound discover --effort quick` finds; the encoder's cache has the vectors."""
    settings = Consensus.EFFORTS["quick"]
    method = Consensus(encoder=encoder, n_new=k or "auto", logs="novel", device="cpu", seed=seed, **settings)
    found: Ids = np.unique(method.fit_predict(texts), return_inverse=True)[1]
    return found


METHODS: dict[str, Method] = {"k-means": kmeans, "BERTopic": topics, "EVoC": evoc, "newfound": consensus}
ORDER = {"corpus": CORPORA, "number": NUMBERS, "method": (*METHODS,)}
VERSIONS = ("bertopic", "evoc", "scikit-learn", "torch", "umap-learn")


def measure(corpus: str, method: str, number: str, seeds: list[int], out: Path) -> None:
    """Fit a method with each seed, and append a row for each to the file."""
    rows = read_part(corpus, "test")
    gold = np.unique(np.array(rows.labels, dtype=str), return_inverse=True)[1]
    k = len(rows.intents) if number == "given" else None
    with tempfile.TemporaryDirectory() as folder:
        encoder = load_encoder("minilm", cache=FeatureCache(Path(folder)))
        frozen_vectors(encoder, read_part(corpus, "dev").texts)  # not timed: threads start, graphs are loaded
        started = time.process_time()
        x = frozen_vectors(encoder, rows.texts).numpy()
        encoding = time.process_time() - started
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        cluster = METHODS[method]
        part = np.random.default_rng(0).permutation(len(x))[:WARM_UP_ROWS]
        cluster([rows.texts[i] for i in part], x[part], 20 if k else None, 0, encoder)
        for seed in seeds:
            started, began = time.process_time(), time.perf_counter()
            clusters = cluster(rows.texts, x, k, seed, encoder)
            spent = {"fit_cpu": time.process_time() - started, "fit_wall": time.perf_counter() - began}
            scores = clustering_scores(gold, clusters) | {"acc": accuracy(gold, map_clusters(gold, clusters))}
            row: Row = dict(zip(KEY, (corpus, method, number, seed), strict=True))
            row |= round_values(scores) | {"clusters": int(clusters.max()) + 1}
            row |= {name: round(value, 2) for name, value in (spent | {"encoding_cpu": encoding}).items()}
            row["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // MEGABYTE
            row["versions"] = {name: version(name) for name in VERSIONS}
            append_row(out, row)
            print(row, flush=True)


def measure_missing(seeds: list[int], out: Path) -> None:
    """Measure what the file does not have, each method on each corpus in a process of its own."""
    done = {tuple(row[name] for name in KEY) for row in read_rows(out)}
    for corpus, number, method in product(CORPORA, NUMBERS, METHODS):
        missing = [str(seed) for seed in seeds if (corpus, method, number, seed) not in done]
        if missing:
            one = ["--one", corpus, method, number, "--seeds", ",".join(missing), "--out", str(out)]
            command = [sys.executable, "-m", "benchmarks.comparison.measure", *one]
            subprocess.run(command, check=True, env=os.environ | ONE_THREAD)


def read_in_order(path: Path) -> list[Row]:
    """Return the rows of the result file in the order of the tables, whenever each was measured."""
    return sorted(read_rows(path), key=lambda row: [values.index(row[name]) for name, values in ORDER.items()])


def table_of_scores(rows: list[Row]) -> str:
    """Return mean ± standard deviation of the scores and of the number of clusters."""
    columns = (*SCORES, Column("clusters", ("clusters",), digits=0))
    return as_markdown(*table_of_rows(rows, ("corpus", "number", "method"), columns))


def table_of_cost(rows: list[Row]) -> str:
    """Return processor time as a multiple of the encoding's, and peak memory as a multiple of that with k-means."""
    lines = []
    groups = group_rows(rows, ("corpus", "number", "method"))
    for (corpus, number, method), group in groups.items():
        peak, of_kmeans = (max(row["peak_mb"] for row in own) for own in (group, groups[corpus, number, "k-means"]))
        times = [row["fit_cpu"] / row["encoding_cpu"] for row in group]
        lines.append((corpus, number, method, f"{statistics.median(times):.2f}", f"{peak / of_kmeans:.2f}"))
    header = ("corpus", "number", "method", "time of a fit / of encoding", "peak memory / with k-means")
    return as_markdown(header, lines)


def table_of_published() -> str:
    """Return figures of clustering without labels as they were published, with encoder, language model and source."""
    published, lines = _published(), []
    for row in published["unsupervised"]:
        corpus = f"{row['corpus']}, {row['rows']:,} rows"
        scores = (row[name] or "–" for name in ("nmi", "ari", "acc"))
        source = _link(published["sources"][row["source"]])
        lines.append((corpus, row["method"], row["encoder"], row["language_model"], *scores, source))
    return as_markdown(("corpus", "method", "encoder", "language model", "NMI", "ARI", "ACC", "source"), lines)


def table_of_semi_supervised() -> str:
    """Return ACC by the share of known intents, a tenth of them labelled: published, and from the results of cells."""
    published, lines = _published(), []
    for row in published["semi-supervised"]:
        scores = (score for benchmark in WHOLE_DATASETS for score in row[benchmark])
        lines.append((row["method"], row["encoder"], *scores, _link(published["sources"][row["source"]])))
    for label, method, encoder, tune in OWN_CELLS:
        shares_of_datasets = product(WHOLE_DATASETS, KNOWN_SHARES)
        means = [_cell_accuracy(method, encoder, tune, name, share) for name, share in shares_of_datasets]
        lines.append((label, ENCODERS[encoder], *means, WHERE_RESULTS_ARE))
    shares = (f"{name}, {share} % known" for name, share in product(WHOLE_DATASETS, KNOWN_SHARES))
    return as_markdown(("method", "encoder", *shares, "source"), lines)


def _cell_accuracy(method: str, encoder: str, tune: str, benchmark: str, known: int) -> str:
    cells = [Cell(method, benchmark, 100 - known, split, 0, encoder, tune, "labels-10") for split in SPLITS]
    results = read_results(cells, RESULTS)
    return f"{statistics.fmean(results[cell]['all_intents']['acc'] for cell in cells):.1f}"


def _published() -> dict[str, Any]:
    published: dict[str, Any] = json.loads((HERE / "published.json").read_text("utf-8"))
    return published


def _link(source: dict[str, str]) -> str:
    return f"[{source['name']}]({source['url']}), {source['table']}"


def main() -> None:
    """Measure what is missing, or print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=HERE / "clustering.jsonl")
    parser.add_argument("--seeds", type=whole_numbers, default=[0, 1, 2])
    parser.add_argument("--one", nargs=3, metavar=("CORPUS", "METHOD", "NUMBER"), help="measure one, in this process")
    parser.add_argument("--table", choices=("scores", "cost", "published", "semi-supervised"))
    options = parser.parse_args()
    tables: dict[str, Callable[[], str]] = {
        "scores": lambda: table_of_scores(read_in_order(options.out)),
        "cost": lambda: table_of_cost(read_in_order(options.out)),
        "published": table_of_published,
        "semi-supervised": table_of_semi_supervised,
    }
    if options.table:
        print(tables[options.table]())
    elif options.one:
        corpus, method, number = options.one
        measure(corpus, method, number, options.seeds, options.out)
    else:
        measure_missing(options.seeds, options.out)


if __name__ == "__main__":
    main()
