"""The demo corpus: messages to a fictional utility company, written for this project.

It has 27 intents, of which 12 are declared new, and utterances that belong to no intent.
"""

from __future__ import annotations

import csv
import io
import json
from importlib import resources

from newfound.data.corpus import Corpus
from newfound.data.task import DiscoveryTask, make_task


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


def _read(name: str) -> str:
    return resources.files("newfound.data").joinpath(f"demo/{name}").read_text("utf-8")
