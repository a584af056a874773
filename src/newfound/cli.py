"""The command line: thin commands over the package. Heavy imports happen inside the commands."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import chain, islice
from pathlib import Path
from queue import Queue
from shutil import which
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, cast

import typer
from typer.core import TyperGroup

from newfound.data.readers import Row
from newfound.errors import DataError, Interrupted, NewfoundError, SettingsError
from newfound.files import check_replaceable

if TYPE_CHECKING:
    from newfound.bench.cells import Cell
    from newfound.bench.experiments import Experiment
    from newfound.data.corpus import Corpus
    from newfound.data.validation import ReadReport
    from newfound.methods.base import Discoverer
    from newfound.model import Intent
    from newfound.review.decisions import Decision
    from newfound.review.reviewed import ReviewedModel
    from newfound.training.run import Run

app = typer.Typer(
    help="Extend an intent classifier to the intents its users really have.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class _ReviewGroup(TyperGroup):
    """`newfound review MODEL` opens the page; `newfound review apply ...` and the others are commands."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = ["page", *args]
        return super().parse_args(ctx, args)


review_app = typer.Typer(
    cls=_ReviewGroup, help="A person's decisions about the discovered intents.", no_args_is_help=True
)
data_app = typer.Typer(help="Benchmark data: what there is, and where it lies.", no_args_is_help=True)
bench_app = typer.Typer(help="The paper's experiments.", no_args_is_help=True)
app.add_typer(review_app, name="review")
app.add_typer(data_app, name="data")
app.add_typer(bench_app, name="bench")

MethodOption = Annotated[
    str,
    typer.Option("--method", help="The discovery method: consensus, dpl, e2e, deepaligned, deepaligned-mix or kmeans."),
]
EncoderOption = Annotated[str, typer.Option("--encoder", help="minilm, mpnet, bert, a folder, or owner/name.")]
TuneOption = Annotated[
    str,
    typer.Option("--tune", help="What trains: heads, last, last:K, all; auto is last on a GPU, else heads."),
]
EffortOption = Annotated[
    str,
    typer.Option(
        "--effort", help="quick (heads on frozen vectors) or best (trains the encoder's last layer); auto by device."
    ),
]
LogsOption = Annotated[
    str | None,
    typer.Option("--logs", help="mixed: the logs hold known intents too; novel: new intents only, as in the paper."),
]
ModelArgument = Annotated[Path, typer.Argument(help="A model folder.")]
ModelEncoderOption = Annotated[str | None, typer.Option("--encoder", help="Where the model's encoder lies.")]
DeviceOption = Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")]
SeedOption = Annotated[int, typer.Option("--seed", help="Same seed, same device: the same result.")]
TextColumnOption = Annotated[str, typer.Option("--text-column", help="The column that holds the utterance.")]
LabelColumnOption = Annotated[str, typer.Option("--label-column", help="The column that holds the intent.")]
FormatOption = Annotated[
    str | None,
    typer.Option("--format", help="csv, tsv, jsonl, parquet, text or rasa; by the file's extension otherwise."),
]
EncodingOption = Annotated[str, typer.Option("--encoding", help="The files' character encoding.")]
RedactOption = Annotated[
    bool, typer.Option("--redact", help="Mask e-mail addresses, card numbers, IBANs and telephone numbers first.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace what is at --out.")]


def _show_version(wanted: bool) -> None:
    if wanted:
        from newfound import __version__

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


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", help="The model folder to write.")] = Path("newfound-demo"),
    force: ForceOption = False,
    method: MethodOption = "consensus",
    effort: EffortOption = "auto",
    tune: TuneOption = "auto",
    device: DeviceOption = "auto",
    seed: SeedOption = 0,
) -> None:
    """The whole job on the corpus and the encoder that come with newfound."""
    from newfound.data.demo_corpus import load_demo
    from newfound.metrics import both_protocols

    check_replaceable(out, force)
    task = load_demo()
    observed = task.observed_train
    print(
        f"A utility company's chat logs: {len(observed.labelled()):,} labelled utterances of {len(task.known)} known "
        f"intents,\n{len(observed.unlabelled()):,} unlabelled ones. How many new intents are in those, and which?\n"
    )
    fitted, run = _fit(
        method,
        observed,
        out,
        force=force,
        n_new="auto",
        encoder="minilm",
        tune=_tune(effort, tune, device),
        device=device,
        seed=seed,
    )
    fitted.model_.save(out, overwrite=force)
    run.finish()
    _print_new_intents(fitted.intents)
    predicted = fitted.model_.predict_ids(task.test.texts)
    scores = both_protocols(task.gold_ids(task.test), predicted, len(task.known))
    print(f"\nIn truth there are {len(task.new)} new intents; {fitted.n_new_} were found. On {len(task.test)} held-out")
    print("utterances, in percent (what the protocols mean: docs/protocols.md):\n")
    _print_table(
        ("protocol", "IND ACC", "OOD ACC", "OOD F1", "ALL ACC", "ALL F1"),
        [(name, *(f"{value:.1f}" for value in score.as_dict().values())) for name, score in scores.items()],
    )
    _print_next(out, "my smart meter went blank")


