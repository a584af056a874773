"""A language model for the time of a workflow, and the names it gives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from newfound.llm.settings import LanguageModelSettings
from newfound.training.launch import current_launch
from newfound.training.progress import Reporter

if TYPE_CHECKING:
    from newfound.llm.asking import LanguageModel
    from newfound.model.classifier import IntentModel

SIMILAR_INTENTS_PER_PROMPT = 3  # whose names and examples a prompt shows


@contextmanager
def language_model(settings: LanguageModelSettings | None, reporter: Reporter) -> Iterator[LanguageModel | None]:
    """Open a language model, whose problems the reporter is told; None if there are no settings.

    Wrong settings are refused here, before anything takes long. Nothing is sent before a question is asked.

    Args:
        settings: Which language model, and within which limits.
        reporter: Is told of questions that stay without an answer.
    """
    if settings is not None:
        settings.check()
    if settings is None or not current_launch().is_main:  # of several processes one asks
        yield None
        return
    from newfound.llm.asking import LanguageModel

    with LanguageModel(settings, warn=reporter.warn) as llm:
        yield llm


def with_asked_names(model: IntentModel, llm: LanguageModel | None) -> IntentModel:
    """Return the model with names from a language model; without one, the model itself.

    Args:
        model: The model, whose new intents have names already.
        llm: A language model to ask; None keeps the names.
    """
    if llm is None:
        return model
    from newfound.intents.asked_names import ask_for_names

    return model.with_names(
        ask_for_names(model.intents, llm, neighbours=model.similar_intents(SIMILAR_INTENTS_PER_PROMPT))
    )
