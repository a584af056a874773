"""The application: its commands and its error handling. The commands import what is slow to import."""

from __future__ import annotations

import sys
from typing import Annotated, NoReturn

import typer

from newfound.cli import discover, models, quality, review
from newfound.cli.errors import message_with_flags
from newfound.cli.options import with_option_groups
from newfound.cli.show import forget_output
from newfound.errors import Interrupted, NewfoundError
from newfound.threads import limit_threads
from newfound.version import __version__

EXIT_CODE_OF_CTRL_C = 130

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


for command in (
    quality.check,
    discover.demo,
    discover.discover,
    discover.estimate,
    discover.update,
    models.predict,
    models.evaluate,
    quality.audit,
    quality.thresholds,
    models.trends,
    models.inspect,
    models.report,
    models.export,
    quality.group,
    quality.diff,
    models.push,
    review.serve,
):
    app.command()(with_option_groups(command))
app.add_typer(review.app, name="review")
app.add_typer(discover.data, name="data")


def main() -> NoReturn:
    """Run the command line. An error is one line and exit code 2; with `--debug` anywhere, the traceback is shown."""
    limit_threads()
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    try:
        code = app(arguments, standalone_mode=False)
        if code == EXIT_CODE_OF_CTRL_C:  # outside of a fit, where Typer takes Ctrl-C for itself
            raise KeyboardInterrupt
        sys.stdout.flush()  # a closed pipe raises here, where it is handled, and not when Python exits
    except (Interrupted, KeyboardInterrupt, typer.Abort) as stop:
        message = message_with_flags(stop) if isinstance(stop, Interrupted) else str(stop)
        print(f"newfound: {message or 'stopped'}", file=sys.stderr)
        sys.exit(EXIT_CODE_OF_CTRL_C)
    except SystemExit as stop:
        # If the pipe to the reader of the output is closed, Typer exits with 1 and replaces stdout by this class. A
        # reader may stop reading at any time (`newfound predict ... | head`), so this is not an error.
        sys.exit(0 if type(sys.stdout).__name__ == "PacifyFlushWrapper" else stop.code)
    except BrokenPipeError:
        forget_output()  # the same without Typer
        sys.exit(0)
    except Exception as error:
        says = getattr(error, "format_message", None)  # an error of Click: without text, if the help was shown
        if says is not None and not says():
            sys.exit(2)
        can_be_fixed = isinstance(error, NewfoundError | OSError) or says is not None  # others are bugs
        if "--debug" in sys.argv or not can_be_fixed:
            raise
        print(f"newfound: error: {message_with_flags(error)}", file=sys.stderr, flush=True)
        sys.exit(2)
    sys.exit(code if isinstance(code, int) else 0)
