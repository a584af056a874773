"""An error states facts and carries keys of its remedies; the command line has its own words for these keys."""

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
        (
            errors.SettingsError("r holds an unfinished run", "resume", "anew"),
            "same command to go on with it, or start anew with --force",
        ),
        (
            errors.ColumnMissing("f, line 1", "text", "text", ["a"]),
            "name the column with --text-column",
        ),
        (errors.ColumnMissing("f, line 1", "y", "label", ["a"]), "name the column with --label-column"),
        (
            errors.ColumnMissing("f, line 1", "text", "text", ["a"], may_lack_header=True),
            "with --text-column, or add --no-header if there is no header line",
        ),
        (errors.ConflictingLabels("f: 2 texts have several labels", []), "--conflicts first or --conflicts drop"),
        (
            errors.NoKnownIntents("DPL", 0),
            "give a file of labelled utterances before the logs, or use --method consensus",
        ),
        (errors.EncoderMismatch(Path("m"), "was fitted on 'x'"), "with --encoder"),
        (errors.NotSplittable("t5", ["bert"]), "use --tune heads"),
        (errors.DataError("f: cannot tell the format", "format"), "name its format with --format"),
        (errors.Interrupted(Path("m.run")), "add --resume to the same command to go on with it"),
    ],
)
def test_the_command_line_adds_its_flags(error, said):
    assert FLAG.search(str(error)) is None
    assert said in message_with_flags(error)


def _remedies_given(tree):
    """Yield the keys that are given to errors: texts after the message."""
    for node in ast.walk(tree):
        name = getattr(node.func, "id", getattr(node.func, "attr", "")) if isinstance(node, ast.Call) else ""
        if name in (
            "DataError",
            "SettingsError",
            "EngineError",
            "HubError",
            "NewfoundError",
            "ModelError",
            "DecisionError",
        ):
            yield from (key.value for key in node.args[1:] if isinstance(key, ast.Constant))


def test_every_key_of_a_remedy_has_words():
    given = {key for path in SOURCE.rglob("*.py") for key in _remedies_given(ast.parse(path.read_text()))}
    assert {"utf8", "format", "place", "token"} <= given, "raised outside of errors.py"
    assert given - set(errors.REMEDIES) == set()
    assert set(REMEDIES) - set(errors.REMEDIES) == set()
    classes = [node for node in ast.parse((SOURCE / "errors.py").read_text()).body if isinstance(node, ast.ClassDef)]
    by_classes = {getattr(node, "value", None) for error in classes for node in ast.walk(error)}
    names = ("logs_text", "text", "label", "conversation", "speaker", "values")
    of_columns = {f"{name}_column" for name in names}
    assert set(errors.REMEDIES) - given - by_classes - of_columns == set(), "no error has these"
