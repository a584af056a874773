"""Measure how the time of a decision grows with the number of utterances.

    python benchmarks/serve/decisions.py MODEL

The utterances of the model are repeated, with a number at the end and the vectors of the originals, until there are
1,000, 10,000 and 100,000. Figures are processor time of this process as multiples of that for 1,000 utterances in the
same run, so that runs on different machines can be compared. The model's folder is copied.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

from newfound.model.about import read_about
from newfound.review.decisions import Decision
from newfound.review.session import ReviewSession

SIZES = (1_000, 10_000, 100_000)
REPEATS = 5


def main(model: Path) -> dict[str, float]:
    """Return the figures of a model folder.

    Args:
        model: The model folder.
    """
    read_about(model)
    once = seconds_of_a_decision(model, SIZES[0])
    return {f"{size:,} utterances": round(seconds_of_a_decision(model, size) / once, 1) for size in SIZES[1:]}


def seconds_of_a_decision(model: Path, size: int) -> float:
    """Return the median processor time of recording that an utterance belongs to another intent.

    Args:
        model: The model folder.
        size: The number of utterances.
    """
    with tempfile.TemporaryDirectory() as place:
        session = ReviewSession(shutil.copytree(model, Path(place) / "model"))
        originals, vectors = session.model.utterances, session.model.utterance_vectors
        rows = [i % len(originals) for i in range(size)]
        utterances = [replace(originals[row], text=f"{originals[row].text} {i}") for i, row in enumerate(rows)]
        session.model.__dict__ |= {"utterances": tuple(utterances), "utterance_vectors": vectors[rows]}
        session.store.__dict__["_texts"] = frozenset(u.text for u in utterances)
        session.view().state()
        names, measured = session.store.names, []
        for i in range(REPEATS):
            decision = Decision("move", {"texts": [utterances[i].text], "to": names[i % len(names)]})
            started = time.process_time()
            session.decide([decision], author="ana")
            measured.append(time.process_time() - started)
        return median(measured)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    print(json.dumps(main(parser.parse_args().model), indent=2))
