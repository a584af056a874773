"""`IntentModel`: the fitted classifier over known and new intents, the one thing every method returns.

On disk it is a folder: `model.json` (what it is) and `weights.safetensors` (what was trained). The pretrained
encoder is found again by name and checked by hash, or lies in the folder itself (`with_encoder=True`).
"""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

import newfound
from newfound.encoders.cache import FeatureCache
from newfound.encoders.encoder import Encoder, Pooling, Tune, default_cache_dir, load_encoder, whole_corpus
from newfound.encoders.registry import RELEASES
from newfound.errors import EncoderError, ModelError, SettingsError
from newfound.files import MODEL_FORMAT, check_replaceable, folder_atomically, to_json
from newfound.network import IntentNetwork, embed

FORMAT_VERSION = 1
ABOUT_FILE, WEIGHTS_FILE, ENCODER_FOLDER = "model.json", "weights.safetensors", "encoder"
UTTERANCES_FILE = "utterances.jsonl"
MOST_ABOUT_BYTES = 64 * 2**20
TEXTS_PER_BATCH = 1_024
UTTERANCES_PER_BATCH = 20_000  # of training: from the cache they cost memory, not time


@dataclass(frozen=True, slots=True)
class Intent:
    """One intent of a fitted model."""

    name: str
    known: bool
    size: int  # training utterances: labelled ones of a known intent, discovered ones of a new intent
    exemplars: tuple[str, ...]  # central ones, each of another kind
    keywords: tuple[str, ...] = ()  # what tells it from the others, best first
    border: tuple[str, ...] = ()  # those nearest to being of another intent


@dataclass(frozen=True, slots=True)
class Utterance:
    """A training utterance as the fitted model sees it: what reviews, reports and later rounds start from."""

    text: str
    intent: int  # position in the model's intents
    labelled: bool  # by its user; otherwise it came from the logs
    probability: float
    count: int = 1  # how often the logs have it


@dataclass(frozen=True, slots=True)
class Prediction:
    text: str
    intent: str | None  # None: of no intent, where a person rejected what it looks like
    known: bool
    probability: float
    outlier: float  # share of labelled training utterances that lie closer to their intent: 1 is like nothing known


