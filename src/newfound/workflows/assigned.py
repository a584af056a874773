"""A model's intents and utterances as they are after the review. The network is loaded only if it is needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from newfound.errors import ModelError
from newfound.model.about import UTTERANCES_FILE, Description, stream_utterances
from newfound.model.sidecars import path_of, read_groups, thresholds_by_name
from newfound.model.types import Intent, Utterance
from newfound.review.state import Review, assigned_without_network, described_without_network
from newfound.review.store import ReviewStore
from newfound.workflows.runtime import ModelSource, Runtime, name_of

if TYPE_CHECKING:
    from newfound.review.reviewed import ReviewedModel


class AssignedModel(NamedTuple):
    """A model as its utterances show it."""

    name: str
    encoder: str
    utterances: Iterable[Utterance]  # can be read once
    review: Review
    intents: tuple[Intent, ...]  # as they were fitted, one for each column
    ids: Mapping[str, str]  # of the intents after the review, by name
    paths: Mapping[str, str | None]  # the groups that these are in, by name
    thresholds: Mapping[str, float]  # their least probabilities, by name

    @classmethod
    def of(cls, model: ReviewedModel, name: str) -> AssignedModel:
        """Return a loaded model, which is called so, with its review."""
        fitted, thresholds = model.model, model.classifier.thresholds
        about = name, fitted.encoder.name, model.assigned, model.review, fitted.intents
        return cls(*about, model.ids, model.head.paths, thresholds)


def read_assigned(model: ModelSource, runtime: Runtime) -> AssignedModel:
    """Return a model's utterances with their intents after the review; refuse a model that was saved without them."""
    name = name_of(model)
    if isinstance(model, str | Path):
        description = Description.read(model)
        folder, intents, encoder = description.folder, description.intents, str(description.about["encoder"]["name"])
        review, groups = ReviewStore(description).review(), read_groups(folder)
        if not (folder / UTTERANCES_FILE).exists():
            raise ModelError(f"{model}: the model was saved without its utterances; discover again and keep them")
        assigned = assigned_without_network(review, intents, stream_utterances(folder, intents))
        if assigned is not None:
            ids = review.ids(intents)
            paths, thresholds = {name: path_of(ids[name], groups) for name in ids}, thresholds_by_name(folder, ids)
            return AssignedModel(name, encoder, assigned, review, intents, ids, paths, thresholds)
    return AssignedModel.of(runtime.open_model(model), name)


def read_intents(folder: str | Path, encoder: str | None = None) -> tuple[Intent, ...]:
    """Return the intents of a model folder as they are described after the review."""
    store = ReviewStore(folder)
    described = described_without_network(store.review(), store.intents)
    if described is None:
        from newfound.review.reviewed import load

        described = load(folder, encoder=encoder).intents
    return described
