"""Run the commands of the tutorial, the how-to pages and the researcher's page, and write into them what is printed.

    python tools/run_pages.py                    all pages, and examples/tutorial.ipynb
    python tools/run_pages.py docs/howto/check.md    the tutorial and this page

In a block ```console, a line after `$ ` is a command (`> ` continues it), and what follows is what it prints. A block
```python is run if a block ```text follows it. The tutorial starts in an empty folder; how-to pages start with a copy
of the files that the tutorial leaves, and the researcher's page runs in the checkout. The notebook is made from the
tutorial, outputs included.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TUTORIAL = ROOT / "docs" / "tutorial.md"
RESEARCHER = ROOT / "docs" / "researcher.md"
NOTEBOOK = ROOT / "examples" / "tutorial.ipynb"
BLOCK = re.compile(
    r"```console\n(?P<session>.*?)```|```python\n(?P<code>[^`]*?)```\n+```text\n(?P<printed>.*?)```", re.S
)
SEPARATOR = "\x1e"  # printed after each command of a block, to tell their outputs apart

Run = Callable[[list[str]], list[str]]


def parse(session: str) -> list[tuple[str, str]]:
    """Return the commands of a console block, each with what it prints."""
    steps: list[tuple[str, str]] = []
    for line in session.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], ""))
        elif line.startswith("> ") and not steps[-1][1]:
            steps[-1] = (f"{steps[-1][0]}\n{line[2:]}", "")
        else:
            steps[-1] = (steps[-1][0], f"{steps[-1][1]}{line}\n")
    return steps


def steps_of(page: str) -> Iterator[tuple[str, str]]:
    """Return all commands and Python blocks of a page that are run, each with what the page says that it prints."""
    for match in BLOCK.finditer(page):
        yield from [(match["code"], match["printed"])] if match["code"] else parse(match["session"])


def run_in_bash(folder: Path) -> Run:
    """Return a function that runs commands in a folder in one shell, and returns what each prints."""
    source = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": source, "COLUMNS": "80", "PYTHONWARNINGS": "ignore"}

    def run(commands: list[str]) -> list[str]:
        script = "".join(f"{command}\nprintf '{SEPARATOR}'\n" for command in commands)
        done = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True)
        outputs = done.stdout.split(SEPARATOR)[:-1]
        if len(outputs) != len(commands) or "newfound: error" in done.stderr or "Traceback" in done.stderr:
            raise RuntimeError(f"{commands}: {done.stderr}")
        return ["".join(f"{line.rstrip()}\n" for line in output.strip("\n").splitlines()) for output in outputs]

    return run


def fill(page: str, run: Run) -> str:
    """Return a page with what its commands print now."""

    def refill(match: re.Match[str]) -> str:
        if match["code"]:
            (printed,) = run([f"python - <<'END_OF_CODE'\n{match['code']}END_OF_CODE"])
            return f"```python\n{match['code']}```\n\n```text\n{printed}```"
        commands = [command for command, _ in parse(match["session"])]
        typed = ["$ " + command.replace("\n", "\n> ") for command in commands]
        return "```console\n" + "".join(f"{t}\n{o}" for t, o in zip(typed, run(commands), strict=True)) + "```"

    return BLOCK.sub(refill, page)


def notebook(page: str) -> str:
    """Return a page as a notebook with its outputs: console blocks are cells for bash, links start at examples/."""
    linked = re.sub(r"\]\((?!https?:|#)(?:\.\./)?", lambda m: m[0] if m[0].endswith("../") else "](../docs/", page)
    cells: list[dict[str, object]] = []

    def add(kind: str, source: str, **content: object) -> None:
        if source.strip():
            cells.append(
                {"cell_type": kind, "id": f"cell-{len(cells)}", "metadata": {}, "source": source.strip(), **content}
            )

    end = 0
    for match in BLOCK.finditer(linked):
        add("markdown", linked[end : match.start()])
        steps = [(match["code"], match["printed"])] if match["code"] else parse(match["session"])
        source = match["code"] or "%%bash\n" + "\n".join(command for command, _ in steps)
        text = "".join(printed for _, printed in steps)
        outputs = [{"output_type": "stream", "name": "stdout", "text": text}] if text else []
        count = sum(cell["cell_type"] == "code" for cell in cells) + 1
        add("code", source, execution_count=count, outputs=outputs)
        end = match.end()
    add("markdown", linked[end:])
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    content = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def main(pages: list[Path]) -> None:
    """Fill the pages; the tutorial comes first, if how-to pages are among them."""
    with tempfile.TemporaryDirectory() as folder:
        left = Path(folder) / "tutorial"
        left.mkdir()
        for page in [TUTORIAL, *pages] if pages != [RESEARCHER] else pages:
            print(page.relative_to(ROOT), flush=True)
            where = left if page == TUTORIAL else ROOT if page == RESEARCHER else Path(folder) / page.stem
            if not where.exists():
                shutil.copytree(left, where)
            page.write_text(fill(page.read_text("utf-8"), run_in_bash(where)), "utf-8")
    NOTEBOOK.write_text(notebook(TUTORIAL.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    named = [Path(name).resolve() for name in sys.argv[1:]]
    found = named or [*sorted((ROOT / "docs" / "howto").glob("*.md")), RESEARCHER]
    main([page for page in found if page != TUTORIAL and BLOCK.search(page.read_text("utf-8"))])
