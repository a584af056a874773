from __future__ import annotations

from newfound.intents.overview import traffic_of
from newfound.model.types import Utterance


def utterance(intent, *, labelled=False, count=1):
    return Utterance("text", intent, labelled, 1.0, count, "logs.csv", ())


def test_shares_of_the_logs_by_hand():
    """Of ten utterances in the logs, five are new (one text occurred three times), three known, two of no intent."""
    utterances = [
        utterance("refund", count=3),
        utterance("refund"),
        utterance("solar"),
        *[utterance("pay")] * 3,
        *[utterance(None)] * 2,
        *[utterance("pay", labelled=True)] * 50,
    ]
    traffic = traffic_of(utterances, {"pay"})
    assert traffic.utterances == 10
    assert list(traffic.shares.items()) == [("refund", 0.4), ("pay", 0.3), ("solar", 0.1)]
    assert (traffic.new, traffic.known, traffic.none) == (0.5, 0.3, 0.2)


def test_without_logs_all_utterances_count():
    traffic = traffic_of([utterance("pay", labelled=True), utterance("meter", labelled=True)], {"pay", "meter"})
    assert (traffic.utterances, traffic.known, traffic.new) == (2, 1.0, 0.0)


def test_nothing_to_count():
    assert traffic_of([], set()).utterances == 0
