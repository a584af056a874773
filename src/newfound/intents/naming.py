"""Names of new intents: phrases that their utterances have (`newfound.intents.phrases`), in one language."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from itertools import chain, count

import numpy as np
import numpy.typing as npt

from newfound.encoders.languages import UNKNOWN
from newfound.intents.languages import LanguageWords, in_one_language, languages_of
from newfound.intents.phrases import Likeness, PhraseNames, units_of
from newfound.text import words_of

MAX_WORDS = 6  # of a name from one utterance
MAX_NAME_LENGTH = 48  # characters
MAX_TEXTS_READ = 400  # per intent


def name_intents(
    texts: Sequence[Sequence[str]],
    *,
    taken: Collection[str] = (),
    others: Sequence[Sequence[str]] = (),
    likeness: Likeness | None = None,
    language: str = UNKNOWN,
) -> list[str]:
    """Return a short, unique snake_case name for each intent.

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
        near = None if likeness is None else partial(_likeness_of_some, likeness, rows)
        own_names = _names_in_one_language([spoken[i].texts for i in rows], used, known, near)
        for i, name in zip(rows, own_names, strict=True):
            names[i] = name
        used.update(own_names)
    return names


def _likeness_of_some(likeness: Likeness, intents: Sequence[int], phrases: Sequence[str]) -> npt.NDArray[np.float32]:
    return likeness(phrases)[:, list(intents)]


def _names_in_one_language(
    texts: Sequence[Sequence[str]],
    taken: Collection[str],
    others: Sequence[Sequence[str]],
    likeness: Likeness | None,
) -> list[str]:
    every = [text for own in (*texts, *others) for text in own[:MAX_TEXTS_READ]]
    words = LanguageWords(next(iter(languages_of(every)), UNKNOWN), every)
    units_in = units_of(words, every)
    units = [[units_in[text] for text in own[:MAX_TEXTS_READ]] for own in (*texts, *others)]
    proposed = PhraseNames(units[: len(texts)], units[len(texts) :]).names(taken, likeness)
    used = {*taken, *(name for name in proposed if name is not None)}
    names = []
    for own, name in zip(texts, proposed, strict=True):
        if name is None or len(name) > MAX_NAME_LENGTH:
            name = plain_name(own[0] if own else "", taken=used)
            used.add(name)
        names.append(name)
    return names


def plain_name(utterance: str, *, taken: Collection[str]) -> str:
    """Return a snake_case name from the first words of an utterance, or `new_intent`, that is not taken."""
    base = "_".join(words_of(utterance)[:MAX_WORDS])[:MAX_NAME_LENGTH].strip("_") or "new_intent"
    return next(name for name in chain([base], (f"{base}_{number}" for number in count(2))) if name not in taken)
