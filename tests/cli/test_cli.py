"""The command line as a user meets it: every command in a real process, bad input as one clear line."""

from __future__ import annotations

import csv
import json
import re
import signal
import subprocess
import sys
import time
from unittest import mock

import pytest

from commands import newfound
from conftest import themed_corpus
from newfound.data.demo_corpus import load_demo

KNOWN = "text,label\n" + "".join(f"pay bill {w} money,pay\nleak water {w} smell,leak\n" for w in "abcdefgh")
LOGS = "text\n" + "".join(f"solar car {w} charge\nmove house {w} open\n" for w in "abcdefgh")


@pytest.fixture
def files(tmp_path, tiny_folder):
    (tmp_path / "known.csv").write_text(KNOWN)
    (tmp_path / "logs.csv").write_text(LOGS)
    return tmp_path


@pytest.fixture(scope="module")
def model(tmp_path_factory, tiny_folder):
    folder = tmp_path_factory.mktemp("cli")
    (folder / "known.csv").write_text(KNOWN)
    (folder / "logs.csv").write_text(LOGS)
    done = discover(folder, tiny_folder, "--n-new", 2)
    assert done.returncode == 0, done.stderr
    return folder / "m", done


def discover(folder, encoder, *options, known="known.csv", logs="logs.csv"):
    given = folder / known, folder / logs, "--out", folder / "m", "--encoder", encoder, "--tune", "heads"
    return newfound("discover", *given, *options)


def test_help_is_quick_and_does_not_load_torch():
    code = "import sys; sys.argv = ['newfound', '--help']\n"
    code += "try:\n import newfound.cli as c; c.app()\nexcept SystemExit: pass\n"
    code += "assert not {'torch', 'numpy', 'sklearn'} & set(sys.modules), 'heavy import'"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    listed = [word for line in done.stdout.splitlines() for word in line.strip("│╭╮─ ").split()[:1]]
    assert listed.index("review") < listed.index("data")


def test_discover_writes_a_model_and_says_what_to_do_next(model):
    folder, done = model
    written = {path.name for path in folder.iterdir()}
    assert written == {"model.json", "utterances.jsonl", "weights.safetensors"}
    assert "new intent" in done.stdout
    assert all(f"newfound {next}" in done.stdout for next in ("inspect", "review", "predict"))
    assert not (folder.parent / "m.run").exists()


def test_predict_reads_a_file_or_stdin_and_writes_json_lines(model):
    folder, _ = model
    piped = newfound("predict", folder, "-", stdin="pay my bill money\n\nleak <b>water</b> é smell\n")
    assert piped.returncode == 0, piped.stderr
    lines = [json.loads(line) for line in piped.stdout.splitlines()]
    assert [line["text"] for line in lines] == ["pay my bill money", "leak <b>water</b> é smell"]
    assert [line["line"] for line in lines] == [1, 3], "an empty line is skipped, and the numbers say so"
    fields = {"line", "text", "intent", "known", "probability", "outlier", "status", "intent_id", "path"}
    assert all(set(line) == fields for line in lines)
    assert "1 row empty, skipped" in piped.stderr
    from_file = newfound("predict", folder, folder.parent / "logs.csv")
    assert len(from_file.stdout.splitlines()) == 16
    assert {json.loads(line)["known"] for line in from_file.stdout.splitlines()} == {False}


def test_inspect_shows_the_intents(model):
    folder, _ = model
    shown = newfound("inspect", folder)
    assert shown.returncode == 0, shown.stderr
    assert "pay" in shown.stdout
    as_json = json.loads(newfound("inspect", folder, "--json", "--new").stdout)
    assert [intent["known"] for intent in as_json["intents"]] == [False, False]
    table = shown.stdout.split("\n\n", 1)[1]
    assert max(map(len, table.splitlines())) <= 100


def test_odd_but_usable_input_warns_and_goes_on(files, tiny_folder):
    (files / "logs.csv").write_text(LOGS + "solar car a charge\n" + "x" * 100_000 + "\n")
    done = discover(files, tiny_folder, "--n-new", 2)
    assert done.returncode == 0, done.stderr
    warnings = [line for line in done.stderr.splitlines() if "warning" in line]
    assert len(warnings) == 2
    assert "1 row longer than 2,000 characters" in warnings[0]
    assert "1 row with the text of an earlier row" in warnings[1]


BAD_FILES = {
    "empty file": ("known", "", "the file is empty"),
    "wrong column": ("known", "wording,label\nx,a\n", "--text-column"),
    "wrong column in the logs": ("logs", "wording\nx\n", "--logs-text-column"),
    "no header": ("known", "how do i pay my bill,pay\nwater leaks,leak\n", "add --no-header"),
    "no label column": ("known", "text\nx\n", "--label-column"),
    "not UTF-8 in the logs": ("logs", b"text\n\xff\xff\xff\n", "line 2: byte 0xff is not UTF-8"),
}


