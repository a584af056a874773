"""The application: its commands, and what happens when one fails. Heavy imports happen inside the commands."""

from __future__ import annotations

import os
import sys
from typing import Annotated, NoReturn

import typer

from newfound.cli import bench, data, discover, models, review
from newfound.cli.errors import in_words_of_the_command_line
from newfound.errors import Interrupted, NewfoundError
from newfound.version import __version__

app = typer.Typer(
    help="Extend an intent classifier to the intents its users really have.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    pass


discover.add_to(app)
models.add_to(app)
app.add_typer(review.app, name="review")
app.add_typer(data.app, name="data")
app.add_typer(bench.app, name="bench")


def main() -> NoReturn:
    """Entry point: errors are one line, exit code 2; `--debug`, anywhere, shows where they came from."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    try:
        code = app(arguments, standalone_mode=False)
        sys.stdout.flush()  # here, where a reader that has gone is caught, and not at Python's exit
    except (Interrupted, KeyboardInterrupt, typer.Abort) as stop:
        said = in_words_of_the_command_line(stop) if isinstance(stop, Interrupted) else str(stop)
        print(f"newfound: {said or 'stopped'}", file=sys.stderr)
        sys.exit(130)
    except SystemExit as stop:
        # Typer ends with 1 when the reader of our output has gone, and leaves this mark. Nothing is wrong with that.
        sys.exit(0 if type(sys.stdout).__name__ == "PacifyFlushWrapper" else stop.code)
    except BrokenPipeError:
        # The reader of our output has gone. Python would flush it again at exit, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        if "--debug" in sys.argv or not _is_users(error):
            raise
        print(f"newfound: error: {in_words_of_the_command_line(error)}", file=sys.stderr)
        sys.exit(2)
    sys.exit(code if isinstance(code, int) else 0)


def _is_users(error: Exception) -> bool:
    """Bad input, a bad call or a full disk: something the user can mend; the rest are bugs and show themselves."""
    return isinstance(error, NewfoundError | OSError) or hasattr(error, "format_message")
