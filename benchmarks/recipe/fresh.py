"""Run a method on class partitions that nobody published, with a frozen encoder: the place to choose settings.

python benchmarks/recipe/fresh.py NAME METHOD [SETTING=VALUE ...] [--condition imbalance=10] [--auto] [--seeds 0,1]

Appends to NAME.jsonl beside this file, one line per partition and seed. The logs are taken to hold new intents only, as
in the paper; `logs=mixed` says otherwise. `--auto` estimates the number of new intents, which is given by default.
"""

from __future__ import annotations

import argparse
import ast
from itertools import product
from pathlib import Path
from typing import Any

from newfound.bench.cells import FRESH_PARTITIONS, Cell, task_of, with_condition
from newfound.bench.running import cell_settings, run_cell
from newfound.bench.studies import Row, append_row, study_encoder, whole_numbers
from newfound.data.conditions import Condition
from newfound.encoders.encoder import Encoder

HERE = Path(__file__).parent
SCORE_KEYS = ("scores", "clustering", "out_of_scope", "logs")


def setting(text: str) -> tuple[str, Any]:
    """Return name and value of an argument such as `sizes=equal` or `runs=6`."""
    name, _, value = text.partition("=")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def fresh_row(cell: Cell, encoder: Encoder, settings: dict[str, Any], condition: dict[str, Any]) -> Row:
    """Run a cell and return its row.

    Args:
        cell: A method on a fresh partition.
        encoder: The loaded encoder.
        settings: Settings of the method that differ from the cell's.
        condition: How the logs are changed: the arguments of `Condition`.
    """
    task = with_condition(task_of(cell), Condition(**condition), seed=cell.seed)
    result = run_cell(cell, encoder, "cpu", task, settings)
    return {
        "task": task.name,
        "method": cell.method,
        "settings": {**cell_settings(cell, task), **settings, "seed": cell.seed},
        "condition": condition,
        **{key: result[key] for key in SCORE_KEYS if key in result},
        "n_new": result["n_new"],
        "seconds": round(result["timings"]["fit"], 1),
    }


def print_row(row: Row) -> None:
    """Print the strict scores of a row in one line."""
    strict = row["scores"]["strict"]
    recognised = {**row.get("logs", {}), **row.get("out_of_scope", {})}
    print(
        f"{row['task']:28} {row['method']} {row['settings']} IND {strict['ind_acc']} OOD {strict['ood_acc']} "
        f"F1 {strict['ood_f1']} {recognised} {row['seconds']} s",
        flush=True,
    )


def main() -> None:
    """Run the method on every partition and seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="of the result file")
    parser.add_argument("method")
    parser.add_argument("settings", nargs="*", type=setting)
    parser.add_argument("--condition", type=setting, help="how the logs are changed: imbalance, noise or mixed")
    parser.add_argument("--auto", action="store_true", help="estimate the number of new intents")
    parser.add_argument("--seeds", type=whole_numbers, default=[0])
    parser.add_argument("--partitions", type=whole_numbers, default=[1000, 1001], help="seeds of the partitions")
    parser.add_argument("--out", type=Path, default=HERE, help="the folder of the result file")
    options = parser.parse_args()
    encoder = study_encoder()
    settings = {**({"n_new": "auto"} if options.auto else {}), **dict(options.settings)}
    condition = dict([options.condition]) if options.condition else {}
    for partition, benchmark, seed in product(options.partitions, FRESH_PARTITIONS, options.seeds):
        cell = Cell(options.method, benchmark, 40, partition, seed, "minilm", "heads")
        row = fresh_row(cell, encoder, settings, condition)
        append_row(options.out / f"{options.name}.jsonl", row)
        print_row(row)


if __name__ == "__main__":
    main()
