"""Functions that the studies in `benchmarks/` share: loading encoders, frozen vectors, and files of result rows.

A study that does not consist of cells stores one JSON object per run, called a row. It is a line of a `.jsonl` file, or
an element of the list in a `.json` file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.harness.provenance import with_code_hash

from newfound.errors import DataError
from newfound.files import write_atomically
from newfound.paths import feature_cache_dir

if TYPE_CHECKING:
    from torch import Tensor

    from newfound.encoders.encoder import Encoder

Row = dict[str, Any]


def study_encoder(name: str = "minilm") -> Encoder:
    """Load an encoder that stores its features in the user's cache, so that runs and studies share them."""
    from newfound.encoders.cache import FeatureCache
    from newfound.encoders.encoder import load_encoder

    return load_encoder(name, cache=FeatureCache(feature_cache_dir()))


def frozen_vectors(encoder: Encoder, texts: Sequence[str]) -> Tensor:
    """Return the pooled vectors [n, d] of the frozen encoder; they are read from its cache or stored there."""
    return encoder.features(texts, encoder.tune("heads")).data.flat


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a result file; an empty list if there is no such file."""
    if not path.is_file():
        return []
    try:
        content = path.read_text("utf-8")
        rows = json.loads(content) if path.suffix == ".json" else [json.loads(line) for line in content.splitlines()]
    except ValueError:
        raise DataError(f"{path}: damaged; fix or delete it and run the study again") from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{path}: not a file of result rows")
    return rows


def append_row(path: Path, row: Row) -> None:
    """Add a row, with the hash of the code, to a result file, which is created if necessary."""
    row = with_code_hash(row)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".json":
        rows = [*read_rows(path), row]
        write_atomically(path, (json.dumps(rows, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode())
        return
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")


def group_rows(rows: Iterable[Row], by: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    """Group rows by the values of the fields named in `by`; groups and rows keep their order."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    return groups


def whole_numbers(text: str) -> list[int]:
    """Return the numbers of an option's value such as `0,1,2`."""
    return [int(part) for part in text.split(",") if part]
