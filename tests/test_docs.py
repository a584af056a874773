"""What the documents say is what the code does."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.stale import without_stale_lines

ROOT = Path(__file__).parents[1]


def test_cli_page_is_up_to_date(tmp_path):
    page = tmp_path / "cli.md"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "typer", "newfound.cli", "utils", "docs"),
            *("--name", "newfound", "--title", "newfound", "--output", str(page)),
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert page.read_text() == (ROOT / "docs" / "cli.md").read_text(), "run `make docs`"


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
GENERATED = r"<!-- newfound (bench table .*?) -->\n(.*?)<!-- end -->"
TABLES = [found for page in PAGES for found in re.findall(GENERATED, page.read_text(), re.S)]


@pytest.mark.parametrize(("command", "table"), TABLES, ids=[command for command, _ in TABLES])
def test_tables_in_the_documents_are_generated(command, table, capsys, monkeypatch):
    from newfound.cli import app

    monkeypatch.chdir(ROOT)
    app(shlex.split(command), standalone_mode=False)
    assert capsys.readouterr().out == without_stale_lines(table)


BY_SCRIPTS = r"<!-- python (.*?) -->\n(.*?)<!-- end -->"
TABLES_OF_SCRIPTS = [found for page in PAGES for found in re.findall(BY_SCRIPTS, page.read_text(), re.S)]


@pytest.mark.slow
@pytest.mark.parametrize(("command", "table"), TABLES_OF_SCRIPTS, ids=[command for command, _ in TABLES_OF_SCRIPTS])
def test_tables_of_scripts_are_generated(command, table):
    done = subprocess.run([sys.executable, *shlex.split(command)], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == without_stale_lines(table), done.stderr


def blank_cells(page: Path) -> list[str]:
    """Return the lines of tables, headers included, in which a cell is blank."""
    lines = re.sub(r"^ *```.*?^ *```", "", page.read_text("utf-8"), flags=re.S | re.M).splitlines()
    return [line for line in lines if line.startswith("|") and re.search(r"\|\s*\|", line)]


@pytest.mark.parametrize("page", [*PAGES, ROOT / "benchmarks" / "README.md"], ids=lambda page: page.name)
def test_no_cell_of_a_table_is_blank(page):
    assert blank_cells(page) == []


def test_the_readme_names_the_two_commands():
    readme = (ROOT / "README.md").read_text()
    assert "make demo" in readme
    assert "make test" in readme
    assert TABLES
    assert TABLES_OF_SCRIPTS


@pytest.mark.slow
def test_the_page_on_the_paper_is_generated(tmp_path):
    from benchmarks.reproduction.page import write_markdown

    page = write_markdown(
        ROOT / "benchmarks" / "results", tmp_path / "reproduction.md", encoder="minilm", tune="last", device="cpu"
    )
    wanted = without_stale_lines((ROOT / "docs" / "reproduction.md").read_text())
    assert without_stale_lines(page.read_text()) == wanted, (
        "run `python -m benchmarks.reproduction.page --markdown docs/reproduction.md`"
    )
    figures = re.findall(r"\]\((images/.*?)\)", wanted)
    assert figures
    assert all((ROOT / "docs" / figure).is_file() for figure in figures)
