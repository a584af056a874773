"""`IntentModel`: the fitted classifier over known and new intents, which every method returns."""

from __future__ import annotations

import platform
from collections.abc import Callable, Collection, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from newfound.algorithms.ranking import rank_descending
from newfound.defaults import Precision
from newfound.encoders.cache import FeatureCache
from newfound.encoders.encoder import Encoder, Tune
from newfound.encoders.ragged import Ragged
from newfound.encoders.registry import hash_of
from newfound.encoders.tail import whole_corpus
from newfound.model.arrays import (
    TEXTS_PER_BATCH,
    TEXTS_PER_BATCH_ON_GPU,
    Array,
    Classifier,
    FittedClassifier,
    Names,
    ids_of,
    in_batches,
)
from newfound.model.network import IntentNetwork, embed
from newfound.model.types import Calibration, Intent, Utterance, certainty_of
from newfound.paths import feature_cache_dir
from newfound.version import __version__

if TYPE_CHECKING:
    from newfound.encoders.onnx.session import GraphSession

MANY_TEXTS = 20_000  # at once, of training utterances: they are mostly in the cache, so that larger batches pay off


@dataclass(eq=False, repr=False)
class IntentModel(FittedClassifier):
    """Classifies utterances into known and new intents. A model never changes; `with_*` methods return another one.

    Attributes:
        encoder: The pretrained encoder.
        tune: How much of the encoder was trained.
        network: The trained network.
        intents: One description for each column of its classifier, known intents first.
        calibration: How the classifier's cosines become probabilities and outlier scores.
        provenance: What the model was made from, and how.
        utterance_source: The training utterances, or a function that reads them when they are needed.
        columns: What makes predictions of the vectors of texts.
    """

    encoder: Encoder
    tune: Tune
    network: IntentNetwork
    intents: tuple[Intent, ...]
    calibration: Calibration
    provenance: dict[str, Any]
    utterance_source: Sequence[Utterance] | Callable[[], Sequence[Utterance]] = ()
    columns: Classifier = field(init=False)

    def __post_init__(self) -> None:
        self.network.eval()
        self._cache: FeatureCache | None = None
        weight = self.network.classifier.weight.detach().float().cpu().numpy()
        super().__init__(Classifier(weight, self.intents, self.calibration), self._embed)

    def __repr__(self) -> str:
        new = len(self.intents) - self.n_known
        return f"IntentModel({self.n_known} known and {new} new intents, encoder {self.encoder.name!r})"

    @cached_property
    def utterances(self) -> tuple[Utterance, ...]:
        """The training utterances."""
        return tuple(self.utterance_source() if callable(self.utterance_source) else self.utterance_source)

    @cached_property
    def utterance_vectors(self) -> Tensor:
        """Embeddings of the training utterances, [n, d], computed once from the features in the cache."""
        cache = self.encoder.cache or FeatureCache(feature_cache_dir())
        texts = [u.text for u in self.utterances]

        def compute(rows: Sequence[int]) -> Ragged:
            some = [texts[i] for i in rows]
            vectors = in_batches(lambda batch: self._vectors(batch, cache), some, self.encoder.width, MANY_TEXTS)
            return Ragged(torch.from_numpy(vectors), torch.arange(len(rows) + 1))

        if not self.tune.layers:  # what the frozen encoder computes is in the cache already
            return compute(range(len(texts))).flat
        state = {name: t for name, t in self.network.state_dict().items() if not name.startswith("classifier.")}
        weights = hash_of(state, self.encoder.weights_hash(), str(self.encoder.max_length))
        return cache.fetch({"vectors of a trained network": weights}, texts, compute).flat

    @cached_property
    def utterance_columns(self) -> Array:
        """Probabilities [n, intents] of the training utterances before any review."""
        return self.columns.probabilities([u.text for u in self.utterances], self.utterance_vectors.numpy())

    @property
    def classes_(self) -> Names:
        """The names of the intents in the order of the columns of `predict_proba`, [intents]."""
        return np.array([intent.name for intent in self.intents], dtype=object)

    @property
    def labels_(self) -> Names:
        """The intent of each training utterance, [n]: its label, or what was discovered; None for no intent."""
        names = [None if u.intent is None else self.intents[u.intent].name for u in self.utterances]
        return np.array(names, dtype=object)

    @property
    def n_known(self) -> int:
        """The number of known intents."""
        return sum(intent.known for intent in self.intents)

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.network.classifier.weight.device

    def to(self, device: torch.device | str) -> IntentModel:
        """Move the model to a device, in place, as torch does."""
        self.encoder.to(device)
        self.network.to(device)
        self.__dict__.pop("_session", None)  # another device may need another session
        return self

    def with_names(self, names: Sequence[str]) -> IntentModel:
        """Return the same model with other names of its intents, one for each, in order."""
        new_name = dict(zip((intent.name for intent in self.intents), names, strict=True))
        renamed = []
        for intent in self.intents:
            overlaps = tuple(replace(o, name=new_name.get(o.name, o.name)) for o in intent.overlaps)
            renamed.append(replace(intent, name=new_name[intent.name], overlaps=overlaps))
        return replace(self, intents=tuple(renamed))

    def with_ids(self, ids: Sequence[str]) -> IntentModel:
        """Return the same model with other ids of its intents, one for each, in order."""
        return replace(self, intents=tuple(replace(i, id=new) for i, new in zip(self.intents, ids, strict=True)))

    def in_order(self, order: Sequence[int]) -> IntentModel:
        """Return the same model with its utterances in another order."""
        return replace(self, utterance_source=[self.utterances[i] for i in order])

    def similar_intents(self, count: int) -> list[list[int]]:
        """Return the positions of the `count` intents with the most similar prototypes to each intent's, best first."""
        prototypes = torch.from_numpy(self.columns.prototypes)
        similarity = (prototypes @ prototypes.T).fill_diagonal_(-torch.inf)
        order: list[list[int]] = rank_descending(similarity)[:, :count].tolist()
        return [[j for j in row if j != i] for i, row in enumerate(order)]

    def with_known(self, names: Collection[str]) -> IntentModel:
        """Return the same model in which the intents of these names are known, and come first; all others are new."""
        order = sorted(range(len(self.intents)), key=lambda i: self.intents[i].name not in names)
        new_position: dict[int | None, int | None] = {old: new for new, old in enumerate(order)} | {None: None}
        changed = replace(
            self,
            network=self.network.with_columns(order),
            intents=tuple(replace(self.intents[i], known=self.intents[i].name in names, accepted=False) for i in order),
            utterance_source=[replace(u, intent=new_position[u.intent]) for u in self.utterances],
        )
        return changed._with_own_probabilities()

    def with_accepted(self, names: Collection[str]) -> IntentModel:
        """Return the same model with a mark on these intents: they were found in logs, and a person accepted them."""
        return replace(self, intents=tuple(replace(i, accepted=i.accepted or i.name in names) for i in self.intents))

    def _with_own_probabilities(self) -> IntentModel:
        """Return the same model, whose stored utterances and intents are as certain as it is of them."""
        if self.calibration.reliability == 1 or not self.utterances:  # they do not depend on which intents are new
            return self
        texts = [u.text for u in self.utterances]
        probability = self.columns.answers(texts, self.utterance_vectors.numpy())[0].round(4).tolist()
        utterances = [replace(u, probability=p) for u, p in zip(self.utterances, probability, strict=True)]
        certainty = [certainty_of(u for u in utterances if u.intent == i) for i in range(len(self.intents))]
        intents = [replace(intent, certainty=c) for intent, c in zip(self.intents, certainty, strict=True)]
        return replace(self, intents=tuple(intents), utterance_source=utterances)

    def _embed(self, texts: Sequence[str]) -> Array:
        size = TEXTS_PER_BATCH if self.device.type == "cpu" else TEXTS_PER_BATCH_ON_GPU
        return in_batches(lambda batch: self._vectors(batch, self._cache), texts, self.encoder.width, size)

    def predict_ids(self, texts: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the position of the most probable intent in `intents` for each text, [n]; -1 for no intent."""
        return ids_of(self.predict_proba(texts))

    def _vectors(self, texts: Sequence[str], cache: FeatureCache | None) -> Array:
        """Return the embeddings of texts, [n, d].

        No cache is used unless one is given, so that nothing is stored of texts that are only classified.
        """
        session = self._session if cache is None else None
        if session is not None:
            from newfound.encoders.onnx.engine import vectors_of

            return vectors_of(session, self.encoder.tokenize(texts))
        encoder = copy(self.encoder)  # a shallow copy with the same weights, because other threads use the original
        encoder.cache = cache
        features = encoder.features(texts, self.tune)
        batches = whole_corpus(features.data.lengths, self.device)
        vectors: Array = embed(self.network, features.to(self.device), batches).cpu().numpy()
        return vectors

    def pretrained_vectors(self, texts: Sequence[str]) -> Array:
        """Return the vectors of the pretrained encoder, which has learned nothing from the model's logs, [n, d]."""
        encoder = copy(self.encoder)
        encoder.cache = self._cache
        vectors: Array = encoder.features(texts, encoder.tune("heads")).data.flat.float().cpu().numpy()
        return vectors

    @cached_property
    def _session(self) -> GraphSession | None:
        """What computes embeddings with ONNX Runtime, the trained layers included; None if torch does it."""
        return self.encoder.session(self.network.tail if self.tune.layers else None, self.network.dense)

    def has_graph(self) -> bool:
        """Return whether ONNX Runtime computes embeddings, which several threads may then do at the same time.

        Raises:
            EncoderError: The precision is int8, and there is no graph.
        """
        return self._session is not None

    def graph_problem(self) -> str | None:
        """Return why torch encodes on a CPU although ONNX Runtime is installed; None if it does not."""
        return None if self.has_graph() else self.encoder.graph_problem

    def with_precision(self, precision: Precision) -> IntentModel:
        """Return the same model with an encoder of another precision: fp32, or int8 on a CPU."""
        encoder = self.encoder.with_precision(precision)
        return self if encoder is self.encoder else replace(self, encoder=encoder)

    def with_cache(self, cache: FeatureCache | None) -> IntentModel:
        """Return the same model, which keeps what the frozen layers compute of texts; by default nothing is kept."""
        changed = replace(self)
        changed._cache = cache
        return changed

    def save(
        self,
        folder: str | Path,
        *,
        overwrite: bool = False,
        with_encoder: bool = False,
        with_utterances: bool = True,
    ) -> None:
        """Write the model to a folder.

        Args:
            folder: Is created if it does not exist.
            overwrite: Whether an earlier model in the folder may be replaced.
            with_encoder: Include the pretrained encoder, so that the folder needs nothing else.
            with_utterances: Include the training utterances, which review, export and update need. Without them, the
                descriptions of the intents have no utterances either; names and keywords stay.

        Raises:
            TargetExists: There is something in the folder that may not be replaced.
        """
        from newfound.model.folder import save

        save(self, Path(folder), overwrite=overwrite, with_encoder=with_encoder, with_utterances=with_utterances)


def stamp_provenance(provenance: dict[str, Any]) -> dict[str, Any]:
    """Return the provenance of a freshly fitted model, with the time and the versions of everything involved."""
    return {**provenance, "created": datetime.now(UTC).isoformat(timespec="seconds"), "versions": versions()}


def versions() -> dict[str, str]:
    """Return the versions of newfound, Python and the libraries that results depend on."""
    packages = ("torch", "transformers", "sentence-transformers", "numpy", "scikit-learn")
    own = {"newfound": __version__, "python": platform.python_version()}
    return own | {package: version(package) for package in packages}
