"""Texts of known intents that have more than one label: finding them, and deciding about them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from newfound.data.rows import Row
from newfound.defaults import Conflicts
from newfound.errors import ConflictingLabels, SettingsError
from newfound.files import write_atomically
from newfound.text import shorten

CONFLICTS_IN_A_MESSAGE = 3
MAX_CHARACTERS_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Conflict:
    """A text with more than one label.

    Attributes:
        text: The utterance that has several labels.
        uses: The line and the label of each of its rows.
    """

    text: str
    uses: tuple[tuple[int, str], ...]

    def __str__(self) -> str:
        (first_line, first), *others = self.uses
        line, label = next(use for use in others if use[1] != first)
        shown = shorten(self.text, MAX_CHARACTERS_SHOWN)
        return f"line {line}: '{shown}' is labelled {label!r}, but {first!r} on line {first_line}"


def find_conflicts(rows: Iterable[Row]) -> list[Conflict]:
    """Return the texts that have more than one label, in order. Rows without a label do not count."""
    uses: dict[str, list[tuple[int, str]]] = {}
    for row in rows:
        if row.label is not None:
            uses.setdefault(row.text, []).append((row.line, row.label))
    return [Conflict(text, tuple(lines)) for text, lines in uses.items() if len({label for _, label in lines}) > 1]


def without_conflicts(name: str, rows: Sequence[Row], policy: Conflicts) -> tuple[list[int], list[Conflict]]:
    """Return the positions of the rows to keep, and the conflicts.

    Args:
        name: What an error calls the data.
        rows: The rows to compare; those without a label are kept.
        policy: What becomes of a text with several labels.

    Raises:
        ConflictingLabels: There are conflicts, and they are errors.
        SettingsError: There is no such policy.
    """
    if policy not in get_args(Conflicts):
        raise SettingsError(f"conflicts={policy!r} is not one of {', '.join(get_args(Conflicts))}")
    conflicts = find_conflicts(rows)
    if conflicts and policy == "error":
        raise ConflictingLabels(_message(name, conflicts), conflicts)
    first = {conflict.text: conflict.uses[0][1] for conflict in conflicts}
    kept = [
        i
        for i, row in enumerate(rows)
        if row.label is None or row.text not in first or (policy == "first" and row.label == first[row.text])
    ]
    return kept, conflicts


def _message(name: str, conflicts: Sequence[Conflict]) -> str:
    if len(conflicts) == 1:
        return f"{name}, {conflicts[0]}"
    shown = "; ".join(map(str, conflicts[:CONFLICTS_IN_A_MESSAGE]))
    more = len(conflicts) - CONFLICTS_IN_A_MESSAGE
    return f"{name}: {len(conflicts):,} texts have several labels: {shown}" + (
        f"; and {more:,} more" if more > 0 else ""
    )


def write_conflicts(path: Path, conflicts: Sequence[Conflict]) -> None:
    """Write all rows with conflicting labels to a CSV file: text, label and line."""
    sink = io.StringIO(newline="")
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(("text", "label", "line"))
    writer.writerows((conflict.text, label, line) for conflict in conflicts for line, label in conflict.uses)
    write_atomically(path, sink.getvalue().encode())