class IntentModel:
    """Classifies utterances into known and new intents."""

    def __init__(
        self,
        encoder: Encoder,
        tune: Tune,
        network: IntentNetwork,
        intents: Sequence[Intent],
        temperature: float,
        provenance: dict[str, Any],
        utterances: Sequence[Utterance] | Callable[[], Sequence[Utterance]] = (),
        typical: Sequence[float] = (),
    ) -> None:
        """`utterances` may be a function that reads them once somebody asks.

        `typical`: quantiles of the labelled training utterances' cosine to their intent, for `outlier_scores`.
        """
        self.encoder = encoder
        self.tune = tune
        self.network = network.eval()
        self.intents = tuple(intents)
        self.temperature = temperature
        self.provenance = provenance
        self._utterances = utterances
        self.typical = tuple(typical)

    @classmethod
    def build(
        cls,
        encoder: Encoder,
        tune: Tune,
        network: IntentNetwork,
        intents: Sequence[Intent],
        temperature: float,
        provenance: dict[str, Any],
        utterances: Sequence[Utterance] = (),
        typical: Sequence[float] = (),
    ) -> IntentModel:
        """A freshly fitted model: the provenance gains versions and the time."""
        made = {"created": datetime.now(UTC).isoformat(timespec="seconds"), "versions": versions()}
        return cls(encoder, tune, network, intents, temperature, {**provenance, **made}, utterances, typical)

    def __repr__(self) -> str:
        new = len(self.intents) - self.n_known
        return f"IntentModel({self.n_known} known and {new} new intents, encoder {self.encoder.name!r})"

    @cached_property
    def utterances(self) -> tuple[Utterance, ...]:
        """The training utterances."""
        return tuple(self._utterances() if callable(self._utterances) else self._utterances)

    @cached_property
    def utterance_vectors(self) -> Tensor:
        """Embeddings [n, d] of the training utterances, in their order; made once, from the features training kept."""
        cache = self.encoder.cache or FeatureCache(default_cache_dir())
        pieces = [
            self._vectors(batch, cache).cpu()
            for batch in _batches([u.text for u in self.utterances], UTTERANCES_PER_BATCH)
        ]
        return torch.cat(pieces) if pieces else torch.empty(0, self.encoder.width)

    @property
    def n_known(self) -> int:
        return sum(intent.known for intent in self.intents)

    @property
    def device(self) -> torch.device:
        return self.network.classifier.weight.device

    def to(self, device: torch.device | str) -> IntentModel:
        self.encoder.to(device)
        self.network.to(device)
        return self

    def with_names(self, names: Sequence[str]) -> IntentModel:
        """The same model with its intents called so, one name each."""
        self.intents = tuple(replace(intent, name=name) for intent, name in zip(self.intents, names, strict=True))
        return self

    def with_counts(self, counts: Mapping[str, int]) -> IntentModel:
        """The same model where the utterances from the logs count so often; the intents' sizes follow."""
        self.utterances = tuple(u if u.labelled else replace(u, count=counts.get(u.text, 1)) for u in self.utterances)
        sizes: Counter[int] = Counter()
        for u in self.utterances:
            sizes[u.intent] += 0 if u.labelled else u.count
        self.intents = tuple(
            intent if intent.known else replace(intent, size=sizes[i]) for i, intent in enumerate(self.intents)
        )
        return self

    def with_known(self, names: Collection[str]) -> IntentModel:
        """The same model with these intents known and all others new; known ones come first."""
        order = sorted(range(len(self.intents)), key=lambda i: self.intents[i].name not in names)
        place = {old: new for new, old in enumerate(order)}
        weight = self.network.classifier.weight
        self.network.classifier.weight = torch.nn.Parameter(weight.detach()[order])
        intents = [replace(self.intents[i], known=self.intents[i].name in names) for i in order]
        utterances = [replace(u, intent=place[u.intent]) for u in self.utterances]
        return IntentModel(
            self.encoder, self.tune, self.network, intents, self.temperature, self.provenance, utterances, self.typical
        )

    def transform(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Embeddings [n, d]."""
        pieces = [self._vectors(batch).cpu().numpy() for batch in _batches(texts)]
        return np.concatenate(pieces) if pieces else np.empty((0, self.encoder.width), np.float32)

    def predict_proba(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Probabilities [n, intents], in the order of `intents`."""
        pieces = [self._probabilities(batch).cpu().numpy() for batch in _batches(texts)]
        return np.concatenate(pieces) if pieces else np.empty((0, len(self.intents)), np.float32)

    def predict_ids(self, texts: Sequence[str]) -> npt.NDArray[np.int64]:
        """Positions in `intents`: known ones first."""
        best: npt.NDArray[np.int64] = self.predict_proba(texts).argmax(1).astype(np.int64)
        return best

    def predict(self, texts: Sequence[str]) -> list[str]:
        return [self.intents[i].name for i in self.predict_ids(texts)]

    def classify(self, texts: Sequence[str]) -> list[Prediction]:
        """Predictions with their probability, one per text."""
        vectors = torch.from_numpy(self.transform(texts))
        probability, best = self.probabilities_of(vectors).max(1)
        outlier = self.outliers_of(vectors)
        return [
            Prediction(text, self.intents[i].name, self.intents[i].known, p, o)
            for text, i, p, o in zip(texts, best.tolist(), probability.tolist(), outlier.tolist(), strict=True)
        ]

    def outlier_scores(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """How unlike all intents each text is, from 0 to 1: see `Prediction.outlier`."""
        return self.outliers_of(torch.from_numpy(self.transform(texts)))

    @torch.inference_mode()
    def outliers_of(self, vectors: Tensor) -> npt.NDArray[np.float64]:
        closest = self.network.classifier(vectors.to(self.device).float()).cpu().double().amax(1).numpy()
        if not self.typical:
            plain: npt.NDArray[np.float64] = np.clip(1 - closest, 0, 1)
            return plain
        # Below all that was seen the score goes on growing, so that outliers can still be told from one another.
        shares = [0.0, *np.linspace(0.5 / len(self.typical), 1.0, len(self.typical))]
        found: npt.NDArray[np.float64] = 1 - np.interp(closest, [-1.0, *self.typical], shares)
        return np.round(found, 6)

    def _vectors(self, texts: Sequence[str], cache: FeatureCache | None = None) -> Tensor:
        """Without a cache unless one is given: what users ask is not training data, and none of it is kept."""
        encoder = copy(self.encoder)  # the weights are shared; another thread may be using the original
        encoder.cache = cache
        features = encoder.features(texts, self.tune)
        return embed(self.network, features.to(self.device), whole_corpus(features.data.lengths, self.device))

    @torch.inference_mode()
    def _probabilities(self, texts: Sequence[str]) -> Tensor:
        return self.probabilities_of(self._vectors(texts))

    @torch.inference_mode()
    def probabilities_of(self, vectors: Tensor) -> Tensor:
        """Probabilities [n, intents] of embeddings [n, d]."""
        logits = self.network.classifier(vectors.to(self.device).float())
        probabilities: Tensor = (logits / self.temperature).softmax(-1)
        return probabilities

    def save(
        self,
        folder: str | Path,
        *,
        overwrite: bool = False,
        with_encoder: bool = False,
        with_utterances: bool = True,
    ) -> None:
        """Write the model as a folder; `overwrite` replaces an earlier one, `with_encoder` makes it self-contained.

        `with_utterances` keeps the training utterances, which review, export and update need.
        """
        from safetensors.torch import save_file

        check_replaceable(Path(folder), overwrite)
        tensors = {name: t.cpu().contiguous() for name, t in self.network.classifier_branch().items()}
        about = {
            "format": MODEL_FORMAT,
            "version": FORMAT_VERSION,
            "encoder": {
                "name": self.encoder.name,
                "weights": self.encoder.weights_hash(),
                "pooling": self.encoder.pooling,
                "max_length": self.encoder.max_length,
                "included": with_encoder,
            },
            "tune": {"layers": self.tune.layers, "everything": self.tune.everything},
            "dense": self.network.dense is not None,
            "temperature": self.temperature,
            "typical": list(self.typical),
            "intents": [asdict(intent) for intent in self.intents],
            "provenance": self.provenance,
        }
        with folder_atomically(Path(folder)) as target:
            (target / ABOUT_FILE).write_bytes(to_json(about))
            save_file(tensors, target / WEIGHTS_FILE)
            if with_utterances and self.utterances:
                with (target / UTTERANCES_FILE).open("w", encoding="utf-8") as file:
                    for utterance in self.utterances:
                        file.write(json.dumps(asdict(utterance), ensure_ascii=False) + "\n")
            if with_encoder:
                self.encoder.save(target / ENCODER_FOLDER)


def load(folder: str | Path, *, encoder: str | Encoder | None = None) -> IntentModel:
    """Read a saved model. Nothing in the folder is executed; whatever does not fit is refused by name.

    `encoder` says where the pretrained encoder lies if it is neither a short name nor in the folder.
    """
    folder = Path(folder)
    about = _read_about(folder)
    intents = _read_intents(folder, about)
    loaded = _find_encoder(folder, about, encoder)
    try:
        tune = Tune(int(about["tune"]["layers"]), bool(about["tune"]["everything"]))
        dense = bool(about["dense"])
        temperature = float(about["temperature"])
        provenance = dict(about["provenance"])
        typical = sorted(float(value) for value in about.get("typical", ()))
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{folder / ABOUT_FILE}: damaged ({type(error).__name__}: {error}); fit it again") from None
    if not 0 <= tune.layers <= loaded.depth or not 0 < temperature < float("inf"):
        raise ModelError(f"{folder / ABOUT_FILE}: its values do not fit together; fit it again")
    network = IntentNetwork(loaded.tail(tune), loaded.width, len(intents), dense=dense)
    _fill(network, _read_weights(folder))
    return IntentModel(
        loaded,
        tune,
        network,
        intents,
        temperature,
        provenance,
        lambda: read_utterances(folder, len(intents)),
        typical,
    )


def describe(folder: str | Path) -> dict[str, Any]:
    """The contents of `model.json`, checked; no weights and no encoder are loaded."""
    folder = Path(folder)
    about = _read_about(folder)
    _read_intents(folder, about)
    try:
        about["encoder"]["name"], about["provenance"]["method"], about["provenance"]["created"]
    except (KeyError, TypeError):
        raise ModelError(f"{folder / ABOUT_FILE}: damaged; restore it or fit the model again") from None
    return about


def read_utterances(folder: str | Path, n_intents: int) -> tuple[Utterance, ...]:
    """The training utterances that a model folder keeps; none if it was saved without."""
    path = Path(folder) / UTTERANCES_FILE
    if not path.exists():
        return ()
    found = []
    with _inside(Path(folder), UTTERANCES_FILE).open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                utterance = Utterance(**json.loads(line))
                fits = isinstance(utterance.text, str) and 0 <= utterance.intent < n_intents
            except (ValueError, TypeError):
                fits = False
            if not fits:
                raise ModelError(f"{path}, line {number}: damaged; restore it or fit the model again")
            found.append(utterance)
    return tuple(found)


def _read_intents(folder: Path, about: dict[str, Any]) -> list[Intent]:
    def fits(entry: Any) -> bool:
        kinds = {"name": str, "known": bool, "size": int, "exemplars": list}
        whole = isinstance(entry, dict) and all(type(entry.get(key)) is kind for key, kind in kinds.items())
        lists = [entry.get(key, []) for key in ("exemplars", "keywords", "border")] if whole else []
        texts = all(isinstance(some, list) and all(isinstance(text, str) for text in some) for some in lists)
        return whole and entry["size"] >= 0 and texts

    entries = about.get("intents")
    if not isinstance(entries, list) or len(entries) < 2 or not all(map(fits, entries)):
        raise ModelError(f"{folder / ABOUT_FILE}: damaged (its intents); restore it or fit the model again")
    return [
        Intent(
            e["name"], e["known"], e["size"], *(tuple(e.get(key, ())) for key in ("exemplars", "keywords", "border"))
        )
        for e in entries
    ]


def _read_about(folder: Path) -> dict[str, Any]:
    if folder.is_file():
        raise ModelError(f"{folder}: is a file, not a model folder")
    if not folder.is_dir():
        raise ModelError(f"{folder}: no such model folder; make one with `newfound discover ... --out {folder}`")
    path = _inside(folder, ABOUT_FILE)
    try:
        if path.stat().st_size > MOST_ABOUT_BYTES:
            raise ModelError(f"{path}: larger than any model description; this is not a newfound model")
        about = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: damaged ({_reason(error)}); restore it or fit the model again") from None
    if not isinstance(about, dict) or about.get("format") != MODEL_FORMAT:
        raise ModelError(f"{path}: not a description of a newfound model")
    if about.get("version") != FORMAT_VERSION:
        raise ModelError(
            f"{path}: of format version {about.get('version')}, this newfound reads {FORMAT_VERSION}; update newfound"
        )
    return about


def _find_encoder(folder: Path, about: dict[str, Any], given: str | Encoder | None) -> Encoder:
    described = about.get("encoder")
    if not isinstance(described, dict) or not isinstance(described.get("name"), str):
        raise ModelError(f"{folder / ABOUT_FILE}: damaged (no encoder in it); fit the model again")
    if isinstance(given, Encoder):
        found = given
    else:
        name = given or _encoder_place(folder, described)
        pooling, max_length = described.get("pooling"), described.get("max_length")
        if pooling not in (None, *get_args(Pooling)) or type(max_length) is not int or not 3 <= max_length <= 10_000:
            raise ModelError(f"{folder / ABOUT_FILE}: damaged (its encoder); restore it or fit the model again")
        try:
            found = load_encoder(name, pooling=pooling, max_length=max_length)
        except EncoderError as error:
            raise ModelError(f"{folder}: its encoder {name!r} cannot be loaded: {error}") from None
    if found.weights_hash() != described.get("weights"):
        raise ModelError(f"{folder}: encoder {found.name!r} is not the one this model was fitted on; pass --encoder")
    return found


def _encoder_place(folder: Path, described: dict[str, Any]) -> str:
    """Where a model file may send us: into its own folder, to an official release, or to a local folder."""
    name: str = described["name"]
    if described.get("included"):
        return str(_inside(folder, ENCODER_FOLDER))
    if name in RELEASES or Path(name).expanduser().is_dir():
        return name
    raise ModelError(f"{folder}: was fitted on the encoder {name!r}; say where it is with --encoder")


def _inside(folder: Path, name: str) -> Path:
    """A member of the folder that exists and is not a link to somewhere else."""
    path = folder / name
    if not path.exists():
        raise ModelError(f"{path}: missing; the model folder is damaged, restore it or fit the model again")
    if path.resolve().parent != folder.resolve():
        raise ModelError(f"{path}: leads out of the model folder; refused")
    return path


def _read_weights(folder: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    path = _inside(folder, WEIGHTS_FILE)
    try:
        tensors: dict[str, Tensor] = load_file(path)
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelError(f"{path}: damaged ({_reason(error)}); restore it or fit the model again") from None
    return tensors


@torch.no_grad()
def _fill(network: IntentNetwork, tensors: dict[str, Tensor]) -> None:
    """Copy saved tensors into the network: exactly the expected names and shapes, and finite numbers."""
    wanted = network.classifier_branch()
    if set(wanted) != set(tensors):
        odd = sorted(set(wanted) ^ set(tensors))
        raise ModelError(f"{WEIGHTS_FILE}: does not belong to this model.json ({len(odd)} tensors differ, as {odd[0]})")
    for name, target in wanted.items():
        if target.shape != tensors[name].shape or not tensors[name].isfinite().all():
            raise ModelError(f"{WEIGHTS_FILE}: tensor {name} has a wrong shape or is not finite; fit the model again")
        target.copy_(tensors[name])


def _batches(texts: Sequence[str], size: int = TEXTS_PER_BATCH) -> list[Sequence[str]]:
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise SettingsError("give a list of texts: strings, and not one string alone")
    return [texts[i : i + size] for i in range(0, len(texts), size)]


def _reason(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:120] if str(error).strip() else type(error).__name__


def versions() -> dict[str, str]:
    """Of everything that can move a result."""
    found = {"newfound": newfound.__version__, "python": platform.python_version()}
    for package in ("torch", "transformers", "sentence-transformers", "numpy", "scikit-learn"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # pragma: no cover - they are dependencies
            found[package] = "absent"
    return found
