"""How many predictions are probably right, estimated without gold labels."""

from __future__ import annotations

from typing import NamedTuple

from newfound.methods.context import Discovery, FitContext

MIN_ACCURACY = 0.05


class ExpectedAccuracy(NamedTuple):
    """Shares of the rows of the logs in known and in new intents that are probably right."""

    known: float
    new: float


def expected_accuracy(context: FitContext, discovery: Discovery) -> ExpectedAccuracy | None:
    """Return how often predictions are probably right; None for a method that does not say what it agreed on."""
    if discovery.agreement is None:
        return None
    check = discovery.known_check
    known = check.now if check is not None else 0.85
    return ExpectedAccuracy(known, max(MIN_ACCURACY, discovery.agreement * discovery.consistency))
