"""The commands about a review: the page, decisions from a file; and `serve`, which starts the server of the page."""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer
from typer.core import TyperGroup

from newfound import defaults
from newfound.cli import options
from newfound.cli.show import print_known_check, print_table, printable, reporter_for_terminal
from newfound.errors import DataError, DecisionError, SettingsError

if TYPE_CHECKING:
    from newfound.review.decisions import Decision
    from newfound.review.views import Change


class _ReviewGroup(TyperGroup):
    """`newfound review MODEL` opens the page; `newfound review apply ...` and the others are commands."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = ["page", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(cls=_ReviewGroup, help="Review the discovered intents.", no_args_is_help=True)


@dataclass(frozen=True, slots=True)
class ServerOptions:
    PANEL: ClassVar = "The server"
    host: Annotated[str, typer.Option(help="The address to listen on. Any but 127.0.0.1 needs --token-file.")] = (
        "127.0.0.1"
    )
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port to listen on; 0 chooses a free one.")] = 8765
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="A file with the secret token that every request must send, or with one line `name: token` a person."
        ),
    ] = None
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="Believe the forwarding headers of a reverse proxy.")
    ] = False


def serve(
    model: options.ModelArgument,
    server: ServerOptions,
    asking: options.LanguageModelOptions,
    encoder: options.ModelEncoderOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Do not log requests.")] = False,
) -> None:
    """Serve predictions and the review page over HTTP. A newer model in the folder is loaded at once."""
    start_server(model, server, asking, encoder, quiet=quiet)


def start_server(
    model: Path,
    server: ServerOptions,
    asking: options.LanguageModelOptions,
    encoder: str | None,
    *,
    quiet: bool = True,
    open_page: bool = False,
) -> None:
    try:
        from newfound.serve.server import serve as run_server
    except ModuleNotFoundError as error:
        raise SettingsError(f"{error.name} is missing; install it with: pip install 'newfound[serve]'") from None
    from newfound.serve.settings import ServeSettings, read_token

    def announce(message: str) -> None:
        print(f"{message} (stop with Ctrl-C)", file=sys.stderr, flush=True)

    logging.basicConfig(stream=sys.stderr, format="newfound: %(levelname)s: %(message)s", level=logging.WARNING)
    access, handler = logging.getLogger("newfound.access"), logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    access.addHandler(handler)
    access.setLevel(logging.WARNING if quiet else logging.INFO)
    access.propagate = False
    settings = ServeSettings(
        host=server.host,
        port=server.port,
        token=None if server.token_file is None else read_token(server.token_file),
        behind_proxy=server.behind_proxy,
        llm=asking.settings(),
    )
    run_server(model, settings, encoder=encoder, open_page=open_page, announce=announce)


@app.command("page")
@options.with_option_groups
def page(
    model: options.ModelArgument,
    server: ServerOptions,
    asking: options.LanguageModelOptions,
    encoder: options.ModelEncoderOption = None,
) -> None:
    """Open the review page of a model in a browser; `newfound review MODEL` is short for it."""
    start_server(model, server, asking, encoder, open_page=True)


@app.command("apply")
def apply(
    model: options.ModelArgument,
    decisions: Annotated[Path, typer.Argument(help="A YAML file with a list of decisions (docs/review.md).")],
    author: Annotated[str | None, typer.Option(help="Who decides; by default you.")] = None,
    refit: Annotated[
        bool, typer.Option("--refit", help="Train another model on the reviewed intents; needs --out.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="The folder for the model that --refit trains.")] = None,
    encoder: options.ModelEncoderOption = None,
    effort: options.EffortOption = defaults.EFFORT,
    tune: options.TuneOption = defaults.TUNE,
    device: options.DeviceOption = defaults.DEVICE,
) -> None:
    """Record the decisions of a file (rename, merge, split, reject, accept, move): all of them, or none."""
    from newfound.files import check_replaceable
    from newfound.review.decisions import format_decision
    from newfound.review.store import ReviewStore

    if refit and out is None:
        raise SettingsError("--refit trains another model and leaves this one as it is; say where with --out")
    if out is not None:
        check_replaceable(out, False)
    parsed = _read_decisions(decisions)
    try:
        entries = ReviewStore(model).decide(parsed, author=author or _whoami())
    except DecisionError as error:
        # With several decisions, the store says which one it is.
        which = f"decision 1, {format_decision(parsed[0])}: " if len(parsed) == 1 else ""
        raise DecisionError(f"{decisions}, {which}{error}; nothing was recorded") from None
    counted = "1 decision, which applies" if len(entries) == 1 else f"{len(entries)} decisions, which apply"
    print(f"Recorded {counted} at once. Undo: newfound review undo {model}")
    if refit and out is not None:
        from newfound.workflows.updating import refit as run_workflow

        settings: dict[str, Any] = {"encoder": encoder, "effort": effort, "tune": tune, "device": device}
        changes = run_workflow(model, out, **settings, reporter=reporter_for_terminal()).changes
        if changes.reclustered:
            print(f"{changes.reclustered} similar utterances followed those that were moved, before the training.")
        print(f"Wrote the model trained on them to {out}/")
        print_known_check(changes.known_check, out)


@app.command("undo")
def undo(
    model: options.ModelArgument,
    id: Annotated[int | None, typer.Option(help="The number of a decision; by default the last step.")] = None,
    author: Annotated[str | None, typer.Option(help="Who undoes it; by default you.")] = None,
) -> None:
    """Undo the last step, that is all decisions that were recorded together, or one decision."""
    from newfound.review.store import ReviewStore

    store, who = ReviewStore(model), author or _whoami()
    for entry in store.undo(author=who, id=id):
        print(printable(f"Took back decision {entry.id}: {entry.author} {entry.words}"))


@app.command("resize")
def resize(
    model: options.ModelArgument,
    to: Annotated[
        int | None, typer.Option(help="How many new intents there are to be; by default nothing changes.")
    ] = None,
    preview: Annotated[bool, typer.Option("--preview", help="Show what would change, and record nothing.")] = False,
    author: Annotated[str | None, typer.Option(help="Who decides; by default you.")] = None,
    encoder: options.ModelEncoderOption = None,
) -> None:
    """Merge or split new intents until there are as many as wanted; accepted ones stay."""
    from newfound.workflows.resizing import resize as run_workflow

    result = run_workflow(model, to, author or _whoami(), preview=preview, encoder=encoder)
    resizing = result.resizing
    possible = f"{resizing.fewest} to {resizing.most} are possible"
    summary = f"{resizing.present} new intents; {possible}."
    if (estimate := resizing.estimate) is not None:
        unsure = "; that is unsure, so look at the intents" if estimate.is_unsure else ""
        summary += (
            f" The estimate was {estimate.n_new}, {estimate.low} to {estimate.high} in nine of ten cases{unsure}."
        )
    print(summary)
    if resizing.changes:
        print_table(
            ("", "intent", "size", "utterances"), [row for change in resizing.changes for row in _rows_of(change)]
        )
    if result.entries:
        decisions = "1 decision" if len(result.entries) == 1 else f"{len(result.entries)} decisions"
        print(f"Recorded {decisions}: {resizing.n_new} new intents now. Undo: newfound review undo {model}")
    elif to is None:
        print(f"Choose one: newfound review resize {model} --to N --preview")
    else:
        print(f"Nothing was recorded. Do it: newfound review resize {model} --to {to}")


def _rows_of(change: Change) -> list[tuple[str, ...]]:
    """Return the rows of a table: what is merged and what it becomes, or what is split and its parts."""
    is_merge = change.kind == "merge"
    before = [(change.kind if i == 0 else "", part) for i, part in enumerate(change.before)]
    after = [("into", part) for part in change.after]
    return [
        (what, part.name, f"{part.size:,}", "; ".join(part.utterances) if is_merge is (what != "into") else "")
        for what, part in (*before, *after)
    ]


@app.command("log")
def log(model: options.ModelArgument) -> None:
    """List the decisions: who decided what, and when. What the model was trained on comes first, without numbers."""
    from newfound.review.store import ReviewStore, read_history

    store = ReviewStore(model)
    trained_on = [("", entry) for training in read_history(store.folder) for entry in training.entries]
    rows = []
    for number, entry in (*trained_on, *((str(entry.id), entry) for entry in store.entries())):
        undone = f"undone by {entry.undone_by}" if entry.undone_by else ""
        rows.append((number, entry.at[:19].replace("T", " "), entry.author, entry.words, undone))
    print_table(("", "when (UTC)", "who", "what", ""), rows)


def _read_decisions(path: Path) -> list[Decision]:
    """Return the decisions of a file, which is a list of them."""
    import yaml

    from newfound.review.decisions import parse

    try:
        entries = yaml.safe_load(path.read_text("utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        problem = " ".join(str(error).split())[:200]
        raise DataError(f"{path}: cannot be read as YAML ({problem}); texts with a ?, : or # need quotes") from None
    if not isinstance(entries, list) or not entries:
        raise DataError(f"{path}: no decisions in it; write a list of them (docs/review.md)")
    decisions = []
    for number, entry in enumerate(entries, 1):
        try:
            decisions.append(parse(entry))
        except DecisionError as error:
            raise DecisionError(f"{path}, decision {number}: {error}; nothing was recorded") from None
    return decisions


def _whoami() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
