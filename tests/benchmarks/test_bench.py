from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import tarfile
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from benchmarks.__main__ import main
from benchmarks.harness import cells as cells_module
from benchmarks.harness import partitions
from benchmarks.harness.baselines import BASELINES, Baseline, bertopic
from benchmarks.harness.cells import VARIANTS, Cell, missing_cells, read_results, write_result
from benchmarks.harness.experiments import EXPERIMENTS, Row
from benchmarks.harness.plots import draw
from benchmarks.harness.provenance import CODE_HASH
from benchmarks.harness.recording import Recorder
from benchmarks.harness.running import ExperimentError, cell_settings, measure, run_cell, run_missing
from benchmarks.harness.tables import as_csv, as_latex, as_markdown, comparisons, groups_of, missing_runs, table
from benchmarks.reproduction import sizes
from benchmarks.reproduction.page import write_markdown
from benchmarks.stale import STALE_LINE, without_stale_lines

from conftest import themed_corpus
from newfound.data.corpus import Corpus
from newfound.data.task import make_task
from newfound.errors import DataError, MissingExtra
from newfound.methods.context import Epoch
from newfound.training.progress import LoggingReporter

ROOT = Path(__file__).parents[2]
CHOSEN = ["--methods", "kmeans", "--benchmarks", "gid-sd", "--splits", "1", "--encoder", "tiny", "--tune", "heads"]
MAIN = EXPERIMENTS["main"].narrow(methods=["kmeans"], benchmarks=["gid-sd"], splits=[1, 2], seeds=[0, 1])


def fake_result(cell, value):
    score = dict.fromkeys(("ind_acc", "ood_acc", "ood_f1", "all_acc", "all_f1"), value)
    scores = {"paper": score, "strict": {k: v - 1 for k, v in score.items()}}
    return {"scores": scores, "seed": cell.seed, "split": cell.split, "timings": {"fit": 1.0}, "hardware": "toy"}


def toy_task():
    gold = themed_corpus(per_theme=15, unlabelled=())
    test = themed_corpus(per_theme=8, unlabelled=(), seed=1)
    return make_task("toy", ["pay", "meter", "leak"], ["move", "solar"], train=gold, dev=Corpus((), ()), test=test)


@pytest.fixture
def cells():
    return MAIN.cells("minilm", "heads")


@pytest.fixture
def toy(monkeypatch):
    """Every benchmark is the toy one."""
    for load in ("load_benchmark", "dataset_task"):
        monkeypatch.setattr(partitions, load, lambda name, **_: toy_task())
    monkeypatch.setattr(cells_module, "out_of_scope", lambda: tuple(f"brown card number {i}" for i in range(40)))


def test_a_table_equals_the_raw_scores(cells, tmp_path):
    for cell, value in zip(cells, [80.0, 82.0, 84.0, 86.0], strict=True):
        write_result(cell, fake_result(cell, value), tmp_path)
    header, lines = table(MAIN, cells, tmp_path)
    assert lines[0] == ("GID-SD 40%", "kmeans", "paper", *["83.0 ± 2.6"] * 5, "4/4")
    assert lines[1][2:4] == ("strict", "82.0 ± 2.6")
    assert as_markdown(header, lines).count("\n") == 3
    assert list(csv.reader(io.StringIO(as_csv(header, lines)))) == [list(line) for line in [header, *lines]]
    assert r"GID-SD 40\% & kmeans & paper & 83.0 $\pm$ 2.6" in as_latex(header, lines)


