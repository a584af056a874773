"""Names of new intents: phrases that their utterances have (`newfound.intents.phrases`), in one language.

An intent without a good phrase is called by the first words of its most typical utterance, in quotation marks.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, count

from newfound.data.redact import redact
from newfound.encoders.languages import UNKNOWN
from newfound.intents.languages import LanguageWords, in_one_language, languages_of
from newfound.intents.phrases import Likeness, PhraseNames, Unit, bag_of, units_of
from newfound.intents.roles import WordRoles
from newfound.model.types import Intent
from newfound.text import words_of

MAX_WORDS = 6  # of a quotation, and of a name from a language model
INNER = "-'’.:"  # signs within words of a quotation
MIN_WORDS_QUOTED = 3  # if any utterance has as many
MAX_QUOTATIONS_COMPARED = 10
MAX_NAME_LENGTH = 48  # characters
MAX_TEXTS_READ = 400  # per intent
MAX_LENGTH_OF_A_USERS_NAME = 200  # characters


@dataclass(frozen=True, slots=True)
class NamingFacts:
    """What is known of a new intent when it gets its name.

    Attributes:
        intent: Its description, with the name that newfound made of its utterances.
        similar: The intents that are most like it, the most similar first.
    """

    intent: Intent
    similar: tuple[Intent, ...] = ()


Namer = Callable[[NamingFacts], str | None]
"""Names a new intent; None, or an empty name, keeps the name that it has."""


def facts_of_new(intents: Sequence[Intent], neighbours: Sequence[Sequence[int]]) -> list[NamingFacts]:
    """Return the facts of each new intent; `neighbours` are the positions of the intents that are most like each."""
    rows = zip(intents, neighbours, strict=True)
    return [NamingFacts(i, tuple(intents[j] for j in near)) for i, near in rows if i.status == "new"]


def renamed(
    intents: Sequence[Intent], facts: Sequence[NamingFacts], namer: Namer, *, warn: Callable[[str], None]
) -> list[str]:
    """Return the names of all intents; those of the facts come from a namer.

    A name that cannot be one, is taken, or has the words of another name in another order or number is not used. What
    goes wrong in a namer costs no run: it is told once, and the names stay.
    """
    names = {intent.name: intent.name for intent in intents}
    for of in facts:
        try:
            name = " ".join((namer(of) or "").split())
        except Exception as error:  # of a user's function, after a fit that may have taken hours
            warn(f"naming {of.intent.name} failed ({type(error).__name__}: {error}); the names stay as they were")
            break
        taken = [bag_of(other) for own, other in names.items() if own != of.intent.name]
        if 0 < len(name) <= MAX_LENGTH_OF_A_USERS_NAME and name.isprintable() and bag_of(name) not in taken:
            names[of.intent.name] = name
    return list(names.values())


def name_intents(
    texts: Sequence[Sequence[str]],
    *,
    taken: Collection[str] = (),
    others: Sequence[Sequence[str]] = (),
    likeness: Likeness | None = None,
    language: str = UNKNOWN,
) -> list[str]:
    """Return a short, unique name for each intent: snake_case, or a quotation where no phrase would be right.

    Where the texts are in several languages, an intent is named in one of them.

    Args:
        texts: The texts of each intent.
        taken: Names that must not be used.
        others: The texts of further intents, which the names should tell these from.
        likeness: How near phrases are to the texts of each intent; without it, counts of words alone decide.
        language: The language of the names, for intents with enough texts in it; of others, that of most texts.
    """
    if len(languages_of([text for own in (*texts, *others) for text in own])) < 2:
        return _names_in_one_language(texts, taken, others, likeness)
    spoken = [in_one_language(own, language) for own in texts]
    names, used = [""] * len(texts), set(taken)
    for spoken_language in dict.fromkeys(own.language for own in spoken):
        rows = [i for i in range(len(texts)) if spoken[i].language == spoken_language]
        in_others = [in_one_language(own, spoken_language) for own in others]
        known = [own.texts for own in in_others if own.language == spoken_language]
        near = None if likeness is None else partial(lambda own, phrases: likeness(phrases)[:, own], rows)
        own_names = _names_in_one_language([spoken[i].texts for i in rows], used, known, near)
        for i, name in zip(rows, own_names, strict=True):
            names[i] = name
        used.update(own_names)
    return names


def _names_in_one_language(
    texts: Sequence[Sequence[str]],
    taken: Collection[str],
    others: Sequence[Sequence[str]],
    likeness: Likeness | None,
) -> list[str]:
    every = [text for own in (*texts, *others) for text in own[:MAX_TEXTS_READ]]
    language = next(iter(languages_of(every)), UNKNOWN)
    roles = WordRoles(language, every)
    units_in = units_of(LanguageWords(language, every), every, roles)
    units = [[units_in[text] for text in own[:MAX_TEXTS_READ]] for own in (*texts, *others)]
    proposed = PhraseNames(units[: len(texts)], units[len(texts) :], roles).names(taken, likeness)
    used = {*taken, *(name for name in proposed if name is not None)}
    names = []
    for i, (own, name) in enumerate(zip(texts, proposed, strict=True)):
        if name is None or len(name) > MAX_NAME_LENGTH:
            name = quotation(_typical(own[:MAX_TEXTS_READ], units_in, likeness, i), taken=used)
            used.add(name)
        names.append(name)
    return names


def _typical(
    texts: Sequence[str], units_in: Mapping[str, Sequence[Unit]], likeness: Likeness | None, intent: int
) -> str:
    """Return the text that says what most texts of an intent say in few words."""
    n = Counter(key for text in texts for key in {unit.key for unit in units_in[text]})

    def commonness(text: str) -> float:
        keys = {unit.key for unit in units_in[text]}
        is_poor = any(c.isdigit() for c in text) or len(text.split()) < MIN_WORDS_QUOTED
        return sum(n[key] for key in keys) / (len(text.split()) + 3) - len(texts) * is_poor

    best = sorted(dict.fromkeys(texts), key=lambda text: (-commonness(text), len(text), text))[:MAX_QUOTATIONS_COMPARED]
    if likeness is None or len(best) < 2:
        return next(iter(best), "")
    return best[int(likeness(best)[:, intent].round(4).argmax())]


def quotation(utterance: str, *, taken: Collection[str]) -> str:
    """Return the first words of an utterance in quotation marks, or `new_intent`, that is not taken."""
    text = " ".join(redact(utterance).replace("/", " ").split())
    seen = "".join(c for c in text if c == " " or c in INNER or unicodedata.category(c)[0] in "LMN")
    words = [word for part in seen.split() if (word := part.strip(INNER))]
    said = " ".join(words[:MAX_WORDS])[: MAX_NAME_LENGTH - 3].rstrip(INNER)
    cut = "…" if len(said) < len(" ".join(words)) else ""
    base, space = (f"“{said}{cut}”", " ") if words_of(said) else ("new_intent", "_")
    names = chain([base], (f"{base}{space}{number}" for number in count(2)))
    return next(name for name in names if name not in taken)
