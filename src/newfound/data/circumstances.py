"""In which conversations, by whom and with what outcome utterances were said, by further columns of their file.

Where a column says who speaks, the turns of customers are the utterances. Those of agents, systems and tools are left
out and counted; the last few stand before the utterance that follows them.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby, islice
from typing import Any

from newfound.data.columns import plain_name
from newfound.data.rows import STANDARD_INPUT, ReadOptions, Record, Records, Source
from newfound.data.said import Said, hash_of_name
from newfound.errors import ColumnMissing, DataError
from newfound.small_talk import is_small_talk
from newfound.text import is_wordless, shorten

THINGS = "conversation dialogue dialog session thread chat ticket call case trace".split()
CONVERSATIONS = frozenset(("conversation", "dialogue", "session", "thread", *(f"{thing} id" for thing in THINGS)))
SPEAKERS = frozenset(("speaker", "role", "author", "author type", "sender", "sender type", "from", "participant"))
TURNS = frozenset(("turn", "turn id", "turn number", "message number", "position", "sequence"))
USERS = frozenset(("user id", "customer id", "client id", "visitor id", "contact id", "account id"))
CUSTOMERS = frozenset(
    "customer user human client caller visitor guest consumer end-user enduser buyer patient member requester lead "
    "contact kunde kundin nutzer cliente usuario usuaria utilisateur utilizador klant".split()
)
AGENTS = frozenset(
    "agent assistant bot chatbot operator ai gpt model support advisor representative rep staff employee admin "
    "teammate mitarbeiter mitarbeiterin berater agente asistente conseiller medewerker".split()
)
SYSTEMS = frozenset("system developer tool function ipython tool_call tool_result function_call event note".split())
YES_AND_NO = {"yes": 1.0, "true": 1.0, "y": 1.0, "no": 0.0, "false": 0.0, "n": 0.0}
OFFERS = ("anything else", "something else", "help you", "assist you", "i do for you", "may i help", "can i help")

ROWS_TO_LOOK_AT = 50  # for the columns
MAX_ROWS_IN_ORDER = 10_000  # of a conversation that are put in the order of their turns
MAX_OPEN_CONVERSATIONS = 10_000  # whose last turns are remembered
TURNS_BEFORE, CHARACTERS_BEFORE = 3, 240
SPEAKERS_SHOWN = 4


def _written(value: Any) -> str:
    return "" if value is None else str(value)


class Turn(dict[str, Any]):
    """A record with the circumstances of its utterance."""

    def __init__(self, record: Record, said: Said) -> None:
        super().__init__(record)
        self.said = said


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that say something of the circumstances; None where there is none."""

    conversation: str | None
    speaker: str | None
    turn: str | None
    user: str | None
    values: tuple[str, ...]


def may_tell_more(column: str, options: ReadOptions) -> bool:
    """Return whether a column may say in which conversation, by whom or with what outcome an utterance was said."""
    chosen = (options.conversation_column, options.speaker_column, options.user_column, *options.value_columns)
    return column in chosen or plain_name(column) in CONVERSATIONS | SPEAKERS | TURNS | USERS


def with_circumstances(records: Records, source: Source) -> Records:
    """Yield the records of customers' turns as `Turn`s; without columns of circumstances, all records as they are.

    Raises:
        DataError: No turn is a customer's, or a column that the options name is not there.
    """
    ahead = list(islice(records, 1))
    # Lines that are typed or piped are answered as they arrive, if the first one holds no such column.
    if source.name != STANDARD_INPUT or any(
        may_tell_more(name, source.options) for _, record in ahead for name in record
    ):
        ahead += islice(records, ROWS_TO_LOOK_AT - 1)
    columns = find_circumstances([record for _, record in ahead], source)
    if columns is None:
        yield from chain(ahead, records)
        return
    reader = _Conversations(source, columns)
    for line, record in _in_order_of_turns(chain(ahead, records), columns):
        said = reader.take_in(line, record)
        if said is not None:
            yield line, Turn(record, said)
    reader.finish()


