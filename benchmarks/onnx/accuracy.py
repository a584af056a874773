"""What int8 costs: fit the quick consensus with fp32 vectors, then predict the test rows with fp32 and with int8.

python benchmarks/onnx/accuracy.py [--splits 1,2,3] [--out FOLDER]     writes accuracy.json beside it

The scores are those of the strict protocol on the three benchmarks at 40 % new intents, of one fitted model each.
"int8, seven bits" is the graph for processors without VNNI.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from newfound.algorithms.metrics import strict_scores
from newfound.bench.provenance import hardware, with_code_hash
from newfound.bench.studies import study_encoder, whole_numbers
from newfound.data.benchmarks import load_benchmark
from newfound.data.task import DiscoveryTask
from newfound.encoders import precision as precisions
from newfound.files import to_json, write_atomically
from newfound.methods.consensus import Consensus
from newfound.model.classifier import IntentModel

HERE = Path(__file__).parent
BENCHMARKS = ("GID-SD", "GID-CD", "GID-MD")
PRECISIONS = ("fp32", "int8", "int8, seven bits")


def probabilities(model: IntentModel, texts: tuple[str, ...], precision: str) -> Any:
    """Return the probabilities of texts, [n, intents]."""
    if precision == "fp32":
        return model.with_precision("fp32").predict_proba(texts)
    with patch.object(precisions, "has_wide_products", lambda: precision == "int8"):
        return model.with_precision("int8").predict_proba(texts)


def measured(task: DiscoveryTask) -> dict[str, Any]:
    """Return the scores of each precision on the test rows of a task."""
    train, gold = task.observed_train, task.gold_ids(task.test)
    settings = Consensus.EFFORTS["quick"]
    method = Consensus(n_new=len(task.new), encoder=study_encoder(), device="cpu", logs="novel", **settings)
    model = method.fit(train.texts, train.labels).model_
    found = {precision: probabilities(model, task.test.texts, precision) for precision in PRECISIONS}
    exact = found["fp32"]
    return {
        precision: {
            **{
                name: round(value, 2)
                for name, value in strict_scores(gold, p.argmax(1), len(task.known)).as_dict().items()
            },
            "other answers": int((p.argmax(1) != exact.argmax(1)).sum()),
            "largest difference of a probability": round(float(np.abs(p - exact).max()), 4),
        }
        for precision, p in found.items()
    }


def main() -> None:
    """Measure and write the result file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=whole_numbers, default=[1])
    parser.add_argument("--out", type=Path, default=HERE, help="the folder of the result file")
    options = parser.parse_args()
    tasks: dict[str, Any] = {}
    for name in BENCHMARKS:
        for split in options.splits:
            task = load_benchmark(name, split=split)
            tasks[f"{name} split {split}"] = {"test rows": len(task.test), **measured(task)}
            print(f"{name} split {split}", tasks[f"{name} split {split}"], flush=True)
    losses = {
        precision: round(float(np.mean([t["fp32"]["all_acc"] - t[precision]["all_acc"] for t in tasks.values()])), 2)
        for precision in PRECISIONS[1:]
    }
    content = {"hardware": hardware("cpu"), "mean loss of ALL ACC": losses, "tasks": tasks}
    write_atomically(options.out / "accuracy.json", to_json(with_code_hash(content)))


if __name__ == "__main__":
    main()