@app.command()
def discover(
    known: Annotated[Path, typer.Argument(help="Labelled utterances of the known intents (text, label).")],
    logs: Annotated[Path, typer.Argument(help="Unlabelled utterances (text).")],
    out: Annotated[Path, typer.Option("--out", help="The model folder to write.")],
    method: MethodOption = "consensus",
    n_new: Annotated[str, typer.Option("--n-new", help="How many new intents to look for, or auto.")] = "auto",
    holds: LogsOption = None,
    encoder: EncoderOption = "minilm",
    effort: EffortOption = "auto",
    tune: TuneOption = "auto",
    device: DeviceOption = "auto",
    seed: SeedOption = 0,
    text_column: TextColumnOption = "text",
    label_column: LabelColumnOption = "label",
    format: FormatOption = None,
    logs_format: Annotated[
        str | None, typer.Option("--logs-format", help="The format of the logs, where it is another.")
    ] = None,
    encoding: EncodingOption = "utf-8",
    force: ForceOption = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where a stopped run with the same --out was.")
    ] = False,
    checkpoint_seconds: Annotated[
        float, typer.Option("--checkpoint-seconds", help="Least time between two checkpoints.")
    ] = 5.0,
    with_encoder: Annotated[
        bool, typer.Option("--with-encoder", help="Put the encoder into the model folder too.")
    ] = False,
    keep_utterances: Annotated[
        bool,
        typer.Option(
            "--keep-utterances/--no-keep-utterances", help="In the model folder; review, export and update need them."
        ),
    ] = True,
    mask: RedactOption = False,
    namer: Annotated[
        str | None,
        typer.Option(
            "--namer", help="An OpenAI-compatible endpoint that names the new intents; exemplars are sent to it."
        ),
    ] = None,
    namer_model: Annotated[str, typer.Option("--namer-model", help="The model to ask for at --namer.")] = "",
) -> None:
    """Find the new intents in logs, and make one classifier over known and new."""
    from newfound.data.validation import read_known, read_logs

    check_replaceable(out, force)
    known_corpus, known_report = read_known(
        known, text_column=text_column, label_column=label_column, format=format, encoding=encoding
    )
    logs_corpus, logs_report = read_logs(logs, text_column=text_column, format=logs_format or format, encoding=encoding)
    _print_warnings(known_report, logs_report)
    if mask:
        known_corpus, logs_corpus = _redacted(known_corpus), _redacted(logs_corpus)
    logs_corpus, counts = _distinct(logs_corpus)
    fitted, run = _fit(
        method,
        known_corpus + logs_corpus,
        out,
        force=force,
        resume=resume,
        checkpoint_seconds=checkpoint_seconds,
        n_new=_whole_number_or_auto(n_new),
        encoder=encoder,
        tune=_tune(effort, tune, device),
        device=device,
        seed=seed,
        **_logs_setting(method, holds),
    )
    if namer is not None:
        from newfound.namer import ask_for_names

        def say(message: str) -> None:
            print(f"newfound: warning: {message}", file=sys.stderr)

        fitted.model_.with_names(ask_for_names(fitted.intents, namer, namer_model, note=say))
    fitted.model_.with_counts(counts).save(
        out, overwrite=force, with_encoder=with_encoder, with_utterances=keep_utterances
    )
    run.finish()
    _print_new_intents(fitted.intents)
    _print_next(out, logs_corpus.texts[0])


