"""Which columns of a table hold the utterances and their intents, and whether its first line is a header."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
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
OTHER_SPEAKERS = frozenset(("agent", "assistant", "bot", "chatbot", "operator", "reply", "response", "system"))
LABEL_NAMES = (
    ("label", "labels"),
    ("intent", "intents"),
    ("intent name", "intent label", "label name", "label text"),
    ("category", "class", "topic"),
)
MAX_WORDS_OF_A_COLUMN_NAME = 3
MAX_CHARACTERS_OF_A_COLUMN_NAME = 40
ROWS_TO_LOOK_AT = 50
Role = Literal["text", "label"]
NumberedRow = tuple[int, list[str]]
"""The fields of a row of a table, with the line it starts on."""


def find_columns(source: Source, where: str, names: Sequence[str], *, may_be_data: bool = True) -> None:
    """Find the columns of the utterances and the intents by their names, and tell the source's report which they are.

    An error calls the place of the names `where`. They may be data where the options do not say that there is a header.
    """
    may_be_data = may_be_data and source.options.header is None
    text, label = _find(source, where, names, "text", may_be_data), None
    try:
        label = _find(source, where, names, "label", may_be_data) if source.reads_labels else None
    except ColumnMissing:
        if source.labels == "required" or source.options.label_column is not None:
            raise
    if label == text:
        raise DataError(f"{where}: the column {text!r} cannot hold both the text and the label")
    source.report.columns, source.report.text_column, source.report.label_column = names, text, label


def _find(source: Source, where: str, names: Sequence[str], role: Role, may_be_data: bool) -> str:
    wanted = source.options.text_column if role == "text" else source.options.label_column
    found = _matching(names, role, wanted)
    if not found and may_be_data and looks_like_data(names) and (role == "text" or wanted is not None):
        shown = ", ".join(repr(name.strip()) for name in names[:4])[:120]
        problem = f"this looks like an utterance, not like column names ({shown})"
        raise DataError(f"{where}: {problem}", "no_header", "text_column")
    if not found:
        may_lack_header = role == "text" and may_be_data and wanted is None
        raise ColumnMissing(where, wanted or role, role, names, may_lack_header=may_lack_header)
    if len(set(map(plain_name, found))) > 1:
        raise ColumnMissing(where, role, role, found, ambiguous=True)
    if len(found) > 1:
        raise DataError(f"{where}: the column {found[0]!r} stands there twice; rename one of them")
    if wanted is None and plain_name(found[0]) != role:
        what = "utterances" if role == "text" else "intents"
        source.report.note(f"the {what} are read from the column {found[0]!r}")
    return found[0]


def _matching(names: Sequence[str], role: Role, wanted: str | None) -> list[str]:
    """Return the columns with the wanted name, or else with the most preferred of the usual names."""
    if wanted is not None:
        return [name for name in names if name.strip() == wanted]
    plain = [plain_name(name) for name in names]
    preferred = _names_of_texts(plain) if role == "text" else LABEL_NAMES
    matches = ([names[i] for i, name in enumerate(plain) if name in group] for group in preferred)
    return next(filter(None, matches), [])


def _names_of_texts(plain: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return `TEXT_NAMES` with one more group: names that end with one of these words.

    A name with a filler word, such as "my question", is more likely an utterance in a file without a header.
    """
    nouns = {noun for group in TEXT_NAMES for noun in group}
    compounds = tuple(
        name
        for name in plain
        if len(words := set(name.split())) > 1
        and name.split()[-1].removesuffix("s") in nouns
        and not words & (OTHER_SPEAKERS | FILLERS)
    )
    return (*TEXT_NAMES[:-1], compounds, TEXT_NAMES[-1])


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


def find_columns_of_table(source: Source, where: str, rows: Iterator[NumberedRow]) -> Iterator[NumberedRow]:
    """Find the columns of a table, and return its rows after the header, if it has one."""
    if source.options.header is False:
        first = list(islice(rows, ROWS_TO_LOOK_AT))
        filled = [fields for _, fields in first if fields]
        if not filled:
            raise DataError(f"{source.name}: the file is empty; it needs at least one utterance")
        _find_columns_by_position(source, filled)
        return chain(first, rows)
    for line, header in rows:
        if any(name.strip() for name in header) and not header[0].lower().startswith("sep="):
            find_columns(source, f"{where}, line {line}", [name.strip() for name in header])
            return rows
    raise DataError(f"{source.name}: the file is empty; it needs a header line and at least one utterance")


def _find_columns_by_position(source: Source, rows: Sequence[Sequence[str]]) -> None:
    """Find the columns of a table without a header in its first rows, and tell the report which they are.

    A column is named by its position. If the caller names none, the only column holds the texts; of two columns, the
    one with more words does.
    """
    names = [str(i) for i in range(1, len(rows[0]) + 1)]
    where, options, label = f"{source.name}, without a header line", source.options, None
    text = None if options.text_column is None else _find(source, where, names, "text", may_be_data=False)
    if options.label_column is not None:
        label = _find(source, where, names, "label", may_be_data=False)
    if label is not None and (text == label or len(names) < 2):
        raise DataError(f"{source.name}: column {label} cannot hold both the utterances and the intents")
    if text is None and len(names) > 2:
        raise ColumnMissing(f"{source.name}, line 1", "text", "text", names)
    if text is None:
        words = {name: sum(len(row[i].split()) for row in rows if i < len(row)) for i, name in enumerate(names)}
        text = max((name for name in names if name != label), key=words.__getitem__)
    if label is None and len(names) == 2:
        label = next(name for name in names if name != text)
    label = label if source.reads_labels else None
    if label is None and source.labels == "required":
        raise ColumnMissing(f"{source.name}, line 1", "label", "label", names)
    if source.reads_labels:
        intents = "" if label is None else f" and column {label} the intents"
        source.report.note(f"without a header line, column {text} holds the utterances{intents}")
    source.report.columns, source.report.text_column, source.report.label_column = names, text, label


def plain_name(name: str) -> str:
    """Return a name in lower case, with spaces for what separates its words."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.strip())
    return re.sub(r"[\s_\-.]+", " ", spaced).strip().lower()
