"""Which turns of conversations are learned from: those that state a wish, at most a few of each conversation."""

from __future__ import annotations

from newfound.data.corpus import Corpus
from newfound.encoders.languages import UNKNOWN, likely_language
from newfound.small_talk import is_small_talk
from newfound.text import is_wordless
from newfound.training.progress import Reporter
from newfound.wishes import log_odds_of_wish

MAX_TURNS = 3  # of a conversation
# Added to the log odds. The first turn that is more than small talk often says why somebody writes; what follows a
# question of the other side mostly answers it.
OPENING, ANSWER = 2.0, -2.0


def keep_wishes(logs: Corpus, reporter: Reporter) -> Corpus:
    """Return logs without the turns of conversations that likely state no wish; the reporter is told how many."""
    rows = rows_with_wishes(logs)
    n_turns = sum(origin.said.turn > 0 for origin in logs.origins)
    if n_turns:
        kept = n_turns - (len(logs) - len(rows))
        reporter.note(
            f"{kept:,} of {n_turns:,} turns of customers likely state a wish, and are learned from; "
            "`turns` may say that all are."
        )
    return logs.take(rows)


def rows_with_wishes(logs: Corpus) -> list[int]:
    """Return the rows that stand alone, and those turns of each conversation that most likely state a wish."""
    best = (own[:MAX_TURNS] for own in _turns(logs).values())
    return sorted(_alone(logs) + [i for own in best for odds, i in own if odds > 0])


def with_one_turn_a_label(known: Corpus) -> Corpus:
    """Return labelled utterances; where a whole conversation has a label, the turn that most likely states a wish."""
    rows = _alone(known)
    for own in _turns(known).values():
        turns = [i for _, i in own]
        rows += turns[:1] if len({known.labels[i] for i in turns}) == 1 else turns
    return known.take(sorted(rows))


def _alone(corpus: Corpus) -> list[int]:
    return [i for i, origin in enumerate(corpus.origins) if not origin.said.turn]


def _turns(corpus: Corpus) -> dict[str, list[tuple[float, int]]]:
    """Return the rows of each conversation with their log odds of a wish, the highest first."""
    turns: dict[str, list[tuple[float, int]]] = {}
    for i, (text, origin) in enumerate(zip(corpus.texts, corpus.origins, strict=True)):
        if (said := origin.said).turn:
            context = (OPENING * said.openings + ANSWER * said.answers) / origin.count
            turns.setdefault(said.conversation, []).append((_log_odds(text) + context, i))
    return {name: sorted(own, key=lambda turn: (-turn[0], turn[1])) for name, own in turns.items()}


def _log_odds(text: str) -> float:
    """Return the log odds of a wish; in languages other than English, only small talk is known not to be one."""
    if likely_language(text) in ("English", UNKNOWN):
        return log_odds_of_wish(text)
    return -1.0 if is_small_talk(text) or is_wordless(text) else 1.0
