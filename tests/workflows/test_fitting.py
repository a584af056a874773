"""What a workflow hands to a method that may ask."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from newfound.data.corpus import Corpus
from newfound.training.run import Run
from newfound.workflows.fitting import fit


class Method:
    """Takes what a fit is given."""

    def fit(self, corpus, **given):
        self.given = given


@pytest.mark.parametrize("asks", [True, False])
def test_a_language_model_gives_labels_to_a_method_that_asks_for_them(asks):
    method = Method()
    method.ASKS_QUESTIONS = asks
    settings = SimpleNamespace(budget=4, redact=False)  # a fifth of four requests is none
    llm = SimpleNamespace(settings=settings, calls_left=4, ask_many=lambda prompts, **how: [None] * len(prompts))
    fit(method, Corpus.of(["a"], [None]), Run(), llm=llm)
    assert "annotator" not in method.given
    labeller = method.given["labeller"]
    assert labeller(["a"]) == [None] if asks else labeller is None
