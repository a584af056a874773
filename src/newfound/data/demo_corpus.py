"""The demo corpus: messages to a fictional utility company, written for this project.

It has 27 intents, of which 12 are declared new, and utterances that belong to no intent.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np

from newfound.data.corpus import Corpus
from newfound.data.task import DiscoveryTask, make_task
from newfound.files import check_file_target, csv_bytes, write_atomically

LABELLED_SHARE_OF_A_USER = 0.5  # of the known utterances; the others are part of the logs


def load_demo() -> DiscoveryTask:
    """Return the demo corpus as a task."""
    rows = list(csv.DictReader(io.StringIO(_read("utterances.csv"))))
    new = json.loads(_read("new_intents.json"))
    parts = {
        part: Corpus.of((r["text"] for r in rows if r["part"] == part), (r["label"] for r in rows if r["part"] == part))
        for part in ("train", "test")
    }
    known = set(parts["train"].intents) - set(new)
    # No setting is chosen on the demo, so it needs no dev part.
    return make_task("demo", sorted(known), new, train=parts["train"], dev=Corpus((), ()), test=parts["test"])


def off_topic() -> Corpus:
    """Return the utterances that belong to no intent."""
    return Corpus.of(_read("off_topic.txt").splitlines())


def load_demo_of_a_user() -> DiscoveryTask:
    """Return the demo corpus as a user has it: the logs also hold known intents and what belongs to no intent."""
    task, rng = load_demo(), np.random.default_rng(0)
    labels = np.array(task.train.labels, dtype=object)
    in_logs: set[int] = set()
    for intent in task.known:
        rows = rng.permutation(np.flatnonzero(labels == intent)).tolist()
        in_logs |= set(rows[round(LABELLED_SHARE_OF_A_USER * len(rows)) :])
    return replace(task, train=task.train + off_topic(), unlabelled=frozenset(in_logs))


def write_demo(folder: Path, *, overwrite: bool = False) -> dict[Path, int]:
    """Write the demo corpus as the files that a user has, and labelled held-out rows; return the rows of each."""
    task = load_demo_of_a_user()
    parts = {
        "known.csv": task.observed_train.labelled(),
        "logs.csv": task.observed_train.unlabelled(),
        "held-out.csv": task.test,
    }
    for name in parts:
        check_file_target(folder / name, overwrite)
    for name, corpus in parts.items():
        table = [("text", "label"), *zip(corpus.texts, corpus.labels, strict=True)]
        write_atomically(folder / name, csv_bytes([row[:1] for row in table] if name == "logs.csv" else table))
    return {folder / name: len(corpus) for name, corpus in parts.items()}


def _read(name: str) -> str:
    return resources.files("newfound.data").joinpath(f"demo/{name}").read_text("utf-8")
