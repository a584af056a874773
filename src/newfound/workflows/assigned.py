"""A model's intents and utterances as they are after the review. The network is loaded only if it is needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from newfound.errors import ModelError
from newfound.model.about import UTTERANCES_FILE, stream_utterances
from newfound.model.sidecars import path_of, read_groups
from newfound.model.types import Intent, Utterance
from newfound.review.state import Review, assigned_without_network, described_without_network
from newfound.review.store import ReviewStore
from newfound.workflows.runtime import ModelSource, Runtime


class AssignedModel(NamedTuple):
    """A model as its utterances show it."""

    utterances: Iterable[Utterance]  # can be read once
    review: Review
    intents: tuple[Intent, ...]  # as they were fitted, one for each column
    ids: Mapping[str, str]  # of the intents after the review, by name
    paths: Mapping[str, str | None]  # the groups that these are in, by name


def read_assigned(model: ModelSource, runtime: Runtime) -> AssignedModel:
    """Return a model's utterances with their intents after the review; refuse a model that was saved without them."""
    if isinstance(model, str | Path):
        store = ReviewStore(model)
        review, intents, groups = store.review(), store.intents, read_groups(store.folder)
        if not (store.folder / UTTERANCES_FILE).exists():
            raise ModelError(f"{model}: the model was saved without its utterances; discover again and keep them")
        assigned = assigned_without_network(review, intents, stream_utterances(store.folder, intents))
        if assigned is not None:
            ids = review.ids(intents)
            return AssignedModel(assigned, review, intents, ids, {name: path_of(ids[name], groups) for name in ids})
    loaded = runtime.open_model(model)
    return AssignedModel(loaded.assigned, loaded.review, loaded.model.intents, loaded.ids, loaded.head.paths)


def read_intents(folder: str | Path, encoder: str | None = None) -> tuple[Intent, ...]:
    """Return the intents of a model folder as they are described after the review."""
    store = ReviewStore(folder)
    described = described_without_network(store.review(), store.intents)
    if described is None:
        from newfound.review.reviewed import load

        described = load(folder, encoder=encoder).intents
    return described
