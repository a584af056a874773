"""Three rounds of `newfound update` on CLINC150: is what was learned earlier forgotten?

python benchmarks/rounds/measure.py [--seeds 0,1,2]      writes rounds.json beside this file

60 intents are known at first. Each round brings logs with 30 unseen intents and utterances of all earlier ones; what
is found is accepted whole and is known from then on. After every round each generation of intents (the first 60, those
of round 1, 2 and 3) is scored on its test utterances. What a discovered intent means is settled once, when it is
discovered (Hungarian matching on its generation's test utterances), so that a later round can lose it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from newfound.data.benchmarks import read_part
from newfound.data.corpus import Corpus
from newfound.encoders.cache import FeatureCache
from newfound.encoders.encoder import Encoder, default_cache_dir, load_encoder
from newfound.methods.consensus import Consensus
from newfound.metrics import match_clusters
from newfound.review.reviewed import ReviewedModel, open_model
from newfound.review.rounds import next_round
from newfound.training.run import Run

FIRST, EACH, ROUNDS = 60, 30, 3
Generation = tuple[Corpus, dict[str, str]]  # test utterances, and the model's name of each of their intents


def logs_of(train: Corpus, fresh: set[str], earlier: set[str], rng: np.random.Generator) -> Corpus:
    """Half of the fresh intents' utterances, and a tenth as many of earlier ones."""
    labels = np.array(train.labels, dtype=object)
    new = np.flatnonzero(np.isin(labels, sorted(fresh)))
    old = rng.permutation(np.flatnonzero(np.isin(labels, sorted(earlier))))
    chosen = np.concatenate([rng.permutation(new)[: len(new) // 2], old[: len(new) // 5]])
    return Corpus.of([train.texts[i] for i in rng.permutation(chosen)])


def settle(model: ReviewedModel, test: Corpus, candidates: list[str]) -> Generation:
    """Which of the model's new names stands for which of the generation's intents."""
    gold = {intent: i for i, intent in enumerate(test.intents)}
    place = {name: i for i, name in enumerate(candidates)}
    pairs = [
        (gold[str(label)], place[name])
        for label, name in zip(test.labels, model.predict(test.texts), strict=True)
        if name in place
    ]
    true, predicted = (np.array(side) for side in zip(*pairs, strict=True))
    meaning = match_clusters(true, predicted)
    return test, {test.intents[t]: candidates[p] for p, t in meaning.items()}


def accuracy(model: ReviewedModel, generation: Generation) -> float:
    test, names = generation
    found = model.predict(test.texts)
    hits = [names.get(str(label)) == name for label, name in zip(test.labels, found, strict=True)]
    return round(100 * float(np.mean(hits)), 2)


def three_rounds(encoder: Encoder, seed: int, folder: Path) -> list[list[float]]:
    """Accuracy of every generation so far, after the beginning and after each round."""
    train, test = read_part("clinc150", "train"), read_part("clinc150", "test")
    rng = np.random.default_rng(seed)
    order = [train.intents[i] for i in rng.permutation(len(train.intents))]
    groups = [set(order[:FIRST])] + [set(order[FIRST + EACH * r : FIRST + EACH * (r + 1)]) for r in range(ROUNDS)]
    known = train.where(lambda label: label in groups[0])
    settings: dict[str, Any] = {"tune": "heads", "device": "cpu", "seed": seed, "n_new": EACH}
    part = [test.where(lambda label, own=group: label in own) for group in groups]
    generations: list[Generation] = [(part[0], {intent: intent for intent in groups[0]})]
    scores: list[list[float]] = []
    seen: set[str] = set()
    for number in range(1, ROUNDS + 1):
        seen |= groups[number - 1]
        logs = logs_of(train, groups[number], seen, rng)
        if number == 1:
            corpus = known + logs
            fitted = Consensus(encoder=encoder, logs="mixed", **settings).fit(corpus.texts, corpus.labels, run=Run())
        else:
            fitted = next_round(
                open_model(folder / str(number - 1), encoder=encoder), logs, accept_all=True, **settings
            )
        fitted.save(folder / str(number))
        model = open_model(folder / str(number), encoder=encoder)
        fresh = [intent.name for intent in fitted.intents if not intent.known]
        generations.append(settle(model, part[number], fresh))
        scores.append([accuracy(model, generation) for generation in generations])
        print(f"seed {seed}, round {number}: {scores[-1]}", flush=True)
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0,1,2")
    options = parser.parse_args()
    encoder = load_encoder("minilm", cache=FeatureCache(default_cache_dir()))
    found = {}
    for seed in map(int, options.seeds.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            found[seed] = three_rounds(encoder, seed, Path(folder))
    runs = list(found.values())
    falls = {
        f"generation {g}": round(statistics.fmean(run[max(0, g - 1)][g] - run[-1][g] for run in runs), 2)
        for g in range(ROUNDS)
    }
    print("fallen from its first round to the last:", falls)
    content = {"accuracy": found, "fall": falls}
    (Path(__file__).parent / "rounds.json").write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main()
