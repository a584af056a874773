from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from newfound.intents.description import border_cases, exemplars, keywords
from newfound.intents.naming import MAX_NAME_LENGTH, name_intents, quotation
from newfound.review.decisions import check_name
from newfound.text import words_of


@pytest.mark.parametrize(
    ("utterance", "taken", "name"),
    [
        ("How do I get my money back?", [], "“How do I get my money…”"),
        ("I'd like a refund!", ["“I'd like a refund”"], "“I'd like a refund” 2"),
        ("¿Dónde está mi tarjeta?", [], "“Dónde está mi tarjeta”"),
        ("मेरा कार्ड खो गया है!", [], "“मेरा कार्ड खो गया है”"),
        ("(mail) a/b@example.org at 2:00!", [], "“mail a email at 2:00”"),
        ("???", [], "new_intent"),
        ("", ["new_intent"], "new_intent_2"),
    ],
)
def test_quotations(utterance, taken, name):
    assert quotation(utterance, taken=taken) == name
    check_name(name)


CANCEL = [
    "please cancel my booking",
    "i want to cancel the booking",
    "cancel booking 4711 now",
    "can you cancel a booking",
]
PASSWORD = ["reset my password", "forgot it, reset password", "how do i reset the password", "password reset please"]
BAGGAGE = ["my bag is lost", "lost bag at the airport", "you have lost my bag", "i lost a bag"]


def test_names_are_action_and_object():
    assert name_intents([CANCEL, PASSWORD, BAGGAGE]) == ["cancel_booking", "reset_password", "lost_bag"]


def test_an_intent_without_words_still_gets_a_name():
    assert name_intents([["???", "!!"], [], ["¿?"]]) == ["new_intent", "new_intent_2", "new_intent_3"]


def test_keywords_are_what_the_others_lack():
    top = [words[:2] for words in keywords([CANCEL, PASSWORD, BAGGAGE])]
    assert [set(words) for words in top] == [{"cancel", "booking"}, {"reset", "password"}, {"lost", "bag"}]


def test_exemplars_are_close_to_the_prototype_and_differ_from_one_another():
    x = torch.tensor([[1.0, 0.0], [1.0, 0.01], [0.9, 0.4], [0.0, 1.0]])
    texts = ["a card", "A card!", "my card", "else"]
    assert exemplars(x, torch.tensor([1.0, 0.0]), texts, count=2) == [0, 2]
    assert exemplars(x, torch.tensor([1.0, 0.0]), texts, count=9) == [0, 2, 3]  # the repeat stays out


def test_border_cases_by_hand():
    """Margins of column 0 over the best other: 0.8, 0.1, -0.2."""
    logits = torch.tensor([[0.9, 0.1, 0.0], [0.5, 0.4, 0.1], [0.3, 0.1, 0.5]])
    assert border_cases(logits, 0, ["sure", "nearly", "hardly"], count=2) == [2, 1]


def test_words_with_vowel_signs_stay_whole():
    assert words_of("मेरा कार्ड खो गया है!") == ["मेरा", "कार्ड", "खो", "गया", "है"]
    assert words_of("don't e-mail ME\N{VARIATION SELECTOR-16} 24/7") == ["dont", "e", "mail", "me", "24", "7"]


def named(*intents, **options):
    return name_intents([list(texts) for texts in intents], **options)


LOGIN = ["i can't log in to my account", "unable to log in to the account", "i cannot log in", "why can't i log in"]
WORKS = ["my card is not working", "the card doesn't work", "this card won't work", "my new card isn't working"]
DECLINED = ["my card was declined", "why was the card declined", "they declined it", "the card has been declined"]
RATE = "what is the exchange rate; is the exchange rate good; tell me the exchange rates; which rate is it".split(";")
TOP_UP = "i want to top up by cheque; can i top up with a cheque; how do i top up by cheque; my top-up by cheque".split(
    ";"
)


def test_names_have_particles_negations_and_what_is_the_matter():
    names = " ".join(named(LOGIN, WORKS, DECLINED, RATE, TOP_UP))
    assert names == "not_log_in_account card_not_work card_declined exchange_rate top_up_cheque"


DISPLAY = ["my smart meter has a blank display", "the smart meter display is blank", "smart meter with a dead display"]
INSTALL = ["i want to install a smart meter", "please install a smart meter", "can you install my smart meter"]


def test_intents_with_the_same_name_are_told_apart_by_words():
    both = named(DISPLAY * 3, INSTALL * 3, taken=["smart_meter"])
    assert len(set(both)) == 2
    assert not any(word.isdigit() for name in both for word in name.split("_"))
    assert "display" in both[0]
    assert "install" in both[1]


def test_names_tell_an_intent_from_known_ones():
    lost = ["i lost my card at the beach", "my card is lost", "lost the card again", "the card i lost is blue"]
    stolen = ["my card was stolen", "somebody has stolen my card", "a stolen card", "the card is stolen"]
    assert "lost" in named(lost, others=[stolen])[0]


def test_names_do_not_depend_on_the_order_of_the_utterances():
    assert named(WORKS, DECLINED, RATE) == named(WORKS[::-1], DECLINED[::-1], RATE[::-1])


WORDS_SAID = [*"the my i to not cant card cards log in top up pay paid is 7 é".split(), ""]


@settings(max_examples=60)
@given(st.lists(st.lists(st.lists(st.sampled_from(WORDS_SAID), max_size=7), max_size=6), max_size=5))
def test_every_intent_gets_a_name_of_its_own(words):
    texts = [[" ".join(text) for text in intent] for intent in words]
    names = named(*texts, taken=["card", "pay_card"])
    assert len({*names, "card", "pay_card"}) == len(texts) + 2
    for name in names:
        check_name(name)
        assert 0 < len(name) <= MAX_NAME_LENGTH + 3
        assert name == "_".join(words_of(name.replace("_", " "))) or name.startswith("“")