def assert_one_clear_line(done, message):
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("newfound: error: ")
    assert message in lines[0]


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files_get_one_line_exit_2_and_no_output(files, tiny_folder, case):
    which, content, message = BAD_FILES[case]
    path = files / f"{which}.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    before = sorted(files.iterdir())
    assert_one_clear_line(discover(files, tiny_folder), message)
    assert sorted(files.iterdir()) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--n-new", "99"], "the logs have 16 distinct utterances, fewer than 2 for each new intent; lower it"),
        (["--conflicts", "ask"], "one of 'error', 'first', 'drop'"),
        (["--delimiter", ";;"], "the delimiter ';;' is not one character"),
        (["--n-new", "many"], "give a whole number, or auto"),
        (["--method", "magic"], "no method 'magic'"),
        (["--tune", "most", "--n-new", "2"], "is not one of heads"),
        (["--encoder", "./nowhere"], "no encoder './nowhere'"),
        (["--format", "xml"], "unknown format"),
        (["--seed", "x"], "Invalid value for '--seed'"),
        (["--seed", 2**32], "seed=4294967296 must be a whole number from 0 to 4294967295"),
        (["--nonsense"], "No such option"),
        (["--out", "--n-new"], "looks like an option"),
    ],
)
def test_bad_options_get_one_line_exit_2_and_no_output(files, tiny_folder, options, message):
    before = sorted(files.iterdir())
    assert_one_clear_line(discover(files, tiny_folder, *options), message)
    assert sorted(files.iterdir()) == before


def test_absent_files_and_existing_targets(files, tiny_folder):
    assert_one_clear_line(discover(files, tiny_folder, known="absent.csv"), "no such file")
    (files / "m").mkdir()
    (files / "m" / "precious").write_text("mine")
    assert_one_clear_line(discover(files, tiny_folder, "--force"), "holds something else (precious)")
    assert (files / "m" / "precious").read_text() == "mine"
    (files / "m").rename(files / "m.run")
    assert_one_clear_line(discover(files, tiny_folder, "--n-new", 2), "holds something else")
    assert (files / "m.run" / "precious").read_text() == "mine"


def test_an_existing_model_is_replaced_only_when_asked(files, tiny_folder):
    for options, code in (([], 0), ([], 2), (["--force"], 0)):
        done = discover(files, tiny_folder, "--n-new", 2, *options)
        assert done.returncode == code, done.stderr
    assert_one_clear_line(discover(files, tiny_folder), "exists; choose another --out")


def test_a_place_that_cannot_be_written_is_noticed_at_once(files, tiny_folder):
    done = newfound("discover", files / "known.csv", files / "logs.csv", "--out", files / "known.csv" / "m")
    assert_one_clear_line(done, "cannot be written")
    assert_one_clear_line(newfound("discover", files / "known.csv"), "Missing")


def test_version_and_debug_stand_anywhere():
    assert newfound("--version").stdout.strip().count(".") == 2
    assert "Traceback" in newfound("inspect", "absent", "--debug").stderr


