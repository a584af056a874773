"""`Corpus`: utterances, their labels and where they came from. It is immutable, and a missing label is None."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from newfound.data.said import ALONE, Said, gather
from newfound.errors import DataError

Days = tuple[tuple[str, int], ...]
"""Days in ISO form, in order, each with a count."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an utterance came from. It stays with the utterance through discovery, updates and refits."""

    labelled: bool  # by a person
    source: str = ""  # for instance the name of a file; empty if it is not known
    count: int = 1  # how often the utterance occurred
    days: Days = ()  # on which it occurred, and how often on each; those without a time are missing
    said: Said = ALONE


LABELLED, FROM_LOGS = Origin(labelled=True), Origin(labelled=False)


def merge_origins(origins: Sequence[Origin]) -> Origin:
    """Return the origin of utterances that are kept as one: the first, with the counts of all."""
    if len(origins) == 1:
        return origins[0]
    days = Counter[str]()
    for origin in origins:
        days.update(dict(origin.days))
    count, said = sum(origin.count for origin in origins), gather(origin.said for origin in origins).said()
    return replace(origins[0], count=count, days=tuple(sorted(days.items())), said=said)


@dataclass(frozen=True, slots=True)
class Corpus:
    """Texts with one label each.

    Attributes:
        texts: The utterances.
        labels: Their intents; None marks an unlabelled utterance.
        origins: Where each utterance came from. By default, labelled utterances were labelled by a person and the
            others are from the logs.
    """

    texts: tuple[str, ...]
    labels: tuple[str | None, ...]
    origins: tuple[Origin, ...] = ()

    def __post_init__(self) -> None:
        if len(self.texts) != len(self.labels):
            raise DataError(
                f"{len(self.texts)} texts but {len(self.labels)} labels: "
                "give one label per text, None where it is unknown"
            )
        for text in self.texts:
            if not isinstance(text, str):
                raise DataError(f"a text is not a string but {type(text).__name__} ({text!r})")
        for label in self.labels:
            if label is not None and (not isinstance(label, str) or not label):
                raise DataError(
                    f"a label is {label!r}; give a string that is not empty, or None for an unlabelled text"
                )
        if not self.origins:
            default = tuple(FROM_LOGS if label is None else LABELLED for label in self.labels)
            object.__setattr__(self, "origins", default)
        if len(self.origins) != len(self.texts):
            raise DataError(f"{len(self.texts)} texts but {len(self.origins)} origins; give one per text, or none")

    @classmethod
    def of(
        cls,
        texts: Iterable[str],
        labels: Iterable[str | int | None] | None = None,
        origins: Iterable[Origin] = (),
    ) -> Corpus:
        """Build a corpus from any iterables.

        Args:
            texts: The utterances.
            labels: Their intents; all are None by default. Whole numbers become their digits, and NaN, which pandas
                uses for a missing value, becomes None.
            origins: Where each utterance came from.
        """
        texts = tuple(texts)
        if labels is None:
            return cls(texts, (None,) * len(texts), tuple(origins))
        return cls(texts, tuple(map(label_text, labels)), tuple(origins))

    def __len__(self) -> int:
        return len(self.texts)

    def __add__(self, other: Corpus) -> Corpus:
        return Corpus(self.texts + other.texts, self.labels + other.labels, self.origins + other.origins)

    @property
    def intents(self) -> tuple[str, ...]:
        """The distinct labels, sorted."""
        return tuple(sorted({label for label in self.labels if label is not None}))

    @property
    def sizes(self) -> dict[str, int]:
        """How many utterances each label has."""
        return dict(Counter(label for label in self.labels if label is not None))

    def ids(self, intents: Sequence[str]) -> list[int]:
        """Return the position of each label among some intents; -1 without a label, and for one that is not there."""
        position = {intent: i for i, intent in enumerate(intents)}
        return [-1 if label is None else position.get(label, -1) for label in self.labels]

    def take(self, rows: Sequence[int]) -> Corpus:
        """Return the utterances at the given positions."""
        fields = (self.texts, self.labels, self.origins)
        return Corpus(*(tuple(values[i] for i in rows) for values in fields))  # type: ignore[arg-type]

    def by_content(self) -> list[int]:
        """Return the positions of the utterances in the order of their texts and labels."""
        return sorted(range(len(self)), key=lambda i: (self.texts[i], self.labels[i] or ""))

    def labelled(self) -> Corpus:
        """Return the utterances that have a label."""
        return self.take([i for i, label in enumerate(self.labels) if label is not None])

    def unlabelled(self) -> Corpus:
        """Return the utterances that have no label."""
        return self.take([i for i, label in enumerate(self.labels) if label is None])

    def hiding(self, intents: Iterable[str | None]) -> Corpus:
        """Return the same utterances without the labels of `intents`, as if those utterances came from the logs."""
        hidden = frozenset(intents)
        labels = tuple(None if label in hidden else label for label in self.labels)
        origins = tuple(
            replace(origin, labelled=False) if label in hidden else origin
            for label, origin in zip(self.labels, self.origins, strict=True)
        )
        return Corpus(self.texts, labels, origins)

    def from_source(self, source: str) -> Corpus:
        """Return the same utterances, all of them from `source`."""
        return Corpus(self.texts, self.labels, tuple(replace(origin, source=source) for origin in self.origins))

    def fingerprint(self) -> str:
        """Return a SHA-256 of texts and labels in order. A model records it to say what it was fitted on."""
        return fingerprint(part for pair in zip(self.texts, self.labels, strict=True) for part in pair)


def fingerprint(parts: Iterable[str | None]) -> str:
    """Return a SHA-256 of texts in order."""
    digest = hashlib.sha256()
    for part in parts:
        data = b"\x00" if part is None else b"\x01" + part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def label_text(value: object) -> str | None:
    """Return a label as text: whole numbers as their digits, None and NaN (a missing value in pandas) as None."""
    if value is None or isinstance(value, str):
        return value
    if type(value).__name__ == "NAType":  # pandas.NA, which cannot be compared
        return None
    try:
        if value != value:
            return None
        is_whole = not isinstance(value, bool) and type(value).__name__ != "bool" and int(value) == value  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        is_whole = False
    if not is_whole:
        raise DataError(f"a label is {value!r}; give a text that is not empty, a whole number, or None for no label")
    return str(int(value))  # type: ignore[call-overload]
