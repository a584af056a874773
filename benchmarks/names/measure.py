"""How near the names of new intents are to the names that people gave them, by counts of words and with vectors.

    python -m benchmarks.names.measure fresh    # partitions on which rules may be chosen; prints the names
    python -m benchmarks.names.measure splits found   # the published splits; writes names.json beside this file
    python -m benchmarks.names.measure table    # the table of docs/notebook/names.md
    python -m benchmarks.names.measure corpora  # names of six everyday corpora; writes corpora.json
    python -m benchmarks.names.measure list     # the list of docs/notebook/names.md from corpora.json

The utterances of each new intent are those of the training data by their gold label, so that only the naming is
measured; with `found`, they are those of the clusters that a quick consensus finds, and the gold name is that of the
label which most utterances of a cluster have. Known intents are there as other intents to tell the names from.
"""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from benchmarks.harness.partitions import fresh_task, load_benchmark
from benchmarks.harness.provenance import with_code_hash

from newfound.data.task import DiscoveryTask
from newfound.encoders.cache import FeatureCache
from newfound.encoders.encoder import Encoder, load_encoder
from newfound.intents.naming import name_intents
from newfound.intents.phrases import Likeness
from newfound.paths import feature_cache_dir

RESULT, EVERYDAY = (Path(__file__).with_name(name) for name in ("names.json", "corpora.json"))
BENCHMARKS = ("GID-SD", "GID-CD", "GID-MD")
SPLITS = (1, 2, 3)
FRESH_SEEDS = (1000, 1001, 1002)
CORPORA = ("hint3-curekart", "hint3-sofmattress", "dstc11-insurance", "dstc11-banking", "snips", "xsid")
LANGUAGE, MIN_TEXTS, MAX_TEXTS = "de", 5, 300  # of xSID; of an intent
METRICS = ("similarity", "nearest", "words", "exact")
LETTERS_COMPARED = 5
WAYS = ("words", "vectors")
Groups = tuple[list[str], list[list[str]]]  # the gold name and the utterances of each intent


def gold_groups(task: DiscoveryTask, intents: Iterable[str]) -> Groups:
    """Return the training utterances of intents by their gold label."""
    texts: dict[str, list[str]] = {intent: [] for intent in sorted(intents)}
    for text, label in zip(task.train.texts, task.train.labels, strict=True):
        if label in texts:
            texts[label].append(text)
    return list(texts), list(texts.values())


def found_groups(task: DiscoveryTask, encoder: Encoder) -> Groups:
    """Return the clusters that a quick consensus finds, each with the label that most of its utterances have."""
    from newfound.methods.consensus import Consensus

    logs = task.observed_train.unlabelled()
    gold = dict(zip(task.train.texts, task.train.labels, strict=True))
    method = Consensus(
        n_new=len(task.new), encoder=encoder, logs="novel", seed=0, device="cpu", **Consensus.EFFORTS["quick"]
    )
    observed = task.observed_train
    model = method.fit(observed.texts, observed.labels).model_
    texts: dict[str, list[str]] = {name: [] for name in model.names}
    in_logs = set(logs.texts)
    for utterance in model.utterances:
        if utterance.text in in_logs and utterance.intent is not None:
            texts[utterance.intent].append(utterance.text)
    groups = [texts[intent.name] for intent in model.intents if not intent.known and texts[intent.name]]
    majority = [Counter(gold[text] or "" for text in own).most_common(1)[0][0] for own in groups]
    return majority, groups


def words_of_name(name: str) -> set[str]:
    """Return the words of a name, cut so that forms of one word count as the same."""
    return {word[:LETTERS_COMPARED].rstrip("s") for word in re.sub("[_“”…]", " ", name.lower()).split()}


def scores(names: Sequence[str], gold: Sequence[str], all_gold: Sequence[str], encoder: Encoder) -> dict[str, float]:
    """Compare names with the gold name of each, among those of all new intents; percentages."""
    similarity = encoded(names, encoder) @ encoded(all_gold, encoder).T
    right = np.array([list(all_gold).index(name) for name in gold])
    pairs = [(words_of_name(name), words_of_name(wanted)) for name, wanted in zip(names, gold, strict=True)]
    values = {
        "similarity": similarity[np.arange(len(gold)), right].mean(),
        "nearest": (similarity.argmax(1) == right).mean(),
        "words": np.mean([len(own & wanted) / len(wanted) for own, wanted in pairs]),
        "exact": np.mean([own == wanted for own, wanted in pairs]),
    }
    return {name: round(100 * float(value), 2) for name, value in values.items()}


