"""What each part of the trained recipe adds, on fresh partitions: accuracy of the labels of the logs.

python benchmarks/recipe/ablation.py run --vectors FOLDER --out FILE    k-means and votes, frozen and tuned
python benchmarks/recipe/ablation.py table FILE benchmarks/recipe/trained-minilm.jsonl

The tuned vectors are those that `trained.py --vectors` wrote (seed 0); rounds and the choice of a seed come from its
rows, on the same partitions. No test row is read.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.clustering import kmeans
from newfound.algorithms.ensembles import consensus_clustering, diffuse, label_freely, select_labellings
from newfound.algorithms.metrics import accuracy, map_clusters
from newfound.bench.cells import load_partition
from newfound.bench.studies import Row, append_row, frozen_vectors, read_rows, study_encoder
from newfound.bench.tables import as_markdown
from newfound.training.seeding import derive

KINDS = {"banking77/fresh": "BANKING77", "clinc150/fresh": "CLINC150", "clinc150/domains": "domains"}
BENCHMARK = {
    "banking77/fresh": "FRESH-BANKING77",
    "clinc150/fresh": "FRESH-CLINC150",
    "clinc150/domains": "FRESH-DOMAINS",
}
CRITERION = "silhouette"  # the best of the criteria after two epochs, chosen with the gold labels in sight


def labels_by(x: Tensor, k: int) -> dict[str, Tensor]:
    """Return the labels of the logs by one k-means and by the votes."""
    views = (x, diffuse(x, neighbours=10))
    votes = [
        label_freely(view, k, seed=derive(0, "vote", 0, i, run)) for i, view in enumerate(views) for run in range(6)
    ]
    return {
        "k-means": kmeans(x, k, restarts=10, seed=derive(0, "k-means")).labels,
        "votes": consensus_clustering(select_labellings(votes), k, seed=derive(0, "agree", 0)),
    }


def run(options: argparse.Namespace) -> None:
    """Label the logs of every stored partition, with frozen and with tuned vectors."""
    encoder = study_encoder()
    for path in sorted(options.vectors.glob("*.npz")):
        kind, name = _kind_and_name(path)
        task = load_partition(BENCHMARK[kind], split=int(name.rpartition("/")[2]))
        stored = np.load(path)
        gold: npt.NDArray[np.int64] = stored["gold"]
        logs = torch.from_numpy(stored["y"] < 0)
        truth = gold[logs.numpy()]
        k = len(np.unique(truth))
        for vectors, x in (
            ("frozen", frozen_vectors(encoder, task.train.texts)),
            ("tuned", torch.from_numpy(stored["x"])),
        ):
            for labels, found in labels_by(F.normalize(x.float(), dim=-1)[logs], k).items():
                right = round(accuracy(truth, map_clusters(truth, found.numpy())), 2)
                append_row(options.out, {"task": name, "vectors": vectors, "labels": labels, "logs": right})
                print(name, vectors, labels, right, flush=True)


def _kind_and_name(path: Path) -> tuple[str, str]:
    kind = next(kind for kind in KINDS if path.stem.startswith(kind.replace("/", "-")))
    return kind, f"{kind}/{path.stem.removeprefix(kind.replace('/', '-') + '-').replace('-', '/')}"


def table(options: argparse.Namespace) -> None:
    """Print the mean over partitions of each kind, part by part."""
    own, trained = read_rows(options.file), read_rows(options.trained)
    tasks = {row["task"] for row in own}
    trained = [row for row in trained if row["task"] in tasks]

    def is_part(vectors: str, labels: str) -> Callable[[Row], bool]:
        return lambda row: row.get("vectors") == vectors and row["labels"] == labels

    parts: list[tuple[str, list[Row]]] = [
        ("frozen vectors, one k-means", list(filter(is_part("frozen", "k-means"), own))),
        ("+ cluster ensemble (`quick`)", list(filter(is_part("frozen", "votes"), own))),
        ("fine-tuned, one k-means", list(filter(is_part("tuned", "k-means"), own))),
        ("fine-tuned, cluster ensemble (`standard`)", [r for r in trained if r["state"] == "2 epochs"]),
        ("+ rounds (`best`)", [r for r in trained if r["state"] == "round 3"]),
        ("`standard`, the seed chosen by silhouette", _chosen(trained)),
    ]
    lines = [(name, *(_mean(rows, kind) for kind in KINDS)) for name, rows in parts]
    print(as_markdown(("labels", *KINDS.values()), lines))


def _chosen(rows: list[Row]) -> list[Row]:
    """Return the row of the seed that the criterion picks, for each partition."""
    after = [row for row in rows if row["state"] == "2 epochs"]
    return [
        max((r for r in after if r["task"] == task), key=lambda r: r[CRITERION]) for task in {r["task"] for r in after}
    ]


def _mean(rows: list[Row], kind: str) -> str:
    values = [row["logs"] for row in rows if row["task"].startswith(kind)]
    return f"{np.mean(values):.1f} ({len(values)})" if values else "–"


def main() -> None:
    """Run or show the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run")
    running.add_argument("--vectors", type=Path, required=True)
    running.add_argument("--out", type=Path, required=True)
    running.set_defaults(run=run)
    showing = commands.add_parser("table")
    showing.add_argument("file", type=Path)
    showing.add_argument("trained", type=Path)
    showing.set_defaults(run=table)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
