"""The sources of the review page and the report: short lines, and texts that come from the table of strings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import newfound

PACKAGE = Path(newfound.__file__).parent
STATIC = PACKAGE / "serve" / "static"
TEMPLATES = [PACKAGE / "serve" / name for name in ("page.html.jinja", "login.html.jinja")]


def keys():
    return set(re.findall(r'^  "?([\w.…?]+)"?:', (STATIC / "strings-en.js").read_text("utf-8"), flags=re.M))


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_template_has_no_text_of_its_own(path):
    """Its texts are named by keys of the table. What the server fills in and what <noscript> says stay."""
    source = path.read_text("utf-8")
    named = set(re.findall(r'data-(?:text|title|label|placeholder)="([^"]+)"', source))
    assert named
    assert named <= keys()
    body = re.sub(r"<noscript>.*?</noscript>|\{[{%].*?[%}]\}", "", source[source.index("<body") :], flags=re.DOTALL)
    words = re.findall(r">([^<>]*[a-zA-Z][^<>]*)<", body)
    assert [word.strip() for word in words if word != "newfound"] == []


def test_every_text_is_used():
    scripts = "".join(path.read_text("utf-8") for path in STATIC.glob("*.js") if not path.name.startswith("strings-"))
    templates = "".join(path.read_text("utf-8") for path in TEMPLATES)
    prefixes = set(re.findall(r"t\(`([\w.]+)\.\$\{", scripts))
    unused = {key for key in keys() if f'"{key}"' not in scripts + templates}
    assert {key for key in unused if key.rpartition(".")[0] not in prefixes} == set()
