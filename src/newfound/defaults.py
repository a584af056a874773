"""The default of every option, stated once: command line, server and Python read them from here."""

from __future__ import annotations

from typing import Final, Literal

LogsHold = Literal["novel", "mixed"]
"""What the logs hold: new intents only, as in the paper, or utterances of known intents as well."""

METHOD: Final = "consensus"
ENCODER: Final = "minilm"
LOGS_HOLD: Final[LogsHold] = "mixed"
EFFORT: Final = "auto"
TUNE: Final = "auto"
DEVICE: Final = "auto"
SEED: Final = 0
TEXT_COLUMN: Final = "text"
LABEL_COLUMN: Final = "label"
ENCODING: Final = "utf-8"
LANGUAGE: Final = "en"
CHECKPOINT_SECONDS: Final = 5.0
