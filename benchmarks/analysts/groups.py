"""Groups of intents against the ten domains of CLINC150, beside Ward's method on the plain means and on the prototypes.

    export NEWFOUND_DATA=...
    python -m benchmarks.analysts.groups    # writes groups.json beside this file

Ten groups are matched to the ten domains one to one, and the share of intents in the right one counts. `gold` has the
intents of the training rows, once with all rows and as a mean of 20 samples (110 intents, 60 % of the rows); `fitted` a
model whose intents are counted in the domain that most of their utterances have.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import numpy.typing as npt
from benchmarks.everyday.shapes import case_of, shapes
from scipy.cluster.hierarchy import cut_tree, linkage

from newfound.algorithms.groups import group_levels
from newfound.algorithms.metrics import map_clusters
from newfound.bench.provenance import with_code_hash
from newfound.bench.studies import Row, frozen_vectors, study_encoder
from newfound.data.benchmarks import facts, read_part
from newfound.encoders.encoder import Encoder
from newfound.files import to_json, write_atomically
from newfound.methods.consensus import Consensus
from newfound.model.arrays import unit
from newfound.workflows.grouping import group

Array = npt.NDArray[np.float32]
RESULT = Path(__file__).with_name("groups.json")
DOMAINS = {intent: name for name, intents in facts("splits")["clinc150_domains"].items() for intent in intents}
NUMBER = {name: i for i, name in enumerate(sorted(set(DOMAINS.values())))}
SAMPLES, SEED = 20, 1000


def accuracy(domains: npt.NDArray[np.int64], groups: npt.NDArray[np.int64]) -> float:
    """Return the share of intents in the right domain, in percent, after the groups were matched to the domains."""
    return round(100 * float((map_clusters(domains, groups) == domains).mean()), 1)


def ward(vectors: Array) -> npt.NDArray[np.int64]:
    """Return ten groups by Ward's method on vectors as they are."""
    groups: npt.NDArray[np.int64] = cut_tree(linkage(unit(vectors), "ward"), n_clusters=[10])[:, 0]
    return groups


def means_of(x: Array, labels: npt.NDArray[np.int64]) -> Array:
    """Return the mean vector of each label."""
    return np.stack([x[labels == label].mean(0) for label in np.unique(labels)])


def on_gold(encoder: Encoder) -> list[Row]:
    """Measure on the intents of the training rows."""
    part = read_part("clinc150", "train")
    x = unit(frozen_vectors(encoder, part.texts).float().cpu().numpy())
    names, labels = np.unique(np.array([str(label) for label in part.labels]), return_inverse=True)
    domains = np.array([NUMBER[DOMAINS[name]] for name in names])
    means = means_of(x, labels)
    scores = {"ours": [accuracy(domains, group_levels(means, [10])[0])], "ward": [accuracy(domains, ward(means))]}
    sampled: dict[str, list[float]] = {"ours": [], "ward": []}
    for seed in range(SAMPLES):
        rng = np.random.default_rng(SEED + seed)
        chosen = np.sort(rng.permutation(len(names))[:110])
        rows = np.isin(labels, chosen) & (rng.random(len(labels)) < 0.6)
        means = means_of(x[rows], labels[rows])
        sampled["ours"].append(accuracy(domains[chosen], group_levels(means, [10])[0]))
        sampled["ward"].append(accuracy(domains[chosen], ward(means)))
    rows_of = [("gold", scores), ("gold, samples", sampled)]
    return [{"intents": name, **{way: round(float(np.mean(v)), 1) for way, v in s.items()}} for name, s in rows_of]


def on_a_fit(encoder: Encoder) -> Row:
    """Measure on a model that is fitted with half of the intents known, by `newfound group`."""
    shape = next(shape for shape in shapes() if shape.name == "clinc 150")
    case = case_of(shape, "half", SEED)
    method = Consensus(encoder=encoder, n_new=len(case.new), logs="mixed", seed=SEED, device="cpu", tune="heads")
    model = method.fit(list(case.texts), list(case.labels)).model_
    gold: list[Counter[int]] = [Counter() for _ in model.intents]
    for u, label in zip(model.utterances, case.gold, strict=True):
        if u.intent is not None and label is not None:
            gold[u.intent][NUMBER[DOMAINS[label]]] += 1
    domains = np.array([counts.most_common(1)[0][0] for counts in gold])
    paths = {id: path[0] for id, path in group(model, [10]).groups.items()}
    ours = np.unique([paths[intent.id] for intent in model.intents], return_inverse=True)[1]
    labels = np.array([-1 if u.intent is None else u.intent for u in model.utterances])
    means = means_of(unit(model.utterance_vectors.numpy())[labels >= 0], labels[labels >= 0])
    prototypes = accuracy(domains, group_levels(model.columns.prototypes, [10])[0])
    return {
        "intents": "fitted, half known",
        "ours": accuracy(domains, ours),
        "ward": accuracy(domains, ward(means)),
        "prototypes": prototypes,
    }


def main() -> None:
    """Measure, print and write the result."""
    encoder = study_encoder()
    rows = [with_code_hash(row) for row in (*on_gold(encoder), on_a_fit(encoder))]
    for row in rows:
        print(row)
    write_atomically(RESULT, to_json(rows))


if __name__ == "__main__":
    main()
