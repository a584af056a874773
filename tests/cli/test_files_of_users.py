"""Files as users have them, through the commands: combined files, other columns, conflicts, pipes."""

from __future__ import annotations

import csv
import json

import pytest

from commands import newfound

WORDS = "abcdefgh"
KNOWN = [(f"pay bill {w} money", "pay") for w in WORDS] + [(f"leak water {w} smell", "leak") for w in WORDS]
LOGS = [f"solar car {w} charge" for w in WORDS] + [f"move house {w} open" for w in WORDS]


@pytest.fixture
def run(tmp_path, tiny_folder):
    def discover(*files, options=(), out="m", command="discover"):
        paths = [tmp_path / file for file in files]
        more = ("--encoder", tiny_folder, *options)
        if command == "discover":
            more = ("--out", tmp_path / out, "--tune", "heads", "--n-new", 2, *more)
        return newfound(command, *paths, *more)

    return discover


def table(path, rows, delimiter=","):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    return path


def utterances(folder):
    return {(u["text"], u["labelled"]) for u in map(json.loads, (folder / "utterances.jsonl").read_text().splitlines())}


def test_one_file_with_gaps_among_its_labels_is_split(tmp_path, run):
    table(tmp_path / "all.csv", [("Message", "Intent"), *KNOWN, *((text, "") for text in LOGS)], ";")
    done = run("all.csv")
    assert done.returncode == 0, done.stderr
    said = "16 utterances with a label are the known intents, 16 without one are the logs."
    assert said in done.stderr
    assert utterances(tmp_path / "m") == {*((t, True) for t, _ in KNOWN), *((t, False) for t in LOGS)}
    estimated = run("all.csv", command="estimate")
    assert said in estimated.stderr
    assert "new intents" in estimated.stdout


@pytest.mark.parametrize("header", [("text",), ("text", "label")])
def test_one_file_without_labels_is_logs(tmp_path, run, header):
    """Without a column of labels, or with an empty one, no intent is known; whoever forgot a file is told."""
    table(tmp_path / "logs.csv", [header, *((text, "")[: len(header)] for text in LOGS)])
    done = run("logs.csv")
    assert done.returncode == 0, done.stderr
    assert f"none of its {len(LOGS)} utterances has a label" in done.stderr
    assert "No known intents: all intents are discovered." in done.stderr
    assert utterances(tmp_path / "m") == {(text, False) for text in LOGS}
    wrong = run("logs.csv", options=("--label-column", "absicht"), out="m2")
    assert wrong.returncode == 2
    assert "--label-column" in wrong.stderr


def test_known_and_logs_may_name_their_columns_differently(tmp_path, run):
    table(tmp_path / "known.csv", [("utterance", "intent"), *KNOWN])
    table(tmp_path / "logs.csv", [("id", "message"), *enumerate(LOGS)], "\t")
    done = run("known.csv", "logs.csv")
    assert done.returncode == 0, done.stderr
    assert "the utterances are read from the column 'message'" in done.stderr
    table(tmp_path / "known.csv", [("satz", "absicht"), *KNOWN])
    table(tmp_path / "logs.csv", [("nr", "nachricht"), *enumerate(LOGS)])
    options = ("--text-column", "satz", "--label-column", "absicht")
    done = run("known.csv", "logs.csv", options=options, out="m2")
    assert done.returncode == 2
    assert "no column 'satz' (found: nr, nachricht); name the column with --logs-text-column" in done.stderr
    done = run("known.csv", "logs.csv", options=(*options, "--logs-text-column", "nachricht"), out="m2")
    assert done.returncode == 0, done.stderr
    assert utterances(tmp_path / "m2") == utterances(tmp_path / "m")


def test_files_without_a_header_are_read_as_the_error_says(tmp_path, run):
    table(tmp_path / "known.csv", KNOWN)
    table(tmp_path / "logs.csv", [(text,) for text in LOGS])
    refused = run("known.csv", "logs.csv")
    assert refused.returncode == 2
    assert "add --no-header if there is no header line" in refused.stderr
    done = run("known.csv", "logs.csv", options=("--no-header",))
    assert done.returncode == 0, done.stderr
    assert "column 1 holds the utterances and column 2 the intents" in done.stderr
    assert utterances(tmp_path / "m") == {*((t, True) for t, _ in KNOWN), *((t, False) for t in LOGS)}


def test_a_csv_that_is_piped_into_predict_loses_its_header(tmp_path, run, tiny_folder):
    table(tmp_path / "known.csv", [("text", "label"), *KNOWN])
    table(tmp_path / "logs.csv", [("id", "text"), *enumerate(LOGS)])
    assert run("known.csv", "logs.csv").returncode == 0
    piped = newfound("predict", tmp_path / "m", "--encoder", tiny_folder, stdin=(tmp_path / "logs.csv").read_text())
    lines = [json.loads(line) for line in piped.stdout.splitlines()]
    assert [line["text"] for line in lines] == LOGS
    assert [line["line"] for line in lines] == list(range(2, 18))
    assert "the first line is taken for a header" in piped.stderr
    options = ("--delimiter", "~", "--encoder", tiny_folder)
    piped = newfound("predict", tmp_path / "m", *options, stdin="text~id\npay bill~1\n")
    assert [json.loads(line)["text"] for line in piped.stdout.splitlines()] == ["pay bill"]


CONFLICTS = [("pay bill a money", "leak"), *((f"call me {w}", label) for w in WORDS[:4] for label in ("pay", "leak"))]


@pytest.mark.parametrize("policy", ["error", "first", "drop"])
def test_conflicting_labels_are_counted_and_decided_about(tmp_path, run, policy):
    table(tmp_path / "known.csv", [("text", "label"), *KNOWN, *CONFLICTS])
    table(tmp_path / "logs.csv", [("text",), *((text,) for text in LOGS)])
    done = run("known.csv", "logs.csv", options=("--conflicts", policy) if policy != "error" else ())
    if policy == "error":
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert "5 texts have several labels: line 18: 'pay bill a money' is labelled 'leak', but 'pay'" in done.stderr
        assert "(`newfound check` lists all), or choose --conflicts first or --conflicts drop" in done.stderr
        assert not (tmp_path / "m").exists()
        return
    assert done.returncode == 0, done.stderr
    assert "5 texts have several labels" in done.stderr
    labelled = {text for text, is_labelled in utterances(tmp_path / "m") if is_labelled}
    assert ("pay bill a money" in labelled) == (policy == "first")
    assert ("call me a" in labelled) == (policy == "first")
    assert "pay bill b money" in labelled
