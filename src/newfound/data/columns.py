"""Which columns of a table hold the utterances and their intents, and whether its first line is a header."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from newfound.data.rows import Source
from newfound.errors import ColumnMissing, DataError
from newfound.text import FILLERS

# In order of preference: a column of an earlier group is taken before those of later groups. Between the first three
# and the last of the texts come names that end with any of these words, such as "Customer message".
TEXT_NAMES = (
    ("text",),
    ("utterance", "utterances"),
    ("message", "query", "sentence", "question", "phrase", "transcript"),
    ("request", "input", "content", "body", "example", "comment"),
)
CUSTOMERS = frozenset(("user", "customer", "client", "caller", "visitor", "member", "guest"))
OTHER_SPEAKERS = frozenset(("agent", "assistant", "bot", "chatbot", "operator", "reply", "response", "system"))
LABEL_NAMES = (
    ("label", "labels"),
    ("intent", "intents"),
    ("intent name", "intent label", "label name", "label text"),
    ("category", "class", "topic"),
)
MAX_WORDS_OF_A_COLUMN_NAME = 3
MAX_CHARACTERS_OF_A_COLUMN_NAME = 40
Role = Literal["text", "label"]


@dataclass(frozen=True, slots=True)
class ColumnPositions:
    """Where a table has its utterances and its intents, None if they are not read, and what its columns are called."""

    text: int
    label: int | None
    names: Sequence[str]

    @property
    def width(self) -> int:
        return len(self.names)


def find_columns(source: Source, where: str, header: Sequence[str], *, may_be_data: bool = True) -> ColumnPositions:
    """Return the positions of the columns that a header names.

    Args:
        source: The file, whose report is told a column that was found by a name other than text or label.
        where: What an error calls the place of the header.
        header: The names of the columns.
        may_be_data: Whether the first line may be data, where the options do not say that there is a header.
    """
    names = [name.strip() for name in header]
    may_be_data = may_be_data and source.options.header is None
    text = _position(source, where, names, "text", may_be_data)
    if not source.reads_labels:
        return _reported(source, ColumnPositions(text, None, names))
    label = None
    try:
        label = _position(source, where, names, "label", may_be_data)
    except ColumnMissing:
        if source.labels == "required" or source.options.label_column is not None:
            raise
    if label == text:
        raise DataError(f"{where}: the column {names[text]!r} cannot hold both the text and the label")
    return _reported(source, ColumnPositions(text, label, names))


def _reported(source: Source, columns: ColumnPositions) -> ColumnPositions:
    """Return the columns after they were told to the report."""
    source.report.columns, source.report.text_column = columns.names, columns.names[columns.text]
    source.report.label_column = None if columns.label is None else columns.names[columns.label]
    return columns


def find_names(source: Source, where: str, names: Sequence[str]) -> tuple[str, str | None]:
    """Return the names of the utterance and of the intent in a record with named values; see `find_columns`."""
    columns = find_columns(source, where, names, may_be_data=False)
    return names[columns.text], None if columns.label is None else names[columns.label]


def _position(source: Source, where: str, names: list[str], role: Role, may_be_data: bool) -> int:
    wanted = source.options.text_column if role == "text" else source.options.label_column
    is_data = may_be_data and looks_like_data(names) and (role == "text" or wanted is not None)
    positions = _matching(names, role, wanted)
    if not positions and is_data:
        shown = ", ".join(repr(name) for name in names[:4])[:120]
        problem = f"this looks like an utterance, not like column names ({shown})"
        raise DataError(f"{where}: {problem}", "no_header", "text_column")
    if not positions:
        may_lack_header = role == "text" and may_be_data and wanted is None
        raise ColumnMissing(where, wanted or role, role, names, may_lack_header=may_lack_header)
    if len({plain_name(names[i]) for i in positions}) > 1:
        raise ColumnMissing(where, role, role, [names[i] for i in positions], ambiguous=True)
    if len(positions) > 1:
        raise DataError(f"{where}: the column {names[positions[0]]!r} stands there twice; rename one of them")
    if wanted is None and plain_name(names[positions[0]]) != role:
        what = "utterances" if role == "text" else "intents"
        source.report.note(f"the {what} are read from the column {names[positions[0]]!r}")
    return positions[0]


def _matching(names: Sequence[str], role: Role, wanted: str | None) -> list[int]:
    """Return the positions of the columns with the wanted name, or else with the most preferred of the usual names."""
    if wanted is not None:
        return [i for i, name in enumerate(names) if name.strip() == wanted]
    plain = [plain_name(name) for name in names]
    preferred = _names_of_texts(plain) if role == "text" else LABEL_NAMES
    matches = ([i for i, name in enumerate(plain) if name in group] for group in preferred)
    return next(filter(None, matches), [])


def _names_of_texts(plain: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return `TEXT_NAMES` with two more groups: what customers say, and any other text.

    A name with a filler word, such as "my question", is more likely an utterance in a file without a header.
    """
    nouns = {noun for group in TEXT_NAMES for noun in group}
    compounds = {
        name: words
        for name in plain
        if len(words := set(name.split())) > 1
        and name.split()[-1].removesuffix("s") in nouns
        and not words & (OTHER_SPEAKERS | FILLERS)
    }
    of_customers = tuple(name for name, words in compounds.items() if words & CUSTOMERS)
    others = tuple(name for name in compounds if name not in of_customers)
    return (*TEXT_NAMES[:-1], of_customers, others, TEXT_NAMES[-1])


