"""The commands that use a model: predict, evaluate, trends, inspect, report, export, push."""

from __future__ import annotations

import io
import sys
from contextlib import nullcontext, redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from newfound import defaults
from newfound.cli import options, show
from newfound.errors import SettingsError
from newfound.exports.registry import EXPORTS, MODEL_EXPORTS
from newfound.text import join_words
from newfound.training.progress import Reporter

JSON_ENDINGS = ("", ".jsonl", ".ndjson")
MinUsersOption = Annotated[
    int, typer.Option(min=0, help="Leave out intents that fewer people said; --user-column of discover tells people.")
]
EXIT_CODE_OF_CHANGES = 3  # of `trends`, for jobs that run by themselves


@dataclass(frozen=True, slots=True)
class EngineOptions:
    PANEL: ClassVar = "Where texts are classified"
    engine: Annotated[
        defaults.Engine, typer.Option(help="local, or ray: on a cluster, or on all cores of this machine.")
    ] = defaults.ENGINE
    ray_address: Annotated[
        str | None,
        typer.Option(help="The cluster, such as `10.0.0.1:6379`. By default $RAY_ADDRESS, else this machine."),
    ] = None
    workers: Annotated[
        int | None, typer.Option(min=1, help="How many Ray workers; by default one for each GPU, or else each core.")
    ] = None

    def keywords(self) -> dict[str, Any]:
        if self.engine == "local" and (self.ray_address is not None or self.workers is not None):
            raise SettingsError("--ray-address and --workers are for --engine ray")
        return asdict(self)


def predict(
    model: options.ModelArgument,
    files: options.LogOptions,
    engine: EngineOptions,
    file: Annotated[
        str,
        typer.Argument(
            help="A file of utterances, or - for standard input, one utterance a line; with --engine ray also a folder "
            "of Parquet files."
        ),
    ] = "-",
    out: Annotated[
        str | None,
        typer.Option(
            help="Write to this file, or with --engine ray to this folder. By default, predictions are printed."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace earlier predictions at --out.")] = False,
    encoder: options.ModelEncoderOption = None,
    device: options.DeviceOption = defaults.DEVICE,
    top: Annotated[int, typer.Option(min=0, help="Add the K most probable intents.", metavar="K")] = 0,
    several: Annotated[
        bool, typer.Option("--several", help="Add the parts of messages that state several wishes, with their intents.")
    ] = False,
    threshold: Annotated[
        str | None, typer.Option(help="Return no intent if the most probable one is less probable, e.g. `0.4`.")
    ] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Say why, as JSON lines: the nearest utterances, the runner-up, and the words that decide. Slower.",
        ),
    ] = False,
    written_format: Annotated[
        str | None,
        typer.Option(
            "--to",
            help="How predictions are written: jsonl, csv or parquet. By default, the ending of --out decides, else "
            "jsonl.",
        ),
    ] = None,
) -> None:
    """Classify utterances and print the predictions, by default one JSON line each; review decisions are applied."""
    from newfound.exports.predictions import check_writer, write_batches

    check_writer(written_format or "jsonl")
    where, on_ray = engine.keywords(), engine.engine == "ray"
    if explain and (on_ray or written_format not in (None, "jsonl") or Path(out or "x").suffix not in JSON_ENDINGS):
        raise SettingsError("--explain: write JSON lines, to the screen or to a file that ends in .jsonl")
    limits: dict[str, Any] = {
        "threshold": options.parse_share(threshold, "--threshold"),
        "top": top,
        "several": several,
    }
    computed: dict[str, Any] = {"encoder": encoder, "device": device}
    reading: dict[str, Any] = {"read": files.read_options(), "explain": explain}
    from newfound.workflows import prediction
    from newfound.workflows.runtime import Runtime

    reporter = show.reporter_for_terminal()
    if out not in (None, "-"):
        written_as: dict[str, Any] = {"format": written_format, "overwrite": force, **where}
        ray_notes = redirect_stdout(io.StringIO()) if on_ray else nullcontext()  # Ray prints about its workers
        with ray_notes:
            written = prediction.write_predictions(
                model, file, str(out), **written_as, **limits, **computed, **reading, reporter=reporter
            )
        print(f"Wrote {written:,} predictions to {Path(str(out))}")
        return
    if on_ray:
        raise SettingsError("--engine ray: name the folder of the predictions with --out")
    if written_format == "parquet" and sys.stdout.isatty():
        raise SettingsError("--to parquet: the terminal cannot show it; name a file with --out")
    runtime = Runtime.of(reporter, **computed)
    batches = prediction.stream_predictions(model, file, prediction.PredictionLimits(**limits), runtime, **reading)
    write_batches(written_format or "jsonl", show.writing_output(), batches, top)


