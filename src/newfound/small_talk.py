"""Small talk: texts that greet, thank, agree, decline or say goodbye, and say nothing else, in seven languages.

The lists hold phrases with commas between them; a slash between words stands for either word. Texts are compared
without accents ("fuer" is "für" is "fur") and with repeated letters as one ("hiii"). What is listed before the bar is
small talk; what is listed after it (`sir`, `for your help`) may stand beside small talk, and says nothing alone.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import product

from newfound.text import words_of

MAX_WORDS = 5  # of a phrase
EVERYWHERE = "hi, hello, hey, bye, ok, okay, okey, super, sorry, pardon, thanks, thx, haha, lol, wow, oh, hm, perfect"
SMALL_TALK = {
    "English": """hiya, hai, hallo, hlo, hy, howdy, yo, greetings, good morning/afternoon/evening/day/night,
        morning, how are/r you/u, how are you doing/today, hows it going, whats up, sup, are/r you/u there,
        are you still there, is anyone/anybody there, nice to meet you, thank you/u, thank, thankyou, thanx, tnx,
        ty, tq, cheers, appreciate it, i appreciate it/that, you are welcome, youre welcome, welcome, my pleasure,
        no problem/worries, goodbye, good bye, cya, see you/ya/u, see you/ya later/soon/tomorrow, take care,
        good/great/nice day/evening/weekend, have a good/great/nice/lovely/wonderful day/evening/weekend/night/one,
        yes, yeah, yep, yup, ya, yea, oki, sure, of course, right, correct, exactly, absolutely, definitely,
        certainly, alright, all right/good/set/done, fine, great, cool, good, nice, awesome, excellent, wonderful,
        got it, i see/do/did/will/agree/understand, understood, agreed, true, done, go ahead, sounds good/great,
        thats/its/im right/correct/fine/good/great/ok/okay/all/it/enough/true/done,
        that/it is right/correct/fine/good/great/ok/okay/all/it/enough/true/done, i am fine/good/ok/okay/done, no,
        nope, nah, not really/yet/now/today, not at all, nothing, nothing else/more, none, no more, no need, i dont,
        i dont think so, that will/would be all, wait, one moment/second/minute, just a moment/second/minute,
        hold on | well, sir, madam, maam, mam, mr, ms, miss, bro, dear, my friend, guys, team, everyone, there,
        again, so, very, very/so much, a lot, alot, really, too, also, and, but, then, now, just, today, ahead, you,
        u, to you, same to you, please, pls, plz, for everything/now/today/that, for helping/assisting,
        for helping/assisting me, for all your help/support,
        for your/ur/the/all help/assistance/support/service/time/response/reply/information,
        for your/the quick/kind/great help/support/service/response/reply""",
    "German": """hallo, moin, servus, gruezi, gruss gott, guten morgen/tag/abend, gute nacht, wie gehts,
        jemand da, danke, wie geht es dir/ihnen, dankeschon, danke schon/sehr/dir/ihnen,
        vielen/besten/herzlichen dank, bitte schon/sehr, gern, gerne, gern/gerne geschehen, kein problem,
        keine ursache, nichts zu danken, tschuss, ciao, auf wiedersehen/wiederhoren,
        bis dann/bald/spater/morgen, schonen tag/abend, einen schonen tag/abend, alles gute, schones wochenende,
        viele/liebe/beste grusse, mit freundlichen grussen, mfg, lg, ja, jawohl, jo, jep, klar, genau, richtig,
        stimmt, korrekt, in ordnung, alles klar/gut, gut, sehr gut, prima, toll, perfekt, passt, das passt/stimmt,
        das ist gut/richtig/ok/okay/alles, einverstanden, verstanden, naturlich, verstehe, ich verstehe,
        fertig, erledigt, nein, ne, noe, nicht wirklich, noch nicht, nichts, nichts mehr, sonst nichts, das wars,
        das war es/alles, entschuldigung, tut mir leid, moment, einen moment | herr, frau, zusammen, team, und,
        aber, doch, noch, nochmal, nochmals, auch, dir, ihnen, gleichfalls, ebenfalls, sehr, so, bitte, dann, mal,
        erstmal, heute, jetzt, fur alles, fur die schnelle hilfe/antwort,
        fur die/ihre/deine hilfe/antwort/auskunft/info/information/unterstutzung/muhe""",
    "Spanish": """hola, buenas, buenos dias, buen dia, buenas tardes/noches, que tal, como estas/esta,
        hay alguien ahi, gracias, muchas/mil/muchisimas gracias, de nada, con gusto, adios, chao, chau,
        hasta luego/pronto/manana, nos vemos, saludos, que tenga/tengas un buen dia, si, sip, claro, claro que si,
        por supuesto, vale, de acuerdo, correcto, exacto, asi es, exactamente, eso es, eso es todo, es todo,
        esta bien, muy bien, bien, perfecto, genial, excelente, entendido, entiendo, cierto, no, nada,
        nada mas, ninguno, todavia/aun no, disculpa, disculpe, perdon, lo siento, un momento | senor, senora, amigo,
        amiga, a todos/ti/usted, igualmente, por favor, tambien, y, pero, muy, mucho, ya, entonces, hoy,
        por ahora/hoy/todo, por tu/su/la ayuda/atencion/respuesta/informacion/tiempo""",
    "French": """bonjour, bonsoir, salut, coucou, allo, ca va, comment ca va, comment allez vous, merci,
        merci beaucoup/bien, de rien, je vous en prie, avec plaisir, pas de probleme/souci, au revoir,
        a bientot/demain/plus, a plus tard, cordialement, bonne journee/soiree/nuit, bon weekend, oui, ouais, si,
        bien sur, daccord, exact, exactement, parfait, tout a fait, cest bon/ca/cela/parfait/tout/correct/bien,
        tres bien, bien, genial, entendu, compris, je comprends, certainement, evidemment, absolument,
        effectivement, ca marche, non, nan, pas vraiment/encore/maintenant, pas du tout, rien, rien dautre,
        ce sera tout, desole, desolee, excusez moi, un instant/moment | monsieur, madame, mme, a tous/vous/toi,
        vous/toi aussi, a vous/toi aussi, sil vous/te plait, svp, stp, et, mais, alors, encore, aussi, tres,
        beaucoup, pour tout, pour laide, pour votre/ton/la aide/reponse/temps/information""",
    "Italian": """ciao, salve, buongiorno, buonasera, buonanotte, buon giorno/pomeriggio,
        buona sera/giornata/serata/notte, come va/stai/sta, ce qualcuno, grazie, grazie mille/tante,
        mille/molte/tante grazie, prego, di niente/nulla, figurati, nessun problema, arrivederci,
        a presto/dopo/domani, ci vediamo, saluti, cordiali saluti, si, certo, certamente, va bene, daccordo, esatto,
        esattamente, giusto, corretto, perfetto, ottimo, bene, molto bene, benissimo, capito, ho capito, chiaro,
        assolutamente, e tutto, tutto qui/bene/ok, no, non ancora/ora/adesso, per niente, niente,
        niente altro, nientaltro, nulla, basta cosi, scusa, scusi, mi dispiace, un momento/attimo | signore,
        signora, signor, a tutti/te/lei/voi, anche a te/lei/voi, per favore, e, ma, ancora, anche, molto, tanto,
        allora, cosi, di tutto/cuore, per tutto, per laiuto, per il tuo/suo aiuto, per la risposta/disponibilita""",
    "Dutch": """hallo, hoi, goedemorgen, goedemiddag, goedenavond, goedendag, goede morgen/middag/avond/nacht, dag,
        bedankt, hoe gaat het, is er iemand, dank je/u, dank je/u wel, dankje, dankjewel, hartelijk dank/bedankt,
        graag gedaan, geen probleem/dank, doei, doeg, tot ziens/straks/later/morgen/gauw/snel, fijne dag/avond,
        een fijne dag/avond, groetjes, fijn weekend, groeten, met vriendelijke groet, ja, jawel, jazeker, oke,
        zeker, natuurlijk, klopt, dat klopt, precies, inderdaad, prima, goed, heel goed, is goed,
        dat is goed/prima/juist/alles/het, mooi, begrepen, ik begrijp het, akkoord, in orde, nee, neen,
        nog niet, niet echt, niks, niets, niets meer/anders, dat was het/alles, excuses, een moment, momentje |
        meneer, mevrouw, allemaal, iedereen, team, je, u, jij/u ook, en, maar, ook, nog, heel, erg, zeer, hoor, dan,
        verder, vandaag, nu, alstublieft, alsjeblieft, aub, voor alles,
        voor je/uw/jullie/de/het hulp/antwoord/reactie/moeite/tijd""",
    "Portuguese": """ola, oi, bom dia, boa tarde/noite, tudo bem, como vai/esta, tem alguem ai, obrigado, obrigada,
        muito obrigado/obrigada, brigado, valeu, agradeco, de nada, por nada, disponha, tchau, adeus,
        ate logo/mais/breve/amanha, bom fim de semana, tenha um bom dia, abraco, abracos, sim, claro, com certeza,
        ta, ta bom, esta bem/bom, certo, isso, isso mesmo, exato, exatamente, correto, perfeito, otimo, beleza,
        entendi, entendido, combinado, bom, bem, muito bem/bom, so isso, e so isso, nao, nada, nada mais,
        mais nada, ainda nao, desculpe, desculpa, perdao, um momento | senhor, senhora, amigo, amiga, a todos/voce,
        igualmente, por favor, e, mas, tambem, muito, mesmo, entao, hoje, so, por tudo,
        pela ajuda/atencao/resposta/informacao, pelo atendimento/retorno""",
}


def is_small_talk(text: str) -> bool:
    """Return whether a text consists of small talk: "hi, good morning" does, "hi, cancel my order" does not."""
    words = _plain_words(text)
    return any(_consists_of(words, both) and not _consists_of(words, beside) for both, beside in _phrases())


def _plain_words(text: str) -> list[str]:
    letters = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return words_of(re.sub(r"([aou])e", r"\1", re.sub(r"(\w)\1+", r"\1", plain)))


@cache
def _phrases() -> list[tuple[frozenset[tuple[str, ...]], frozenset[tuple[str, ...]]]]:
    """Return the phrases of each language: all of them, and those that only stand beside others."""
    lists = [listed.split("|") for listed in SMALL_TALK.values()]
    return [(_expand(f"{EVERYWHERE}, {talk}, {beside}"), _expand(beside)) for talk, beside in lists]


def _expand(listed: str) -> frozenset[tuple[str, ...]]:
    phrases = (product(*(word.split("/") for word in phrase.split())) for phrase in listed.split(","))
    return frozenset(tuple(_plain_words(" ".join(words))) for either in phrases for words in either)


def _consists_of(words: list[str], phrases: frozenset[tuple[str, ...]]) -> bool:
    """Return whether phrases, one after the other, make up the words."""
    ends = {0}  # the places at which a phrase may begin
    for i in range(len(words)):
        if i in ends:
            ends |= {i + n for n in range(1, MAX_WORDS + 1) if tuple(words[i : i + n]) in phrases}
    return bool(words) and len(words) in ends
