"""What a workflow hands to a method that may ask questions."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import newfound
from newfound.data.corpus import Corpus
from newfound.training.progress import LoggingReporter
from newfound.training.run import Run
from newfound.workflows.fitting import fit


class Method:
    """Takes what a fit is given."""

    ASKS_QUESTIONS = True

    def fit(self, corpus, **given):
        self.given = given


class Notes(LoggingReporter):
    def __init__(self):
        self.notes = []

    def note(self, message):
        self.notes.append(message)


def test_an_update_has_no_option_that_is_without_effect():
    """It reads logs only, so that there are no labels that could be in conflict."""
    with pytest.raises(TypeError, match="conflicts"):
        newfound.update("model", "logs.csv", conflicts="first")


@pytest.mark.parametrize("count", [1, 2])
def test_only_a_process_that_works_alone_asks_while_it_fits(count, monkeypatch):
    """The others would wait for the answers, until their connection ends."""
    for name, value in {"RANK": 0, "WORLD_SIZE": count, "LOCAL_RANK": 0}.items():
        monkeypatch.setenv(name, str(value))
    method, reporter = Method(), Notes()
    fit(
        method,
        Corpus.of(["a"], [None]),
        Run(reporter=reporter),
        llm=SimpleNamespace(settings=SimpleNamespace(budget=9)),
    )
    assert ("annotator" in method.given) == (count == 1)
    assert any("asked for names only" in note for note in reporter.notes) == (count == 2)
