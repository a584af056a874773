"""The commands, code and links in README.md and docs/ are right: each is checked without being run.

`tools/run_pages.py` runs the commands of the tutorial and the how-to pages; the last test compares what they print.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from typer.main import get_command

import newfound
from newfound.cli import app

ROOT = Path(__file__).parents[1]
GENERATED = {"cli.md", "changelog.md"}
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.name not in GENERATED),
]
FENCED = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.S | re.M)
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
OF_OTHER_PROGRAMS = {"--ignore-scripts"}
OF_STUDIES = {
    name
    for script in (ROOT / "benchmarks").rglob("*.py")
    for name in re.findall(r'"(--[\w-]+)"', script.read_text("utf-8"))
}


def pages(test):
    return pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])(test)


def without_blocks(text):
    return FENCED.sub("", text)


def blocks(text, *languages):
    return [body for language, body in FENCED.findall(text) if language in languages]


# Commands


def commands_in(shell: str) -> list[list[str]]:
    """Return the arguments of every `newfound` in lines of a shell: after pipes, in `-m newfound`, without comments."""
    found = []
    for line in re.sub(r"\\\n(> )?", " ", shell).splitlines():
        if not re.search(r"\bnewfound ", line):
            continue
        lexer = shlex.shlex(line.removeprefix("$ ").rstrip("."), posix=True, punctuation_chars="|;&<>()")
        lexer.whitespace_split, lexer.commenters = True, "#"
        command: list[str] | None = None
        for token in [*lexer, ";"]:
            if set(token) <= set("|;&<>()"):
                found += [command] if command is not None else []
                command = None
            elif command is not None:
                command.append(token)
            elif token == "newfound":
                command = []
    return found


def problems(arguments: list[str], *, complete: bool) -> list[str]:
    """Return what is wrong with the arguments of `newfound`; `complete` also asks for all positional ones."""
    command = get_command(app)
    while hasattr(command, "commands"):
        if not arguments or arguments[0] in {"-h", "--help", "--version"}:
            return []
        if arguments[0] in command.commands:
            command = command.commands[arguments[0]]
            arguments = arguments[1:]
        elif command.name == "review":  # `newfound review MODEL` is short for `newfound review page MODEL`
            command = command.commands["page"]
        else:
            return [f"no command {arguments[0]}"]
    options = {name: p for p in command.params for name in (*p.opts, *p.secondary_opts) if name.startswith("-")}
    wanted = [p for p in command.params if p.param_type_name == "argument"]
    wrong, positional = [], 0
    rest = iter(arguments)
    for token in rest:
        name, given, _ = token.partition("=")
        if token.startswith("-") and token != "-":
            if name not in options and name not in {"-h", "--help"}:
                wrong.append(f"no option {name}")
            elif name in options and not options[name].is_flag and not given and next(rest, None) is None and complete:
                wrong.append(f"{name} needs a value")
        elif token != "...":
            positional += 1
    most = len(wanted) if all(p.nargs == 1 for p in wanted) else 99
    least = sum(p.required for p in wanted) if complete and "..." not in arguments else 0
    if not least <= positional <= most:
        wrong.append(f"{positional} arguments")
    return wrong


@pages
def test_commands_exist_and_take_these_options(page):
    text = page.read_text("utf-8")
    wrong = []
    for body in blocks(text, "", "console", "bash", "sh"):
        wrong += [(c, p) for c in commands_in(body) for p in problems(c, complete=True)]
    for code in INLINE.findall(without_blocks(text)):
        if code.startswith("newfound "):
            wrong += [(c, p) for c in commands_in(code) for p in problems(c, complete=False)]
    assert not wrong


def all_options(command) -> set[str]:
    if hasattr(command, "commands"):
        return set().union(*map(all_options, command.commands.values()))
    return {name for p in command.params for name in (*p.opts, *p.secondary_opts)}


@pages
def test_options_in_the_text_exist(page):
    names = {code.split()[0].split("=")[0] for code in INLINE.findall(without_blocks(page.read_text("utf-8")))}
    names = {name for name in names if name.startswith("--")}
    assert not names - all_options(get_command(app)) - OF_STUDIES - OF_OTHER_PROGRAMS - {"--help"}


def test_wrong_commands_are_noticed():
    assert commands_in("echo hi | newfound predict my-bot --top 3 > out.jsonl  # newfound x") == [
        ["predict", "my-bot", "--top", "3"]
    ]
    assert problems(["predict", "my-bot"], complete=True) == []
    assert problems(["review", "my-bot"], complete=True) == []
    assert problems(["predikt", "my-bot"], complete=True) == ["no command predikt"]
    assert problems(["predict", "my-bot", "--tops", "3"], complete=True)
    assert problems(["predict"], complete=True) == ["0 arguments"]
    assert problems(["diff", "a", "b", "c"], complete=True) == ["3 arguments"]


# Python


class Names(ast.NodeVisitor):
    """Collect what a block imports and uses of newfound and does not exist.

    A variable that is assigned the result of a function of newfound has the type that the function returns.
    """

    def __init__(self) -> None:
        self.scope: dict[str, object] = {"newfound": newfound}
        self.types: dict[str, type] = {}
        self.wrong: list[str] = []

    def visit_Import(self, node):
        for alias in node.names:
            if alias.name.split(".")[0] == "newfound":
                importlib.import_module(alias.name)

    def visit_ImportFrom(self, node):
        if node.module and node.module.split(".")[0] in {"newfound", "benchmarks"}:
            module = importlib.import_module(node.module)
            for alias in node.names:
                if hasattr(module, alias.name):
                    self.scope[alias.asname or alias.name] = getattr(module, alias.name)
                else:
                    self.wrong.append(f"{node.module} has no {alias.name}")

    def resolve(self, node) -> object | None:
        """Return the object of newfound that an expression names, or None."""
        if isinstance(node, ast.Name):
            return self.scope.get(node.id)
        if isinstance(node, ast.Attribute) and (owner := self.resolve(node.value)) is not None:
            return getattr(owner, node.attr, None)
        return None

    def visit_Attribute(self, node):
        self.generic_visit(node)
        owner = self.resolve(node.value)
        if owner is not None and not hasattr(owner, node.attr):
            self.wrong.append(f"{ast.unparse(node.value)} has no {node.attr}")
        kind = self.types.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if kind is not None and node.attr not in {*dir(kind), *getattr(kind, "__dataclass_fields__", ())}:
            self.wrong.append(f"{kind.__name__} has no {node.attr}")

    def visit_Call(self, node):
        self.generic_visit(node)
        function = self.resolve(node.func)
        if not callable(function):
            return
        parameters = inspect.signature(function).parameters
        if all(p.kind is not p.VAR_KEYWORD for p in parameters.values()):
            unknown = {keyword.arg for keyword in node.keywords if keyword.arg} - set(parameters)
            self.wrong += [f"{ast.unparse(node.func)} takes no {name}" for name in unknown]

    def visit_Assign(self, node):
        self.generic_visit(node)
        function = self.resolve(node.value.func) if isinstance(node.value, ast.Call) else None
        returned = function if inspect.isclass(function) else None
        if inspect.isfunction(function):
            # Only this one is looked up: the types of parameters may be imported for type checkers alone.
            returned = vars(sys.modules[function.__module__]).get(str(function.__annotations__.get("return")))
        if isinstance(node.targets[0], ast.Name):
            self.types.pop(node.targets[0].id, None)
            if inspect.isclass(returned):
                self.types[node.targets[0].id] = returned


def wrong_names(code: str) -> list[str]:
    names = Names()
    names.visit(ast.parse(code))
    return names.wrong


@pages
def test_python_compiles_and_names_what_exists(page):
    code = "\n".join(blocks(page.read_text("utf-8"), "python"))
    included = re.findall(r'^--8<-- "(.*)"$', code, re.M)
    assert all((ROOT / name).is_file() for name in included)
    assert wrong_names(re.sub(r"^--8<--.*$", "", code, flags=re.M)) == []


def test_wrong_names_are_noticed():
    assert wrong_names("import newfound\nresult = newfound.check('a.csv')\nresult.label_errors") == []
    assert wrong_names("newfound.chekc('a.csv')") == ["newfound has no chekc"]
    assert wrong_names("newfound.check('a.csv', outt=1)") == ["newfound.check takes no outt"]
    assert wrong_names("r = newfound.check('a.csv')\nr.errors") == ["CheckResult has no errors"]
    assert wrong_names("from newfound.review.store import Stores") == ["newfound.review.store has no Stores"]


# Links


def slugs(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text("utf-8")), re.M)
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()).strip() for heading in headings]
    return {heading.replace(" ", "-") for heading in plain} | {re.sub(r"[-\s]+", "-", heading) for heading in plain}


@pages
def test_links_lead_to_files_and_headings(page):
    links = re.findall(r"\]\(([^)\s]+)\)", without_blocks(page.read_text("utf-8")))
    broken = []
    for link in links:
        path, _, anchor = link.partition("#")
        if re.match(r"\w+:", link):
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in slugs(target)):
            broken.append(link)
    assert not broken


# Outputs

spec = importlib.util.spec_from_file_location("run_pages", ROOT / "tools" / "run_pages.py")
run_pages = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run_pages)


def test_the_notebook_is_the_tutorial():
    made = run_pages.notebook(run_pages.TUTORIAL.read_text("utf-8"))
    assert run_pages.NOTEBOOK.read_text("utf-8") == made, "run `python tools/run_pages.py`"


def test_the_tables_of_the_researchers_page_are_those_of_the_result_files():
    steps = list(run_pages.steps_of(run_pages.RESEARCHER.read_text("utf-8")))
    tables = [(command, said) for command, said in steps if command.startswith("python -m benchmarks table")]
    assert tables
    assert run_pages.run_in_bash(ROOT)([command for command, _ in tables]) == [said for _, said in tables]


def shape(printed: str) -> list[str]:
    """Return the lines of an output without what differs between processors.

    Which utterances are in which cluster, and so sizes, names, ids and examples, may differ where a sum is rounded
    otherwise. Rows of tables, quoted utterances and numbers are left out; headings, messages and fields remain.
    """
    lines = [line for line in printed.splitlines() if "│" not in line and "━" not in line]
    lines = [re.sub(r"“.*?”|\d[\d.,]*|\"[0-9a-f]{8}[.\d]*\"|'[^']*'", "0", line) for line in lines]
    return [" ".join(line.split()) for line in lines if line.strip()]


def without_fine_tuning(command: str) -> str:
    """Fine-tuning takes minutes and adds no line to what is printed; the README's five lines are run with it."""
    return re.sub(r"\bnewfound (discover|update) ", r"newfound \1 --effort quick ", command)


@pytest.mark.real_encoder
def test_commands_print_what_the_pages_say(tmp_path):
    """One line and a quarter of the lines of a page may differ: a name in a message, one intent more or less."""
    tutorial = tmp_path / "tutorial"
    tutorial.mkdir()
    for page in [run_pages.TUTORIAL, *sorted((ROOT / "docs" / "howto").glob("*.md"))]:
        said = page.read_text("utf-8")
        if not run_pages.BLOCK.search(said):
            continue
        folder = tutorial if page == run_pages.TUTORIAL else shutil.copytree(tutorial, tmp_path / page.stem)
        run = run_pages.run_in_bash(folder)
        now = run_pages.fill(said, lambda commands, run=run: run([without_fine_tuning(c) for c in commands]))
        steps = zip(run_pages.steps_of(said), run_pages.steps_of(now), strict=True)
        expected, missing = 0, []
        for (command, before), (_, after) in steps:
            expected += len(shape(before))
            missing += [(command, line) for line in shape(before) if line not in shape(after)]
        assert len(missing) <= 1 + expected / 4, (page.name, missing)
