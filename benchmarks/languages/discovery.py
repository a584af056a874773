"""Measure discovery on voice commands in nine languages (xSID), with a multilingual encoder.

export NEWFOUND_DATA=...
python benchmarks/languages/discovery.py --encoder FOLDER --out benchmarks/languages/discovery.jsonl
python benchmarks/languages/discovery.py --table benchmarks/languages/discovery.jsonl

A case is a setting, a variant and a seed, which chooses the known intents. Half of the rows of a known intent are
labelled if they are in a labelled language, and all other rows are logs. Scores are strict, on the logs. xSID has the
same sentences in every language: every second sentence is for tuning (--part tuning, seeds from 1000 on), the others
are for the figures in the documentation.

    settings   english labels   nine languages, known intents are labelled in English
               english labels, n   the same, and the number of new intents is given
               all labels       nine languages, known intents are labelled in all of them
               no labels        nine languages, no intent is known
               no labels, n     the same, and the number of intents is given
               no labels, 1     the same without a number, but each sentence in one language only, as in real logs
               two languages    English and German, known intents are labelled in English
               one language     English alone
    variants   before           no prompt, languages stay in the vectors
               prompt           the prompt of the encoder
               after            the prompt, and languages are taken out of the vectors
"""

from __future__ import annotations

import argparse
import csv
import json
import os
from collections import Counter, defaultdict
from itertools import product
from pathlib import Path
from typing import Literal
from unittest.mock import patch

import numpy as np

from newfound.algorithms.metrics import accuracy, map_clusters, strict_scores
from newfound.bench.provenance import with_code_hash
from newfound.encoders.cache import FeatureCache
from newfound.encoders.encoder import Encoder, load_encoder
from newfound.methods.consensus import Consensus
from newfound.paths import feature_cache_dir

SETTINGS = {  # with what the table calls them
    "english labels": "nine languages, labels in English",
    "english labels, n": "nine languages, labels in English, number given",
    "all labels": "nine languages, labels in all of them",
    "two languages": "English and German, labels in English",
    "no labels": "nine languages, no labels",
    "no labels, n": "nine languages, no labels, number given",
    "no labels, 1": "nine languages, no labels, each sentence in one of them",
    "one language": "English alone",
}
VARIANTS = {
    "before": "left in, without prompt",
    "prompt": "left in, with prompt",
    "after": "taken out, with prompt",
}
LANGUAGES = {"two languages": ("en", "de"), "one language": ("en",)}
SHARE_KNOWN = 0.6  # of the intents
KEY = ("part", "setting", "variant", "seed")


