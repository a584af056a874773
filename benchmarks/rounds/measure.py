"""Run three rounds on CLINC150, `newfound discover` and two of `newfound update`, and measure what is forgotten.

python benchmarks/rounds/measure.py [--seeds 0,1,2]      writes rounds.json beside this file
python benchmarks/rounds/measure.py --table              prints the means

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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from newfound.algorithms.metrics import match_clusters
from newfound.bench.provenance import with_code_hash
from newfound.bench.studies import study_encoder, whole_numbers
from newfound.bench.tables import Line, as_markdown
from newfound.data.benchmarks import read_part
from newfound.data.corpus import Corpus
from newfound.encoders.encoder import Encoder
from newfound.files import to_json, write_atomically
from newfound.model.classifier import IntentModel
from newfound.review.reviewed import load
from newfound.workflows.discovery import DiscoverRequest, DiscoverResult, discover
from newfound.workflows.updating import UpdateRequest, UpdateResult, update

HERE = Path(__file__).parent
FILE_NAME = "rounds.json"
N_FIRST_INTENTS, N_INTENTS_PER_ROUND, N_ROUNDS = 60, 30, 3
RunAccuracy = list[list[float]]
"""Accuracy of every generation so far, after each round."""


@dataclass(frozen=True, slots=True)
class Generation:
    """Intents that became known together.

    Attributes:
        test: Their test utterances.
        model_names: What the model calls each of these intents; an intent that was not found is missing.
    """

    test: Corpus
    model_names: dict[str, str]


def logs_of(train: Corpus, fresh: set[str], earlier: set[str], rng: np.random.Generator) -> Corpus:
    """Return half of the fresh intents' utterances, and two fifths as many of earlier intents."""
    labels = np.array(train.labels, dtype=object)
    new = np.flatnonzero(np.isin(labels, sorted(fresh)))
    old = rng.permutation(np.flatnonzero(np.isin(labels, sorted(earlier))))
    chosen = np.concatenate([rng.permutation(new)[: len(new) // 2], old[: len(new) // 5]])
    return Corpus.of([train.texts[i] for i in rng.permutation(chosen)])


def settle(model: IntentModel, test: Corpus, candidates: list[str]) -> Generation:
    """Decide which of the model's new names stands for which of the generation's intents."""
    intent_ids = {intent: i for i, intent in enumerate(test.intents)}
    name_ids = {name: i for i, name in enumerate(candidates)}
    pairs = [
        (intent_ids[str(label)], name_ids[name])
        for label, name in zip(test.labels, model.predict(test.texts), strict=True)
        if name in name_ids
    ]
    true, predicted = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    names = {test.intents[t]: candidates[p] for p, t in match_clusters(true, predicted).items()}
    return Generation(test, names)


def accuracy(model: IntentModel, generation: Generation) -> float:
    """Return how many of the generation's test utterances get the right name, in percent."""
    predicted = model.predict(generation.test.texts)
    names = generation.model_names
    pairs = zip(generation.test.labels, predicted, strict=True)
    return round(100 * float(np.mean([names.get(str(label)) == name for label, name in pairs])), 2)


def three_rounds(encoder: Encoder, seed: int, folder: Path) -> RunAccuracy:
    """Run the rounds; models are written into the folder."""
    train, test = read_part("clinc150", "train"), read_part("clinc150", "test")
    rng = np.random.default_rng(seed)
    groups = _intent_groups(train, rng)
    parts = [_only(test, group) for group in groups]
    generations = [Generation(parts[0], {intent: intent for intent in groups[0]})]
    accuracies: RunAccuracy = []
    seen: set[str] = set()
    for number in range(1, N_ROUNDS + 1):
        seen |= groups[number - 1]
        logs = logs_of(train, groups[number], seen, rng)
        known = _only(train, groups[0])
        result = (
            _first_round(known, logs, encoder, seed, folder)
            if number == 1
            else _next_round(logs, encoder, seed, folder, number)
        )
        model = load(folder / str(number), encoder=encoder)
        new_names = [intent.name for intent in result.intents if not intent.known]
        generations.append(settle(model, parts[number], new_names))
        accuracies.append([accuracy(model, generation) for generation in generations])
        print(f"seed {seed}, round {number}: {accuracies[-1]}", flush=True)
    return accuracies


def _intent_groups(train: Corpus, rng: np.random.Generator) -> list[set[str]]:
    """The intents that are known at first, and those that each round brings."""
    order = [train.intents[i] for i in rng.permutation(len(train.intents))]
    starts = range(N_FIRST_INTENTS, N_FIRST_INTENTS + N_ROUNDS * N_INTENTS_PER_ROUND, N_INTENTS_PER_ROUND)
    return [set(order[:N_FIRST_INTENTS]), *(set(order[start : start + N_INTENTS_PER_ROUND]) for start in starts)]


def _only(corpus: Corpus, intents: set[str]) -> Corpus:
    return corpus.where(lambda label: label in intents)


def _first_round(known: Corpus, logs: Corpus, encoder: Encoder, seed: int, folder: Path) -> DiscoverResult:
    return discover(
        DiscoverRequest(
            known,
            logs,
            folder / "1",
            logs_hold="mixed",
            n_new=N_INTENTS_PER_ROUND,
            encoder=encoder,
            tune="heads",
            device="cpu",
            seed=seed,
            conflicts="first",  # CLINC150 has four texts with two labels
        )
    )


def _next_round(logs: Corpus, encoder: Encoder, seed: int, folder: Path, number: int) -> UpdateResult:
    return update(
        UpdateRequest(
            folder / str(number - 1),
            logs,
            folder / str(number),
            n_new=N_INTENTS_PER_ROUND,
            accept_all=True,
            encoder=encoder,
            tune="heads",
            device="cpu",
            seed=seed,
        )
    )


def falls(runs: list[RunAccuracy]) -> dict[str, float]:
    """Return by how much each generation falls from its first round to the last, mean over the runs."""
    return {
        f"generation {g}": round(statistics.fmean(run[max(0, g - 1)][g] - run[-1][g] for run in runs), 2)
        for g in range(N_ROUNDS)
    }


def print_table(content: dict[str, Any]) -> None:
    """Print the mean accuracy of each generation after each round."""
    runs: list[RunAccuracy] = list(content["accuracy"].values())
    lines: list[Line] = []
    for generation in range(N_ROUNDS + 1):
        means = [
            f"{statistics.fmean(run[number][generation] for run in runs):.1f}" if generation <= number + 1 else "–"
            for number in range(N_ROUNDS)
        ]
        fall = content["fall"].get(f"generation {generation}")
        lines.append((_generation_name(generation), *means, "–" if fall is None else f"{fall:.1f}"))
    print(as_markdown(("intents", *(f"after round {n}" for n in range(1, N_ROUNDS + 1)), "fallen"), lines))


def _generation_name(generation: int) -> str:
    return f"found in round {generation}" if generation else f"the first {N_FIRST_INTENTS}"


def main() -> None:
    """Run the study and print its table, or print the table alone."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=whole_numbers, default=[0, 1, 2])
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--out", type=Path, default=HERE, help="the folder of the result file")
    options = parser.parse_args()
    path = options.out / FILE_NAME
    if options.table:
        print_table(json.loads(path.read_bytes()))
        return
    encoder = study_encoder()
    runs: dict[str, RunAccuracy] = {}
    for seed in options.seeds:
        with tempfile.TemporaryDirectory() as folder:
            runs[str(seed)] = three_rounds(encoder, seed, Path(folder))
    content = {"accuracy": runs, "fall": falls(list(runs.values()))}
    write_atomically(path, to_json(with_code_hash(content)))
    print_table(content)


if __name__ == "__main__":
    main()
