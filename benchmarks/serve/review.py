"""Measure what a reviewer's decisions cost: the queue for every request, and how long the log is locked.

    python benchmarks/serve/review.py MODEL

All figures are processor time of this process as multiples of one computation of the queue in the same run, so that
runs on different machines can be compared. The model's folder is copied, and nothing is decided about the original.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from newfound.bench.provenance import with_code_hash
from newfound.review.decisions import Decision
from newfound.review.session import ReviewSession
from newfound.review.sqlite import LogWriter

REPEATS = 5


def main(model: Path) -> dict[str, float]:
    """Return the figures of a model folder.

    Args:
        model: The model folder.
    """
    with tempfile.TemporaryDirectory() as place:
        session = ReviewSession(shutil.copytree(model, Path(place) / "model"))
        session.view().queue()
        _ = session.votes
        locked: list[float] = []
        asked: list[float] = []
        asked_again: list[float] = []
        writing = session.store.log.lock_for_writing

        @contextmanager
        def timed() -> Iterator[LogWriter]:
            started = time.process_time()
            with writing() as log:
                yield log
            locked.append(time.process_time() - started)

        session.store.log.lock_for_writing = timed  # type: ignore[method-assign]
        for _ in range(REPEATS):
            item = session.view().queue()[0]
            session.decide([Decision("move", {"texts": [item.text], "to": item.intent})], author="ana")
            asked.append(seconds(lambda: session.view().queue()))
            asked_again.append(seconds(lambda: session.view().queue()))
        once = median(asked)
        return {
            "utterances": len(session.model.utterances),
            "queue asked again": round(median(asked_again) / once, 3),
            "log locked": round(median(locked) / once, 3),
        }


def seconds(run: Callable[[], object]) -> float:
    """Return the processor time of a call."""
    started = time.process_time()
    run()
    return time.process_time() - started


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    print(json.dumps(with_code_hash(main(parser.parse_args().model)), indent=2))