def test_a_reader_that_goes_away_is_no_error(model):
    folder, _ = model
    command = f"{sys.executable} -m newfound inspect {folder} --json | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_predictions_come_as_lines_arrive(model):
    folder, _ = model
    process = subprocess.Popen(
        [sys.executable, "-m", "newfound", "predict", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    for text in ("pay the bill", "leak of gas"):
        process.stdin.write(text + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["text"] == text, "answered before the input ends"
    process.stdin.close()
    assert process.wait() == 0


def test_control_codes_in_utterances_do_not_reach_the_terminal(files, tiny_folder):
    greetings = "hello \x1b[\x9b!\nhi \x1b[\x9b!\n"
    (files / "logs.csv").write_text(LOGS.replace("solar", "\x1b[2J\x9b2Jsolar [red]x[/red]") + greetings)
    found = discover(files, tiny_folder, "--n-new", 2)
    assert "“hello \ufffd[\ufffd!”" in found.stdout, "it belongs to no intent"
    as_json = newfound("inspect", files / "m", "--json").stdout
    assert any("\x9b2Jsolar" in text for i in json.loads(as_json)["intents"] for text in i["exemplars"])
    shown = newfound("inspect", files / "m").stdout
    assert "[red]" in shown
    assert not {"\x1b", "\x9b"} & set(found.stdout + found.stderr + as_json + shown)


def test_damaged_models_get_one_line(model, tmp_path):
    folder, _ = model
    assert_one_clear_line(newfound("predict", tmp_path / "absent", stdin="x\n"), "no such model folder")
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "model.json").write_bytes((folder / "model.json").read_bytes()[:-20])
    for command in (["predict", damaged], ["inspect", damaged]):
        assert_one_clear_line(newfound(*command, stdin="x\n"), "model.json: damaged")
    assert_one_clear_line(newfound("predict", folder, stdin=""), "no utterance in it")


def _long_run(folder, tiny_folder, *options):
    return [
        *(sys.executable, "-m", "newfound", "discover", str(folder / "known.csv"), str(folder / "logs.csv")),
        *("--out", str(folder / "m"), "--encoder", str(tiny_folder), "--tune", "last", "--n-new", "2"),
        *("--checkpoint-seconds", "0", *options),
    ]


@pytest.fixture
def long_run(tmp_path):
    corpus = themed_corpus(per_theme=40)
    known, logs = corpus.labelled(), corpus.unlabelled()
    rows = zip(known.texts, known.labels, strict=True)
    (tmp_path / "known.csv").write_text("text,label\n" + "".join(f"{t},{x}\n" for t, x in dict(rows).items()))
    (tmp_path / "logs.csv").write_text("text\n" + "".join(f"{t}\n" for t in logs.texts))
    return tmp_path


def _killed_in_training(folder, encoder):
    """Begin the run in a process of its own, and kill it after its first checkpoint."""
    checkpoint = folder / "m.run" / "fine-tuning.safetensors"
    for _ in range(3):  # on a busy machine the run may end before it is killed
        process = subprocess.Popen(_long_run(folder, encoder, "--force"), stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not checkpoint.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        process.kill()
        if process.wait() == -signal.SIGKILL and checkpoint.exists():
            return
    raise AssertionError("the run was not killed in its training")


def _interrupted_in_training(folder, encoder):
    """Begin the run in this process, and send it Ctrl-C after its first checkpoint."""
    from newfound.training.run import Run

    def save_and_press_ctrl_c(run, stage, state):
        save(run, stage, state)
        if stage == "fine-tuning":
            signal.raise_signal(signal.SIGINT)

    save = Run.save_checkpoint
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background ignores Ctrl-C
    try:
        with mock.patch.object(Run, "save_checkpoint", save_and_press_ctrl_c):
            return newfound(*_long_run(folder, encoder, "--force")[3:])
    finally:
        signal.signal(signal.SIGINT, before)


def _resumed(folder, encoder):
    done = newfound(*_long_run(folder, encoder, "--resume")[3:])
    assert done.returncode == 0, done.stderr
    assert not (folder / "m.run").exists()
    return (folder / "m" / "weights.safetensors").read_bytes()


@pytest.mark.slow
def test_a_stopped_run_resumes_to_the_same_model(long_run, tiny_folder):
    """kill -9 or Ctrl-C in the middle of training, then --resume: as if nothing had happened."""
    whole = newfound(*_long_run(long_run, tiny_folder)[3:])
    assert whole.returncode == 0, whole.stderr
    expected = (long_run / "m" / "weights.safetensors").read_bytes()
    (long_run / "m").rename(long_run / "whole")

    _killed_in_training(long_run, tiny_folder)
    assert not (long_run / "m").exists(), "no half-written model"
    for options, message in (
        (["--resume", "--seed", "9"], "was begun with other seed"),
        ([], "holds an unfinished run; add --resume"),
    ):
        assert_one_clear_line(newfound(*_long_run(long_run, tiny_folder, *options)[3:]), message)
    assert _resumed(long_run, tiny_folder) == expected
    (long_run / "m").rename(long_run / "killed")

    interrupted = _interrupted_in_training(long_run, tiny_folder)
    assert (interrupted.returncode, "--resume" in interrupted.stderr) == (130, True), interrupted.stderr
    assert not (long_run / "m").exists(), "no half-written model"
    checkpoint = long_run / "m.run" / "fine-tuning.safetensors"
    content = checkpoint.read_bytes()
    checkpoint.write_bytes(content[:100])
    done = newfound(*_long_run(long_run, tiny_folder, "--resume")[3:])
    assert done.returncode == 2
    assert "the checkpoint is damaged; start anew with --force" in done.stderr
    checkpoint.write_bytes(content)
    assert _resumed(long_run, tiny_folder) == expected


@pytest.mark.real_encoder
def test_the_demo_learns_from_the_files_of_a_user_and_scores_them(tmp_path):
    """Its logs hold known intents and small talk, and it is told neither that nor the number of new intents."""
    assert newfound("data", "get", "demo", "--to", tmp_path).returncode == 0
    done = newfound("demo", "--out", tmp_path / "demo", "--effort", "quick")
    assert done.returncode == 0, done.stderr
    learned = [json.loads(line) for line in (tmp_path / "demo" / "utterances.jsonl").read_text("utf-8").splitlines()]
    for name, labelled in (("known.csv", True), ("logs.csv", False)):
        with (tmp_path / name).open(newline="", encoding="utf-8") as file:
            given = {row["text"] for row in csv.DictReader(file)}
        assert {u["text"] for u in learned if u["labelled"] is labelled} == given
    assert 400 < len(given & set(load_demo().observed_train.labelled().texts)) < 500, "known intents in the logs"
    ind, ood = (float(share) for share in re.search(r"(\S+) % of the known intents', (\S+) % of", done.stdout).groups())
    assert 65 < ind < 100
    assert 50 < ood < 95
