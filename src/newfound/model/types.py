"""Types of a model: intents, training utterances and predictions. This module does not need torch."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from newfound.data.corpus import Days
from newfound.data.redact import redact
from newfound.data.said import ALONE, Said
from newfound.text import percent, shorten
from newfound.untrusted import parse

Trend = Literal["rising", "fading", "new", "steady"]
Status = Literal["known", "accepted", "new"]
MAX_DESCRIPTION, MAX_TEXT_DESCRIBED = 120, 1_000  # characters
GREETING = re.compile(r"^(?:(?:hi|hello|hey|hallo|hola|bonjour|guten tag|please|ok|so)\b[\s,.!:-]*)+", re.IGNORECASE)
MAX_FALL_OF_KNOWN = 0.05  # of the share of known utterances that are right, before a warning


@dataclass(frozen=True, slots=True)
class Overlap:
    """Another intent that an intent overlaps with.

    Attributes:
        name: The name of the other intent.
        share: The share of the nearest neighbours of this intent's utterances that belong to the other one.
    """

    name: str
    share: float


@dataclass(frozen=True, slots=True)
class Volume:
    """How often an intent occurred in each week.

    Attributes:
        first_week: The Monday of the first week of all intents, in ISO form.
        counts: The number of its utterances in this week and in each that follows.
        trend: Whether its share rises, fades or is steady, or it is new since some week; None if there is one week.
        partial: The positions of weeks that the logs hold only a part of: the first, the last, or both.
        change: Of the number of utterances, from the last whole week but one to the last; None if there are not two.
    """

    first_week: str
    counts: tuple[int, ...]
    trend: Trend | None
    partial: tuple[int, ...] = ()
    change: int | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        whole = [n for week, n in enumerate(self.counts) if week not in self.partial]
        object.__setattr__(self, "change", whole[-1] - whole[-2] if len(whole) > 1 else None)


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of a column of the logs over utterances, such as the share of those that were resolved.

    Attributes:
        column: The name of the column.
        value: The mean; yes counts as 1 and no as 0.
        count: How many utterances have a value.
    """

    column: str
    value: float
    count: int


@dataclass(frozen=True, slots=True)
class Intent:
    """The description of one intent, as the report, the review page, `inspect` and the HTTP API show it.

    Attributes:
        name: Its name, unique within a model.
        known: Whether it was known before the discovery.
        size: The number of its utterances, each counted as often as it occurred.
        exemplars: Central utterances that differ from one another.
        keywords: The words that distinguish it from other intents, best first.
        border: The utterances that are closest to belonging to another intent.
        accepted: Whether a person has accepted it as an intent. A known intent with this mark was found in logs and
            accepted in an earlier round.
        labelled: The number of its utterances that a person labelled.
        certainty: The mean probability of its utterances from the logs; 1 if a person labelled them all; None if it has
            no utterances.
        overlaps: The intents it overlaps with, the largest overlap first.
        min_similarity: The least cosine to its prototype that a text of the intent has; below it the text belongs to no
            intent.
        takes_wordless: Whether a text without words, such as a number, may belong to it.
        takes_small_talk: Whether a text that is nothing but small talk, such as a greeting, may belong to it.
        volume: How often it occurred in each week; None if no times are known.
        conversations: In how many conversations it was said; 0 if that is not known.
        users: How many people said it; 0 if that is not known.
        means: The means of the columns that were asked for (`value_columns`).
        id: Stays with the intent when it is renamed, and from round to round; by default it is made of the name.
        path: The names of the groups that it is in, such as `travel/flights`; None if it is in no group. It lies in
            `groups.json`, and not with the intent.
        status: Whether the intent is known, accepted or new.
        description: Its most typical utterance as one sentence; empty if no utterances are at hand.
        expected_error: The expected share of its utterances from the logs that belong to another intent.
    """

    name: str
    known: bool
    size: int
    exemplars: tuple[str, ...]
    keywords: tuple[str, ...] = ()
    border: tuple[str, ...] = ()
    accepted: bool = False
    labelled: int = 0
    certainty: float | None = None
    overlaps: tuple[Overlap, ...] = ()
    min_similarity: float = -1.0
    takes_wordless: bool = True
    takes_small_talk: bool = True
    volume: Volume | None = None
    conversations: int = 0
    users: int = 0
    means: tuple[Mean, ...] = ()
    id: str = ""
    path: str | None = None
    status: Status = field(init=False, default="new")
    expected_error: float | None = field(init=False, default=None)
    description: str = field(init=False, default="")

    def __post_init__(self) -> None:
        if not self.id:
            object.__setattr__(self, "id", intent_id(self.name))
        status = "known" if self.known else "accepted" if self.accepted else "new"
        object.__setattr__(self, "status", status)
        object.__setattr__(self, "expected_error", None if self.certainty is None else round(1 - self.certainty, 4))
        object.__setattr__(self, "description", one_sentence(next(iter(self.exemplars), "")))

    @property
    def discovered(self) -> bool:
        """Whether it was found in logs, in this round or an earlier one; otherwise labelled data have named it."""
        return not self.known or self.accepted


