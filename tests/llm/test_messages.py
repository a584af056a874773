"""What an utterance looks like in any prompt, and that nothing personal leaves in it."""

from __future__ import annotations

import pytest
from server import says, serving

from newfound.intents.asked_names import ask_for_names, prompt_for
from newfound.intents.naming import NamingFacts, facts_of_new
from newfound.llm import LanguageModelSettings
from newfound.llm.asking import MAX_LENGTH_READ, MAX_MESSAGE_LENGTH, LanguageModel, message_of
from newfound.model.types import Intent

ADDRESS = "anna.schmidt@example.org"
ACROSS_THE_CUT = "please " * 40 + f"x {ADDRESS} now"  # the limit is within the address


@pytest.fixture
def endpoint():
    with serving(says("{}")) as server:
        yield server


def prompts_about(endpoint, intents, neighbours, **settings):
    settings = LanguageModelSettings(endpoint.url, "m", remember=False, at_once=1, **settings)
    with LanguageModel(settings, warn=lambda message: None, sleep=lambda _: None) as llm:
        ask_for_names(facts_of_new(intents, neighbours), llm)
    return endpoint.prompts


def asked_in_every_way(endpoint, text, **settings):
    intents = [Intent("other", True, 1, (text,)), Intent("open", False, 1, (text,))]
    return prompts_about(endpoint, intents, [[1], [0]], **settings)


def test_an_address_across_the_cut_is_masked_in_every_prompt(endpoint):
    assert ACROSS_THE_CUT.index(ADDRESS) < MAX_MESSAGE_LENGTH < ACROSS_THE_CUT.index(ADDRESS) + len(ADDRESS)
    prompts = asked_in_every_way(endpoint, ACROSS_THE_CUT)
    assert len(prompts) == 1
    assert all("anna" not in prompt and "<email>" in prompt for prompt in prompts)


def test_without_masks_texts_are_only_cut(endpoint):
    prompts = asked_in_every_way(endpoint, ACROSS_THE_CUT, redact=False)
    assert all("x anna.schmidt@" in prompt and ADDRESS not in prompt for prompt in prompts)


def test_a_message_is_one_short_line():
    assert message_of("a\n b\t<c>", masked=True) == "a b <c>"
    assert len(message_of("word " * 1_000, masked=True)) == MAX_MESSAGE_LENGTH


@pytest.mark.parametrize("shift", range(0, 170, 10))
def test_no_half_address_is_left_where_reading_ends(shift):
    address = f"anna.schmidt@{'a-long-name-of-a-company.' * 6}example.org"  # few fit, so that the end is near
    text = "x" * shift + f" {address}" * (2 * MAX_LENGTH_READ // len(address))
    assert "anna" not in message_of(text, masked=True)


def test_a_word_without_end_takes_no_time():
    """With time that grows with the square of its length this test would take hours."""
    assert message_of("x" * 10_000_000, masked=True) == "x" * MAX_MESSAGE_LENGTH


def named_with_personal_words(endpoint, **settings):
    texts = (f"refund for {ADDRESS}", "call 0171 2345678 about my refund", "my refund")
    keywords = ("refund", "anna", "schmidt", "example", "0171", "2345678")
    intents = [
        Intent("open", False, 3, texts, keywords),
        Intent("refund_schmidt_2345678", False, 3, texts, keywords),
        Intent("request_lost_anna", False, 3, ("i lost it",)),  # anna is in a text that is no exemplar
        Intent("anna_credit", False, 3, texts, accepted=True),
    ]
    return prompts_about(endpoint, intents, [[1, 2, 3]] * 4, **settings)


def test_keywords_and_names_hold_no_word_that_is_masked_in_the_messages(endpoint):
    prompts = named_with_personal_words(endpoint)
    sent = "".join(prompts)
    assert not [word for word in ("anna", "schmidt", "example", "0171", "2345678") if word in sent]
    assert "Keywords: refund\n" in prompts[0]
    assert "\n- refund: refund for <email> / call <phone> about my refund\n" in prompts[0]
    assert "\n- lost: i lost it\n- credit: refund" in prompts[0]


def test_without_masks_keywords_and_names_are_sent_as_they_are(endpoint):
    prompts = named_with_personal_words(endpoint, redact=False)
    assert "Keywords: refund, anna, schmidt, example, 0171, 2345678\n" in prompts[0]
    assert "- refund_schmidt_2345678: " in prompts[0]


def test_a_similar_intent_of_whose_name_nothing_is_left_is_told_by_its_messages():
    similar = Intent("anna_schmidt", False, 1, (f"it is {ADDRESS}",))
    prompt = prompt_for(NamingFacts(Intent("open", False, 1, ("what",)), (similar,)))
    assert "\n- it is <email>\n" in prompt


def test_singulars_and_negations_of_what_is_said_stay_in_names():
    said = ("i cancel both policies", "bookings didn't arrive")
    similar = Intent("cancel_policy_booking_not_arrive", False, 1, said)
    assert "- cancel_policy_booking_not_arrive: i cancel" in prompt_for(
        NamingFacts(Intent("open", False, 1, ("what",)), (similar,))
    )
