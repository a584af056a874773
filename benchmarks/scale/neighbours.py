"""Compare exact search for the ten nearest neighbours with indexes of faiss and usearch: seconds, and true ones found.

python benchmarks/scale/neighbours.py 25000 50000 100000      writes neighbours.json beside this file

Vectors are MiniLM's of CLINC150's utterances in many wordings (measure.py); all searches run on one thread. usearch is
not an extra of newfound: `pip install usearch` to compare with it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from measure import log_rows  # type: ignore[import-not-found]
from torch import Tensor

from newfound.algorithms import neighbours
from newfound.bench.cells import load_partition
from newfound.bench.provenance import hardware, with_code_hash
from newfound.bench.studies import Row, frozen_vectors, study_encoder
from newfound.files import to_json, write_atomically

HERE = Path(__file__).parent
K = 10


def exact(x: Tensor) -> Tensor:
    """Search exactly."""
    everything = torch.arange(len(x))
    return neighbours._search_exactly(x, K, everything, everything)[1]


def with_faiss(x: Tensor) -> Tensor:
    """Search with the index that newfound uses."""
    return neighbours._search_index(x, K, torch.arange(len(x)))[1]


def with_usearch(x: Tensor) -> Tensor:
    """Search with usearch's graph index, at its default settings."""
    from usearch.index import Index

    index = Index(ndim=x.shape[1], metric="ip", dtype="f32")
    keys = np.arange(len(x))
    index.add(keys, x.numpy(), threads=1)
    found = torch.from_numpy(index.search(x.numpy(), K + 1, threads=1).keys.astype(np.int64))
    other = found != torch.arange(len(x))[:, None]
    return found.gather(1, other.int().argsort(dim=1, descending=True, stable=True)[:, :K])


SEARCHES: dict[str, Callable[[Tensor], Tensor]] = {"exact": exact, "faiss": with_faiss, "usearch": with_usearch}


def measure(x: Tensor) -> Row:
    """Run all searches on vectors [n, d]."""
    row: Row = {"vectors": len(x)}
    truth = None
    for name, search in SEARCHES.items():
        started = time.perf_counter()
        found = search(x)
        row[f"{name}_seconds"] = round(time.perf_counter() - started, 2)
        truth = found if truth is None else truth
        row[f"{name}_recall"] = round(float((found[:, :, None] == truth[:, None, :]).any(2).float().mean()), 4)
    return row


def main() -> None:
    """Measure all sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="+", type=int)
    options = parser.parse_args()
    torch.set_num_threads(1)
    import faiss

    faiss.omp_set_num_threads(1)
    task = load_partition("FRESH-CLINC150", ratio=40, split=1000)
    texts = [text for (text,) in log_rows(task, max(options.sizes))]
    x = F.normalize(frozen_vectors(study_encoder(), texts).float(), dim=-1)
    rows = []
    for size in sorted(options.sizes):
        rows.append(with_code_hash(measure(x[:size].contiguous())))
        print(rows[-1], flush=True)
    write_atomically(HERE / "neighbours.json", to_json({"hardware": hardware("cpu"), "runs": rows}))


if __name__ == "__main__":
    main()
