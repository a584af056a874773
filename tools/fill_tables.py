"""Fill the tables of the documents anew: what stands between `<!-- command -->` and `<!-- end -->` is its output.

python tools/fill_tables.py
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
MARKED = re.compile(r"(<!-- (python|newfound) (.*?) -->\n)(.*?)(<!-- end -->)", re.S)


def output_of(program: str, arguments: str) -> str:
    """Return what a command prints."""
    module = ["-m", "newfound"] if program == "newfound" else []
    command = [sys.executable, *module, *shlex.split(arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout


for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
    before = page.read_text("utf-8")
    after = MARKED.sub(lambda match: match[1] + output_of(match[2], match[3]) + match[5], before)
    if after != before:
        page.write_text(after, "utf-8")
        print(page.relative_to(ROOT))