def encoded(names: Sequence[str], encoder: Encoder) -> npt.NDArray[np.float32]:
    """Return unit vectors of names, read as words."""
    words = [name.replace("_", " ") for name in names]
    x: npt.NDArray[np.float32] = encoder.features(words, encoder.tune("heads")).data.flat.numpy()
    unit: npt.NDArray[np.float32] = x / np.linalg.norm(x, axis=1, keepdims=True)
    return unit


def everyday_groups(corpus: str) -> Groups:
    """Return the utterances of the intents of an everyday corpus, by their gold label."""
    texts: dict[str, list[str]] = {}
    with (Path(os.environ["NEWFOUND_DATA"]) / "more" / f"{corpus}.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["label"] and row.get("language", LANGUAGE) in (LANGUAGE, ""):
                texts.setdefault(row["label"], []).append(row["text"])
    texts = {label: own[:MAX_TEXTS] for label, own in texts.items() if len(own) >= MIN_TEXTS}
    return list(texts), list(texts.values())


def likeness_to(texts: Sequence[Sequence[str]], encoder: Encoder) -> Likeness:
    """Return how near phrases are to the utterances of each intent."""
    centres = np.stack([encoded(own, encoder).mean(0) for own in texts])
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    return lambda phrases: encoded(phrases, encoder) @ centres.T


def measure(task: DiscoveryTask, encoder: Encoder, *, found: bool) -> dict[str, object]:
    """Name the new intents of a task by counts alone and with vectors, and score the names."""
    gold, texts = found_groups(task, encoder) if found else gold_groups(task, task.new)
    known, others = gold_groups(task, task.known)
    likenesses = (None, likeness_to(texts, encoder))
    names = {
        w: name_intents(texts, taken=known, others=others, likeness=x) for w, x in zip(WAYS, likenesses, strict=True)
    }
    return {
        "task": task.name,
        "utterances": "found" if found else "gold",
        "scores": {way: scores(names[way], gold, sorted(task.new), encoder) for way in WAYS},
        "names": [{"gold": wanted, **{way: names[way][i] for way in WAYS}} for i, wanted in enumerate(gold)],
    }


def table(results: Sequence[dict[str, object]]) -> Iterator[str]:
    """Yield the lines of the table: means over the splits of each benchmark."""
    yield "| benchmark | utterances | names | similarity | nearest | words | exact |"
    yield "|---|---|---|---|---|---|---|"
    groups: dict[tuple[str, str], list[dict[str, dict[str, float]]]] = {}
    for result in results:
        scores_of_both = result["scores"]
        assert isinstance(scores_of_both, dict)
        groups.setdefault((str(result["task"]).split("/")[0], str(result["utterances"])), []).append(scores_of_both)
    for (benchmark, utterances), runs in groups.items():
        for way in WAYS:
            means = [float(np.mean([run[way][metric] for run in runs])) for metric in METRICS]
            yield f"| {benchmark} | {utterances} | {way} | " + " | ".join(f"{mean:.1f}" for mean in means) + " |"


def main(command: str, *options: str) -> None:
    """Run a command of the script."""
    if command == "table":
        print("\n".join(table(json.loads(RESULT.read_text()))))
        return
    if command == "list":
        for found in json.loads(EVERYDAY.read_text()):
            print(f"**{found['corpus']}**: " + "; ".join(f"{gold}: `{name}`" for gold, name in found["names"]) + "\n")
        return
    encoder = load_encoder("minilm", cache=FeatureCache(feature_cache_dir()))
    if command == "corpora":
        groups = {corpus: everyday_groups(corpus) for corpus in CORPORA}
        named = {c: name_intents(own, likeness=likeness_to(own, encoder)) for c, (_, own) in groups.items()}
        lists = [{"corpus": c, "names": list(zip(groups[c][0], names, strict=True))} for c, names in named.items()]
        EVERYDAY.write_text(json.dumps(list(map(with_code_hash, lists)), indent=1, ensure_ascii=False) + "\n")
        return
    found = [False, True] if "found" in options else [False]
    if command == "fresh":
        sets = [(name, seed) for name in ("banking77", "clinc150") for seed in FRESH_SEEDS]
        tasks = [fresh_task(name, ood_ratio=0.4, seed=seed) for name, seed in sets]
    else:
        tasks = [load_benchmark(name, ratio=40, split=split) for name in BENCHMARKS for split in SPLITS]
    results: list[dict[str, object]] = []
    for way in found:
        for task in tasks:
            results.append(with_code_hash(measure(task, encoder, found=way)))
            if command == "fresh":
                print(json.dumps(results[-1], indent=1))
        if command == "splits":
            RESULT.write_text(json.dumps(results, indent=1) + "\n")
    print("\n".join(table(results)))


if __name__ == "__main__":
    main(*sys.argv[1:])
