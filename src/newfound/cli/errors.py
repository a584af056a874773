"""Error messages of the command line: the message of the exception, with the options that solve the problem."""

from __future__ import annotations

from newfound import errors
from newfound.cli.show import printable

Remedy = tuple[type[Exception], str, str]  # error, a phrase of its message, the same with options

# The library can only say "allow it to be replaced"; the command line can name the option.
REMEDIES: tuple[Remedy, ...] = (
    (
        errors.TargetExists,
        "choose another place, or allow it to be replaced",
        "choose another --out, or add --force to replace it",
    ),
    (errors.TargetExists, "choose another place", "choose another --out"),
    (errors.UnfinishedRun, "resume it, or start anew", "add --resume to go on with it, or --force to start anew"),
    (errors.RunMismatch, "repeat that fit, or start anew", "repeat that command, or start anew with --force"),
    (errors.RunMismatch, "start anew", "start anew with --force"),
    (errors.NoInt8, "choose device='cpu', or fp32", "use --device cpu, or --precision fp32"),
    (errors.NoInt8, "a frozen encoder (tune='heads')", "a frozen encoder (--tune heads)"),
    (errors.NoGpu, "use the CPU", "use --device cpu"),
    (errors.EncoderMismatch, "say where its encoder is", "say where its encoder is with --encoder"),
    (errors.ModelMissing, "discover intents first and save the model there", "make one with `newfound discover`"),
    (errors.NotSplittable, "train heads only (tune='heads')", "use --tune heads"),
    (errors.WrongEncoding, "or name its encoding", "or name its encoding with --encoding"),
    (
        errors.HeaderMissing,
        "say that there is no header line, or which column holds the text",
        "add --no-header if there is no header line, or name the column of the utterances with --text-column",
    ),
    (
        errors.ConflictingLabels,
        "or have the first label kept, or have such texts dropped",
        "or choose --conflicts first or --conflicts drop",
    ),
    (errors.DataError, "or put no utterance aside", "or add --no-intent none to discover"),
    (
        errors.NoKnownIntents,
        "give more of them, or use consensus or kmeans, which need none",
        "give a file of labelled utterances before the logs, or use --method consensus or --method kmeans",
    ),
    (errors.NothingToFineTuneOn, "Use effort quick", "Use --effort quick"),
    (errors.FormatUnknown, "say which it is", "add --format"),
    (errors.FormatMismatch, "is it of another format?", "is it of another format? (--format)"),
    (errors.SettingsError, "give a token, or use 127.0.0.1", "give a secret with --token-file, or use 127.0.0.1"),
    (errors.SettingsError, "choose another host or port", "choose another --host or --port"),
    (errors.SettingsError, "say where the predictions are to be written", "name a file or folder with --out"),
    (
        errors.SettingsError,
        "is where the input lies; choose another place",
        "is where the input lies; choose another --out",
    ),
    (errors.EngineError, "choose fewer workers", "choose fewer with --workers"),
    (errors.EngineError, "no Ray cluster at", "--ray-address: no Ray cluster at"),
    (
        errors.NothingToExport,
        "accept intents in the review, or include what the model has guessed, with a lower probability",
        "accept intents with `newfound review`, or add --with-guesses, with a lower --min-probability if one is given",
    ),
    (
        errors.NothingAccepted,
        "accept some first, or accept all of them",
        "accept some with `newfound review apply`, or add --accept-all",
    ),
)


def message_with_flags(error: Exception) -> str:
    """Return the message of an error on one line, with the options that solve the problem."""
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    if isinstance(error, errors.ColumnMissing):
        option = "--logs-text-column" if error.in_logs else f"--{error.role}-column"
        message = message.replace(f"say which column holds the {error.role}", f"name the right one with {option}")
        message = message.replace(", or that there is no header line", ", or add --no-header if that line is data")
    if isinstance(error, errors.Interrupted) and error.folder is not None:
        message = f"{message}: go on with --resume, added to the same command"
    for error_type, phrase, phrase_with_flags in REMEDIES:
        if isinstance(error, error_type) and phrase in message:
            message = message.replace(phrase, phrase_with_flags)
            break
    return printable(" ".join(message.split()))