def test_of_the_best_phrases_the_one_whose_meaning_is_nearest_is_taken():
    texts = ["please cancel my booking", "cancel the booking", "i must cancel my trip", "cancel a trip"]
    wanted = ["cancel trip", "reset password"]
    assert named(texts, PASSWORD) == ["cancel_booking", "reset_password"]
    assert named(
        texts, PASSWORD, likeness=lambda phrases: 9.0 * np.array([[p == w for w in wanted] for p in phrases])
    ) == ["cancel_trip", "reset_password"]
    quoted = named(texts, PASSWORD, likeness=lambda phrases: np.ones((len(phrases), 2)))
    assert quoted == ["“cancel a trip”", "“reset my password”"], "no phrase means what they say"


TARJETA = ["quiero bloquear mi tarjeta", "cómo puedo bloquear la tarjeta", "necesito bloquear mi tarjeta hoy"]
RESERVA = ["quiero cancelar mi reserva", "cómo cancelar la reserva", "puedo cancelar una reserva en Madrid"]
CARTE = ["je veux bloquer ma carte", "comment bloquer la carte", "je voudrais bloquer ma carte demain"]
ANNULER = ["je veux annuler ma réservation", "comment annuler la réservation", "puis-je annuler une réservation"]
FLUG = ["Ich möchte meinen Flug umbuchen", "Wie kann ich den Flug umbuchen?", "Bitte den Flug nach Rom umbuchen"]
KENNWORT = ["Ich habe mein Kennwort vergessen", "Das Kennwort habe ich vergessen", "mein Kennwort ist vergessen"]


def test_names_in_spanish_french_and_german_are_an_action_and_its_object():
    assert named(TARJETA, RESERVA) == ["bloquear_tarjeta", "cancelar_reserva"]
    assert named(CARTE, ANNULER) == ["bloquer_carte", "annuler_réservation"]
    assert named(FLUG, KENNWORT) == ["flug_umbuchen", "kennwort_vergessen"]


def test_times_places_people_and_order_numbers_are_in_no_name():
    book = ["book a flight to Denver today", "book a flight from Denver", "please book my flight to Boston on Monday"]
    call = ["i want to call Anna now", "please call Paul at home", "call Robert about order A4711", "call my brother"]
    late = ["my parcel A4711 is late", "the parcel B12 is late today", "parcel A99x is late", "where is my late parcel"]
    assert [named(book * 3, call * 3, late * 3)[i] for i in (0, 2)] == ["book_flight", "parcel_late"]
    assert not set("anna paul robert a4711 now".split()) & set(words_of(named(book * 3, call * 3, late * 3)[1]))


def test_what_all_intents_share_is_in_no_name():
    every = [[f"{text} with acme airline" for text in own] for own in (CANCEL, PASSWORD, BAGGAGE, RATE, TOP_UP)]
    assert not {"acme", "airline"} & set(words_of(" ".join(named(*every)).replace("_", " ")))


KARTE = ["wo ist meine karte", "meine karte ist nicht da", "ich habe die karte nicht", "karte verloren, was nun"]
STORNO = ["bitte die buchung stornieren", "ich möchte meine buchung stornieren", "wie kann ich die buchung stornieren"]
ALARM_ZH = ["取消我的闹钟", "请取消所有的闹钟", "取消明天的闹钟", "我要取消闹钟", "取消闹钟"]
MUSIC_ZH = ["播放我的音乐", "请播放音乐", "播放一些音乐", "我想播放音乐", "播放音乐"]
ALARM_JA = ["明日の朝のアラームをキャンセル", "アラームをキャンセルして", "全てのアラームをキャンセルする"]
REMINDER_JA = ["リマインダーを表示", "明日のリマインダーを表示する", "全てのリマインダーを表示して"]


def test_function_words_of_other_languages_are_not_in_names():
    assert name_intents([KARTE, STORNO])[1] == "buchung_stornieren"
    assert not {"ich", "ist", "die", "meine", "möchte"} & {
        word for words in keywords([KARTE, STORNO]) for word in words
    }


def test_names_of_chinese_and_japanese_intents_are_words():
    assert name_intents([ALARM_ZH, MUSIC_ZH]) == ["取消_闹钟", "播放_音乐"]
    assert name_intents([ALARM_JA, REMINDER_JA]) == ["アラーム_キャンセル", "リマインダー_表示"]
    assert [set(words[:2]) for words in keywords([ALARM_ZH, MUSIC_ZH])] == [{"取消", "闹钟"}, {"播放", "音乐"}]


def test_an_intent_in_several_languages_is_named_in_one():
    """Three utterances are German and five Chinese in the first; the second is English and German."""
    mixed = [[*STORNO, *ALARM_ZH], [*PASSWORD, *KARTE[:3]], BAGGAGE]
    assert name_intents(mixed, language="German")[0] == "buchung_stornieren"
    assert name_intents(mixed, language="English") == ["取消_闹钟", "reset_password", "lost_bag"]
    assert name_intents(mixed) == ["取消_闹钟", "reset_password", "lost_bag"]
    assert set(keywords(mixed)[0]) <= {word for words in keywords([ALARM_ZH]) for word in words}


def test_texts_in_one_language_are_named_by_all_of_them():
    """A few words of another language do not make a second language of them."""
    many = [CANCEL * 30, PASSWORD * 30, BAGGAGE * 30]
    odd = [[*CANCEL * 30, "wo ist meine karte"], PASSWORD * 30, BAGGAGE * 30]
    assert name_intents(odd) == name_intents(many)
    assert keywords(many) == keywords([CANCEL, PASSWORD, BAGGAGE])