def evaluate(
    model: options.ModelArgument,
    labelled: Annotated[Path, typer.Argument(help="A file of labelled utterances, with columns text and label.")],
    files: options.FileOptions,
    out: Annotated[Path | None, typer.Option(help="Write the result of each utterance to this CSV file.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier file at --out.")] = False,
    out_of_scope: Annotated[
        str | None, typer.Option(help="The label of utterances of no intent: right is to predict none.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the evaluation as JSON.")] = False,
    encoder: options.ModelEncoderOption = None,
    device: options.DeviceOption = defaults.DEVICE,
) -> None:
    """Compare predictions with labels: accuracy, macro-F1, calibration, new intents and the worst confused pairs."""
    from newfound.workflows.evaluation import evaluate as run_workflow

    result = run_workflow(
        model,
        labelled,
        out,
        encoder=encoder,
        device=device,
        read=files.read_options(),
        overwrite=force,
        out_of_scope=out_of_scope,
        reporter=show.reporter_for_terminal(),
    )
    if as_json:
        show.print_json(asdict(result))
        return
    show.print_evaluation(result)
    if out is not None:
        print(f"\nWrote the result of each utterance to {out}")


def trends(
    model: options.ModelArgument,
    logs: Annotated[Path, typer.Argument(help="Newer unlabelled utterances.")],
    files: options.LogOptions,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    encoder: options.ModelEncoderOption = None,
    device: options.DeviceOption = defaults.DEVICE,
) -> None:
    """Say what changed since the model was made: volumes and new intents. Exit code 3 if anything did."""
    from newfound.workflows.trending import trends as run_workflow

    read, reporter = files.read_options(), show.reporter_for_terminal()
    result = run_workflow(model, logs, read=read, encoder=encoder, device=device, reporter=reporter)
    if as_json:
        show.print_json(asdict(result))
    else:
        show.print_trends(result)
    if result.changed:
        raise typer.Exit(EXIT_CODE_OF_CHANGES)


def inspect(
    model: options.ModelArgument,
    new: Annotated[bool, typer.Option("--new", help="Show only the new intents.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole description as JSON.")] = False,
    min_users: MinUsersOption = 0,
    encoder: options.ModelEncoderOption = None,
) -> None:
    """Show the intents of a model: name, status, size, certainty, keywords, central utterances."""
    from newfound.intents.overview import said_by
    from newfound.model.about import Description
    from newfound.model.sidecars import read_groups, with_paths
    from newfound.model.types import KnownCheck
    from newfound.workflows.assigned import read_intents

    about = Description.read(model).about
    read = [i for i in said_by(read_intents(model, encoder), min_users) if not (new and i.known)]
    shown = with_paths(read, read_groups(model))
    intents = tuple(sorted(shown, key=lambda i: (not i.known, -i.size)))
    if as_json:
        show.print_json({**about, "intents": [asdict(i) for i in intents]})
        return
    provenance = about["provenance"]
    encoder_name = about["encoder"]["name"]
    print(show.printable(f"{model}: {provenance['method']} on encoder {encoder_name}, made {provenance['created']}\n"))
    columns = {"certainty": show.certainty}
    if any(i.volume for i in intents):
        columns["by week"] = show.volume
    show.print_table(
        ("intent", "status", "size", *columns, "description, another utterance, keywords"),
        [(i.name, i.status, f"{i.size:,}", *(f(i) for f in columns.values()), show.examples(i)) for i in intents],
    )
    show.print_known_check(KnownCheck.of(provenance), model)


