"""What names need to know of English: base forms of common verbs, phrasal verbs, plurals and negations.

The lists are closed and small. A word that is not in them is kept as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from newfound.text import FILLERS

# Verbs of requests; their regular forms are made by rule. What is lost, stolen or forgotten is a state, and no action.
VERBS = """
accept access activate add adjust allow answer apply approve arrive ask assist authorize book borrow bring buffer
build buy calculate call cancel carry cash change charge check claim clean clear close collect compare compensate
complain complete confirm connect contact convert cook correct cover create debit decline delay delete deliver deny
deposit describe detect disable discard disconnect dispute download drop earn eat edit enable end enter estimate
exchange expire explain export extend fail fetch file fill find finish fix flip follow freeze fund give grow hack
handle happen have hear hide hold include inform inquire install insure invest investigate issue join keep learn leave
lend link list listen live locate lock mail maintain manage measure meet miss modify monitor move notify offer open
operate order owe pair park pause pay pick place plan play point post postpone print process prove provide purchase
raise rank rate reach read rebook receive recharge recommend reconnect record recover redeem reduce refill refund
refuse register reject remember remind remove renew rent repair repeat replace reply report request reschedule reserve
reset resolve respond restart restore retrieve return reverse revert review ride roll rollover run save say schedule
search see select sell send share ship show sign skip sleep solve speak spell spend split start stay stop store submit
subscribe substitute supply support suspend swap switch sync talk teach terminate think track trade train transfer
translate travel trust try turn unblock unfreeze unlock unsubscribe update upgrade upload validate verify view visit
wait wake walk watch wipe withdraw work write
""".split()

IRREGULAR = {
    "bought": "buy", "brought": "bring", "built": "build", "eaten": "eat", "ate": "eat", "found": "find",
    "froze": "freeze", "frozen": "freeze", "gave": "give", "given": "give",
    "grew": "grow", "grown": "grow", "heard": "hear", "held": "hold", "hidden": "hide", "kept": "keep", "left": "leave",
    "lent": "lend", "met": "meet", "paid": "pay", "ran": "run", "rode": "ride", "said": "say",
    "saw": "see", "seen": "see", "sent": "send", "shown": "show", "slept": "sleep", "sold": "sell", "spent": "spend",
    "spoke": "speak", "spoken": "speak", "stole": "stolen", "taught": "teach", "thought": "think",
    "told": "tell", "withdrawn": "withdraw", "withdrew": "withdraw", "woke": "wake", "written": "write",
    "wrote": "write",
}  # fmt: skip
# The particle belongs to the verb: a top-up is not a top.
PHRASAL = {
    "break": "down", "call": "back", "check": "in out", "cut": "off", "fill": "up out", "log": "in on out",
    "look": "up", "move": "out in", "opt": "in out", "pay": "off", "pick": "up", "roll": "over", "send": "back",
    "set": "up", "show": "up", "shut": "off down", "sign": "in up out", "slow": "down", "speed": "up",
    "switch": "off on", "top": "up", "turn": "off on up down", "wake": "up", "work": "out",
}  # fmt: skip
NEGATIONS = frozenset("not isnt arent wasnt doesnt didnt hasnt havent wont never dont hadnt".split())
INABILITY = frozenset("cant cannot couldnt unable".split())
BEFORE_ACTIONS = frozenset("to i you we please id ill and can cant cannot could would will lets".split())
# Words that stand between a negation and its verb.
BETWEEN = frozenset("to be been being able yet even seem seems appear appears i my it get getting".split())
WORDS_OF_ENGLISH = frozenset(
    "the my i how what can you your is it to for of and this have want with not are im do does on in was be".split()
)
MIN_SHARE_OF_ENGLISH = 0.2  # of the words of English requests about four in ten are among these
# Beside `FILLERS`, which all languages share: words that say nothing about what somebody wants.
VAGUE = frozenset(
    """
    able actually already always another anything around before best between both come currently different either else
    even ever every everything first good happen happened hundred idea information instead issue keep keeps later long
    look looking many matter maybe must nothing often only other over per person possible problem put question really
    recently right seem seems since something soon sure than thing things think thinking thought times today tomorrow
    tried try trying two under until upon week well whatever whether whos wondering year yes yesterday yet
    """.split()
)


@dataclass(frozen=True, slots=True)
class Unit:
    """A word, or words that belong together, of an utterance.

    Attributes:
        base: Its base form, by which it is counted; words that belong together are joined by an underscore.
        form: How it was said.
        position: Which word of the utterance it is.
        action: Whether it is said as what somebody does or wants to do.
    """

    base: str
    form: str
    position: int
    action: bool = False


@cache
def verb_forms() -> Mapping[str, str]:
    """Return the base form of each form of the known verbs."""
    forms = {form: verb for verb in VERBS for form in _forms(verb)}
    return {**forms, **{verb: verb for verb in VERBS}, **IRREGULAR}


def _forms(verb: str) -> list[str]:
    """Return the regular forms of a verb."""
    if verb.endswith("e"):
        return [f"{verb}s", f"{verb}d", f"{verb[:-1]}ing"]
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return [f"{verb[:-1]}ies", f"{verb[:-1]}ied", f"{verb}ing"]
    stem = verb + verb[-1] if _doubles(verb) else verb
    ending = "es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else "s"
    return [f"{verb}{ending}", f"{stem}ed", f"{stem}ing"]


def _doubles(verb: str) -> bool:
    """Whether the last letter is doubled, as in `stopping`; of longer verbs only some, as `transferring`."""
    if len(verb) > 4:
        return verb in ("cancel", "transfer", "submit", "unsub", "permit", "refer")
    return (
        len(verb) > 2
        and verb[-1] not in "aeiouwxy"
        and verb[-2] in "aeiou"
        and verb[-3] not in "aeiou"
        and (verb not in ("open", "edit", "list"))
    )


def ing_form(verb: str) -> str:
    """Return `working` for `work`."""
    return _forms(verb)[-1]


def is_english(texts: Sequence[Sequence[str]]) -> bool:
    """Whether tokenised texts are English, by the share of its most frequent words."""
    total = sum(map(len, texts))
    english = sum(word in WORDS_OF_ENGLISH for text in texts for word in text)
    return total > 0 and english >= MIN_SHARE_OF_ENGLISH * total


def singular(word: str, vocabulary: Collection[str]) -> str:
    """Return the singular of a plural whose singular occurs as well; another word is returned as it is."""
    if len(word) < 4 or not word.endswith("s") or word.endswith("ss"):
        return word
    forms = [word[:-1]]
    if word.endswith("ies"):
        forms.append(f"{word[:-3]}y")
    elif word.endswith("es"):
        forms.append(word[:-2])
    return next((form for form in forms if len(form) > 2 and form in vocabulary), word)


def units_of(words: Sequence[str], vocabulary: Collection[str]) -> list[Unit]:
    """Return the units of an utterance that mean something, in their order.

    Args:
        words: The words of the utterance.
        vocabulary: All words that occur, by which plurals are recognised.
    """
    units, forms, skip = [], verb_forms(), -1
    for i, word in enumerate(words):
        if i <= skip:
            continue
        verb = forms.get(word) or (word if word in PHRASAL else None)
        particle = words[i + 1] if i + 1 < len(words) else ""
        phrasal = verb is not None and particle in PHRASAL.get(verb, "").split()
        if word in VAGUE or ((word in FILLERS or len(word) < 2 or word.isdigit()) and not phrasal):
            continue
        action = verb is not None and (i == 0 or words[i - 1] in BEFORE_ACTIONS)
        base = (verb if verb is not None else singular(word, vocabulary)) if not phrasal else f"{verb}_{particle}"
        if base in FILLERS:  # such as the singular of `hows`
            continue
        form = f"{word}_{particle}" if phrasal else word
        negation = _negation_before(words, i) if verb is not None else ""
        if negation:
            base = f"{negation}_{base}"
        units.append(Unit(base, form, i, action and not negation))
        skip = i + 1 if phrasal else skip
    return units


def _negation_before(words: Sequence[str], position: int) -> str:
    """Return `not` or `cannot` if the verb at a position is negated."""
    for word in reversed(words[max(0, position - 4) : position]):
        if word in NEGATIONS:
            return "not"
        if word in INABILITY:
            return "cannot"
        if word not in BETWEEN:
            return ""
    return ""