def unquoted_name(intent: Intent) -> str:
    """Return the name of an intent, or another one if it quotes an utterance: for models without utterances."""
    quotes = intent.discovered and intent.name.startswith("“")
    return "_".join((*intent.keywords[:2], intent.id)) if quotes else intent.name


def one_sentence(text: str) -> str:
    """Return the longest sentence of a text, masked and without a greeting before it."""
    sentences = re.split(r"(?<=[.?!…])\s+", " ".join(redact(text[:MAX_TEXT_DESCRIBED]).split()))
    sentence = GREETING.sub("", max(sentences, key=len)) or text
    return shorten(sentence[:1].upper() + sentence[1:], MAX_DESCRIPTION)


def intent_id(name: str) -> str:
    """Return the id of an intent that is first seen under this name."""
    return hashlib.sha256(name.encode()).hexdigest()[:8]


def unused_id(id: str, used: Collection[str]) -> str:
    """Return an id, or another one made of it if it is used: an intent may get a name that another one had before."""
    while id in used:
        id = intent_id(id)
    return id


@dataclass(frozen=True, slots=True)
class Utterance:
    """A training utterance with its intent, as it was fitted or after a review.

    Attributes:
        text: The utterance.
        intent: The name of its intent; None if it belongs to no intent.
        labelled: Whether a person labelled it; otherwise it came from the logs.
        probability: The probability of its intent; after a review 1 if a person labelled it.
        count: How often it occurred.
        source: Where it came from, for instance the name of a file; empty if it is not known.
        days: The days on which it occurred, and how often on each; empty if that is not known.
        said: In which conversations, by whom and with what outcome it was said, as far as that is known.
    """

    text: str
    intent: str | None
    labelled: bool
    probability: float
    count: int = 1
    source: str = ""
    days: Days = ()
    said: Said = ALONE


