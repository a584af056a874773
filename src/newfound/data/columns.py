"""Which columns of a table hold the utterances and their intents, and whether its first line is a header."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from newfound.data.rows import Columns, Source
from newfound.errors import ColumnMissing, DataError, HeaderMissing
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


@dataclass(frozen=True, slots=True)
class Found:
    """Where a table has its columns.

    Attributes:
        text: The position of the utterances.
        label: The position of the intents; None if they are not read.
        width: The number of columns.
    """

    text: int
    label: int | None
    width: int


def find_columns(source: Source, where: str, header: Sequence[str], columns: Columns) -> Found:
    """Return the positions of the columns that a header names.

    Args:
        source: The file, which is told a column that was found by a name other than text or label.
        where: What an error calls the place of the header.
        header: The names of the columns.
        columns: Which columns to read.

    Raises:
        HeaderMissing: The first line looks like data.
        ColumnMissing: There is no such column.
        DataError: A column stands there twice.
    """
    names = [name.strip() for name in header]
    text = _position(source, where, names, columns.text, TEXT_NAMES, "text", columns)
    if not columns.reads_labels:
        return Found(text, None, len(names))
    try:
        label = _position(source, where, names, columns.label, LABEL_NAMES, "label", columns)
    except ColumnMissing:
        if columns.labels == "required" or columns.label is not None:
            raise
        return Found(text, None, len(names))
    if label == text:
        raise DataError(f"{where}: the column {names[text]!r} cannot hold both the text and the label")
    return Found(text, label, len(names))


def _position(
    source: Source,
    where: str,
    names: list[str],
    wanted: str | None,
    groups: tuple[tuple[str, ...], ...],
    role: str,
    columns: Columns,
) -> int:
    if wanted is not None:
        if wanted not in names:
            if looks_like_data(names) and columns.header is None:
                raise HeaderMissing(where, names)
            raise ColumnMissing(where, wanted, role, names)
        if names.count(wanted) > 1:
            raise DataError(f"{where}: the column {wanted!r} stands there twice; rename one of them")
        return names.index(wanted)
    plain = [_plain(name) for name in names]
    for group in _with_compound_names(groups, plain) if role == "text" else groups:
        positions = [i for i, name in enumerate(plain) if name in group]
        if len(positions) > 1 and len({plain[i] for i in positions}) == 1:
            raise DataError(f"{where}: the column {names[positions[0]]!r} stands there twice; rename one of them")
        if len(positions) > 1:
            raise ColumnMissing(where, groups[0][0], role, [names[i] for i in positions], ambiguous=True)
        if positions:
            if plain[positions[0]] != groups[0][0]:
                what = "utterances" if role == "text" else "intents"
                source.note(f"the {what} are read from the column {names[positions[0]]!r}")
            return positions[0]
    if role == "text" and looks_like_data(names) and columns.header is None:
        raise HeaderMissing(where, names)
    may_lack_header = role == "text" and columns.header is None
    raise ColumnMissing(where, groups[0][0], role, names, may_lack_header=may_lack_header)


def _with_compound_names(groups: tuple[tuple[str, ...], ...], plain: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the groups of names of texts with two more: what customers say, and any other text.

    A name with a filler word, such as "my question", is more likely an utterance in a file without a header.
    """
    nouns = {noun for group in groups for noun in group}
    compounds = {
        name: words
        for name in plain
        if len(words := set(name.split())) > 1
        and name.split()[-1].removesuffix("s") in nouns
        and not words & (OTHER_SPEAKERS | FILLERS)
    }
    of_customers = tuple(name for name, words in compounds.items() if words & CUSTOMERS)
    return (*groups[:-1], of_customers, tuple(name for name in compounds if name not in of_customers), groups[-1])


def has_text_column(header: Sequence[str], columns: Columns) -> bool:
    """Return whether a line is a header that names the column of the utterances."""
    if columns.text is not None:
        return columns.text in [name.strip() for name in header]
    plain = [_plain(name) for name in header]
    groups = _with_compound_names(TEXT_NAMES, plain)
    return not looks_like_data(header) and any(name in group for group in groups for name in plain)


def has_label_column(header: Sequence[str], columns: Columns) -> bool:
    """Return whether a header names the column of the intents."""
    if columns.label is not None:
        return columns.label in [name.strip() for name in header]
    return any(_plain(name) in group for group in LABEL_NAMES for name in header)


def looks_like_data(header: Sequence[str]) -> bool:
    """Return whether a line is more likely an utterance, with or without its label, than names of columns."""
    return any(_is_no_name(name.strip()) for name in header)


def _is_no_name(name: str) -> bool:
    return (
        len(name.split()) > MAX_WORDS_OF_A_COLUMN_NAME
        or len(name) > MAX_CHARACTERS_OF_A_COLUMN_NAME
        or name.endswith(("?", "!", "."))
        or bool(re.fullmatch(r"[\d.,:/ -]+", name))
    )


def columns_by_position(source: Source, rows: Sequence[Sequence[str]], columns: Columns) -> Found:
    """Return the columns of a table without a header.

    A column is named by its position. If the caller names none, the only column holds the texts; of two columns, the
    one with more words does.

    Args:
        source: The file, which is told which columns were taken.
        rows: The first rows.
        columns: Which columns to read.
    """
    width = len(rows[0])
    text = None if columns.text is None else _numbered(source, columns.text, width, "text")
    label = None if columns.label is None else _numbered(source, columns.label, width, "label")
    names = [str(i) for i in range(1, width + 1)]
    if label is not None and (text == label or width < 2):
        raise DataError(f"{source.name}: column {label + 1} cannot hold both the utterances and the intents")
    if text is None:
        text = _wordiest(rows, [i for i in range(width) if i != label])
        if width > 2:
            raise ColumnMissing(f"{source.name}, line 1", "text", "text", names)
    if not columns.reads_labels:
        return Found(text, None, width)
    if label is None and width == 2:
        label = 1 - text
    if label is None and columns.labels == "required":
        raise ColumnMissing(f"{source.name}, line 1", "label", "label", names)
    which = f"column {text + 1} holds the utterances"
    source.note(f"without a header line, {which}" + ("" if label is None else f" and column {label + 1} the intents"))
    return Found(text, label, width)


def _numbered(source: Source, column: str, width: int, role: str) -> int:
    if not column.isdecimal() or not 1 <= int(column) <= width:
        names = [str(i) for i in range(1, width + 1)]
        raise ColumnMissing(f"{source.name}, without a header line", column, role, names)
    return int(column) - 1


def _wordiest(rows: Sequence[Sequence[str]], positions: list[int]) -> int:
    return max(positions, key=lambda i: (sum(len(row[i].split()) for row in rows if i < len(row)), -i))


def _plain(name: str) -> str:
    """Return a name in lower case, with spaces for what separates its words."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.strip())
    return re.sub(r"[\s_\-.]+", " ", spaced).strip().lower()
