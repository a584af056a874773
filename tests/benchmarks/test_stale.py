"""Tables that were measured on other code say so."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.harness.provenance import CODE_HASH
from benchmarks.stale import is_stale_file, is_stale_table, with_stale_line, without_stale_lines

ROOT = Path(__file__).parents[2]
NOW, BEFORE = {"code": CODE_HASH}, {"code": "another"}


@pytest.mark.parametrize(
    ("name", "content", "stale"),
    [
        ("cell.json", NOW, False),
        ("cell.json", BEFORE, True),
        ("cell.json", {}, True),
        ("rows.json", [NOW, NOW], False),
        ("rows.json", [NOW, {}], True),
        ("runs.json", {"runs": [NOW, BEFORE]}, True),
        ("runs.json", {"runs": [NOW]}, False),
        ("published.json", {}, False),
        ("page-before.json", BEFORE, False),
    ],
)
def test_a_file_is_stale_if_one_of_its_results_is(name, content, stale, tmp_path):
    (tmp_path / name).write_text(json.dumps(content))
    assert is_stale_file(tmp_path / name) is stale


def test_facts_are_no_results():
    assert not any(map(is_stale_file, (ROOT / "benchmarks" / "facts").glob("*.json")))


def test_a_table_is_stale_if_one_of_its_files_is_or_if_it_has_none(tmp_path):
    results = tmp_path / "benchmarks"
    results.mkdir()
    current, older, elsewhere = results / "a.jsonl", results / "b.jsonl", tmp_path / "settings.json"
    current.write_text(json.dumps(NOW) + "\n")
    older.write_text(json.dumps(NOW) + "\n" + json.dumps(BEFORE) + "\n")
    elsewhere.write_text("{}")
    assert not is_stale_table([current, elsewhere, results / "table.py"], results)
    assert is_stale_table([current, older], results)
    assert is_stale_table([elsewhere], results)


def test_the_line_below_a_table_can_be_taken_away_again():
    table = "| a |\n|---|\n| 1 |\n"
    assert without_stale_lines(with_stale_line(table)) == table
    assert without_stale_lines(f"{with_stale_line(table)}\nText.\n") == f"{table}\nText.\n"


@pytest.mark.parametrize("as_module", [False, True])
def test_a_recorded_command_prints_as_usual_and_its_files_are_known(as_module, tmp_path):
    (tmp_path / "table.py").write_text("import sys\nprint(open(sys.argv[1]).read())\nsys.exit(3)\n")
    (tmp_path / "rows.json").write_text("[]")
    command = ["-m", "table"] if as_module else ["table.py"]
    recorder = [sys.executable, str(ROOT / "tools" / "run_recorded.py"), "paths.txt"]
    done = subprocess.run([*recorder, *command, "rows.json"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (3, "[]\n"), done.stderr
    assert str((tmp_path / "rows.json").resolve()) in (tmp_path / "paths.txt").read_text().splitlines()
