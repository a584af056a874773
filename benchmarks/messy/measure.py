"""Logs that hold known intents (30 %) or utterances of no intent (10 %): newfound beside what one would do otherwise.

python benchmarks/messy/measure.py [--seeds 0,1,2]     appends to messy.jsonl beside this file, skips what is there
python benchmarks/messy/measure.py --table                prints the means

Frozen MiniLM for all. `kmeans` takes all logs for new. `threshold` is a logistic regression on the known intents that
calls new what it is less sure of than of all but 5 % of the known validation utterances, and k-means of that.
`bertopic` (skipped where it is not installed) is BERTopic with its defaults on the same vectors, given the known
labels; a topic counts as the known intent of most of its labelled utterances, if they are at least half of it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression

from newfound.clustering import kmeans
from newfound.data.benchmarks import load_benchmark, out_of_scope
from newfound.data.conditions import Condition, under
from newfound.data.task import DiscoveryTask
from newfound.encoders.cache import FeatureCache
from newfound.encoders.encoder import Encoder, default_cache_dir, load_encoder
from newfound.methods import method_named
from newfound.metrics import auroc, both_protocols
from newfound.training.run import Run

CONDITIONS = {
    "mixed 0 %": Condition(mixed=0.0),
    "mixed 30 %": Condition(mixed=0.3),
    "noise 0 %": Condition(noise=0.0),
    "noise 10 %": Condition(noise=0.1),
}
FILE = Path(__file__).parent / "messy.jsonl"
Answer = Callable[[list[str]], tuple[np.ndarray, np.ndarray]]  # texts -> ids, how unlike any intent
Fit = Callable[[DiscoveryTask, Encoder, int], Answer]


def by_method(name: str, **settings: Any) -> Fit:
    def fit(task: DiscoveryTask, encoder: Encoder, seed: int) -> Answer:
        method = method_named(name)(
            encoder=encoder, tune="heads", device="cpu", seed=seed, n_new=len(task.new), **settings
        )
        seen = task.observed_train
        method.fit(seen.texts, seen.labels, run=Run())

        def answer(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
            x = torch.from_numpy(vectors(encoder, texts))  # cached; the heads alone are trained
            return method.model_.probabilities_of(x).argmax(1).numpy(), method.model_.outliers_of(x)

        return answer

    return fit


def vectors(encoder: Encoder, texts: list[str]) -> np.ndarray:
    from newfound.encoders.encoder import whole_corpus
    from newfound.network import IntentNetwork, embed

    tune = encoder.tune("heads")
    features = encoder.features(texts, tune)
    network = IntentNetwork(encoder.tail(tune), encoder.width, 2).eval()
    x = embed(network, features, whole_corpus(features.data.lengths, encoder.device)).numpy()
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def threshold(task: DiscoveryTask, encoder: Encoder, seed: int) -> Answer:
    seen, dev = task.observed_train, task.observed_dev.labelled()
    place = {intent: i for i, intent in enumerate(task.known)}
    y = np.array([-1 if label is None else place[label] for label in seen.labels])
    x = vectors(encoder, list(seen.texts))
    known = LogisticRegression(C=20.0, max_iter=300).fit(x[y >= 0], y[y >= 0])
    least = np.quantile(known.predict_proba(vectors(encoder, list(dev.texts))).max(1), 0.05)
    sure = known.predict_proba(x).max(1) >= least
    label = np.where(y >= 0, y, np.where(sure, known.predict(x), -1))
    found = kmeans(torch.from_numpy(x[label < 0]).float(), len(task.new), seed=seed).labels.numpy()
    label[label < 0] = len(task.known) + found
    joint = LogisticRegression(C=20.0, max_iter=300).fit(x, label)

    def answer(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        p = joint.predict_proba(vectors(encoder, texts))
        return joint.classes_[p.argmax(1)], 1 - p.max(1)

    return answer


def bertopic(task: DiscoveryTask, encoder: Encoder, seed: int) -> Answer:
    from bertopic import BERTopic
    from umap import UMAP

    seen = task.observed_train
    place = {intent: i for i, intent in enumerate(task.known)}
    y = np.array([-1 if label is None else place[label] for label in seen.labels])
    x = vectors(encoder, list(seen.texts))
    reduce = UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=seed)
    model = BERTopic(umap_model=reduce)
    topics = np.array(model.fit_transform(list(seen.texts), x, y=y)[0])
    meaning: dict[int, int] = {-1: len(task.known)}  # what is no topic is at least not known
    for topic in sorted(set(topics.tolist()) - {-1}):
        own = y[topics == topic]
        labelled = own[own >= 0]
        most = np.bincount(labelled).argmax() if 2 * len(labelled) >= len(own) else None
        meaning[topic] = int(most) if most is not None else len(task.known) + 1 + topic

    def answer(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        topic, p = model.transform(texts, vectors(encoder, texts))
        return np.array([meaning[int(t)] for t in topic]), 1 - np.asarray(p)

    return answer


METHODS: dict[str, Fit] = {
    "consensus": by_method("consensus", logs="mixed"),
    "kmeans": by_method("kmeans"),
    "threshold": threshold,
    "bertopic": bertopic,
}


def scores(task: DiscoveryTask, answer: Answer) -> dict[str, float]:
    gold, n = task.gold_ids(task.test), len(task.known)
    predicted, odd = answer(list(task.test.texts))
    strict = both_protocols(gold, predicted, n)["strict"]
    found = {"ind_acc": strict.ind_acc, "ood_acc": strict.ood_acc, "ood_f1": strict.ood_f1}
    if task.unlabelled:
        logs = [i for i, label in enumerate(task.observed_train.labels) if label is None]
        is_known = np.isin(logs, list(task.unlabelled))
        said = answer([task.train.texts[i] for i in logs])[0] < n
        found["known_f1"] = 200.0 * int((is_known & said).sum()) / max(1, int(is_known.sum() + said.sum()))
    if task.out_of_scope:
        found["auroc"] = 100 * auroc(answer(list(task.out_of_scope))[1], odd)
    return {name: round(float(value), 2) for name, value in found.items()}


def finished() -> list[dict[str, Any]]:
    return [json.loads(line) for line in FILE.open()] if FILE.exists() else []


def table() -> None:
    rows = finished()
    names = ("ind_acc", "ood_acc", "ood_f1", "known_f1", "auroc")
    print("| benchmark | logs | method | IND ACC | OOD ACC | OOD F1 | known F1 | AUROC | runs |\n" + "| --- " * 9 + "|")
    for key in dict.fromkeys((r["benchmark"], r["logs"], r["method"]) for r in rows):
        own = [r for r in rows if (r["benchmark"], r["logs"], r["method"]) == key]
        cells = []
        for name in names:
            values = [r[name] for r in own if name in r]
            std = statistics.stdev(values) if len(values) > 1 else 0.0
            cells.append(f"{statistics.fmean(values):.1f} ± {std:.1f}" if values else "")
        print("| " + " | ".join((*key, *cells, str(len(own)))) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.table:
        table()
        return
    encoder = load_encoder("minilm", cache=FeatureCache(default_cache_dir()))
    done = {(r["benchmark"], r["logs"], r["method"], r["split"], r["seed"]) for r in finished()}
    for seed in map(int, options.seeds.split(",")):
        for benchmark in ("GID-SD", "GID-MD"):
            for split in (1, 2, 3):
                for logs, condition in CONDITIONS.items():
                    task = load_benchmark(benchmark, ratio=40, split=split)
                    made = under(task, condition, out_of_scope=out_of_scope(), seed=seed)
                    for name in options.methods.split(","):
                        if (benchmark, logs, name, split, seed) in done:
                            continue
                        started = time.perf_counter()
                        try:
                            result = scores(made, METHODS[name](made, encoder, seed))
                        except ImportError as error:
                            print(f"{name} skipped: {error}", flush=True)
                            continue
                        about = {"benchmark": benchmark, "logs": logs, "method": name, "split": split, "seed": seed}
                        row = {**about, **result, "seconds": round(time.perf_counter() - started, 1)}
                        with FILE.open("a") as file:
                            file.write(json.dumps(row) + "\n")
                        print(row, flush=True)


if __name__ == "__main__":
    main()