def test_an_incomplete_row_says_how_many_runs_it_has_and_one_without_any_is_left_out(tmp_path):
    experiment = MAIN.narrow(methods=["kmeans", "dpl"])
    cells = experiment.cells("minilm", "heads")
    of_kmeans = [cell for cell in cells if cell.method == "kmeans"]
    for cell in of_kmeans[1:]:
        write_result(cell, fake_result(cell, 80.0), tmp_path)
    _, lines = table(experiment, cells, tmp_path)
    assert [line[1:4] + line[-1:] for line in lines] == [
        ("kmeans", "paper", "80.0 ± 0.0", "3/4"),
        ("kmeans", "strict", "79.0 ± 0.0", "3/4"),
    ]
    assert missing_runs(cells, read_results(cells, tmp_path)) == "dpl (GID-SD 40%)"
    assert missing_cells(of_kmeans, tmp_path) == of_kmeans[:1]
    with pytest.raises(DataError, match="no row is complete"):
        draw(experiment, cells, tmp_path, tmp_path)


def test_rows_of_the_consensus_say_what_trains_and_the_others_take_it_from_the_command():
    cells = EXPERIMENTS["main"].narrow(methods=["dpl", "consensus"], benchmarks=["GID-SD"]).cells("minilm", "last:2")
    assert {(cell.method, cell.variant, cell.tune) for cell in cells} == {
        ("dpl", "default", "last:2"),
        ("consensus", "default", "heads"),
        ("consensus", "standard", "layers"),
    }
    assert [group.label for group in groups_of(cells)] == ["dpl", "consensus quick", "consensus standard"]


def test_the_best_method_is_compared_with_the_second(tmp_path):
    experiment = EXPERIMENTS["main"].narrow(methods=["kmeans", "e2e", "dpl"], benchmarks=["GID-SD"])
    cells = experiment.cells("minilm", "last")
    for i, cell in enumerate(cells):
        value = {"kmeans": 60.0, "e2e": 80.0, "dpl": 82.0}[cell.method] + 0.1 * (i % 7)
        write_result(cell, fake_result(cell, value), tmp_path)
    (said,) = comparisons(experiment, cells, tmp_path)
    assert said.startswith("GID-SD 40%, strict OOD ACC: dpl over e2e by ")
    assert "p = 0.004" in said  # the least that nine pairs can give: 2 / 2**9


def test_damaged_results_are_named(cells, tmp_path):
    write_result(cells[0], fake_result(cells[0], 80.0), tmp_path).write_text("{")
    with pytest.raises(DataError, match="delete it"):
        read_results(cells, tmp_path)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_plans_its_cells(name):
    cells = EXPERIMENTS[name].cells("minilm", "last")
    assert cells
    assert len({str(cell.file(Path())) for cell in cells}) == len(cells)
    assert {cell.variant for cell in cells} <= set(VARIANTS)


def test_a_method_of_ones_own_joins_with_the_shared_variants():
    narrowed = EXPERIMENTS["noise"].narrow(methods=["deepaligned-mix"])
    assert narrowed.rows == tuple(Row("deepaligned-mix", f"noise-{level}") for level in (0, 30))


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_tiny_version_of_every_experiment_runs_and_is_shown(name, toy, tiny_encoder, tmp_path):
    whole = EXPERIMENTS[name]
    rows = [row for row in whole.rows if row[0] not in BASELINES]  # those need packages of their own
    experiment = replace(whole, rows=(rows[0], rows[-1]), benchmarks=whole.benchmarks[:1], ratios=(40,))
    experiment = replace(experiment, splits=(1,), seeds=(0,), columns=_reachable(experiment, epochs=3))
    cells = experiment.cells("tiny", "heads" if name == "few-labels" else "last")  # rounds take their time
    run_missing(cells, tmp_path, tiny_encoder, "cpu", LoggingReporter(), epochs=3, pretrain_epochs=1)
    assert not missing_cells(cells, tmp_path)
    _, lines = table(experiment, cells, tmp_path)
    assert len(lines) in (2, 4)
    if name != "speed":  # the plain loop is timed by `benchmarks/speed`
        assert not any("–" in line for line in lines)
    if experiment.figure != "none":
        for path in draw(experiment, cells, tmp_path, tmp_path / "figures", projection="pca"):
            assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("variant", "given"), [("labels-10", 5), ("k-estimated", None)])
