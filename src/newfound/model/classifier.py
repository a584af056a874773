"""`IntentModel`: the fitted classifier over known and new intents. This module does not need torch."""

from __future__ import annotations

import platform
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from newfound.data.corpus import Corpus
from newfound.errors import DataError, ModelError
from newfound.model.head import Array, Head, Names, ids_of, round_probability, text_classifier_tags
from newfound.model.types import Calibration, Intent, Prediction, RankedIntent, Utterance, certainty_of
from newfound.preparation import Preparation
from newfound.text import is_blank
from newfound.version import __version__

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from newfound.encoders.cache import FeatureCache, StoredVectors
    from newfound.encoders.encoder import Encoder
    from newfound.model.network import NetworkEmbedder

Intents: TypeAlias = Sequence[Intent]
Utterances: TypeAlias = Sequence[Utterance]
UtteranceSource: TypeAlias = Utterances | Callable[[], Iterable[Utterance]]


@dataclass(eq=False, repr=False)
class IntentModel:
    """Classifies utterances into known and new intents. A model never changes; `with_*` methods return another one.

    It is what every method returns, and what `newfound.load` reads with the review decisions applied. It has what
    scikit-learn expects of a fitted classifier.

    Attributes:
        head: Makes probabilities of vectors.
        embed: Makes vectors of texts: a `NetworkEmbedder`, or a stored graph in a model that is only to predict.
        intent_source: The descriptions of the intents, or a function that makes them when they are needed.
        utterance_source: The training utterances, or a function that reads them when they are needed.
        provenance: What the model was made from, and how.
        stored_vectors: Vectors of texts that were encoded before.
        thresholds: The least probability of each intent that keeps a promise, by name; empty without any.
        reviewed: The review (`newfound.review.reviewed.ReviewedModel`) that made the head; None for a model as it was
            fitted.
    """

    head: Head
    embed: Callable[[Sequence[str]], Array]
    intent_source: Intents | Callable[[], Intents]
    utterance_source: UtteranceSource = ()
    provenance: dict[str, Any] = field(default_factory=dict)
    stored_vectors: StoredVectors | None = None
    thresholds: Mapping[str, float] = field(default_factory=dict)
    reviewed: Any = None
    _estimator_type = "classifier"  # scikit-learn before version 1.6

    @classmethod
    def of(
        cls,
        embedder: NetworkEmbedder,
        intents: Intents,
        calibration: Calibration,
        provenance: dict[str, Any],
        utterances: UtteranceSource = (),
    ) -> IntentModel:
        """Return the model of a network with one intent for each column of its classifier, known intents first."""
        weight = embedder.network.classifier.weight.detach().float().cpu().numpy()
        return cls(Head.of(weight, intents, calibration), embedder, tuple(intents), utterances, provenance)

    def __repr__(self) -> str:
        new = len(self.names) - self.n_known
        return f"IntentModel({self.n_known} known and {new} new intents, encoder {self.encoder.name!r})"

    @cached_property
    def intents(self) -> tuple[Intent, ...]:
        """The descriptions of the intents, in the order of the columns of `predict_proba`."""
        return tuple(self.intent_source() if callable(self.intent_source) else self.intent_source)

    @cached_property
    def utterances(self) -> tuple[Utterance, ...]:
        """The training utterances with their intents."""
        return tuple(self.utterance_source() if callable(self.utterance_source) else self.utterance_source)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the intents, in the order of the columns of `predict_proba`."""
        return tuple(self.head.statuses)

    @property
    def classes_(self) -> Names:
        """The names of the intents in the order of the columns of `predict_proba`, [intents]."""
        return np.array(self.names, dtype=object)

    @property
    def labels_(self) -> Names:
        """The intent of each training utterance, [n]: its label, or what was discovered; None for no intent."""
        return np.array([u.intent for u in self.utterances], dtype=object)

    @property
    def n_known(self) -> int:
        """The number of known intents."""
        return sum(status == "known" for status in self.head.statuses.values())

    @cached_property
    def preparation(self) -> Preparation | None:
        """How messages are prepared before they are classified; None if they are read as they are."""
        return Preparation.of(self.provenance)

    def read(self, messages: Sequence[str]) -> tuple[Sequence[str], Array]:
        """Return what is read of messages, [n], and its embeddings, [n, d].

        Of several things that may be read of a long message, it is what is most typical of the intents.
        """
        if self.preparation is None:
            return messages, self._vectors(messages)
        readings = list(map(self.preparation.readings, messages))
        texts = [text for own in readings for text in own]
        vectors = self._vectors(texts)
        if len(texts) == len(messages):
            return texts, vectors
        outliers = self.head.outliers(vectors)
        rows = np.split(np.arange(len(texts)), np.cumsum([len(own) for own in readings])[:-1])
        chosen = [int(own[outliers[own].argmin()]) for own in rows]
        return [texts[i] for i in chosen], vectors[chosen]

    def transform(self, texts: Sequence[str]) -> Array:
        """Return the embeddings [n, d] of texts."""
        return self.read(texts)[1]

    def _vectors(self, texts: Sequence[str]) -> Array:
        """Return the embeddings [n, d] of what is read."""
        if self.stored_vectors is None:
            return self.embed(texts)
        vectors = self.stored_vectors.find(texts)
        missing = [i for i, vector in enumerate(vectors) if vector is None]
        if len(missing) == len(texts):
            return self.embed(texts)
        for i, vector in zip(missing, self.embed([texts[i] for i in missing]), strict=True):
            vectors[i] = vector
        return np.stack([vector for vector in vectors if vector is not None])

    def predict_proba(self, texts: Sequence[str]) -> Array:
        """Return probabilities [n, intents], in the order of `classes_`.

        What a row lacks to 1 is the probability of no intent.
        """
        return self.head.probabilities(*self.read(texts))

    def outlier_scores(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return how unlike all intents each text is, from 0 to 1 (see `Prediction.outlier`)."""
        return self.head.outliers(self.transform(texts))

    def predict(self, texts: Sequence[str]) -> list[str | None]:
        """Return the name of the most probable intent of each text; None for no intent."""
        return [prediction.intent for prediction in self.classify(texts)]

    def predict_ids(self, texts: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the position of the most probable intent in `intents` for each text, [n]; -1 for no intent."""
        return ids_of(self.predict_proba(texts))

    def classify(self, texts: Sequence[str], *, top: int = 0) -> list[Prediction]:
        """Return one prediction per text. All that classifies texts goes through here, so that answers agree.

        Args:
            texts: The texts to classify.
            top: How many of the most probable intents each prediction holds.
        """
        (own, vectors), names, statuses = self.read(texts), self.names, self.head.statuses
        (value, best, probabilities), outliers = self.head.answers(own, vectors), self.head.outliers(vectors)
        ranked = _ranked_intents(probabilities, names, top)
        predictions = []
        for text, i, p, o, r in zip(texts, best.tolist(), value.tolist(), outliers.tolist(), ranked, strict=True):
            name = names[i] if i < len(names) else None
            status = None if name is None else statuses[name]
            outlier = 1.0 if is_blank(text) else o
            known, p = status == "known", round_probability(p)
            id, path = (None, None) if name is None else (self.head.ids[name], self.head.paths.get(name))
            above = name is not None and p >= self.thresholds.get(name, np.inf) if self.thresholds else None
            predictions.append(Prediction(text, name, known, p, outlier, status, r, id, path, above))
        return predictions

    def score(self, texts: Sequence[str], labels: Sequence[str | None]) -> float:
        """Return the share of texts, from 0 to 1, whose label is predicted by name; texts without a label do not count.

        `newfound.evaluate` says more, and compares new intents whatever they are called.
        """
        corpus = Corpus.of(texts, labels).labelled()
        if not len(corpus):
            raise DataError("no labelled utterance to compare with; give each text its label")
        pairs = zip(self.predict(corpus.texts), corpus.labels, strict=True)
        return sum(predicted == label for predicted, label in pairs) / len(corpus)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags

        return text_classifier_tags(Tags(estimator_type=None, target_tags=TargetTags(required=True)))

    def graph_problem(self) -> str | None:
        """Return why torch encodes on a CPU although ONNX Runtime is installed; None if it does not."""
        of_embedder = getattr(self.embed, "graph_problem", None)  # a stored graph has none
        return None if of_embedder is None else of_embedder()

    @property
    def embedder(self) -> NetworkEmbedder:
        """What makes vectors of texts with the network."""
        from newfound.model.network import NetworkEmbedder

        assert isinstance(self.embed, NetworkEmbedder)  # a model with a stored graph is asked for predictions only
        return self.embed

    @property
    def encoder(self) -> Encoder:
        """The pretrained encoder."""
        return self.embedder.encoder

    @cached_property
    def utterance_vectors(self) -> Tensor:
        """Embeddings of the training utterances, [n, d], computed once from the features in the cache."""
        return self.embedder.of_training([u.text for u in self.utterances])

    @cached_property
    def utterance_columns(self) -> Array:
        """Probabilities [n, columns] of the training utterances before any review."""
        return self.head.of_columns([u.text for u in self.utterances], self.utterance_vectors.numpy())

    def to(self, device: torch.device | str) -> IntentModel:
        """Move the model to a device, in place, as torch does."""
        self.embedder.to(device)
        return self

    def with_cache(self, cache: FeatureCache | None) -> IntentModel:
        """Return the same model, which keeps what the frozen layers compute of texts; by default nothing is kept."""
        return replace(self, embed=replace(self.embedder, cache=cache))

    def with_names(self, names: Sequence[str]) -> IntentModel:
        """Return the same model with other names of its intents, one for each, in order."""
        new_name = dict(zip(self.names, names, strict=True))
        renamed = []
        for intent in self.intents:
            overlaps = tuple(replace(o, name=new_name.get(o.name, o.name)) for o in intent.overlaps)
            renamed.append(replace(intent, name=new_name[intent.name], overlaps=overlaps))
        utterances = [u if u.intent is None else replace(u, intent=new_name[u.intent]) for u in self.utterances]
        return self.with_intents(renamed, utterances)

    def with_known(self, names: Collection[str], accepted: Collection[str] = ()) -> IntentModel:
        """Return the same model in which the intents of these names are known, and come first; all others are new.

        Those that were found in logs, and that a person accepted, get a mark.
        """
        order = sorted(range(len(self.intents)), key=lambda i: self.names[i] not in names)
        ordered = [self.intents[i] for i in order]
        intents = [replace(i, known=i.name in names, accepted=i.name in accepted) for i in ordered]
        embedder = replace(self.embedder, network=self.embedder.network.with_columns(order))
        changed = IntentModel.of(embedder, intents, self.head.calibration, self.provenance, self.utterances)
        if self.head.calibration.reliability == 1 or not self.utterances:
            return changed
        # How certain the model is of its utterances depends on which intents are new.
        texts = [u.text for u in self.utterances]
        probability = changed.head.answers(texts, changed.utterance_vectors.numpy())[0].round(4).tolist()
        utterances = [replace(u, probability=p) for u, p in zip(self.utterances, probability, strict=True)]
        certainty = [certainty_of(u for u in utterances if u.intent == intent.name) for intent in intents]
        return changed.with_intents(
            [replace(i, certainty=c) for i, c in zip(intents, certainty, strict=True)], utterances
        )

    def with_intents(self, intents: Intents, utterances: Utterances | None = None) -> IntentModel:
        """Return the same model with other descriptions of its intents, and with other utterances."""
        source = self.utterance_source if utterances is None else utterances
        return IntentModel.of(self.embedder, intents, self.head.calibration, self.provenance, source)

    def similar_intents(self, count: int) -> list[list[int]]:
        """Return the positions of the `count` intents with the most similar prototypes to each intent's, best first."""
        import torch

        from newfound.algorithms.neighbours import rank_descending

        prototypes = torch.from_numpy(self.head.prototypes)
        similarity = (prototypes @ prototypes.T).fill_diagonal_(-torch.inf)
        order: list[list[int]] = rank_descending(similarity)[:, :count].tolist()
        return [[j for j in row if j != i] for i, row in enumerate(order)]

    def save(
        self, folder: str | Path, *, overwrite: bool = False, with_encoder: bool = False, with_utterances: bool = True
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
            ModelError: Review decisions made the model of another one; they are not part of what would be written.
        """
        from newfound.model.folder import save

        if self.reviewed is not None:
            raise ModelError("review decisions are not saved with a model; copy its folder, or refit it")
        save(self, Path(folder), overwrite=overwrite, with_encoder=with_encoder, with_utterances=with_utterances)


def _ranked_intents(probabilities: Array, names: Sequence[str], top: int) -> list[tuple[RankedIntent, ...]]:
    """Return the most probable intents of each row, `top` at most, the best first; none of a row of zeros."""
    count = min(top, len(names))
    if not count:
        return [()] * len(probabilities)
    index = np.argsort(-probabilities, axis=1, kind="stable")[:, :count]
    value = np.take_along_axis(probabilities, index, axis=1)
    return [
        tuple(RankedIntent(names[i], round_probability(p)) for i, p in zip(row, values, strict=True) if values[0] > 0)
        for row, values in zip(index.tolist(), value.tolist(), strict=True)
    ]


def versions() -> dict[str, str]:
    """Return the versions of newfound, Python and the libraries that results depend on."""
    packages = ("torch", "transformers", "sentence-transformers", "numpy", "scikit-learn")
    own = {"newfound": __version__, "python": platform.python_version()}
    return own | {package: version(package) for package in packages}
