"""A model on disk: `model.json` (its description) and `weights.safetensors` (the trained weights).

The pretrained encoder is loaded by name and verified by its hash, or it is in the folder itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

import torch

from newfound.data.said import ALONE
from newfound.encoders.encoder import Encoder, Pooling, Tune, load_encoder
from newfound.encoders.registry import RELEASES
from newfound.errors import EncoderError, EncoderMismatch, ModelError, OtherWeights
from newfound.files import CARD_FILE, MODEL_FORMAT, check_replaceable, folder_atomically, to_json
from newfound.model.about import (
    ABOUT_FILE,
    ENCODER_FOLDER,
    FORMAT_VERSION,
    UTTERANCES_FILE,
    WEIGHTS_FILE,
    Description,
    damaged,
    inside,
    read_calibration,
    stream_utterances,
)
from newfound.model.classifier import IntentModel
from newfound.model.network import IntentNetwork, NetworkEmbedder
from newfound.model.types import Intent, Utterance, unquoted_name
from newfound.text import first_line

STORED_FIELDS = {field.name for field in fields(Intent) if field.init} - {"path"}  # which lies in `groups.json`
MIN_TOKENS, MAX_TOKENS = 3, 10_000  # of a text, for the encoder


def save(
    model: IntentModel,
    folder: Path,
    *,
    overwrite: bool = False,
    with_encoder: bool = False,
    with_utterances: bool = True,
    beside: Mapping[str, bytes] = MappingProxyType({}),
) -> None:
    """Write a model to a folder, and further files by name: all of it, or nothing (`IntentModel.save`).

    Review decisions are not part of it.
    """
    from safetensors.torch import save_file

    check_replaceable(folder, overwrite)
    embedder, calibration = model.embedder, model.head.calibration
    tensors = {name: t.cpu().contiguous() for name, t in embedder.network.classifier_branch().items()}
    if not with_utterances:
        model = model.with_names([unquoted_name(intent) for intent in model.intents])
    intents = model.intents
    if not with_utterances:
        intents = tuple(replace(intent, exemplars=(), border=()) for intent in intents)
    about = {
        "format": MODEL_FORMAT,
        "version": FORMAT_VERSION,
        "encoder": {
            "name": model.encoder.name,
            "weights": model.encoder.weights_hash(),
            "pooling": model.encoder.pooling,
            "max_length": model.encoder.max_length,
            "included": with_encoder,
        },
        "tune": asdict(embedder.tune),
        "dense": embedder.network.dense is not None,
        "temperature": calibration.temperature,
        "typical": list(calibration.typical),
        "reliability": calibration.reliability,
        "intents": [{name: value for name, value in asdict(i).items() if name in STORED_FIELDS} for i in intents],
        "provenance": model.provenance,
    }
    card = folder / CARD_FILE  # for the hub, which a person wrote
    kept = {CARD_FILE: card.read_bytes()} if card.is_file() else {}
    with folder_atomically(folder, partial(check_replaceable, folder, overwrite)) as target:
        (target / ABOUT_FILE).write_bytes(to_json(about))
        save_file(tensors, target / WEIGHTS_FILE)
        for name, content in {**kept, **beside}.items():
            (target / name).write_bytes(content)
        if with_utterances and model.utterances:
            with (target / UTTERANCES_FILE).open("w", encoding="utf-8") as file:
                file.writelines(_lines(model))
        if with_encoder:
            model.encoder.save(target / ENCODER_FOLDER)


def _lines(model: IntentModel) -> Iterator[str]:
    """Yield the lines of the file of utterances, which have the position of their intent in place of its name."""
    position = {name: i for i, name in enumerate(model.names)} | {None: None}
    for u in model.utterances:
        entry = {**{f.name: getattr(u, f.name) for f in fields(Utterance)}, "intent": position[u.intent]}
        if not u.days:
            del entry["days"]
        del entry["said"]
        if u.said is not ALONE:
            entry["said"] = {name: value for name, value in asdict(u.said).items() if value}
        yield json.dumps(entry, ensure_ascii=False) + "\n"


def load(folder: str | Path | Description, *, encoder: str | Encoder | None = None) -> IntentModel:
    """Load a saved model as it was fitted. `newfound.load` applies the review decisions as well.

    Nothing in the folder is executed. The encoder or its path is given if it is neither a short name nor in the folder.

    Raises:
        ModelError: The folder is missing, damaged, or of another version.
        EncoderMismatch: The encoder was not found, or is not the one that the model was fitted on.
    """
    description = Description.read(folder)
    folder, about, intents = description.folder, description.about, description.intents
    pretrained = _find_encoder(folder, about, encoder)
    calibration = read_calibration(folder, about)
    try:
        trained = about["tune"]
        tune = Tune(int(trained["layers"]), bool(trained["everything"]), bool(trained["embeddings"]))
        dense, provenance = bool(about["dense"]), dict(about["provenance"])
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise damaged(folder / ABOUT_FILE, f"{type(error).__name__}: {first_line(error)[:120]}") from None
    if not 0 <= tune.layers <= pretrained.depth:
        raise ModelError(f"{folder / ABOUT_FILE}: its values do not fit together; fit it again")
    network = IntentNetwork(pretrained.tail(tune), pretrained.width, len(intents), dense=dense)
    _load_weights(network, folder)
    utterances = partial(stream_utterances, folder, intents)
    return IntentModel.of(NetworkEmbedder(pretrained, tune, network), intents, calibration, provenance, utterances)


def _find_encoder(folder: Path, about: dict[str, Any], given: str | Encoder | None) -> Encoder:
    """Return the encoder of a model: the given one, or the one that `model.json` names; its hash must be right."""
    described = about["encoder"]
    expected = str(described.get("weights"))
    if isinstance(given, Encoder):
        if given.weights_hash() != expected:
            raise EncoderMismatch(folder, f"encoder {given.name!r} is not the one this model was fitted on")
        return given
    name = given or _encoder_name(folder, described)
    pooling, max_length = described.get("pooling"), described.get("max_length")
    is_length = type(max_length) is int and MIN_TOKENS <= max_length <= MAX_TOKENS
    if pooling not in (None, *get_args(Pooling)) or not is_length:
        raise damaged(folder / ABOUT_FILE, "its encoder")
    try:
        return load_encoder(name, pooling=pooling, max_length=max_length, weights_hash=expected)
    except OtherWeights:
        raise EncoderMismatch(folder, f"encoder {name!r} is not the one this model was fitted on") from None
    except EncoderError as error:
        raise ModelError(f"{folder}: its encoder {name!r} cannot be loaded: {error}") from None


def _encoder_name(folder: Path, described: dict[str, Any]) -> str:
    """Return the encoder to load: in the model folder, an official release, or a local folder; never any other."""
    name: str = described["name"]
    if described.get("included"):
        return str(inside(folder, ENCODER_FOLDER))
    try:
        is_folder = Path(name).expanduser().is_dir()
    except (OSError, ValueError, RuntimeError):  # a path that is too long, contains NUL, or names an unknown user
        is_folder = False
    if name in RELEASES or is_folder:
        return name
    raise EncoderMismatch(folder, f"was fitted on the encoder {name[:200]!r}")


@torch.no_grad()
def _load_weights(network: IntentNetwork, folder: Path) -> None:
    """Copy saved tensors into the network; their names and shapes must be the expected ones, their values finite."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    path, expected = inside(folder, WEIGHTS_FILE), network.classifier_branch()
    try:
        tensors = load_file(path)
    except (SafetensorError, OSError, ValueError, KeyError) as error:
        raise damaged(path, first_line(error)[:120]) from None
    if set(expected) != set(tensors):
        different = sorted(set(expected) ^ set(tensors))
        raise ModelError(
            f"{WEIGHTS_FILE}: does not belong to this model.json ({len(different)} tensors differ, as {different[0]})"
        )
    for name, target in expected.items():
        if target.shape != tensors[name].shape or not tensors[name].isfinite().all():
            raise ModelError(f"{WEIGHTS_FILE}: tensor {name} has a wrong shape or is not finite; fit the model again")
        target.copy_(tensors[name])