def test_a_baseline_gets_vectors_and_is_scored_over_all_intents(
    variant, given, toy, tiny_encoder, tmp_path, monkeypatch
):
    seen = []

    def perfect(task, train, test, intents, seed):
        seen.append((len(train) == len(task.train), len(test) == len(task.test), intents, seed))
        return task.gold_ids(task.test)[::-1].max() - task.gold_ids(task.test)

    monkeypatch.setitem(BASELINES, "bertopic", Baseline(perfect))
    cell = Cell("bertopic", "BANKING77", 40, 1, 2, "tiny", "heads", variant)
    run_missing([cell], tmp_path, tiny_encoder, "cpu", LoggingReporter())
    result = json.loads(cell.file(tmp_path).read_bytes())
    assert result["all_intents"] == {"acc": 100.0, "nmi": 100.0, "ari": 100.0}
    assert result["n_intents"] == 5
    assert "scores" not in result
    assert seen == [(True, True, given, 2)]


def test_what_bertopic_leaves_out_goes_to_the_nearest_topic(monkeypatch):
    """With a stand-in for BERTopic, which is not installed with the tests: it leaves out every other text."""
    task = toy_task()
    gold = {"train": task.gold_ids(task.train), "test": task.gold_ids(task.test)}

    class LeavesOut:
        def __init__(self, umap_model, hdbscan_model):
            assert hdbscan_model is None

        def fit_transform(self, texts, vectors, y):
            return np.where(np.arange(len(texts)) % 2, gold["train"], -1).tolist(), None

        def transform(self, texts, vectors):
            return np.where(np.arange(len(texts)) % 2, gold["test"], -1).tolist(), None

    monkeypatch.setitem(sys.modules, "bertopic", SimpleNamespace(BERTopic=LeavesOut))
    monkeypatch.setitem(sys.modules, "umap", SimpleNamespace(UMAP=lambda **settings: None))
    directions = np.eye(5, dtype=np.float32)
    found = bertopic(task, directions[gold["train"]], directions[gold["test"]], None, 0)
    assert found.tolist() == gold["test"].tolist()


def test_a_baseline_that_is_not_installed_is_told_before_the_first_cell(toy, tiny_encoder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "bertopic", None)  # as if it were not installed
    cells = [Cell(method, "BANKING77", 40, 1, 0, "tiny", "heads", "labels-10") for method in ("kmeans", "bertopic")]
    with pytest.raises(MissingExtra, match=r"bertopic .* needs .*newfound\[benchmarks\]"):
        run_missing(cells, tmp_path, tiny_encoder, "cpu", LoggingReporter(), epochs=1)
    assert missing_cells(cells, tmp_path) == cells
    run_missing(cells[:1], tmp_path, tiny_encoder, "cpu", LoggingReporter(), epochs=1)
    assert missing_cells(cells, tmp_path) == cells[1:]


def _reachable(experiment, epochs):
    """Columns of epochs that a short run does not reach are left out."""
    return tuple(c for c in experiment.columns if c.path[0] != "pseudo_labels" or int(c.path[1]) < epochs)


@pytest.mark.parametrize(
    ("method", "variant", "told"),
    [
        ("consensus", "mixed-30", {"logs": "mixed", "no_intent": "none"}),
        ("consensus", "default", {"logs": "novel"}),
        ("kmeans", "mixed-30", {}),
    ],
)
def test_a_method_that_takes_mixed_logs_is_told_what_the_logs_hold(method, variant, told):
    settings = cell_settings(Cell(method, "GID-SD", 40, 1, 0, "tiny", "heads", variant), toy_task())
    assert settings == {"n_new": 2, **told}


