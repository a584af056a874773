from __future__ import annotations

import pytest

from newfound.data.redact import redact, redact_rows
from newfound.data.rows import ReadReport, Row


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("write to Jane.Doe+bank@example.co.uk please", "write to <email> please"),
        ("card 4111 1111 1111 1111 was charged", "card <card> was charged"),
        ("card 4111-1111-1111-1111.", "card <card>."),
        ("call +44 20 7946 0958 or (030) 123-4567", "call <phone> or <phone>"),
        ("call 555-123-4567 today", "call <phone> today"),
        ("IBAN DE89 3704 0044 0532 0130 00 is mine", "IBAN <iban> is mine"),
        ("since 2024-11-15 nothing", "since 2024-11-15 nothing"),
        ("I paid 1200 euros on 3.4.2024", "I paid 1200 euros on 3.4.2024"),
        ("order 123456", "order 123456"),
        ("version 1.2.3.4", "version 1.2.3.4"),
        ("", ""),
    ],
)
def test_masks(text, masked):
    assert redact(text) == masked


def test_rows_keep_their_labels_and_are_counted():
    report = ReadReport("logs.csv")
    rows = [Row(2, "mail a@b.de", "x"), Row(3, "nothing", None)]
    assert list(redact_rows(rows, report)) == [Row(2, "mail <email>", "x"), Row(3, "nothing", None)]
    assert report.notes == ["logs.csv: masked something in 1 of 2 utterances"]