def find_circumstances(records: Sequence[Record], source: Source) -> Columns | None:
    """Find the columns by the options, or else by their names and values; None if there are none."""
    names = list(dict.fromkeys(name for record in records for name in record)) if source.report.columns else []
    options = source.options

    def column(wanted: str | None, usual: frozenset[str], role: str) -> str | None:
        if wanted is not None and wanted not in names:
            if records and source.labels != "required":  # examples of known intents need not have it
                raise ColumnMissing(source.name, wanted, role, names)
            return None
        return wanted or next((name for name in names if plain_name(name) in usual), None)

    conversation = column(options.conversation_column, CONVERSATIONS, "conversation")
    speaker = column(options.speaker_column, SPEAKERS, "speaker")
    is_named = options.speaker_column is not None or options.speaker is not None
    if not is_named and not (conversation and speaker and source.report.holds_conversations):
        roles = {_plain_role(record.get(speaker)) for record in records} if speaker is not None else set()
        if not roles & CUSTOMERS or not (conversation or roles & (AGENTS | SYSTEMS)):
            speaker = None
    if speaker is None and options.conversation_column is None:
        conversation = None  # a number of tickets, perhaps; without speakers there are no turns
    user = column(options.user_column, USERS, "user")
    values = tuple(filter(None, (column(name, frozenset(), "values") for name in options.value_columns)))
    turn = column(None, TURNS, "turn") if conversation else None
    found = Columns(conversation, speaker, turn, user, values)
    if not any((conversation, speaker, user, values)):
        return None
    if user is not None and options.user_column is None:
        source.report.note(f"people are counted by the column {user!r}; the model keeps hashes of it")
    return found


def _in_order_of_turns(records: Records, columns: Columns) -> Records:
    """Yield records so that the turns of a conversation follow each other by their numbers, where they have some."""
    conversation, turn = columns.conversation, columns.turn
    if conversation is None or turn is None:
        yield from records
        return
    for _, rows in groupby(records, key=lambda numbered: numbered[1].get(conversation)):
        while chunk := list(islice(rows, MAX_ROWS_IN_ORDER)):
            numbers = [_number(record.get(turn)) for _, record in chunk]
            if None not in numbers:
                chunk = [chunk[i] for i in sorted(range(len(chunk)), key=lambda i: numbers[i] or 0.0)]
            yield from chunk


@dataclass(slots=True)
class _Open:
    """A conversation as far as it was read."""

    hashes: tuple[str, ...] = ()
    turns: int = 0
    opened: bool = False
    asked: bool = False
    recent: deque[str] = field(default_factory=lambda: deque(maxlen=TURNS_BEFORE))