def test_a_recorder_compares_the_logs_alone_and_keeps_the_epochs_that_are_asked_for():
    task = toy_task()
    gold = torch.from_numpy(task.gold_ids(task.train))
    shuffled = torch.where(gold >= 3, 7 - gold, 0)  # the two new intents change places; known rows do not count
    recorder = Recorder(task, (1,))
    for number in (0, 1):
        epoch = Epoch(number, lambda: shuffled, lambda: torch.ones(len(gold), 4), torch.zeros(5, 4))
        assert recorder(epoch) == {"pseudo_label_acc": 100.0}
    assert {number: snapshot.vectors.shape for number, snapshot in recorder.snapshots.items()} == {1: (len(gold), 4)}


def test_failed_cells_are_retried_and_named_and_the_others_kept(toy, tiny_encoder, tmp_path, monkeypatch):
    from benchmarks.harness import running

    cells = EXPERIMENTS["main"].narrow(methods=["kmeans"], benchmarks=["GID-SD"], splits=[1]).cells("tiny", "heads")
    tried = []

    def sometimes(cell, *args, **kwargs):
        tried.append(cell.seed)
        if cell.seed == 1 or (cell.seed == 2 and tried.count(2) == 1):
            raise RuntimeError("out of memory")
        return fake_result(cell, 80.0)

    monkeypatch.setattr(running, "run_cell", sometimes)
    run_missing(cells, tmp_path, tiny_encoder, "cpu", LoggingReporter(), until=time.monotonic() - 1)
    assert tried == [], "no cell is begun that would end after the limit"
    with pytest.raises(ExperimentError, match=r"1 of 3 cells failed twice.*kmeans.*seed 1.*out of memory"):
        run_missing(cells, tmp_path, tiny_encoder, "cpu", LoggingReporter())
    assert tried == [0, 1, 2, 1, 2]
    assert [cell.seed for cell in missing_cells(cells, tmp_path)] == [1]


def test_the_page_on_the_paper_has_no_empty_cell_and_says_what_is_missing(tmp_path):
    cells = EXPERIMENTS["main"].narrow(methods=["e2e", "dpl"], benchmarks=["GID-SD"]).cells("minilm", "last")
    for i, cell in enumerate(cells[1:]):
        write_result(cell, fake_result(cell, 80.0 + i), tmp_path / "results")
    page = write_markdown(tmp_path / "results", tmp_path / "page.md", encoder="minilm", tune="last")
    text = page.read_text()
    assert "|  |" not in text
    first = EXPERIMENTS["main"].rows[0]
    assert f"| GID-SD 40% | {first.method}" not in text  # it has no run
    assert f"Not run: {first.method} (GID-SD 40%, GID-CD 40%, GID-MD 40%)" in text
    assert "`python -m benchmarks run main --encoder minilm --tune last` makes them" in text
    assert "| GID-SD 40% | e2e (8 of 9 runs) |" in text
    assert "(74.4)" in next(line for line in text.splitlines() if line.startswith("| GID-SD 40% | dpl |"))  # published
    assert STALE_LINE not in text
    older = cells[1].file(tmp_path / "results")
    older.write_text(json.dumps(json.loads(older.read_text()) | {"code": "another"}))
    write_markdown(tmp_path / "results", page, encoder="minilm", tune="last")
    assert STALE_LINE in page.read_text()
    assert without_stale_lines(page.read_text()) == text
    with pytest.raises(DataError, match="no results"):
        write_markdown(tmp_path / "none", tmp_path / "page.md", encoder="minilm", tune="last")


def test_an_experiment_is_run_shown_and_drawn(toy, tiny_folder, tmp_path, capsys):
    out = [*CHOSEN, "--seeds", "0", "--out", str(tmp_path / "results")]
    main(["run", "main", *out, "--weights", str(tiny_folder), "--device", "cpu", "--pack", f"{tmp_path}/new.tgz"])
    shown = capsys.readouterr().out
    assert "GID-SD 40%, strict" in shown
    assert "1/1" in shown
    main(["table", "main", *out])
    assert capsys.readouterr().out == shown
    main(["table", "main", *out, "--format", "csv"])
    assert capsys.readouterr().out.count("\nGID-SD 40%,kmeans,") == 2
    main(["figures", "main", *out, "--to", str(tmp_path / "figures")])
    assert capsys.readouterr().out == f"{tmp_path}/figures/main-GID-SD.png\n"
    with tarfile.open(tmp_path / "new.tgz") as archive:
        assert archive.getnames() == ["tiny/GID-SD-40/kmeans-heads-default-split1-seed0.json"]


