"""`Said`: where, by whom and with what outcome an utterance was said, as far as its file says so."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Said:
    """What is known of the occurrences of an utterance.

    Attributes:
        conversation: The conversation in which it was said first; empty if it stands alone.
        turn: Its place in that conversation, from 1.
        before: The last turns before it there, each with its speaker.
        message: The whole message, if the utterance is a part of one.
        openings: How often it was the first of its speaker's turns that was more than small talk.
        answers: How often it followed a question of the other side.
        conversations: Hashes of the conversations in which it was said.
        users: Hashes of the people who said it.
        values: The columns of numbers that were asked for: name, sum and count.
    """

    conversation: str = ""
    turn: int = 0
    before: tuple[str, ...] = ()
    message: str = ""
    openings: int = 0
    answers: int = 0
    conversations: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    values: tuple[tuple[str, float, int], ...] = ()


ALONE = Said()


@dataclass(slots=True)
class Gathered:
    """Sums up the occurrences of one utterance, in time and memory that grow with their number only."""

    first: Said = ALONE
    openings: int = 0
    answers: int = 0
    conversations: set[str] = field(default_factory=set)
    users: set[str] = field(default_factory=set)
    sums: dict[str, float] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, said: Said) -> None:
        """Take in one more occurrence, or several."""
        if said is ALONE:
            return
        self.first = said if self.first is ALONE else self.first
        self.openings, self.answers = self.openings + said.openings, self.answers + said.answers
        self.conversations.update(said.conversations)
        self.users.update(said.users)
        for name, total, count in said.values:
            self.sums[name] = self.sums.get(name, 0.0) + total
            self.counts[name] += count

    def said(self) -> Said:
        """Return the first occurrence with the sums of all."""
        if self.first is ALONE:
            return ALONE
        values = tuple((name, self.sums[name], count) for name, count in sorted(self.counts.items()))
        return replace(
            self.first,
            openings=self.openings,
            answers=self.answers,
            conversations=tuple(sorted(self.conversations)),
            users=tuple(sorted(self.users)),
            values=values,
        )


def gather(occurrences: Iterable[Said]) -> Gathered:
    """Sum up some occurrences."""
    gathered = Gathered()
    for said in occurrences:
        gathered.add(said)
    return gathered


def hash_of_name(name: str) -> str:
    """Return what stands for the name of a conversation or a person where only equality matters."""
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
