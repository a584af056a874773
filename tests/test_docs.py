"""What the documents say is what the code does."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from benchmarks.__main__ import main
from benchmarks.stale import without_stale_lines

from newfound.version import __version__

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
GENERATED = r"<!-- python -m (.*?) -->\n(.*?)<!-- end -->"
TABLES = [found for page in PAGES for found in re.findall(GENERATED, page.read_text(), re.S)]
OF_EXPERIMENTS = [(command, table) for command, table in TABLES if command.startswith("benchmarks table")]
OF_STUDIES = [(command, table) for command, table in TABLES if not command.startswith("benchmarks table")]


@pytest.mark.parametrize(("command", "table"), OF_EXPERIMENTS, ids=[command for command, _ in OF_EXPERIMENTS])
def test_tables_of_experiments_are_generated(command, table, capsys):
    main(shlex.split(command)[1:])
    assert capsys.readouterr().out == without_stale_lines(table)


@pytest.mark.slow
@pytest.mark.parametrize(("command", "table"), OF_STUDIES, ids=[command for command, _ in OF_STUDIES])
def test_tables_of_studies_are_generated(command, table):
    finds_benchmarks = {"cwd": ROOT, "env": {**os.environ, "PYTHONSAFEPATH": ""}}  # a test's server may have set it
    command = [sys.executable, "-m", *shlex.split(command)]
    done = subprocess.run(command, capture_output=True, text=True, **finds_benchmarks)
    assert done.stdout == without_stale_lines(table), done.stderr


def blank_cells(page: Path) -> list[str]:
    """Return the lines of tables, headers included, in which a cell is blank."""
    lines = re.sub(r"^ *```.*?^ *```", "", page.read_text("utf-8"), flags=re.S | re.M).splitlines()
    return [line for line in lines if line.startswith("|") and re.search(r"\|\s*\|", line)]


@pytest.mark.parametrize("page", [*PAGES, ROOT / "benchmarks" / "README.md"], ids=lambda page: page.name)
def test_no_cell_of_a_table_is_blank(page):
    assert blank_cells(page) == []


def test_the_citation_names_the_version_and_the_licence_of_the_package():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert (cited["version"], cited["license"]) == (__version__, "Apache-2.0")
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_make_installs_torch_from_the_index_that_it_is_given(tmp_path):
    given = [f"VENV={tmp_path}", f"{tmp_path}/.installed", "TORCH_INDEX_URL=https://torch.example/cpu"]
    done = subprocess.run(["make", "--dry-run", *given], capture_output=True, text=True, cwd=ROOT)
    assert re.search(r"pip install .*--index-url https://torch.example/cpu .*torch==", done.stdout, re.S), done.stderr


@pytest.mark.slow
def test_the_page_on_the_paper_is_generated(tmp_path):
    from benchmarks.reproduction.page import write_markdown

    page = write_markdown(ROOT / "benchmarks" / "results", tmp_path / "reproduction.md", encoder="minilm", tune="last")
    wanted = without_stale_lines((ROOT / "docs" / "reproduction.md").read_text())
    assert without_stale_lines(page.read_text()) == wanted, (
        "run `python -m benchmarks.reproduction.page --markdown docs/reproduction.md`"
    )
    figures = re.findall(r"\]\((images/.*?)\)", wanted)
    assert figures
    assert all((ROOT / "docs" / figure).is_file() for figure in figures)
