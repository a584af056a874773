"""The size of the project, kept by a budget: `tools/size_limits.json` may be lowered by anybody.

It is raised only with a reason in the CHANGELOG.
"""

from __future__ import annotations

import ast
import json
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIMITS = json.loads((ROOT / "tools" / "size_limits.json").read_text())
MAX_LINES_OF_A_FILE, MAX_PARAMETERS = 400, 8


def lines(folder, pattern):
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / folder).rglob(pattern))


def parameters(function):
    """Count what a caller may pass by position: keyword-only parameters are named where they are passed."""
    return [a.arg for a in (*function.args.posonlyargs, *function.args.args) if a.arg not in ("self", "cls")]


def functions_with_many_parameters():
    """Yield functions, commands apart: there, a parameter is an option."""
    for path in (path for path in (ROOT / "src").rglob("*.py") if path.parent.name != "cli"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and len(parameters(node)) > MAX_PARAMETERS:
                yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"


COUNTS = {
    "Python lines in src": lambda: lines("src", "*.py"),
    "JavaScript lines in src": lambda: lines("src", "*.js"),
    "Python lines in tests": lambda: lines("tests", "*.py"),
    "Python lines in benchmarks": lambda: lines("benchmarks", "*.py"),
    "files over 400 lines": lambda: sum(
        len(path.read_text(encoding="utf-8").splitlines()) > MAX_LINES_OF_A_FILE
        for path in chain((ROOT / "src").rglob("*.py"), (ROOT / "src").rglob("*.js"))
        if path.name != "strings-en.js"  # a table
    ),
    "functions with more than 8 parameters by position": lambda: len(list(functions_with_many_parameters())),
}


@pytest.mark.parametrize("what", COUNTS)
def test_the_project_is_within_its_budget(what):
    count = COUNTS[what]()
    assert count <= LIMITS[what], f"{count:,} {what}; delete something, or say in the CHANGELOG why the limit grows"


def test_a_function_with_nine_parameters_is_counted():
    function = ast.parse("def f(a, b, c, d, e, f, g, h, i, *, j): ...").body[0]
    assert len(parameters(function)) == MAX_PARAMETERS + 1
