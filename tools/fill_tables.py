"""Fill the tables of the documents anew: what stands between `<!-- command -->` and `<!-- end -->` is its output.

PYTHONPATH=. python tools/fill_tables.py

A table whose result files were measured on other code than today's gets a line that says so, and is listed at the end.
Which files these are is not written anywhere: they are the result files that the command opens.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.stale import is_stale_table, with_stale_line

ROOT = Path(__file__).resolve().parent.parent
MARKED = re.compile(r"(?P<mark><!-- python (?P<arguments>.*?) -->\n).*?(?=<!-- end -->)", re.S)


def output_and_files(arguments: str) -> tuple[str, list[Path]]:
    """Return what a command prints, and the files that it opens."""
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder) / "paths.txt"
        recorder = [sys.executable, str(ROOT / "tools" / "run_recorded.py"), str(paths)]
        command = [*recorder, *shlex.split(arguments)]
        output = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout
        return output, [Path(line) for line in paths.read_text("utf-8").splitlines()]


def fill(text: str) -> tuple[str, list[str]]:
    """Return the text of a page with its tables filled anew, and the commands of those that are stale."""
    stale = []

    def filled(match: re.Match[str]) -> str:
        table, files = output_and_files(match["arguments"])
        if is_stale_table(files):
            table = with_stale_line(table)
            stale.append(f"python {match['arguments']}")
        return match["mark"] + table

    return MARKED.sub(filled, text), stale


def main() -> None:
    """Rewrite the pages, and list those that changed and the stale tables."""
    stale: list[str] = []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        name, before = page.relative_to(ROOT).as_posix(), page.read_text("utf-8")
        after, commands = fill(before)
        stale += [f"stale: {name}, table `{command}`: measured on other code" for command in commands]
        if after != before:
            page.write_text(after, "utf-8")
            print(name)
    print(*stale, sep="\n")


if __name__ == "__main__":
    main()
