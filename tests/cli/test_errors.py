"""The library states facts; the command line adds the flags that mend them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from newfound import errors
from newfound.cli.errors import REMEDIES, message_with_flags

SOURCE = Path(__file__).parents[2] / "src" / "newfound"
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


def _messages(path):
    tree = ast.parse(path.read_text())
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


@pytest.mark.parametrize(
    "path", [p for p in SOURCE.rglob("*.py") if "cli" not in p.parts], ids=lambda p: str(p.relative_to(SOURCE))
)
def test_no_message_outside_the_command_line_names_a_flag(path):
    assert [message for message in _messages(path) if FLAG.search(message)] == []


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (errors.TargetExists(Path("m")), "m exists; choose another --out, or add --force to replace it"),
        (errors.TargetExists(Path("m"), "is taken", replaceable=False), "m is taken; choose another --out"),
        (errors.UnfinishedRun(Path("r")), "add --resume to go on with it, or --force to start anew"),
        (errors.RunMismatch(Path("r"), "damaged"), "r: damaged; start anew with --force"),
        (errors.ColumnMissing("f, line 1", "text", "text", ["a"]), "name the right one with --text-column"),
        (errors.ColumnMissing("f, line 1", "y", "label", ["a"]), "name the right one with --label-column"),
        (errors.HeaderMissing("f, line 1", ["how do i pay?"]), "add --no-header if there is no header line"),
        (errors.ConflictingLabels("f: 2 texts have several labels", []), "--conflicts first or --conflicts drop"),
        (
            errors.NoKnownIntents("DPL", 0),
            "give a file of labelled utterances before the logs, or use --method consensus",
        ),
        (errors.NoGpu(), "use --device cpu"),
        (errors.EncoderMismatch(Path("m"), "was fitted on 'x'"), "with --encoder"),
        (errors.ModelMissing(Path("m")), "make one with `newfound discover`"),
        (errors.NothingAccepted(), "or add --accept-all"),
        (errors.NotSplittable("t5", ["bert"]), "use --tune heads"),
        (errors.FormatUnknown("f", "nothing", ["csv"]), "add --format"),
        (errors.Interrupted(Path("m.run")), "go on with --resume"),
    ],
)
def test_the_command_line_adds_its_flags(error, said):
    assert FLAG.search(str(error)) is None
    assert said in message_with_flags(error)


def test_every_remedy_is_still_what_an_error_says():
    """If a message changes, its translation must change with it."""
    text = (SOURCE / "errors.py").read_text() + "".join(p.read_text() for p in SOURCE.glob("serve/*.py"))
    text += "".join(
        p.read_text() for part in ("data", "engines", "methods", "workflows") for p in SOURCE.glob(f"{part}/*.py")
    )
    flat = " ".join(re.sub(r'"\s+f?"', "", text).split())
    for _, general, _ in REMEDIES:
        assert general in flat, general