class _Conversations:
    """Follows conversations, which may be mixed with each other, and counts whose turns they have."""

    def __init__(self, source: Source, columns: Columns) -> None:
        self.source, self.columns = source, columns
        self.text_column = source.report.text_column or "text"
        self.label_column = source.report.label_column if source.reads_labels else None
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._turns = Counter[str]()
        self._strangers = Counter[str]()
        self._n_conversations = 0

    def take_in(self, line: int, record: Record) -> Said | None:
        """Return the circumstances of a customer's turn; None of a turn of others or without a text."""
        text = str(record.get(self.text_column) or "").strip()
        whose, name = self._whose(record), self._name(record)
        self._turns[whose] += 1
        if whose == "unknown":
            self.source.report.count("strangers", line)
            return None
        conversation = self._conversation(name)
        before, asked = tuple(conversation.recent), conversation.asked
        if text:
            conversation.turns += 1
            if whose in ("customer", "agent"):
                conversation.recent.append(f"{self._role(record) or 'customer'}: {shorten(text, CHARACTERS_BEFORE)}")
            conversation.asked = whose == "agent" and _is_question(text)
        if whose != "customer":
            return None
        opens = not conversation.opened and not is_small_talk(text) and not is_wordless(text)
        conversation.opened = conversation.opened or opens
        user = "" if self.columns.user is None else _written(record.get(self.columns.user))
        return Said(
            conversation=name,
            turn=conversation.turns if name else 0,
            before=before if name else (),
            openings=int(opens),
            answers=int(asked),
            conversations=conversation.hashes,
            users=(hash_of_name(user),) if user else (),
            values=self._values(line, record),
        )

    def finish(self) -> None:
        """Tell the report what was left out; refuse a file in which no customer speaks."""
        report, turns = self.source.report, self._turns
        if self.columns.speaker is None or not turns.total():
            return
        if not turns["customer"]:
            speakers = ", ".join(repr(name) for name, _ in self._strangers.most_common(SPEAKERS_SHOWN))
            who = f"the speakers are {speakers}" if speakers else "all are of agents, systems or tools"
            raise DataError(f"{report.name}: none of {turns.total():,} turns is a customer's; {who}", "speaker")
        talks = f"{self._n_conversations:,} conversations: " if self.columns.conversation else ""
        left = [f"{turns[whose]:,} of {what}" for whose, what in (("agent", "agents"), ("system", "systems and tools"))]
        report.note(f"{talks}{turns['customer']:,} turns are customers'; {' and '.join(left)} are left out")
        if self._strangers:
            names = ", ".join(repr(name) for name, _ in self._strangers.most_common(SPEAKERS_SHOWN))
            report.note(f"speakers that are neither customers nor agents: {names}")

    def _whose(self, record: Record) -> str:
        if self.columns.speaker is None:
            return "customer"
        role, customer = self._role(record), self.source.options.speaker
        if customer is not None:
            return "customer" if role == _plain_role(customer) else "system" if role in SYSTEMS else "agent"
        if role in CUSTOMERS:
            return "customer"
        if role in AGENTS or role in SYSTEMS:
            return "agent" if role in AGENTS else "system"
        if self.label_column and record.get(self.label_column):
            return "customer"
        self._strangers[role] += 1
        return "unknown"

    def _role(self, record: Record) -> str:
        return "" if self.columns.speaker is None else _plain_role(record.get(self.columns.speaker))

    def _name(self, record: Record) -> str:
        column = self.columns.conversation
        return "" if column is None else _written(record.get(column)).strip()

    def _conversation(self, name: str) -> _Open:
        """Return the conversation with this name; of very many open ones, the longest silent are forgotten."""
        if name not in self._open:
            self._n_conversations += 1
            self._open[name] = _Open((hash_of_name(name),) if name else ())
            if len(self._open) > MAX_OPEN_CONVERSATIONS:
                self._open.popitem(last=False)
        self._open.move_to_end(name)
        return self._open[name]

    def _values(self, line: int, record: Record) -> tuple[tuple[str, float, int], ...]:
        values = []
        for name in self.columns.values:
            value = record.get(name)
            number = _number(value)
            if number is not None:
                values.append((name, number, 1))
            elif value is not None and str(value).strip():
                self.source.report.count("unvalued", line)
        return tuple(values)


def _plain_role(value: object) -> str:
    return "" if value is None else plain_name(str(value)).replace(" ", "_").replace("end_user", "enduser")


def _is_question(text: str) -> bool:
    """Return whether a turn asks for something in particular; an offer to help invites a wish instead."""
    last = text.rstrip().lower()
    return last.endswith(("?", "\u061f", "\uff1f")) and not any(offer in last[-CHARACTERS_BEFORE:] for offer in OFFERS)


def _number(value: object) -> float | None:
    """Return a number, or 1 and 0 for yes and no; None for anything else."""
    text = str(value).strip().lower()
    if text in YES_AND_NO:
        return YES_AND_NO[text]
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
