"""The commands that use a model: predict, inspect, report, export, serve."""

from __future__ import annotations

import json
import logging
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from newfound import defaults
from newfound.cli.options import (
    DeviceOption,
    ExportFormatOption,
    LogOptions,
    ModelArgument,
    ModelEncoderOption,
    ServerOptions,
    with_option_groups,
)
from newfound.cli.parsing import share
from newfound.cli.progress import reporter_for_terminal
from newfound.cli.show import examples, print_table
from newfound.errors import SettingsError


def add_to(app: typer.Typer) -> None:
    """Register the commands of this module."""
    for command in (predict, inspect, report, export, serve):
        app.command()(with_option_groups(command))


def predict(
    model: ModelArgument,
    files: LogOptions,
    file: Annotated[str, typer.Argument(help="A file of utterances, or - for standard input, one a line.")] = "-",
    encoder: ModelEncoderOption = None,
    device: DeviceOption = defaults.DEVICE,
    max_outliers: Annotated[
        str | None,
        typer.Option(
            "--max-outliers",
            help="Return no intent for texts that are less typical than all but this share of the labelled data, "
            "e.g. `5%`.",
        ),
    ] = None,
) -> None:
    """Classify utterances. Prints one JSON line per utterance; review decisions are applied."""
    from newfound.workflows.prediction import PredictRequest, stream_predictions

    request = PredictRequest(
        model,
        file,
        max_outliers=None if max_outliers is None else share(max_outliers, "--max-outliers"),
        encoder=encoder,
        device=device,
        read=files.reading(),
    )
    for batch in stream_predictions(request, reporter=reporter_for_terminal()):
        for answer in batch:
            print(json.dumps({"line": answer.line, **asdict(answer.prediction)}, ensure_ascii=False))
        sys.stdout.flush()


def inspect(
    model: ModelArgument,
    new: Annotated[bool, typer.Option("--new", help="Show only the new intents.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole description as JSON.")] = False,
    encoder: ModelEncoderOption = None,
) -> None:
    """Show the intents of a model: name, status, size, certainty, keywords, central utterances."""
    from newfound.model.about import describe, read_intents
    from newfound.review.store import ReviewStore

    about = describe(model)
    intents = read_intents(model, about)
    if ReviewStore(model).exists:
        from newfound.review.reviewed import load

        intents = list(load(model, encoder=encoder).intents)
    intents = sorted((i for i in intents if not (new and i.known)), key=lambda i: (not i.known, -i.size))
    if as_json:
        print(json.dumps({**about, "intents": [i.as_dict() for i in intents]}, indent=2, ensure_ascii=False))
        return
    provenance = about["provenance"]
    print(f"{model}: {provenance['method']} on encoder {about['encoder']['name']}, made {provenance['created']}\n")
    print_table(
        ("intent", "status", "size", "certainty", "central utterances and keywords"),
        [
            (
                i.name,
                i.status,
                f"{i.size:,}",
                "" if i.certainty is None else f"{100 * i.certainty:.0f} %",
                examples(i.exemplars, i.keywords),
            )
            for i in intents
        ],
    )


def report(
    model: ModelArgument,
    out: Annotated[Path, typer.Option("--out", help="The HTML file to write.")],
    encoder: ModelEncoderOption = None,
) -> None:
    """Write one HTML page about the intents, with a map of the logs. It opens offline and can be forwarded."""
    if out.is_dir():
        raise SettingsError(f"--out {out}: is a folder; give the name of a file, such as report.html")
    from newfound.report.page import write_page
    from newfound.review.reviewed import load

    write_page(load(model, encoder=encoder), out, title=model.resolve().name)
    print(f"Wrote {out}; open it in a browser")


def export(
    model: ModelArgument,
    to: ExportFormatOption,
    out: Annotated[Path, typer.Option("--out", help="The file to write; a folder for datasets.")],
    language: Annotated[str, typer.Option("--language", help="The utterances' language code.")] = defaults.LANGUAGE,
    new: Annotated[bool, typer.Option("--new", help="Export only intents that were not known before.")] = False,
    encoder: ModelEncoderOption = None,
) -> None:
    """Write the intents after the review, with their utterances, as training data for a bot platform."""
    from newfound.exports.registry import check_language, export_format

    # Wrong options are reported before the model is loaded.
    export_format(to)
    check_language(language)
    from newfound.workflows.exporting import ExportRequest
    from newfound.workflows.exporting import export as run_workflow

    result = run_workflow(ExportRequest(model, to, out, language=language, only_new=new, encoder=encoder))
    print(f"Wrote {result.utterances:,} utterances of {result.intents} intents to {result.path}")


def serve(
    model: ModelArgument,
    server: ServerOptions,
    encoder: ModelEncoderOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Do not log requests.")] = False,
) -> None:
    """Serve predictions and the review page over HTTP. A newer model in the folder is loaded at once."""
    start_server(model, server, encoder, quiet=quiet, open_page=False)


def start_server(model: Path, options: ServerOptions, encoder: str | None, *, quiet: bool, open_page: bool) -> None:
    """Run the server until it is stopped.

    Args:
        model: The model folder.
        options: Where the server listens.
        encoder: The path of the model's encoder.
        quiet: Do not log requests.
        open_page: Open the review page in a browser.
    """
    try:
        from newfound.serve.server import serve as run_server
    except ModuleNotFoundError as error:
        raise SettingsError(f"{error.name} is missing; install it with: pip install 'newfound[serve]'") from None
    from newfound.serve.settings import ServeSettings, read_token

    def announce(message: str) -> None:
        print(f"{message} (stop with Ctrl-C)", file=sys.stderr, flush=True)

    logging.basicConfig(stream=sys.stderr, format="newfound: %(levelname)s: %(message)s", level=logging.WARNING)
    access = logging.StreamHandler(sys.stderr)
    access.setFormatter(logging.Formatter("%(message)s"))
    logging.getLogger("newfound.access").addHandler(access)
    logging.getLogger("newfound.access").setLevel(logging.INFO)
    logging.getLogger("newfound.access").propagate = False
    token = None if options.token_file is None else read_token(options.token_file)
    settings = ServeSettings(
        host=options.host,
        port=options.port,
        token=token,
        log_requests=not quiet,
        behind_proxy=options.behind_proxy,
    )
    run_server(model, settings, encoder=encoder, open_page=open_page, announce=announce)