@dataclass(frozen=True, slots=True)
class Calibration:
    """How the cosines of a text to the intents become probabilities and an outlier score.

    Attributes:
        temperature: Of the softmax over the cosines.
        reliability: The share of the probability of new intents that stays with them, since their labels may be wrong.
        typical: Quantiles of the cosine of training utterances to their intent, for outlier scores.
    """

    temperature: float
    reliability: float = 1.0
    typical: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownCheck:
    """How well known intents are classified beside new ones, measured on labels that were held out.

    Attributes:
        labels: The number of held-out labels that were compared.
        plain: The share of them that a plain classifier gets right, a logistic regression on the labelled rows alone.
        now: The share of them that is right beside the new intents.
        lost: The number of them that the plain classifier gets right, and that are wrong now.
        gained: The number of them that the plain classifier gets wrong, and that are right now.
        seen_before: Whether an earlier training, which this one started from, had these labels, so that they are found
            again more easily than others.
        falls: Whether `now` is more than 5 points below `plain`, and by more than chance.
    """

    advice: ClassVar = (
        "Utterances of known intents were probably taken for new ones. Label more utterances of the known intents, "
        "look for fewer new intents, or merge new intents that look like known ones into these in the review."
    )
    labels: int
    plain: float
    now: float
    lost: int
    gained: int
    seen_before: bool = False
    falls: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        is_large = round(self.plain - self.now, 6) > MAX_FALL_OF_KNOWN
        # McNemar's test: if neither classifier is better, `lost - gained` has the variance `lost + gained`.
        is_clear = self.lost - self.gained > 2 * math.sqrt(self.lost + self.gained)
        object.__setattr__(self, "falls", is_large and is_clear)

    @classmethod
    def of(cls, provenance: Mapping[str, Any]) -> KnownCheck | None:
        """Return what the provenance of a model says; None if nothing was measured.

        The provenance comes from a file and may hold anything.
        """
        try:
            check = parse(cls, provenance.get("known_check"))
        except ValueError:
            return None
        is_possible = 0 <= check.plain <= 1 and 0 <= check.now <= 1 and check.lost + check.gained <= check.labels
        return check if is_possible else None

    @property
    def sentence(self) -> str:
        """The shares as a sentence without its full stop."""
        shares = f"{percent(self.plain)} with a plain classifier, {percent(self.now)} now"
        seen = ", which the encoder was trained on before" if self.seen_before else ""
        return f"Known intents: {shares} (on {self.labels:,} held-out labels{seen})"


@dataclass(frozen=True, slots=True)
class RankedIntent:
    """An intent that a text may belong to, with its probability."""

    intent: str
    probability: float


@dataclass(frozen=True, slots=True)
class MessagePart:
    """A part of a message that has an intent of its own.

    Attributes:
        intent: The name of the intent.
        probability: The probability of the intent.
        start: The position of its first character in the message.
        end: The position after its last character.
    """

    intent: str
    probability: float
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Prediction:
    """The classification of one text.

    Attributes:
        text: The text that was classified.
        intent: The name of the intent; None if the text belongs to no intent, for instance because nothing of it can be
            seen.
        known: Whether the intent is a known one.
        probability: The probability of the intent. A text that is too unlike its most probable intent has no intent,
            and the probability of that one; 1 if nothing of it can be seen, or a person said that it has none.
        outlier: The share of labelled training utterances that are more similar to their intent, from 0 to 1; of the
            utterances of the logs, if fewer than 100 are labelled or the encoder was trained on them. A text with a
            score close to 1 is unlike all intents.
        status: Whether the intent is known, accepted or new; None if the text belongs to no intent.
        top: The most probable intents, as many as were asked for, the best first, also of a text that is too unlike
            them; empty if there are none.
        intent_id: The id of the intent, which stays when it is renamed; None if the text belongs to no intent.
        path: The names of the groups that the intent is in, such as `travel/flights`; None if it is in no group.
        above_threshold: Whether the probability reaches the threshold of the intent (`newfound thresholds`), so that
            the promised precision holds; None if the model has no thresholds.
        intents: The parts of a message that states several wishes, one if it stays whole, none without an intent; None
            if they were not asked for.
    """

    text: str
    intent: str | None
    known: bool
    probability: float
    outlier: float
    status: Status | None = None
    top: tuple[RankedIntent, ...] = ()
    intent_id: str | None = None
    path: str | None = None
    above_threshold: bool | None = None
    intents: tuple[MessagePart, ...] | None = None


def certainty_of(utterances: Iterable[Utterance]) -> float | None:
    """Return the mean probability of utterances from the logs, weighted by their count; None without any utterance.

    Utterances that a person labelled and those of no intent do not count; if there are no others, it is 1. What is
    missing to 1 is the expected error that reports show.
    """
    every = list(utterances)
    logs = [(u.count, u.probability) for u in every if not u.labelled and u.intent is not None]
    total = sum([count for count, _ in logs])
    if not total:
        return 1.0 if every else None
    return round(sum([count * probability for count, probability in logs]) / total, 4)
