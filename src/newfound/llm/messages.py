"""How an utterance goes into a prompt: on one line, masked and cut, in this order.

The other way round, an address across the cut would leave the machine as a half that no mask recognises.
"""

from __future__ import annotations

from newfound.data.redact import redact

MAX_MESSAGE_LENGTH = 300  # characters of an utterance that are sent
MAX_LENGTH_READ = 3_000  # characters of it that are masked: masking takes long for words without end
MAX_MASKED_LENGTH = 300  # characters of what is masked; the longest are e-mail addresses, with up to 254


def message_of(text: str, *, masked: bool) -> str:
    """Return an utterance as it may be sent.

    Args:
        text: The utterance, of any length; it is put on one line and cut.
        masked: Whether what is recognised as personal is masked.
    """
    line = " ".join(text.split())
    if masked:
        read = redact(line[:MAX_LENGTH_READ])
        # What is cut off here may be the rest of an address, whose beginning no mask recognises.
        line = read if len(line) <= MAX_LENGTH_READ else read[:-MAX_MASKED_LENGTH]
    return line[:MAX_MESSAGE_LENGTH]
