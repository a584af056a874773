"""The help on a terminal of 80 columns, and what a command without arguments says."""

from __future__ import annotations

import pytest
import typer

from commands import newfound
from newfound.cli import app


def commands(group, names=()):
    """Yield the names that lead to each command, and the command."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*names, name))
        else:
            yield (*names, name), command


COMMANDS = dict(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_every_option_can_be_read_whole(names):
    done = newfound(*names, "--help", COLUMNS="80")
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    options = [o for p in COMMANDS[names].params for o in (*p.opts, *p.secondary_opts) if o.startswith("--")]
    assert [option for option in options if f"{option} " not in done.stdout] == []


def test_options_of_discover_are_in_panels():
    shown = newfound("discover", "--help", COLUMNS="80").stdout
    panels = [line.strip("╭╮─ ") for line in shown.splitlines() if line.startswith("╭")]
    assert panels[:4] == ["Arguments", "Options", "Reading files", "Fitting"]


@pytest.mark.parametrize("group", [(), ("review",), ("data",)])
def test_without_a_command_the_help_is_shown(group):
    done = newfound(*group)
    assert done.returncode == 2
    assert done.stderr == ""
    assert "Usage" in done.stdout
    assert "Commands" in done.stdout
