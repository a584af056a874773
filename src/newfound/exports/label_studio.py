"""Label Studio: tasks as JSON, for a project whose labelling interface has `Text` and `Choices`."""

from __future__ import annotations

from typing import Any

from newfound.data.corpus import Corpus
from newfound.exports.common import Project, one_line, stable_id
from newfound.files import to_json

TEXT_FIELD = "text"  # <Text name="text" value="$text"/>
CHOICES_NAME = "intent"  # <Choices name="intent" toName="text" choice="single">


def to_label_studio(corpus: Corpus, project: Project) -> bytes:
    """Return a corpus as tasks of Label Studio.

    What a person labelled is an annotation of its task; what the model assigned is a prediction, which Label Studio
    shows to the annotator as a proposal.
    """
    tasks = []
    for text, intent, origin in zip(corpus.texts, corpus.labels, corpus.origins, strict=True):
        if intent is None or not one_line(text):
            continue
        choice = {
            "id": stable_id(text, intent)[:8],
            "from_name": CHOICES_NAME,
            "to_name": TEXT_FIELD,
            "type": "choices",
            "value": {"choices": [intent]},
        }
        task: dict[str, Any] = {"data": {TEXT_FIELD: one_line(text)}}
        if origin.labelled:
            task["annotations"] = [{"result": [choice]}]
        else:
            task["predictions"] = [{"model_version": project.name, "result": [choice]}]
        tasks.append(task)
    return to_json(tasks)
