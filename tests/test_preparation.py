"""What is read of messages: mails without what is quoted, long ones by their wishes, masks, in fits and predictions."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import newfound
from newfound.data.corpus import Corpus
from newfound.data.rows import ReadOptions
from newfound.errors import SettingsError
from newfound.plain import plain_text
from newfound.preparation import MASKS, MAX_WORDS, Preparation, preparation_for, readings_of

MAILS = {
    "Hi,\n\nI lost my card.\n\nKind regards,\nAnn Lee\n+44 20 7946 0018": "I lost my card.",
    "I lost my card\n\nOn Mon, 3 Feb 2025 at 10:12, Bank <a@b.c> wrote:\n> Dear Ann,\n> pay us": "I lost my card",
    "I lost my card\n\n-----Original Message-----\nFrom: Bank\nSubject: hi\n\nPay us": "I lost my card",
    "From: Ann\nSubject: Re: lost card\nDate: today\n\nwhere is it?": "lost card where is it?",
    "Guten Tag,\n\nmeine Karte ist weg.\n\nMit freundlichen Grüßen\nAnna": "meine Karte ist weg.",
    "<html><head><style>p {x}</style></head><p>Hi</p><p>I lost&nbsp;my <b>card</b></p></html>": "I lost my card",
    '<div>I lost my card</div><div class="gmail_quote">Pay us</div>': "I lost my card",
    "> all of it\n> is quoted": "> all of it > is quoted",
    "my limit is <100 and >50": "my limit is <100 and >50",
    "hi, where is my card? thanks": "hi, where is my card? thanks",
    "Hello I want a refund\n\nBest\nTom": "Hello I want a refund",
    "Hi cancel my subscription\nThanks, Anna": "Hi cancel my subscription",
    "Hi Anna\nit is broken\nThanks in advance": "it is broken",
    "My laptop is broken.\nBest way to reset it": "My laptop is broken. Best way to reset it",
    "I get too many mails.\nPlease unsubscribe me": "I get too many mails. Please unsubscribe me",
    "It is late.\nTo unsubscribe, click here": "It is late.",
    "<p></p>": "<p></p>",
    "<html><head><title>t</title><body>cancel my order": "cancel my order",
}


@pytest.mark.parametrize(("mail", "own"), MAILS.items())
def test_what_is_read_of_a_mail_are_its_own_words(mail, own):
    assert plain_text(mail) == own


@given(st.text(max_size=300))
def test_preparing_twice_changes_nothing_and_leaves_something(message):
    prepare = Preparation(("mentions", "numbers"), ("card",))
    once = prepare(message)
    assert bool(once.strip()) == bool(message.strip())
    assert prepare.without_masked(once) == once


CHAT = "We spent two weeks at the lake with the children. The weather was lovely, and grandma sends her regards."
REQUEST = "Can you please cancel my order?"


@pytest.mark.parametrize("mail", [f"{CHAT} {CHAT} {REQUEST} {CHAT}", f"{CHAT}\n\n{REQUEST}\n\n{CHAT}"])
def test_of_a_long_message_what_states_a_wish_comes_first(mail):
    first, *others = readings_of(mail)
    assert REQUEST in first
    assert len(first.split()) < len(mail.split()) / 1.3
    assert {first, *others} >= {REQUEST, *([CHAT] if "\n" in mail else CHAT.split(". ")[1:])}


def test_the_wish_may_be_the_last_of_many_sentences():
    chat = " ".join(f"We spent {n} days at the lake." for n in range(30))
    assert REQUEST in readings_of(f"{chat} {REQUEST}")[0]


def test_short_messages_are_read_whole():
    for message in (CHAT, "I lost my card.\n\nWhat can I do?"):
        assert readings_of(message) == [" ".join(message.split())]
    assert len(readings_of("I want a card. " * 100)[0].split()) <= MAX_WORDS
    assert readings_of("ok.\n\n" * 100) == [" ".join(["ok."] * 100)]  # nothing tells more than the rest


@pytest.mark.parametrize(
    ("masks", "text", "left"),
    [
        (("mentions",), "@united my bag is lost #fail", "my bag is lost"),
        (("links",), "see https://a.example/b?c, please", "see please"),
        (("emails",), "write to ann.lee+1@mail.example now", "write to now"),
        (("ids",), "where is ORD-12345 or #998877?", "where is or?"),
        (("ids",), "my 2nd card in 12 days", "my 2nd card in 12 days"),
        (("numbers",), "pay $1,200.50 by 3/5 for 2 cards", "pay by for cards"),
        (("numbers",), "12345", "12345"),  # nothing else is left
        ((), "Flights from Denver to New York", "Flights from to"),
    ],
)
def test_masks_leave_out_what_they_say(masks, text, left):
    assert Preparation(masks, ("denver", "new york") if not masks else ()).without_masked(text) == left


def test_what_most_messages_hold_is_masked_unless_it_is_said(tmp_path):
    tweets = [f"@airline where is my bag {i}?" for i in range(9)] + ["nothing"]
    assert preparation_for(tweets, None).masks == ("mentions", "numbers")
    assert preparation_for(tweets, ()).masks == ()
    assert preparation_for([], None).masks == ()
    words = tmp_path / "cities.txt"
    words.write_text("Denver\n\nNew York\n", "utf-8")
    assert preparation_for([], ("ids", str(words))) == Preparation(("ids",), ("denver", "new york"))
    with pytest.raises(
        SettingsError, match=r"'number': neither emails, .* nor a file of words \(did you mean 'numbers'"
    ):
        preparation_for([], ("number",))


def test_what_a_model_folder_says_is_checked():
    assert Preparation.of({"preparation": {"masks": ["ids"], "words": []}}) == Preparation(("ids",))
    for broken in ({}, {"preparation": 3}, {"preparation": {"masks": ["x"]}}, {"preparation": {"masks": "ids"}}):
        assert Preparation.of(broken) is None


@pytest.mark.parametrize("pattern", [*MASKS.values()], ids=MASKS)
@pytest.mark.parametrize("unit", ["a", "1", "a-", "1.", "@", "a.b@", "_1", "-- \n", "a\n\n", "from: a\nsent", "<a "])
def test_endless_words_take_no_time(pattern, unit):
    started = time.process_time()
    pattern.search(unit * (10_000 // len(unit)))
    plain_text(unit * 10_000)
    assert time.process_time() - started < 2


def test_fits_and_predictions_read_the_same(tiny_encoder, tmp_path):
    known = ([f"@us {text}" for text in ("pay my bill", "pay the bill", "lost my card", "card is lost")], list("aabb"))
    logs = [f"@us where is {which} parcel" for which in ("my", "the", "our", "this", "that", "a")] + [
        "Hi,\n\n@us is the card lost?\n\nRegards\nAnn"
    ]
    result = newfound.discover(known, logs, tmp_path / "m", encoder=tiny_encoder, n_new=1, effort="quick")
    texts = {u.text: u.said.message for u in result.model.utterances}
    assert texts["is the card lost?"] == logs[-1]
    assert "pay my bill" in texts
    model = newfound.load(tmp_path / "m", encoder=tiny_encoder)
    one, other = newfound.predict(model, [logs[-1], "is the card lost?"])
    assert (one.intent, one.probability, one.text) == (other.intent, other.probability, logs[-1])
    again = newfound.update(model, ["@us my parcel never came"], encoder=tiny_encoder, accept_all=True, effort="quick")
    assert again.logs.texts == ("my parcel never came",)
    assert again.model.preparation == result.model.preparation == Preparation(("mentions",))
    kept = newfound.discover(
        known, logs, encoder=tiny_encoder, n_new=1, effort="quick", read=ReadOptions(mask=("numbers",))
    )
    assert "@us where is our parcel" in kept.logs.texts


def test_known_and_logs_keep_their_whole_messages():
    corpus, counts = Preparation(("ids",)).of_corpus(
        Corpus.of(["order 12345 is lost", "hi\n\nwhere is it?"], ["a", "b"])
    )
    assert corpus.texts == ("order is lost", "where is it?")
    assert [o.said.message for o in corpus.origins] == ["order 12345 is lost", "hi\n\nwhere is it?"]
    assert (counts["marked"], counts["masked"], corpus.labels) == (1, 1, ("a", "b"))
