"""Short labels on more corpora, as with a budget of 200 (40 requests): of a model, or with --true the intents' names.

python -m benchmarks.language_model.short_labels FILE --url http://127.0.0.1:8091
python -m benchmarks.language_model.short_labels FILE --true 1.0        or 0.7: the others get the name of any intent
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from benchmarks.guard.cells import Cell, data_of
from benchmarks.harness.studies import append_row, study_encoder
from benchmarks.language_model import ways

CORPORA = ("banking77", "hint3-curekart", "clinc150", "dstc11-insurance")
REQUESTS, SEED = 40, 1901


class TrueNames:
    """Labels a share of the texts with the names of their intents, and others with any name."""

    def __init__(self, corpus: str, share: float) -> None:
        self._gold, self._share = ways.gold_of(corpus), share

    def labels(self, texts: Sequence[str]) -> list[str | None]:
        rng, every = np.random.default_rng(0), sorted(set(self._gold.values()))
        sent = texts[: 10 * REQUESTS]
        names = [self._gold[text] if rng.random() < self._share else str(rng.choice(every)) for text in sent]
        return [*(name.replace("_", " ") for name in names), *[None] * (len(texts) - len(sent))]


def main() -> None:
    """Run cell by cell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--url")
    parser.add_argument("--true", type=float)
    options = parser.parse_args()
    torch.set_num_threads(1)
    for corpus in CORPORA:
        for case in ("ten", "none"):
            cell, started = Cell(corpus, SEED, case, "quick"), time.perf_counter()
            data, encoder = data_of(cell), study_encoder()
            labeller = ways.Sampler(options.url, REQUESTS, 0.0) if options.url else TrueNames(corpus, options.true)
            found = ways.scored(ways.fit(data, encoder, "quick", labeller=labeller), data, encoder)
            name = {"way": "labels"} if options.url else {"way": "labels, oracle", "share": options.true}
            row = name | asdict(cell) | found | {"seconds": round(time.perf_counter() - started, 1)}
            append_row(options.out, row)
            print(row, flush=True)


if __name__ == "__main__":
    main()
