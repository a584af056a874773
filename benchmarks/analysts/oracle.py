"""Models of many corpora whose answers are known to be right or wrong: what the studies of audits and thresholds ask.

A case is a corpus of `benchmarks.everyday.shapes` with a seed for its partition, of training rows alone. `consensus`
is fitted as `discover` does by default on a CPU. The answer about an utterance of the logs is right if it has the name
of its intent, or, in a new intent, the true intent that most utterances there have. What was fitted is kept in the
cache, so that both studies and further runs share it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from benchmarks.everyday.shapes import Case, case_of, shapes
from benchmarks.harness.studies import Row, read_rows, study_encoder, whole_numbers

from newfound.encoders.encoder import Encoder
from newfound.methods.consensus import Consensus
from newfound.paths import feature_cache_dir

CASES = (  # shape, labels of each known intent, whether the number of new intents is given
    ("dstc11-banking", "half", False),
    ("sofmattress", "half", False),
    ("dstc11-insurance", 10, False),
    ("xsid-en", "half", False),
    ("curekart, out of scope", "half", False),
    ("clinc 20 uneven", "half", False),
    ("banking 20 uneven", 10, False),
    ("clinc 40", "half", True),
    ("banking 40", "half", True),
    ("snips", "half", False),
    ("clinc 150", 10, False),
    ("banking 77", "half", False),
)


@dataclass(frozen=True, slots=True)
class Answers:
    """The utterances of a model's logs: intent, probability, and whether the intent is right, [n] each."""

    shape: str
    intent: npt.NDArray[np.int64]
    probability: npt.NDArray[np.float64]
    right: npt.NDArray[np.bool_]


def answers_of_models(seeds: list[int]) -> Iterator[tuple[Answers, int]]:
    """Yield the answers of each case with its seed."""
    encoder, by_name = study_encoder(), {shape.name: shape for shape in shapes()}
    for name, labels, given in CASES:
        for seed in seeds:
            path = feature_cache_dir() / "analysts" / f"{name}-{seed}.npz".replace(" ", "_")
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                case = case_of(by_name[name], labels, seed)
                np.savez(path, **_fit(case, encoder, seed, given))
            with np.load(path) as kept:
                yield Answers(name, kept["intent"], kept["probability"], kept["right"]), seed


def _fit(case: Case, encoder: Encoder, seed: int, given: bool) -> dict[str, Any]:
    method = Consensus(encoder=encoder, logs="mixed", seed=seed, device="cpu", tune="heads")
    method.n_new = len(case.new) if given else "auto"
    model = method.fit(case.texts, case.labels).model_
    rows = [i for i, u in enumerate(model.utterances) if not u.labelled and u.intent is not None]
    intent = np.array([model.utterances[i].intent for i in rows], dtype=np.int64)
    true = np.array([case.gold[i] or "" for i in rows])
    right = np.zeros(len(rows), dtype=bool)
    for number in np.unique(intent):
        own = intent == number
        names, counts = np.unique(true[own & (true != "")], return_counts=True)
        meaning = (
            model.intents[number].name if model.intents[number].known else names[counts.argmax()] if len(names) else ""
        )
        right[own] = (true[own] == meaning) & (true[own] != "")
    probability = np.array([model.utterances[i].probability for i in rows])
    return {"intent": intent, "probability": probability, "right": right}


def study_options(description: str | None, table: Callable[[list[Row]], str]) -> argparse.Namespace:
    """Return the options of a study, `out` and `seeds`; with `--table`, print the rows of a file and end."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", type=Path)
    parser.add_argument("--seeds", type=whole_numbers, default=[1010])
    options = parser.parse_args()
    if options.table:
        print(table(read_rows(options.table)))
        sys.exit()
    return options