def main() -> None:
    """Measure the cases that are not in the file yet, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", default="multilingual")
    parser.add_argument("--out", type=Path, help="the file to append one JSON line per case to")
    parser.add_argument("--table", type=Path, help="print the results in this file")
    parser.add_argument("--part", choices=("tuning", "test"), default="test")
    parser.add_argument("--settings", default=";".join(SETTINGS))
    parser.add_argument("--variants", default=",".join(VARIANTS))
    parser.add_argument("--seeds", default="0,1,2")
    options = parser.parse_args()
    if options.table is not None:
        print_table([json.loads(line) for line in options.table.read_text().splitlines()])
        return
    lines = options.out.read_text().splitlines() if options.out and options.out.exists() else []
    measured = {tuple(json.loads(line)[key] for key in KEY) for line in lines}
    cache = FeatureCache(feature_cache_dir())
    plain, prompted = (load_encoder(options.encoder, cache=cache, prompt=prompt) for prompt in ("", None))
    seeds = [int(seed) for seed in options.seeds.split(",")]
    for seed, setting, variant in product(seeds, options.settings.split(";"), options.variants.split(",")):
        if (options.part, setting, variant, seed) in measured:
            continue
        scores = measure(plain if variant == "before" else prompted, options.part, setting, variant, seed)
        row = {"part": options.part, "setting": setting, "variant": variant, "seed": seed, **scores}
        line = json.dumps(with_code_hash(row))
        print(line, flush=True)
        if options.out:
            with options.out.open("a") as file:
                file.write(f"{line}\n")


def measure(encoder: Encoder, part: str, setting: str, variant: str, seed: int) -> dict[str, float]:
    """Return the scores of one case."""
    rng = np.random.default_rng(seed)
    rows = read_rows(part, LANGUAGES.get(setting), rng if setting.endswith(", 1") else None)
    intents = sorted({row["label"] for row in rows})
    known = (
        [] if setting.startswith("no labels") else sorted(rng.choice(intents, round(SHARE_KNOWN * len(intents)), False))
    )
    labelled_languages = {row["language"] for row in rows} if setting == "all labels" else {"en"}
    drawn = rng.random(len(rows)) < 0.5
    labels = [
        row["label"] if is_drawn and row["label"] in known and row["language"] in labelled_languages else None
        for row, is_drawn in zip(rows, drawn, strict=True)
    ]
    known = sorted({label for label in labels if label is not None})
    texts = [row["text"] for row in rows]
    n_new: int | Literal["auto"] = len(intents) - len(known) if setting.endswith(", n") else "auto"
    method = Consensus(encoder=encoder, tune="heads", n_new=n_new, seed=seed)
    if variant == "after":
        method.fit(texts, labels)
    else:
        with (
            patch("newfound.methods.base.likely_languages", return_value=None),
            patch("newfound.methods.estimation.likely_languages", return_value=None),
        ):
            method.fit(texts, labels)
    logs = [i for i, label in enumerate(labels) if label is None]
    number = {name: i for i, name in enumerate([*known, *(name for name in intents if name not in known)])}
    gold = np.array([number[rows[i]["label"]] for i in logs])
    utterances = method.model_.utterances
    found = np.array([utterances[i].intent for i in logs])
    counts = {"intents": len(number) - len(known), "found": len(method.model_.intents) - len(known)}
    if not known:
        return counts | {"all_acc": accuracy(gold, map_clusters(gold, found))}
    scores = strict_scores(gold, found, len(known))
    return counts | {"ood_acc": scores.ood_acc, "all_acc": scores.all_acc}


def read_rows(
    part: str, languages: tuple[str, ...] | None, rng: np.random.Generator | None = None
) -> list[dict[str, str]]:
    """Return every second sentence of xSID in the given languages, or in all; with `rng` each in one of them."""
    path = Path(os.environ["NEWFOUND_DATA"]) / "more" / "xsid.csv"
    number: Counter[str] = Counter()
    rows = []
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            sentence = number[row["language"]]
            number[row["language"]] += 1
            if (sentence % 2 == 0) == (part == "tuning") and (languages is None or row["language"] in languages):
                rows.append({**row, "sentence": str(sentence)})
    if rng is None:
        return rows
    chosen: dict[str, str] = {}  # the first of each sentence in a random order
    for i in rng.permutation(len(rows)):
        chosen.setdefault(rows[i]["sentence"], rows[i]["language"])
    return [row for row in rows if chosen[row["sentence"]] == row["language"]]


def print_table(lines: list[dict[str, float | str]]) -> None:
    """Print the means over the seeds as a Markdown table."""
    groups: dict[tuple[str, str], list[dict[str, float | str]]] = defaultdict(list)
    for line in lines:
        groups[str(line["setting"]), str(line["variant"])].append(line)
    print("| logs | language in the vectors | new intents | found | OOD ACC | ALL ACC | runs |")
    print("|---|---|---|---|---|---|---|")
    for setting, variant in product(SETTINGS, VARIANTS):
        group = groups[setting, variant]
        if not group:
            continue
        means = [np.mean([float(line.get(key, np.nan)) for line in group]) for key in ("intents", "found")]
        scores = [np.mean([float(line.get(key, np.nan)) for line in group]) for key in ("ood_acc", "all_acc")]
        shown = [*(f"{mean:.1f}" for mean in means), *("–" if np.isnan(score) else f"{score:.1f}" for score in scores)]
        print(f"| {SETTINGS[setting]} | {VARIANTS[variant]} | {' | '.join(shown)} | {len(group)} |")


if __name__ == "__main__":
    main()
