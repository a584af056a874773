"""`Corpus`: utterances and their labels, immutable. A missing label is None."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from newfound.errors import DataError


def has_half_character(text: str) -> bool:
    """Whether a lone surrogate is in it, which JSON can carry and nothing can encode."""
    return any("\ud800" <= character <= "\udfff" for character in text)


@dataclass(frozen=True, slots=True)
class Corpus:
    """Texts with one label each; `None` marks an unlabelled utterance."""

    texts: tuple[str, ...]
    labels: tuple[str | None, ...]

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

    @classmethod
    def of(cls, texts: Iterable[str], labels: Iterable[str | None] | None = None) -> Corpus:
        """Like the constructor; a NaN label, as pandas writes a missing one, is None."""
        texts = tuple(texts)
        if labels is None:
            return cls(texts, (None,) * len(texts))
        return cls(texts, tuple(None if label != label else label for label in labels))

    def __len__(self) -> int:
        return len(self.texts)

    def __add__(self, other: Corpus) -> Corpus:
        return Corpus(self.texts + other.texts, self.labels + other.labels)

    @property
    def intents(self) -> tuple[str, ...]:
        """The distinct labels, sorted."""
        return tuple(sorted({label for label in self.labels if label is not None}))

    @property
    def sizes(self) -> dict[str, int]:
        """How many utterances each label has."""
        return dict(Counter(label for label in self.labels if label is not None))

    def take(self, rows: Sequence[int]) -> Corpus:
        return Corpus(tuple(self.texts[i] for i in rows), tuple(self.labels[i] for i in rows))

    def where(self, keep: Callable[[str | None], bool]) -> Corpus:
        """The utterances whose label satisfies `keep`, in order."""
        return self.take([i for i, label in enumerate(self.labels) if keep(label)])

    def labelled(self) -> Corpus:
        return self.where(lambda label: label is not None)

    def unlabelled(self) -> Corpus:
        return self.where(lambda label: label is None)

    def hiding(self, intents: Iterable[str]) -> Corpus:
        """The same utterances with the labels of `intents` taken away."""
        hidden = frozenset(intents)
        return Corpus(self.texts, tuple(None if label in hidden else label for label in self.labels))

    def fingerprint(self) -> str:
        """SHA-256 of the content in order; provenance of whatever is made from it."""
        digest = hashlib.sha256()
        for text, label in zip(self.texts, self.labels, strict=True):
            for field in (text, label):
                data = b"\x00" if field is None else b"\x01" + field.encode("utf-8", "surrogatepass")
                digest.update(len(data).to_bytes(8, "little"))
                digest.update(data)
        return digest.hexdigest()
