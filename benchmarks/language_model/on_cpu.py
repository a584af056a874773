"""The ways that a GPU had no time for, with fewer requests, on two cores; each result is written as it comes.

python -m benchmarks.language_model.on_cpu FOLDER --url http://127.0.0.1:8091 seconds injected view propose same
python -m benchmarks.language_model.on_cpu FOLDER --url http://127.0.0.1:8091 before labels

`view` labels all texts of dstc11-insurance once, ten to a request in one order, and `labels` waits for it: a text has
the same label in all cells, other than in the product, where doubtful texts that are sent together differ.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from benchmarks.guard.cells import CASES, Cell, data_of
from benchmarks.harness.studies import Row, append_row, frozen_vectors, study_encoder
from benchmarks.language_model import names, ways
from benchmarks.language_model.ways import LABELS, LISTS, SHORT, SHORTEST, Asked, Job

from newfound.intents.asked_names import prompt_for as prompt_for_name
from newfound.intents.naming import facts_of_new
from newfound.llm.labels import PROMPT, UTTERANCES_PER_REQUEST, short_labels
from newfound.questions.annotators import check_questions
from newfound.questions.language_model import prompt_for

CORPUS, SEEDS = "dstc11-insurance", (1901, 1902, 1903)
TIMED, PAIRS, BATCHES, QUESTIONS = 10, 200, 8, 12
assert "ten" in CASES


class Prepared:
    """A labeller that looks labels up."""

    def __init__(self, path: Path) -> None:
        self.labels_of = json.loads(path.read_text())
        self.given = 0

    def labels(self, texts: Sequence[str]) -> list[str | None]:
        found = [self.labels_of[text] for text in texts]
        self.given += len(texts)
        return found


def job_of(way: str, url: str, case: str, seed: int = SEEDS[0]) -> Job:
    return Job(way, Cell(CORPUS, seed, case, "quick"), url, "minilm")


def seconds(job: Job) -> list[Row]:
    """Ask ten requests of each kind, one after the other."""
    encoder, data = study_encoder(), data_of(job.cell)
    known, intents = zip(*data.known, strict=True)
    y = torch.from_numpy(np.unique(intents, return_inverse=True)[1])
    x = torch.nn.functional.normalize(frozen_vectors(encoder, known).float(), dim=-1)
    checks = [c for seed in range(20) for c in check_questions(known, x, y, 20, seed=seed)][:TIMED]
    logs = data_of(job_of("", "", "none").cell).logs
    batches = [logs[i * UTTERANCES_PER_REQUEST :][:UTTERANCES_PER_REQUEST] for i in range(TIMED)]
    model = ways.fit(data, encoder, "quick").model_
    facts = facts_of_new(model.intents, model.similar_intents(3))[:TIMED]
    kinds = {
        "answer": (SHORTEST, [prompt_for(question) for question, _ in checks]),
        "ten labels": (
            LABELS,
            [PROMPT.format(messages="\n".join(f"{i}: {t}" for i, t in enumerate(b, 1))) for b in batches],
        ),
        "same": (SHORTEST, [ways.SAME.format(*logs[2 * i : 2 * i + 2]) for i in range(TIMED)]),
        "name": (SHORT, [prompt_for_name(of) for of in facts]),
        "propose": (LISTS, [ways.PROPOSE.format("\n".join(logs[:50]))]),
    }
    rows = []
    for kind, (tokens, prompts) in kinds.items():
        llm, times = Asked(job.url, len(prompts), tokens), []
        for prompt in prompts:
            started = time.perf_counter()
            llm.ask(prompt, purpose=kind)
            times.append(round(time.perf_counter() - started, 1))
        rows.append({"kind": kind, "each": times, "load": os.getloadavg()[0], "answer": llm.answers[0], **llm.bad()})
        print(rows[-1], flush=True)
    return rows


def view(job: Job, path: Path) -> list[Row]:
    """Write a short label of each text."""
    logs, llm = data_of(job_of("", "", "none").cell).logs, Asked(job.url, 1000, LABELS)
    found = short_labels(logs, llm)
    path.write_text(json.dumps(dict(zip(logs, found, strict=True)), indent=1))
    gold = ways.gold_of(CORPUS)
    purity = sum(
        ways.majority([gold[t] for t, own in zip(logs, found, strict=True) if own == label])[1] * found.count(label)
        for label in set(found)
    )
    row = {
        "texts": len(logs),
        "none": found.count(None),
        "distinct": len(set(found)),
        "purity": round(purity / len(logs), 3),
    }
    return [row | llm.bad()]


def labels(job: Job, path: Path) -> list[Row]:
    """Fit with labels that are there."""
    while not path.is_file():
        time.sleep(5)
    labeller = Prepared(path)
    method = ways.fit(data_of(job.cell), study_encoder(), "quick", labeller=labeller)
    return [{"samples": 1, "labelled": labeller.given, **ways.scored(method, data_of(job.cell), study_encoder())}]


def main() -> None:
    """Run ways one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("ways", nargs="+")
    parser.add_argument("--url", required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    path = options.out / "view.json"
    for spelled in options.ways:
        way, _, only = spelled.partition(":")
        cells = (
            [("ten", SEEDS[0])] if way in ("seconds", "injected", "view") else [("none", SEEDS[0]), ("ten", SEEDS[0])]
        )
        cells = [(case, seed) for case in ("ten", "none") for seed in SEEDS] if way in ("before", "labels") else cells
        for case, seed in cells:
            if only and case != only:
                continue
            job, started = job_of(way, options.url, case, seed), time.perf_counter()
            encoder, data = study_encoder(), data_of(job.cell)
            if way == "seconds":
                rows = seconds(job)
            elif way == "injected":
                rows = names.injected(job, data, encoder, BATCHES, QUESTIONS)
            elif way in ("view", "labels"):
                rows = (view if way == "view" else labels)(job, path)
            elif way == "before":
                rows = [{"budget": 0, **ways.scored(ways.fit(data, encoder, "quick"), data, encoder)}]
            elif way == "same":
                rows = ways.same(job, data, encoder, (PAIRS,))
            else:
                rows = ways.propose(job, data, encoder)
            took = {"seconds": round(time.perf_counter() - started, 1)}
            for row in rows:
                append_row(options.out / "result.jsonl", {"way": way, **asdict(job.cell), **row, **took})
                print(way, case, seed, row, took, flush=True)


if __name__ == "__main__":
    main()
