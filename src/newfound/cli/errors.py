"""Error messages of the command line: the message of the exception, with the options that solve the problem."""

from __future__ import annotations

from newfound.cli.show import printable
from newfound.errors import NewfoundError

REMEDIES = {
    "accept": "accept intents with `newfound review`",
    "accept_all": "add --accept-all",
    "accept_some": "accept some with `newfound review apply`",
    "address": "check --ray-address",
    "anew": "start anew with --force",
    "conflicts": "keep one of them (`newfound check` lists all), or choose --conflicts first or --conflicts drop",
    "cpu": "use --device cpu",
    "discover": "make one with `newfound discover`",
    "encoder": "say where its encoder is with --encoder",
    "encoding": "name its encoding with --encoding",
    "fewer_workers": "choose fewer with --workers",
    "format": "name its format with --format",
    "guesses": "add --with-guesses, with a lower --min-probability if one is given",
    "heads": "use --tune heads",
    "host": "choose another --host or --port",
    "hub_token": "log in with `hf auth login`, or set HF_TOKEN",
    "known": "give a file of labelled utterances before the logs",
    "method": "use --method consensus or --method kmeans",
    "no_header": "add --no-header if there is no header line",
    "place": "choose another --out",
    "publish_texts": "refit it with `newfound review apply --refit`, or add --with-utterances",
    "put_none_aside": "add --no-intent none to discover",
    "quick": "use --effort quick, which leaves the encoder as it is",
    "repeat": "repeat that command",
    "replace": "add --force to replace it",
    "resume": "add --resume to the same command to go on with it",
    "speaker": "name whose turns are the customers' with --speaker",
    "token": "give a secret with --token-file",
    "values_column": "name columns that are there with --value-columns",
}
COLUMNS = ("conversation", "label", "logs_text", "speaker", "text", "time", "user")
REMEDIES |= {f"{name}_column": f"name the column with --{name.replace('_', '-')}-column" for name in COLUMNS}
"""What can be done about an error in words of the command line, by the keys of `newfound.errors.REMEDIES`."""


def message_with_flags(error: Exception) -> str:
    """Return the message of an error on one line, with the options that solve the problem."""
    if isinstance(error, NewfoundError):
        message = error.in_words_of(REMEDIES)
    else:
        message = error.format_message() if hasattr(error, "format_message") else str(error)
    return printable(" ".join(message.split()))