def test_without_a_gpu_nothing_trains_heads_in_place_of_an_encoder(tmp_path, capsys, monkeypatch):
    """By default the last layer trains, as in the paper."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    main(["run", "figure-6", "--start", "random", "--splits", "1", "--seeds", "0", "--out", str(tmp_path)])
    said = capsys.readouterr().out
    assert said.startswith("No GPU: 7 runs that train layers of the encoder are left out. --tune last\nmakes them here")
    assert "`python -m benchmarks run gamma --start random` runs them." in said
    assert not list(tmp_path.iterdir())
    main(["table", "released", "--out", str(ROOT / "benchmarks" / "results")])
    assert "65.3" in capsys.readouterr().out


def test_the_sizes_of_the_data_stand_beside_those_that_were_printed(monkeypatch):
    corpora = {"train": Corpus.of(["a b", "b c d", "a"], ["x", "x", "y"]), "dev": Corpus.of(["a"], ["y"])}
    monkeypatch.setattr(sizes, "read_part", lambda name, part: corpora.get(part, corpora["dev"]))
    assert sizes.size_of_data_set("any") == ["2", "3", "1", "1", "4", "3 / 1.60"]
    task = SimpleNamespace(known=("x",), new=("y",), train=corpora["train"], dev=corpora["dev"], test=corpora["dev"])
    monkeypatch.setattr(sizes, "load_benchmark", lambda name, split: task)
    _, lines = sizes.table_of_sizes("table-6")
    assert lines[0] == ("GID-SD", "1 / 1 (46 / 31)", "2 / 1 (5346 / 3657)", "0 / 1 (593 / 407)", "0 / 1 (1840 / 1240)")


def test_what_is_missing_is_said_and_the_experiments_are_listed(tmp_path, capsys):
    main(["table", "main", *CHOSEN, "--out", str(tmp_path)])
    assert "Not run: kmeans (GID-SD 40%). `python -m benchmarks run main` runs them." in capsys.readouterr().out
    main(["list"])
    assert "pseudo-labels" in capsys.readouterr().out


@pytest.mark.slow
def test_an_unknown_experiment_is_one_line():
    command = [sys.executable, "-m", "benchmarks", "table", "magic"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 1
    assert done.stderr.startswith("benchmarks: error: no experiment 'magic'; one of main, ")
    assert done.stderr.count("\n") == 1


def test_a_cell_records_all_that_moves_its_number(tiny_encoder, themed, tmp_path):
    task = toy_task()
    cell = Cell("kmeans", "toy", 40, 1, 0, "tiny", "heads")
    result = run_cell(cell, tiny_encoder, "cpu", task, settings={"epochs": 3})
    again = run_cell(cell, tiny_encoder, "cpu", task, settings={"epochs": 3}, memory={})
    assert result["scores"] == again["scores"]
    assert set(result["scores"]["strict"]) == {"ind_acc", "ood_acc", "ood_f1", "all_acc", "all_f1"}
    for key in ("method", "benchmark", "ratio", "split", "seed", "encoder", "tune", "timings", "settings", "versions"):
        assert key in result
    assert result["settings"]["epochs"] == 3
    path = write_result(cell, result, tmp_path)
    assert json.loads(path.read_text()) == json.loads(json.dumps({**result, "code": CODE_HASH}))


def test_speed_names_every_phase(tiny_encoder):
    result = measure("dpl", toy_task(), tiny_encoder, tune="last", device="cpu", epochs=2)
    assert set(result["seconds per epoch"]) == {"pre-training", "discovery"}
    assert set(result["seconds"]) == {"encode", "discover", "predict", "whole fit"}