def report(
    model: options.ModelArgument,
    out: Annotated[Path, typer.Option(help="The HTML file to write.")],
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier file at --out.")] = False,
    min_users: MinUsersOption = 0,
    encoder: options.ModelEncoderOption = None,
) -> None:
    """Write one HTML page about the intents, with a map of the logs. It opens offline and can be forwarded."""
    from newfound.files import check_file_target

    check_file_target(out, force)
    from newfound.report.page import write_page
    from newfound.review.reviewed import load_reviewed

    write_page(load_reviewed(model, encoder=encoder), out, title=model.resolve().name, min_users=min_users)
    print(f"Wrote {out}; open it in a browser")


def export(
    model: options.ModelArgument,
    to: Annotated[str, typer.Option(help=f"The format: {join_words([*EXPORTS, *MODEL_EXPORTS], 'or')}.")],
    out: Annotated[Path, typer.Option(help="The file to write; a folder for onnx.")],
    language: Annotated[str, typer.Option(help="The utterances' language code.")] = defaults.LANGUAGE,
    only: Annotated[
        defaults.Only | None,
        typer.Option(help="new: only intents that were not known before; accepted: only accepted ones."),
    ] = None,
    min_probability: Annotated[
        str | None,
        typer.Option(
            help="Leave out utterances of the logs whose intent is less probable, e.g. `0.8`. By default "
            f"{defaults.MIN_PROBABILITY_TO_EXPORT}, and 0 with --with-guesses."
        ),
    ] = None,
    with_guesses: Annotated[
        bool,
        typer.Option(
            "--with-guesses",
            help="Also write what nobody labelled or accepted: utterances of the logs in known intents, and new "
            "intents that are not accepted.",
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier export at --out.")] = False,
    encoder: options.ModelEncoderOption = None,
) -> None:
    """Write what people labelled or accepted as training data of a bot platform, or the classifier as an ONNX graph."""
    from newfound.workflows.exporting import export as run_workflow

    result = run_workflow(
        model,
        to,
        out,
        language=language,
        only=only,
        min_probability=options.parse_share(min_probability, "--min-probability"),
        with_guesses=with_guesses,
        overwrite=force,
        encoder=encoder,
        reporter=Reporter(),  # what is left out is printed below
    )
    if result.counts is None:
        print(f"Wrote the classifier of {result.intents} intents to {result.path}")
        return
    show.print_export(result, result.counts, with_guesses=with_guesses)
    for intent, name in result.renamed.items():
        print(f"{show.printable(intent)} is called {show.printable(name)} there")


def push(
    model: options.ModelArgument,
    to: Annotated[str, typer.Argument(help="The model on the hub, as owner/name; it is created if it does not exist.")],
    private: Annotated[bool, typer.Option("--private", help="Only its owner may see it.")] = False,
    with_utterances: Annotated[
        bool,
        typer.Option("--with-utterances", help="Also publish the training utterances, which are customers' texts."),
    ] = False,
    encoder: options.ModelEncoderOption = None,
) -> None:
    """Put a model on the Hugging Face hub, without utterances; `hf://owner/name` is then a model everywhere."""
    from newfound.workflows.publishing import push as run_workflow

    result = run_workflow(model, to, private=private, with_utterances=with_utterances, encoder=encoder)
    texts = "with its utterances" if with_utterances else "without utterances, which are customers' texts"
    print(f"Pushed the model to {result.url}, {texts}")
    print(f"Next: newfound predict {result.address} FILE")
