"""The exceptions a user can meet. Each message says what is wrong and what to do about it."""

from __future__ import annotations


class NewfoundError(Exception):
    """Base of every error that newfound raises on purpose; the CLI prints it as one line and exits with 2."""


class DataError(NewfoundError):
    """A file of utterances cannot be used as it is."""


class SettingsError(NewfoundError):
    """An option or parameter has a value that cannot work."""


class EncoderError(NewfoundError):
    """An encoder cannot be found, verified or split."""


class ModelError(NewfoundError):
    """A saved model folder is missing, damaged or of another version."""


class Interrupted(NewfoundError):
    """The user pressed Ctrl-C; what had been reached is kept and can be resumed."""


class ExperimentError(NewfoundError):
    """Some runs of an experiment failed; the finished ones are kept."""


class DecisionError(NewfoundError):
    """A review decision cannot be applied to the intents as they are."""


class ConflictError(NewfoundError):
    """Somebody else decided in the meantime; look again before you decide."""
