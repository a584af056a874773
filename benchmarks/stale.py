"""Which results were measured on other code than today's, and the line that says so below a table.

A result has the hash of the code that it was measured on (`benchmarks.harness.provenance`). It is stale if that hash is
another one than today's, or if it has none. A table is stale if one of the results that it shows is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.harness.provenance import CODE_HASH
from benchmarks.harness.studies import read_rows

STALE_LINE = "*Measured on an earlier version of the code.*"
# What others published, and figures from before a change that a table compares with, do not follow the code.
ENDS_OF_FIXED_FILES = ("published.json", "before.json")
FOLDER_OF_FACTS = "facts"
BENCHMARKS = Path(__file__).resolve().parent


def is_stale(results: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether one of the results was measured on other code than today's."""
    return any(result.get("code") != CODE_HASH for result in results)


def is_stale_file(path: Path) -> bool:
    """Return whether a result file holds a stale result."""
    if path.name.endswith(ENDS_OF_FIXED_FILES) or path.parent.name == FOLDER_OF_FACTS:
        return False
    if path.suffix == ".jsonl":
        return is_stale(read_rows(path))
    content = json.loads(path.read_bytes())
    return is_stale(content if isinstance(content, list) else content.get("runs", [content]))


def is_stale_table(files_read: Iterable[Path], results: Path = BENCHMARKS) -> bool:
    """Return whether a table is stale, given the files that the command which prints it reads.

    Args:
        files_read: All files that the command reads; those that hold no results do not matter.
        results: The folder of all result files. A table that is made from none of them is stale: nothing says when it
            was measured.
    """
    paths = {path for path in files_read if path.suffix in (".json", ".jsonl") and path.is_relative_to(results)}
    return not paths or any(is_stale_file(path) for path in paths)


def with_stale_line(table: str) -> str:
    """Return a table of Markdown, which ends with a line break, with the line below it."""
    return f"{table}\n{STALE_LINE}\n"


def without_stale_lines(text: str) -> str:
    """Return a page or a table as it would be if nothing in it were stale."""
    return text.replace(f"\n{STALE_LINE}\n", "")
