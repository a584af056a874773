"""The default of every option, stated once: command line, server and Python read them from here."""

from __future__ import annotations

from typing import Final, Literal

LogsHold = Literal["novel", "mixed"]
"""What the logs hold: new intents only, as in the paper, or utterances of known intents as well."""

Conflicts = Literal["error", "first", "drop"]
"""What becomes of a text with several labels: an error, its first label is kept, or the text is dropped."""

Engine = Literal["local", "ray"]
"""Where texts are classified or encoded: in this process, or by the workers of a Ray cluster."""

Only = Literal["new", "accepted"]
"""Which intents are exported: those that were not known before, or of these the accepted ones."""

NoIntent = float | Literal["auto", "none"]
"""Utterances of the logs that belong to no intent: a share of the logs, as many as the data say, or none."""

METHOD: Final = "consensus"
ENCODER: Final = "minilm"
LOGS_HOLD: Final[LogsHold] = "mixed"
NO_INTENT: Final[NoIntent] = "auto"
EFFORT: Final = "auto"
TUNE: Final = "auto"
DEVICE: Final = "auto"
SEED: Final = 0
MAX_SEED: Final = 2**32 - 1
TEXT_COLUMN: Final[str | None] = None  # found by its name
LABEL_COLUMN: Final[str | None] = None  # found by its name
TIME_COLUMN: Final[str | None] = None  # found by its values and its name
CONFLICTS: Final[Conflicts] = "error"
ENCODING: Final = "utf-8"
LANGUAGE: Final = "en"
CHECKPOINT_SECONDS: Final = 5.0
MAX_LOGS: Final = 100_000  # distinct utterances that a fit learns from
MIN_PROBABILITY_TO_EXPORT: Final = 0.5  # of utterances that the model put into an accepted intent
ENGINE: Final[Engine] = "local"