def has_column(header: Sequence[str], role: Role, wanted: str | None) -> bool:
    """Return whether a line is a header that names the column of the utterances, or of the intents."""
    is_data = role == "text" and wanted is None and looks_like_data(header)
    return not is_data and bool(_matching(header, role, wanted))


def looks_like_data(header: Sequence[str]) -> bool:
    """Return whether a line is more likely an utterance, with or without its label, than names of columns."""
    return any(
        len(name.split()) > MAX_WORDS_OF_A_COLUMN_NAME
        or len(name) > MAX_CHARACTERS_OF_A_COLUMN_NAME
        or name.endswith(("?", "!", "."))
        or re.fullmatch(r"[\d.,:/ -]+", name)
        for name in map(str.strip, header)
    )


def columns_by_position(source: Source, rows: Sequence[Sequence[str]]) -> ColumnPositions:
    """Return the columns of a table without a header, from its first rows.

    A column is named by its position. If the caller names none, the only column holds the texts; of two columns, the
    one with more words does.
    """
    width = len(rows[0])
    names = [str(i) for i in range(1, width + 1)]
    text = _position_of_number(source, source.options.text_column, names, "text")
    label = _position_of_number(source, source.options.label_column, names, "label")
    if label is not None and (text == label or width < 2):
        raise DataError(f"{source.name}: column {label + 1} cannot hold both the utterances and the intents")
    if text is None and width > 2:
        raise ColumnMissing(f"{source.name}, line 1", "text", "text", names)
    if text is None:
        others = [i for i in range(width) if i != label]
        text = max(others, key=lambda i: (sum(len(row[i].split()) for row in rows if i < len(row)), -i))
    if not source.reads_labels:
        return _reported(source, ColumnPositions(text, None, names))
    if label is None and width == 2:
        label = 1 - text
    if label is None and source.labels == "required":
        raise ColumnMissing(f"{source.name}, line 1", "label", "label", names)
    intents = "" if label is None else f" and column {label + 1} the intents"
    source.report.note(f"without a header line, column {text + 1} holds the utterances{intents}")
    return _reported(source, ColumnPositions(text, label, names))


def _position_of_number(source: Source, column: str | None, names: list[str], role: Role) -> int | None:
    if column is None:
        return None
    if not column.isdecimal() or str(int(column)) not in names:
        raise ColumnMissing(f"{source.name}, without a header line", column, role, names)
    return int(column) - 1


def plain_name(name: str) -> str:
    """Return a name in lower case, with spaces for what separates its words."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.strip())
    return re.sub(r"[\s_\-.]+", " ", spaced).strip().lower()
