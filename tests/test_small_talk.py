"""Small talk in several languages, and texts that begin like it but say more."""

from __future__ import annotations

import time

import pytest

from newfound.small_talk import EVERYWHERE, MAX_WORDS, SMALL_TALK, is_small_talk


@pytest.mark.parametrize(
    "text",
    [
        *("hi", "Hello!", "hiiii", "Good morning, sir", "hi good evening", "how are you?", "Are you there??"),
        *("thanks", "THANK YOU", "ok thank you so much for your help 🙏", "great, thanks a lot. Bye!", "take care"),
        *("yes", "yes please", "ok", "Okayyy", "sure, that's fine", "no", "nope, that's all", "no thank you", "got it"),
        *("Hallo zusammen", "Guten Tag", "vielen Dank für die schnelle Antwort!", "Danke schön", "dankeschoen"),
        *("Ja, genau", "nein danke", "Tschüß", "Auf Wiedersehen", "einen schönen Tag noch", "Für alles vielen Dank"),
        *("¡Hola!", "buenos días", "sí, claro", "muchas gracias por su ayuda", "no, nada más", "adiós, hasta luego"),
        *("Bonjour Madame", "merci beaucoup", "oui, d'accord", "non merci", "à bientôt", "c'est bon, merci"),
        *("Buongiorno", "sì, va bene", "grazie mille per l'aiuto", "no grazie", "arrivederci", "tutto bene"),
        *("Goedemorgen", "dank je wel", "ja hoor", "nee, dat was het", "tot ziens", "hartelijk bedankt voor de hulp"),
        *("Olá, bom dia", "sim", "não, obrigado", "muito obrigada pela ajuda", "tchau, até logo", "está bem"),
    ],
)
def test_small_talk(text):
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text",
    [
        *("hi can you cancel my order", "thanks, but where is my card", "yes i lost it", "no i have a problem"),
        *("ok 5 of them", "good morning call", "a thank you card", "is it good", "help", "please", "sir", "now"),
        *("please help me", "so very much", "you", "", "12", "😀", "zzz", "goodness", "nothing works", "right address"),
        *("Hallo, wo ist meine Karte", "danke, aber mein Paket fehlt", "bitte", "guten Tarif", "ja, kündigen"),
        *("hola quiero cancelar", "por favor", "sí, cancelar", "bonjour, ma carte est perdue", "non reçu"),
        *("ciao, vorrei un rimborso", "per favore", "hallo, waar is mijn pakket", "olá, quero cancelar", "你好"),
    ],
)
def test_what_says_more_is_no_small_talk(text):
    assert not is_small_talk(text)


def test_phrases_are_no_longer_than_is_looked_at():
    lists = [EVERYWHERE, *(part for listed in SMALL_TALK.values() for part in listed.split("|"))]
    phrases = [phrase.split() for listed in lists for phrase in listed.split(",")]
    assert all(0 < len(phrase) <= MAX_WORDS for phrase in phrases)
    assert all("".join(phrase).replace("/", "").isascii() for phrase in phrases)


def test_long_texts_take_no_longer_than_their_length():
    started = time.perf_counter()
    assert not is_small_talk("thank you so much " * 5_000 + "refund")
    assert time.perf_counter() - started < 5
