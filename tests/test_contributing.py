"""The changes that CONTRIBUTING.md describes, made as it says: what is registered in one place works everywhere."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import ModuleType

import pytest
import torch

from newfound.algorithms import ensembles
from newfound.data.readers import READERS
from newfound.data.rows import ReadOptions
from newfound.exports.registry import EXPORTS, ExportFormat
from newfound.methods.consensus import Consensus
from newfound.methods.kmeans import KMeans
from newfound.methods.registry import METHODS, MethodEntry
from newfound.workflows.discovery import discover
from newfound.workflows.exporting import export


@pytest.fixture
def outside(monkeypatch):
    """A function that makes a module with some content."""

    def make(name: str, **content: object) -> str:
        module = ModuleType(name)
        module.__dict__.update(content)
        monkeypatch.setitem(sys.modules, name, module)
        return name

    return make


def test_a_method_is_one_class_and_one_row(outside, monkeypatch, themed, tiny_encoder):
    @dataclass(kw_only=True, eq=False, repr=False)
    class Twice(KMeans):
        """k-means with twice as many new intents."""

    home = outside("twice", Twice=Twice)
    monkeypatch.setitem(METHODS, "twice", MethodEntry(f"{home}:Twice"))
    result = discover(themed, method="twice", n_new=2, encoder=tiny_encoder, tune="heads")
    assert result.model.provenance["method"] == "Twice"
    assert len(result.intents) == len(themed.intents) + 2


def test_a_reader_is_one_function_and_one_row(outside, monkeypatch, themed, tiny_encoder, tmp_path):
    def read_pipes(source):
        for number, line in enumerate(source.lines(), 1):
            label, _, text = line.partition("|")
            yield number, {"text": text, "label": label}

    outside("newfound.data.pipes", read_pipes=read_pipes)
    monkeypatch.setitem(READERS, "pipes", ("pipes", "read_pipes", ()))
    path = tmp_path / "all.pipes"
    rows = zip(themed.labels, themed.texts, strict=True)
    path.write_text("".join(f"{label or ''}|{text}\n" for label, text in rows), "utf-8")
    result = discover(
        path, n_new=2, method="kmeans", encoder=tiny_encoder, tune="heads", read=ReadOptions(format="pipes")
    )
    assert {i.name for i in result.intents if i.known} == set(themed.intents)


def test_an_export_format_is_one_function_and_one_row(monkeypatch, saved, tmp_path):
    def to_names(corpus, project):
        return "\n".join(corpus.intents).encode()

    monkeypatch.setitem(EXPORTS, "names", ExportFormat("Names", "the names alone", ".txt", to_names))
    export(saved, "names", tmp_path / "names.txt")
    assert len((tmp_path / "names.txt").read_text("utf-8").splitlines()) >= 3


def test_a_view_is_one_more_tensor(monkeypatch, themed, tiny_encoder):
    seen = []

    def three(x, *, neighbours=10):
        seen.append(len(x))
        return x, ensembles.diffuse(x, neighbours=neighbours), torch.nn.functional.normalize(x.sign() + x, dim=-1)

    monkeypatch.setattr(ensembles, "views", three)
    method = Consensus(n_new=2, encoder=tiny_encoder, logs="novel", tune="heads", runs=2)
    method.fit(themed.texts, themed.labels)
    assert seen
    assert sum(not intent.known for intent in method.model_.intents) == 2
