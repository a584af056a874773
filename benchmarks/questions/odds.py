"""How probable is it that two parts of a cluster are two intents, or two clusters one, given how votes divide them?

python benchmarks/questions/odds.py FRESH-BANKING77:1000 FRESH-BANKING77:1001 FRESH-BANKING77:1002 FRESH-CLINC150:1000

Prints the logistic regressions that `newfound.questions.evidence` has as constants. Only fresh partitions are read.
"""

from __future__ import annotations

import argparse

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.clustering import kmeans
from newfound.algorithms.ensembles import consensus_clustering, diffuse, label_freely, select_labellings
from newfound.algorithms.metrics import auroc
from newfound.bench.cells import load_partition
from newfound.bench.studies import frozen_vectors, study_encoder
from newfound.questions.evidence import co_association
from newfound.training.seeding import derive

DEPTH = 3  # how often clusters are cut in two
MIN_ROWS = 6
PAIRS_PER_CLUSTER = 2
Examples = list[tuple[float, bool]]  # co-association, and whether it is so


def medoid(x: Tensor, rows: Tensor) -> int:
    """Return the most central row."""
    return int(rows[(x[rows] @ x[rows].mean(0)).argmax()])


def examples(x: Tensor, gold: Tensor, k: int) -> tuple[Examples, Examples]:
    """Cut the clusters of a consensus again and again, and pair them; return both kinds of examples."""
    second = diffuse(x, neighbours=10)
    votes = torch.stack(
        select_labellings(
            [
                label_freely(v, k, seed=derive(0, "vote", 0, i, run))
                for i, v in enumerate((x, second))
                for run in range(6)
            ]
        )
    )

    def counts(rows: Tensor) -> Tensor:
        return F.one_hot(votes[:, rows], k).sum(1).float()

    labels = consensus_clustering(list(votes), k, seed=derive(0, "agree", 0))
    pieces = [rows for c in range(k) if len(rows := (labels == c).nonzero().squeeze(1))]
    centres = [medoid(second, rows) for rows in pieces]
    means = F.normalize(torch.stack([second[rows].mean(0) for rows in pieces]), dim=-1)
    near = (means @ means.T).fill_diagonal_(-1).topk(PAIRS_PER_CLUSTER).indices
    pairs = [
        (float(co_association(counts(pieces[a]), counts(pieces[b]))), bool(gold[centres[a]] == gold[centres[b]]))
        for a in range(len(pieces))
        for b in near[a].tolist()
    ]
    cuts: Examples = []
    for _ in range(DEPTH):
        parts = []
        for rows in pieces:
            if len(rows) < MIN_ROWS:
                continue
            centre, half = medoid(second, rows), kmeans(second[rows], 2, restarts=3, seed=0).labels
            one, other = rows[half == 0], rows[half == 1]
            if bool((other == centre).any()):
                one, other = other, one
            together = float(co_association(counts(one), counts(other)))
            cuts.append((together, bool(gold[centre] != gold[medoid(second, other)])))
            parts += [one, other]
        pieces = parts
    return cuts, pairs


def fit(found: Examples) -> str:
    """Return a regression in words."""
    from sklearn.linear_model import LogisticRegression

    x: npt.NDArray[np.float64] = np.array([[together] for together, _ in found])
    y = np.array([is_so for _, is_so in found])
    model = LogisticRegression(C=100, max_iter=2_000).fit(x, y)
    score = model.decision_function(x)
    odds = f"{model.intercept_[0]:.2f} {model.coef_[0, 0]:+.2f} x co-association"
    return f"log odds {odds}, AUROC {auroc(score[y], score[~y]):.2f}, {len(y)} examples, {y.mean():.1%} are so"


def main() -> None:
    """Collect examples on all partitions, and fit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("partitions", nargs="+")
    encoder = study_encoder()
    cuts: Examples = []
    pairs: Examples = []
    for partition in parser.parse_args().partitions:
        benchmark, _, split = partition.partition(":")
        task = load_partition(benchmark, split=int(split))
        ids = torch.from_numpy(task.gold_ids(task.train))
        logs = ids >= len(task.known)
        x = F.normalize(frozen_vectors(encoder, task.train.texts).float(), dim=-1)[logs]
        more_cuts, more_pairs = examples(x, ids[logs], len(task.new))
        cuts, pairs = cuts + more_cuts, pairs + more_pairs
    print("two parts are two intents:", fit(cuts))
    print("two clusters are one intent:", fit(pairs))


if __name__ == "__main__":
    main()