@app.command()
def estimate(
    known: Annotated[Path, typer.Argument(help="Labelled utterances of the known intents (text, label).")],
    logs: Annotated[Path, typer.Argument(help="Unlabelled utterances (text).")],
    strategy: Annotated[str, typer.Option("--strategy", help="resolution, height or drop.")] = "resolution",
    hold: Annotated[
        str, typer.Option("--logs", help="novel: logs hold new intents only; mixed: known ones too.")
    ] = "novel",
    expected: Annotated[
        int | None, typer.Option("--expected", min=1, help="Where the strategy drop starts from.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="A folder for estimate.json and estimate.png.")] = None,
    encoder: EncoderOption = "minilm",
    seed: SeedOption = 0,
    text_column: TextColumnOption = "text",
    label_column: LabelColumnOption = "label",
    format: FormatOption = None,
    encoding: EncodingOption = "utf-8",
) -> None:
    """Estimate how many new intents the logs hold, with an interval, before any training."""
    from newfound.data.validation import read_known, read_logs
    from newfound.encoders.cache import FeatureCache
    from newfound.encoders.encoder import default_cache_dir, load_encoder
    from newfound.estimate import estimate_for

    known_corpus, known_report = read_known(
        known, text_column=text_column, label_column=label_column, format=format, encoding=encoding
    )
    logs_corpus, logs_report = read_logs(logs, text_column=text_column, format=format, encoding=encoding)
    _print_warnings(known_report, logs_report)
    loaded = load_encoder(encoder, cache=FeatureCache(default_cache_dir()))
    found = estimate_for(
        known_corpus + logs_corpus, loaded, strategy=strategy, logs_hold=hold, expected=expected, seed=seed
    )
    print(f"About {found.n_new} new intents; {found.low} to {found.high} in nine of ten cases (strategy {strategy}).")
    if out is not None:
        from newfound.figures import draw_estimate

        draw_estimate(found, len(known_corpus.intents), out)
        print(f"Written: {out / 'estimate.json'}, {out / 'estimate.png'}")
    print(f"Next: newfound discover {known} {logs} --n-new {found.n_new} --out MODEL")


@app.command()
def predict(
    model: ModelArgument,
    file: Annotated[str, typer.Argument(help="A file of utterances, or - for standard input, one a line.")] = "-",
    encoder: ModelEncoderOption = None,
    device: DeviceOption = "auto",
    max_outliers: Annotated[
        str | None,
        typer.Option(
            "--max-outliers", help="As 5%: no intent for what is less typical than all but 5 % of the labelled data."
        ),
    ] = None,
    text_column: TextColumnOption = "text",
    format: FormatOption = None,
    encoding: EncodingOption = "utf-8",
) -> None:
    """Classify utterances: one JSON line each, written as it goes. Review decisions are heeded."""
    from newfound.data.validation import ReadReport, stream_rows

    limit = 1.0 if max_outliers is None else 1 - _share(max_outliers, "--max-outliers")
    report = ReadReport("standard input" if file == "-" else file)
    rows = stream_rows(file, text_column=text_column, format=format, encoding=encoding, report=report)
    first = next(rows, None)  # a wrong file is noticed before the model is loaded
    if first is None:
        raise DataError(f"{report.name}: no utterance in it; it needs one text a row")
    loaded = _load_model(model, encoder, device)
    for batch in _ready_batches(chain([first], rows), 256):
        for row, prediction in zip(batch, loaded.classify([row.text for row in batch]), strict=True):
            answer = asdict(prediction)
            if prediction.outlier > limit:
                answer |= {"intent": None, "known": False}
            print(json.dumps({"line": row.line, **answer}, ensure_ascii=False))
        sys.stdout.flush()
    _print_warnings(report)


@app.command()
def inspect(
    model: ModelArgument,
    new: Annotated[bool, typer.Option("--new", help="Only the new intents.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Everything, as JSON.")] = False,
    encoder: ModelEncoderOption = None,
) -> None:
    """Show the intents of a model: name, known or new, size, keywords, central utterances."""
    from newfound.model import describe
    from newfound.review.store import ReviewStore

    about = describe(model)
    if ReviewStore(model).exists:
        about["intents"] = [asdict(intent) for intent in _load_model(model, encoder, "cpu").intents()]
    intents = [intent for intent in about["intents"] if not (new and intent["known"])]
    intents.sort(key=lambda intent: (not intent["known"], -intent["size"]))
    if as_json:
        print(json.dumps({**about, "intents": intents}, indent=2, ensure_ascii=False))
        return
    provenance = about["provenance"]
    print(f"{model}: {provenance['method']} on encoder {about['encoder']['name']}, made {provenance['created']}\n")
    _print_table(
        ("intent", "kind", "size", "central utterances and keywords"),
        [
            (i["name"], "known" if i["known"] else "new", f"{i['size']:,}", _examples(i["exemplars"], i["keywords"]))
            for i in intents
        ],
    )


@app.command()
def report(
    model: ModelArgument,
    out: Annotated[Path, typer.Option("--out", help="The page to write.")],
    encoder: ModelEncoderOption = None,
) -> None:
    """Write one page about the intents, with a map of the logs; it opens offline and can be forwarded."""
    from newfound.report.page import write_page

    if out.is_dir():
        raise SettingsError(f"--out {out}: is a folder; give the name of a file, as report.html")
    write_page(_load_model(model, encoder, "cpu"), out, title=model.resolve().name)
    print(f"Wrote {out}; open it in a browser")


@app.command()
def export(
    model: ModelArgument,
    to: Annotated[
        str,
        typer.Option(
            "--to", help="rasa, dialogflow-es, dialogflow-cx, clu, botpress, csv, jsonl, parquet or datasets."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="The file to write; a folder for datasets.")],
    language: Annotated[str, typer.Option("--language", help="The utterances' language code.")] = "en",
    new: Annotated[bool, typer.Option("--new", help="Only intents that were not known before.")] = False,
    encoder: ModelEncoderOption = None,
) -> None:
    """Write the reviewed intents with their utterances for a bot platform."""
    from newfound.export.formats import export as write

    opened = _load_model(model, encoder, "cpu")
    corpus = opened.corpus()
    if new:
        corpus = corpus.where(lambda label: label not in opened.review.known)
    if not len(corpus):
        raise DataError(f"{model}: there is no intent to export")
    write(corpus, to, out, name=model.resolve().name, language=language)
    print(f"Wrote {len(corpus):,} utterances of {len(corpus.intents)} intents to {out}")


@app.command()
def update(
    model: Annotated[Path, typer.Argument(help="A model folder whose intents were reviewed.")],
    logs: Annotated[Path, typer.Argument(help="Newer unlabelled utterances (text).")],
    out: Annotated[Path, typer.Option("--out", help="The model folder to write.")],
    n_new: Annotated[str, typer.Option("--n-new", help="How many new intents to look for, or auto.")] = "auto",
    accept_all: Annotated[
        bool, typer.Option("--accept-all", help="Take all intents of the model for known, reviewed or not.")
    ] = False,
    encoder: ModelEncoderOption = None,
    tune: TuneOption = "auto",
    device: DeviceOption = "auto",
    seed: SeedOption = 0,
    text_column: TextColumnOption = "text",
    format: FormatOption = None,
    encoding: EncodingOption = "utf-8",
    mask: RedactOption = False,
    force: ForceOption = False,
) -> None:
    """Another round: accepted intents are known now, and new ones are looked for in newer logs."""
    from newfound.data.validation import read_logs
    from newfound.review.rounds import next_round
    from newfound.training.progress import reporter_for_terminal
    from newfound.training.run import Run

    check_replaceable(out, force)
    corpus, report = read_logs(logs, text_column=text_column, format=format, encoding=encoding)
    _print_warnings(report)
    if mask:
        corpus = _redacted(corpus)
    corpus, counts = _distinct(corpus)
    opened = _load_model(model, encoder, "cpu")
    earlier = {u.text: u.count for u in opened.model.utterances if not u.labelled}
    fitted = next_round(
        opened,
        corpus,
        accept_all=accept_all,
        run=Run(reporter=reporter_for_terminal()),
        n_new=_whole_number_or_auto(n_new),
        tune=tune,
        device=device,
        seed=seed,
    )
    fitted.model_.with_counts({**earlier, **counts}).save(out, overwrite=force)
    _print_new_intents(fitted.intents)
    _print_next(out, corpus.texts[0])


HostOption = Annotated[str, typer.Option("--host", help="Where to listen; any but this machine needs a token.")]
PortOption = Annotated[int, typer.Option("--port", min=0, max=65_535, help="0 takes a free one.")]
TokenOption = Annotated[
    Path | None, typer.Option("--token-file", help="A file with the secret that every request must carry.")
]


@app.command()
def serve(
    model: ModelArgument,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8765,
    token_file: TokenOption = None,
    encoder: ModelEncoderOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No line for each request.")] = False,
) -> None:
    """Answer predictions over HTTP, with the review page at /. A newer model in the folder is taken up at once."""
    _serve(model, host, port, token_file, encoder, quiet=quiet, open_page=False)


@review_app.command("page")
def review_page(
    model: ModelArgument,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8765,
    token_file: TokenOption = None,
    encoder: ModelEncoderOption = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> None:
    """Open the review page of a model; `newfound review MODEL` is short for it."""
    _serve(model, host, port, token_file, encoder, quiet=True, open_page=browser)


def _serve(
    model: Path, host: str, port: int, token_file: Path | None, encoder: str | None, *, quiet: bool, open_page: bool
) -> None:
    try:
        from newfound.serve.running import serve as run_server
    except ModuleNotFoundError as error:
        raise SettingsError(f"{error.name} is missing; install it with: pip install 'newfound[serve]'") from None
    from newfound.serve.settings import ServeSettings, read_token

    token = None if token_file is None else read_token(token_file)
    settings = ServeSettings(host=host, port=port, token=token, log_requests=not quiet)
    run_server(model, settings, encoder=encoder, open_page=open_page)


@review_app.command("apply")
def review_apply(
    model: ModelArgument,
    decisions: Annotated[Path, typer.Argument(help="A YAML file with a list of decisions (docs/review.md).")],
    author: Annotated[str | None, typer.Option("--author", help="Who decides; the file may say so too.")] = None,
    refit: Annotated[bool, typer.Option("--refit", help="Train on from the decisions; needs --out.")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="The folder for the model that --refit trains.")] = None,
    encoder: ModelEncoderOption = None,
    tune: TuneOption = "auto",
    device: DeviceOption = "auto",
) -> None:
    """Record decisions (rename, merge, split, reject, accept, move): all of the file, or nothing."""
    from newfound.review.store import ReviewStore

    if refit and out is None:
        raise SettingsError("--refit trains another model and leaves this one as it is; say where with --out")
    if out is not None:
        check_replaceable(out, False)
    author_of_file, taken = _read_decisions(decisions)
    entries = ReviewStore(model).decide(taken, author=author or author_of_file or _whoami())
    print(f"Recorded {len(entries)} decisions; predictions heed them at once. Take the last back: review undo {model}")
    if refit and out is not None:
        from newfound.review.rounds import refit as train
        from newfound.training.progress import reporter_for_terminal
        from newfound.training.run import Run

        opened = _load_model(model, encoder, device)
        trained = train(opened, run=Run(reporter=reporter_for_terminal()), tune=tune, device=device)
        trained.save(out)
        print(f"Wrote the model trained on them to {out}/")


@review_app.command("undo")
def review_undo(
    model: ModelArgument,
    id: Annotated[int | None, typer.Option("--id", help="The decision's number; the last one otherwise.")] = None,
    author: Annotated[str | None, typer.Option("--author", help="Who takes it back.")] = None,
) -> None:
    """Take back a decision."""
    from newfound.review.store import ReviewStore

    entry = ReviewStore(model).undo(author=author or _whoami(), id=id)
    print(f"Took back decision {entry.id}: {entry.decision.kind} by {entry.author}")


@review_app.command("log")
def review_log(model: ModelArgument) -> None:
    """Who decided what, and when."""
    from newfound.review.store import ReviewStore

    rows = []
    for entry in ReviewStore(model).entries():
        what = json.dumps(dict(entry.decision.arguments), ensure_ascii=False)
        undone = f"undone by {entry.undone_by}" if entry.undone_by else ""
        shown = what if len(what) <= 80 else what[:79] + "…"
        rows.append((str(entry.id), entry.at, entry.author, entry.decision.kind, shown, undone))
    _print_table(("", "when (UTC)", "who", "what", "", ""), rows)


@data_app.command("list")
def data_list() -> None:
    """The benchmarks, and where their utterances are."""
    from newfound.data.benchmarks import PARTS, SETS, benchmark_names, facts, find

    rows = []
    for name, source in SETS.items():
        found = [find(name, part) for part in PARTS]
        where = str(found[0].parent) if all(found) and found[0] else f"not here: newfound data get {name}"
        used = ", ".join(b for b in benchmark_names() if facts("splits")["datasets"][b] == name)
        rows.append((name, used, where, source.credit))
    _print_table(("data set", "benchmarks", "where", "source"), rows)


@data_app.command("get")
def data_get(name: Annotated[str, typer.Argument(help="banking77 or clinc150.")]) -> None:
    """Find a data set in $NEWFOUND_DATA or the cache, or fetch it; either way verify it."""
    from newfound.data.benchmarks import get

    for part, path in get(name).items():
        print(f"{name}/{part}: {path}, verified")


NameArgument = Annotated[str, typer.Argument(help="An experiment: `newfound bench list` names them.")]
MethodsOption = Annotated[str, typer.Option("--methods", help="Comma-separated; the experiment's own otherwise.")]
BenchmarksOption = Annotated[str, typer.Option("--benchmarks", help="GID-SD, GID-CD, GID-MD.")]
RatiosOption = Annotated[str, typer.Option("--ratios", help="Share of new intents: 20, 40, 60.")]
SplitsOption = Annotated[str, typer.Option("--splits", help="1, 2, 3.")]
SeedsOption = Annotated[str, typer.Option("--seeds", help="Comma-separated.")]
ResultsOption = Annotated[Path, typer.Option("--out", help="Where the result files are.")]
RESULTS = Path("benchmarks/results")


@bench_app.command("list")
def bench_list() -> None:
    """The experiments: what they show, and how many runs they take."""
    from newfound.bench.experiments import EXPERIMENTS

    rows = [(e.name, e.title, ", ".join(e.benchmarks), str(len(e.cells("", "")))) for e in EXPERIMENTS.values()]
    _print_table(("experiment", "what it shows", "benchmarks", "runs"), rows)


@bench_app.command("run")
def bench_run(
    name: NameArgument = "main",
    methods: MethodsOption = "",
    benchmarks: BenchmarksOption = "",
    ratios: RatiosOption = "",
    splits: SplitsOption = "",
    seeds: SeedsOption = "",
    encoder: EncoderOption = "minilm",
    tune: TuneOption = "auto",
    device: DeviceOption = "auto",
    out: ResultsOption = RESULTS,
) -> None:
    """Run the missing cells of an experiment, then print its table. Finished cells are skipped."""
    from newfound.bench.cells import missing
    from newfound.bench.running import run_missing
    from newfound.encoders.cache import FeatureCache
    from newfound.encoders.encoder import default_cache_dir, load_encoder
    from newfound.training.progress import reporter_for_terminal

    experiment, cells = _planned(name, methods, benchmarks, ratios, splits, seeds, encoder, tune, device)
    if missing(cells, out):
        loaded = load_encoder(encoder, cache=FeatureCache(default_cache_dir()))
        run_missing(cells, out, loaded, device, reporter_for_terminal())
    _print_experiment(experiment, cells, out, "terminal")


@bench_app.command("table")
def bench_table(
    name: NameArgument = "main",
    methods: MethodsOption = "",
    benchmarks: BenchmarksOption = "",
    ratios: RatiosOption = "",
    splits: SplitsOption = "",
    seeds: SeedsOption = "",
    encoder: EncoderOption = "minilm",
    tune: TuneOption = "auto",
    device: DeviceOption = "auto",
    out: ResultsOption = RESULTS,
    format: Annotated[str, typer.Option("--format", help="terminal, markdown, latex or csv.")] = "terminal",
) -> None:
    """Print an experiment's table from the result files: mean ± std over splits and seeds, both protocols."""
    experiment, cells = _planned(name, methods, benchmarks, ratios, splits, seeds, encoder, tune, device)
    _print_experiment(experiment, cells, out, format)


@bench_app.command("figures")
def bench_figures(
    name: NameArgument = "main",
    methods: MethodsOption = "",
    benchmarks: BenchmarksOption = "",
    ratios: RatiosOption = "",
    splits: SplitsOption = "",
    seeds: SeedsOption = "",
    encoder: EncoderOption = "minilm",
    tune: TuneOption = "auto",
    device: DeviceOption = "auto",
    out: ResultsOption = RESULTS,
    to: Annotated[Path, typer.Option("--to", help="The folder for the figures.")] = Path("benchmarks/figures"),
    projection: Annotated[str, typer.Option("--projection", help="Of maps: tsne, pca or umap.")] = "tsne",
) -> None:
    """Draw an experiment from the result files."""
    from newfound.bench.plots import Projection, draw

    experiment, cells = _planned(name, methods, benchmarks, ratios, splits, seeds, encoder, tune, device)
    for path in draw(experiment, cells, out, to, projection=cast("Projection", projection)):
        print(path)


@bench_app.command("report")
def bench_report(
    encoder: EncoderOption = "minilm",
    tune: TuneOption = "last",
    device: DeviceOption = "auto",
    out: ResultsOption = RESULTS,
    to: Annotated[Path, typer.Option("--to", help="The folder for the page.")] = Path("benchmarks/report"),
) -> None:
    """Write one page with every table and figure that there are results for; it opens offline."""
    from newfound.bench.report import write_report

    for path in write_report(out, to, encoder=encoder, tune=tune, device=device):
        print(path)


@bench_app.command("speed")
def bench_speed(
    method: MethodOption = "dpl",
    benchmark: Annotated[str, typer.Option("--benchmark")] = "GID-SD",
    encoder: EncoderOption = "minilm",
    tune: TuneOption = "auto",
    device: DeviceOption = "auto",
    epochs: Annotated[int, typer.Option("--epochs", help="Epochs to time in each stage.")] = 5,
    trunk_dropout: Annotated[
        bool, typer.Option("--trunk-dropout", help="Fresh dropout in the frozen layers in every step.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Seconds per epoch and per phase, and the ratio to a plain loop of the same equations in the same run."""
    from newfound.bench.speed import measure
    from newfound.data.benchmarks import load_benchmark
    from newfound.encoders.cache import FeatureCache
    from newfound.encoders.encoder import default_cache_dir, load_encoder
    from newfound.methods.base import pick_device, resolve_tune

    task = load_benchmark(benchmark)
    loaded = load_encoder(encoder, cache=FeatureCache(default_cache_dir()))
    tune = resolve_tune(tune, pick_device(device))
    result = measure(method, task, loaded, tune=tune, device=device, epochs=epochs, trunk_dropout=trunk_dropout)
    if as_json:
        print(json.dumps(result, indent=2))
        return
    print(f"{method} on {benchmark}, {encoder}, tune {tune}, {result['hardware']}\n")
    rows = [(name, f"{value:.4g} s") for name, value in result["seconds"].items()]
    rows += [(f"one epoch of {name}", f"{value:.4g} s") for name, value in result["seconds per epoch"].items()]
    if "plain loop, seconds per epoch" in result:
        rows.append(("one epoch of the plain loop", f"{result['plain loop, seconds per epoch']:.4g} s"))
        rows.append(("times faster", f"{result['times faster than the plain loop']}"))
    rows += [(f"{name} parameters", f"{value:,}") for name, value in result["parameters"].items()]
    _print_table(("", "measured"), rows)


def main() -> NoReturn:
    """Entry point: errors are one line, exit code 2; `--debug`, anywhere, shows where they came from."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    try:
        code = app(arguments, standalone_mode=False)
        sys.stdout.flush()  # here, where a reader that has gone is caught, and not at Python's exit
    except (Interrupted, KeyboardInterrupt, typer.Abort) as stop:
        print(f"newfound: {stop or 'stopped'}", file=sys.stderr)
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
        print(f"newfound: error: {_one_line(error)}", file=sys.stderr)
        sys.exit(2)
    sys.exit(code if isinstance(code, int) else 0)


def _is_users(error: Exception) -> bool:
    """Bad input, a bad call or a full disk: something the user can mend; the rest are bugs and show themselves."""
    return isinstance(error, NewfoundError | OSError) or hasattr(error, "format_message")


def _fit(
    method: str,
    corpus: Corpus,
    out: Path,
    *,
    force: bool,
    resume: bool = False,
    checkpoint_seconds: float = 5.0,
    **settings: Any,
) -> tuple[Discoverer, Run]:
    """Fit with progress, and with checkpoints beside the model to be; they stay until the model is saved."""
    from newfound.methods import method_named
    from newfound.training.progress import reporter_for_terminal
    from newfound.training.run import Run

    fitted = method_named(method)(**settings)
    run = Run(
        reporter=reporter_for_terminal(),
        folder=out.with_name(out.name + ".run"),
        resume=resume,
        anew=force and not resume,
        seconds_between_checkpoints=checkpoint_seconds,
    )
    try:
        fitted.fit(corpus.texts, corpus.labels, run=run)
    except KeyboardInterrupt:
        kept = f"what was reached lies in {run.folder}: go on with --resume" if run.kept else "nothing was reached yet"
        raise Interrupted(f"stopped; {kept}") from None
    finally:
        if not run.kept:
            run.finish()
    return fitted, run


def _load_model(folder: Path, encoder: str | None, device: str) -> ReviewedModel:
    """The model with the review that lies in its folder."""
    from newfound.methods.base import pick_device
    from newfound.review.reviewed import open_model

    opened = open_model(folder, encoder=encoder)
    opened.model.to(pick_device(device))
    return opened


def _redacted(corpus: Corpus) -> Corpus:
    from newfound.data.redact import redact_corpus

    masked, changed = redact_corpus(corpus)
    print(f"Masked something in {changed:,} of {len(corpus):,} utterances.", file=sys.stderr)
    return masked


def _distinct(logs: Corpus) -> tuple[Corpus, dict[str, int]]:
    from newfound.data.duplicates import distinct

    found, counts = distinct(logs)
    if len(found) < len(logs):
        print(
            f"{len(logs):,} utterances in the logs, {len(found):,} distinct ones: each is learned once, and counts as "
            "often as it was said.",
            file=sys.stderr,
        )
    return found, counts


def _tune(effort: str, tune: str, device: str) -> str:
    """What trains: --tune says it exactly, --effort by what it is worth, and otherwise the device decides."""
    from newfound.methods.base import pick_device, resolve_tune

    efforts = {"quick": "heads", "best": "last"}
    if effort != "auto" and effort not in efforts:
        raise SettingsError(f"--effort {effort}: one of auto, quick, best")
    if tune != "auto":
        return tune
    chosen = efforts.get(effort) or resolve_tune("auto", pick_device(device))
    if effort == "auto":
        why = "no GPU here" if chosen == "heads" else "there is a GPU"
        said = "quick" if chosen == "heads" else "best"
        print(f"Effort {said}, since {why}; --effort chooses.", file=sys.stderr)
    return chosen


def _logs_setting(method: str, holds: str | None) -> dict[str, str]:
    if method == "consensus":
        return {"logs": holds or "mixed"}
    if holds not in (None, "novel"):
        raise SettingsError(f"--method {method} takes all logs for new; use --method consensus for --logs {holds}")
    return {}


def _read_decisions(path: Path) -> tuple[str | None, list[Decision]]:
    """Author, if the file names one, and decisions: a list, or a mapping with `author` and `decisions`."""
    import yaml

    from newfound.review.decisions import parse

    try:
        content = yaml.safe_load(path.read_text("utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise DataError(f"{path}: cannot be read as YAML ({_one_line(error)[:120]})") from None
    author = content.get("author") if isinstance(content, dict) else None
    entries = content.get("decisions") if isinstance(content, dict) else content
    if not isinstance(entries, list) or not entries:
        raise DataError(f"{path}: no decisions in it; write a list of them (docs/review.md)")
    return (str(author) if author else None), [parse(entry) for entry in entries]


def _whoami() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def _whole_number_or_auto(text: str) -> int | str:
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        raise SettingsError(f"--n-new {text}: give a whole number, or auto") from None


def _planned(
    name: str,
    methods: str,
    benchmarks: str,
    ratios: str,
    splits: str,
    seeds: str,
    encoder: str,
    tune: str,
    device: str,
) -> tuple[Experiment, list[Cell]]:
    from newfound.bench.cells import resolved
    from newfound.bench.experiments import experiment_named

    experiment = experiment_named(name).narrowed(
        methods=_parts(methods),
        benchmarks=_parts(benchmarks),
        ratios=_numbers(ratios, "--ratios"),
        splits=_numbers(splits, "--splits"),
        seeds=_numbers(seeds, "--seeds"),
    )
    return experiment, [resolved(cell, device) for cell in experiment.cells(encoder, tune)]


def _print_experiment(experiment: Experiment, cells: list[Cell], root: Path, format: str) -> None:
    from newfound.bench import tables

    header, lines = tables.table(experiment, cells, root)
    writers = {"markdown": tables.as_markdown, "latex": tables.as_latex, "csv": tables.as_csv}
    if format in writers:
        print(writers[format](header, lines))
        return
    if format != "terminal":
        raise SettingsError(f"--format {format}: one of terminal, markdown, latex, csv")
    names = 3 if header[2] == "protocol" else 2
    for title in dict.fromkeys((line[0], *line[2:names]) for line in lines):  # narrow: a table per benchmark, protocol
        own = [line for line in lines if (line[0], *line[2:names]) == title]
        print(f"\n{', '.join(title)}")
        compact = [(line[1], *(field.replace(" ± ", "±") for field in line[names:])) for line in own]
        _print_table((header[1], *header[names:]), compact)
    for sentence in tables.comparisons(experiment, cells, root):
        print(f"\n{sentence}")


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _share(text: str, option: str) -> float:
    """5% or 0.05."""
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise SettingsError(f"{option} {text}: give a share, as 5% or 0.05")
    return share


def _numbers(text: str, option: str) -> list[int]:
    try:
        return [int(part) for part in _parts(text)]
    except ValueError:
        raise SettingsError(f"{option} {text}: give whole numbers separated by commas") from None


def _ready_batches(items: Iterator[Row], most: int) -> Iterator[list[Row]]:
    """Batches of whatever has arrived: a slow pipe is answered line by line, a file in full batches."""
    arrived: Queue[Row | Exception | None] = Queue(maxsize=4 * most)

    def read() -> None:
        try:
            for item in items:
                arrived.put(item)
            arrived.put(None)
        except Exception as error:
            arrived.put(error)

    Thread(target=read, daemon=True).start()
    while True:
        batch: list[Row] = []
        item = arrived.get()
        while isinstance(item, Row) and len(batch) < most - 1 and not arrived.empty():
            batch.append(item)
            item = arrived.get()
        if isinstance(item, Row):
            batch.append(item)
        if batch:
            yield batch
        if isinstance(item, Exception):
            raise item
        if item is None:
            return


def _print_warnings(*reports: ReadReport) -> None:
    for report in reports:
        for warning in report.warnings():
            print(f"newfound: warning: {warning}", file=sys.stderr)


def _print_new_intents(intents: Iterable[Intent]) -> None:
    rows = [(i.name, f"{i.size:,}", _examples(i.exemplars, i.keywords)) for i in intents if not i.known]
    rows.sort(key=lambda row: -int(row[1].replace(",", "")))
    print()
    _print_table(("new intent", "size", "central utterances"), rows)


def _examples(texts: Iterable[str], words: Iterable[str] = (), count: int = 2, width: int = 80) -> str:
    shown = [text if len(text) <= width else text[: width - 1] + "…" for text in islice(texts, count)]
    return "\n".join([*shown, *([f"({', '.join(words)})"] if words else [])])


def _print_table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*header, header_style="bold", show_edge=False, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(_printable(field)) for field in row))  # data: no markup or control code is obeyed
    Console().print(table)


def _print_next(out: Path, example: str) -> None:
    command = _how_we_were_called()
    folder = shlex.quote(str(out))
    print(
        f"\nWrote the model to {out}/. Next:\n"
        f"  echo {shlex.quote(_printable(example)[:60])} | {command} predict {folder}\n"
        f"  {command} inspect {folder} --new"
    )


def _how_we_were_called() -> str:
    """A command that will work in this shell: `newfound` may be installed in an environment that is not active."""
    if which("newfound"):
        return "newfound"
    script = Path(sys.argv[0])
    return f"{sys.executable} -m newfound" if script.name == "__main__.py" else os.path.relpath(script)


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def _one_line(error: Exception) -> str:
    shown = error.format_message() if hasattr(error, "format_message") else error
    return " ".join(str(shown).split())


if __name__ == "__main__":
    main()
