"""Several intents in one message: it is divided where its parts are typical of different intents.

A message can be divided after sentences and at words such as "and". Of all ways to divide it, the best is the one whose
parts exceed a limit of how typical they are by the most in sum. A piece that states nothing of its own is typical of no
intent and lies below the limit, so that a message with one intent stays whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from math import sqrt
from typing import NamedTuple

from newfound.model.types import MessagePart, Prediction
from newfound.plain import plain_text

# Of the labelled utterances, the share that is less typical than a part has to be. With 0.2, chosen on utterances of
# BANKING77 and CLINC150 that were joined for it, 0 and 2 % of single utterances are divided (docs/howto/several.md).
LIMIT = 0.2
MAX_CUTS = 20  # of a message; sentences come before words such as "and"
MAX_PIECES = 5  # between two cuts, of one part
CONNECTIVES = (
    "and also then plus but or so besides another secondly next "
    "und auch dann außerdem oder aber sowie et puis aussi ou mais ensuite également "
    "y e también luego o pero además anche poi inoltre en ook dan of maar"
).split()
SENTENCE_END = r"(?<![.?!…])[.?!…]+[\"'”’)\]]*(?=\s)|[。？！؟]"
CUT = re.compile(
    rf"(?P<end>{SENTENCE_END}|(?=[;,:\n،、，；]|\s[-–—]\s|\s(?:{'|'.join(CONNECTIVES)})\b))"
    rf"[\s;,:،、，；–—-]*(?:\b(?:{'|'.join(CONNECTIVES)})\b[\s,]+)*",
    re.IGNORECASE,
)


class Span(NamedTuple):
    """A part of a message, from a character to the one after its last."""

    start: int
    end: int


class _Best(NamedTuple):
    """The best way to divide a message up to a cut, so that the last part has a certain intent."""

    score: float
    spans: tuple[Span, ...]


def spans_of(text: str) -> list[Span]:
    """Return the spans that a message can be divided into, the whole message first."""
    cuts = _cuts(text)
    whole = Span(0, len(text))
    return [whole, *(span for _, _, span in _spans_between(cuts) if span != whole)]


def divide(text: str, answers: Mapping[str, Prediction]) -> tuple[MessagePart, ...]:
    """Return the parts of a message with their intents; one if it stays whole, none if it has no intent.

    `answers` are the predictions of the texts of its spans.
    """
    cuts, whole = _cuts(text), answers[text]
    best: list[dict[str | None, _Best]] = [{} for _ in cuts]
    best[0][None] = _Best(0.0, ())
    for first, last, span in _spans_between(cuts):
        part = answers[text[slice(*span)]]
        if part.intent is None or part.above_threshold is False:
            continue
        for earlier, (score, spans) in best[first].items():
            candidate = _Best(score + _score(part), (*spans, span))
            if earlier != part.intent and (part.intent not in best[last] or best[last][part.intent] < candidate):
                best[last][part.intent] = candidate
    divided = max(best[-1].values(), default=_Best(0.0, ()))
    parts = [_as_part(answers[text[slice(*span)]], span) for span in divided.spans]
    return tuple(parts) if len(parts) > 1 else () if whole.intent is None else (_as_part(whole, Span(0, len(text))),)


def texts_of_spans(texts: Sequence[str]) -> list[str]:
    """Return the texts of all spans of some messages, each once."""
    return list(dict.fromkeys(text[slice(*span)] for text in texts for span in spans_of(text)))


def _score(part: Prediction) -> float:
    """Return by how much a part exceeds the limit; the root keeps a very typical part from outweighing others."""
    return sqrt(1 - part.outlier) - sqrt(LIMIT)


def _as_part(prediction: Prediction, span: Span) -> MessagePart:
    assert prediction.intent is not None
    return MessagePart(prediction.intent, prediction.probability, *span)


def _cuts(text: str) -> list[Span]:
    """Return where a message can be divided: where the part before ends, and where the next one starts.

    The first cut is its beginning, and the last one its end.
    """
    is_marked = plain_text(text).split() != text.split()  # a mail with quotes or a footer stays whole
    found = [] if is_marked else [(Span(m.end("end"), m.end()), bool(m["end"])) for m in CUT.finditer(text)]
    inner = [(cut, is_sentence) for cut, is_sentence in found if text[: cut.start].strip() and text[cut.end :].strip()]
    first_of_all = sorted(range(len(inner)), key=lambda i: (not inner[i][1], i))[:MAX_CUTS]
    return [Span(0, 0), *(inner[i][0] for i in sorted(first_of_all)), Span(len(text), len(text))]


def _spans_between(cuts: Sequence[Span]) -> Iterator[tuple[int, int, Span]]:
    """Yield the parts between two cuts, with the numbers of these, in the order of their ends."""
    for last in range(1, len(cuts)):
        whole = [0] if last == len(cuts) - 1 else []
        for first in dict.fromkeys([*whole, *islice(range(last - 1, -1, -1), MAX_PIECES)]):
            yield first, last, Span(cuts[first].end, cuts[last].start)
