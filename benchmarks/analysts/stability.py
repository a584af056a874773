"""Does it say more about an intent that it is found again in resamples than today's certainty does?

    export NEWFOUND_DATA=...
    python -m benchmarks.analysts.stability    # writes stability.json beside this file

The vectors of a fitted model are drawn with replacement and clustered again by k-means, from a random start
(`k_means`) or from means of a tenth of each intent (`from_intents`). An intent is found again where a cluster has a
Jaccard index of at least 0.5 with it. Each figure is Spearman's correlation over the new intents of one corpus with
their purity, the share of their utterances from the logs that have the most frequent label. Corpora with fewer than
five new intents do not count in the mean.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import numpy.typing as npt
from benchmarks.everyday.shapes import case_of, shapes
from scipy.stats import spearmanr
from sklearn.cluster import KMeans

from newfound.bench.provenance import with_code_hash
from newfound.bench.studies import Row, read_rows, study_encoder
from newfound.encoders.encoder import Encoder
from newfound.files import to_json, write_atomically
from newfound.methods.consensus import Consensus
from newfound.model.arrays import unit

Array = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]
RESULT = Path(__file__).with_name("stability.json")
CORPORA = ("dstc11-banking", "dstc11-insurance", "sofmattress", "xsid-en")
SEED, RESAMPLES, ITERATIONS = 1000, 20, 10
MIN_JACCARD, SHARE_OF_START = 0.5, 0.1
MIN_UTTERANCES = 3  # of an intent whose purity is measured
MIN_INTENTS = 5  # of a corpus that counts in the mean


def clusters(x: Array, labels: Ids, way: str, seed: int) -> Ids:
    """Cluster vectors again into as many clusters as they have intents."""
    present = np.unique(labels[labels >= 0])
    start: str | Array = "k-means++"
    if way == "from_intents":
        some = np.random.default_rng(seed).random(len(x)) < SHARE_OF_START
        own = [x[some & (labels == label)] for label in present]
        start = unit(np.stack([rows.mean(0) for rows in own if len(rows)]))
    k = len(present) if isinstance(start, str) else len(start)
    found: Ids = KMeans(k, init=start, n_init=1, max_iter=ITERATIONS, random_state=seed).fit_predict(x)
    return found


def found_again(x: Array, labels: Ids, n_intents: int, way: str) -> npt.NDArray[np.float64]:
    """Return the share of resamples in which each intent is found again."""
    hits, tries = np.zeros(n_intents), np.zeros(n_intents)
    for resample in range(RESAMPLES):
        rng = np.random.default_rng([SEED, resample])
        rows = np.unique(rng.integers(0, len(x), len(x)))
        label = labels[rows]
        cluster = clusters(x[rows], label, way, resample)
        both = np.zeros((n_intents, cluster.max() + 1))
        np.add.at(both, (label[label >= 0], cluster[label >= 0]), 1)
        sizes, others = both.sum(1), np.bincount(cluster)
        jaccard = (both / np.maximum(sizes[:, None] + others[None] - both, 1)).max(1)
        hits += (sizes > 0) & (jaccard >= MIN_JACCARD)
        tries += sizes > 0
    return hits / np.maximum(tries, 1)


def measure(corpus: str, encoder: Encoder) -> Row:
    """Return the correlation of certainty and of both kinds of stability with the purity of new intents."""
    case = case_of(next(shape for shape in shapes() if shape.name == corpus), "half", SEED)
    method = Consensus(encoder=encoder, n_new="auto", logs="mixed", seed=SEED, device="cpu", tune="heads")
    model = method.fit(list(case.texts), list(case.labels)).model_
    x = unit(model.utterance_vectors.numpy())
    position = {name: i for i, name in enumerate(model.names)}
    labels = np.array([-1 if u.intent is None else position[u.intent] for u in model.utterances])
    gold: list[Counter[str]] = [Counter() for _ in model.intents]
    for u, label in zip(model.utterances, case.gold, strict=True):
        if u.intent is not None and not u.labelled:
            gold[position[u.intent]][str(label)] += 1
    new = [c for c, i in enumerate(model.intents) if not i.known and gold[c].total() >= MIN_UTTERANCES]
    purity = [gold[c].most_common(1)[0][1] / gold[c].total() for c in new]
    ways = {way: found_again(x, labels, len(model.intents), way)[new] for way in ("k_means", "from_intents")}
    scores = {"certainty": np.array([model.intents[c].certainty for c in new], dtype=np.float64), **ways}
    found = {name: round(float(spearmanr(purity, score)[0]), 2) for name, score in scores.items()}
    return {"corpus": corpus, "new": len(new), **{name: None if np.isnan(v) else v for name, v in found.items()}}


def main() -> None:
    """Measure, print and write the result."""
    encoder, done = study_encoder(), {row["corpus"]: row for row in read_rows(RESULT)}
    rows = [done[corpus] if corpus in done else with_code_hash(measure(corpus, encoder)) for corpus in CORPORA]
    counted = [row for row in rows if row["new"] >= MIN_INTENTS]
    means = {n: round(float(np.mean([r[n] for r in counted])), 2) for n in ("certainty", "k_means", "from_intents")}
    for row in (*rows, means):
        print(row)
    write_atomically(RESULT, to_json([*rows, with_code_hash({"corpus": "mean", **means})]))


if __name__ == "__main__":
    main()
