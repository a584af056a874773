"""Put a model on the Hugging Face hub, without customers' texts unless they are asked for."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

from newfound.encoders.registry import RELEASES
from newfound.errors import HubError, SettingsError
from newfound.files import CARD_FILE, REVIEW_FILE, to_json
from newfound.model.about import (
    ABOUT_FILE,
    ENCODER_FOLDER,
    UTTERANCES_FILE,
    WEIGHTS_FILE,
    describe,
    inside,
    loading,
)
from newfound.model.card import kept_card, model_card, public_name
from newfound.model.hub import REPOSITORY, explain, open_hub
from newfound.review.state import described_without_network
from newfound.review.store import ReviewStore
from newfound.training.progress import LoggingReporter, Reporter
from newfound.version import __version__

FILES_WITHOUT_TEXTS = ("groups.json", "thresholds.json")  # further files of a model
KINDS_WITH_TEXTS = ("move", "split")  # of decisions


@dataclass(frozen=True, slots=True)
class PushRequest:
    """Which model to put on the hub, and where.

    Attributes:
        model: The model folder.
        to: The model on the hub, as owner/name. It is created if it does not exist.
        private: Only its owner may see it.
        with_utterances: Also publish the training utterances, which are customers' texts. Without them the model
            predicts, but cannot be reviewed, updated or exported.
        encoder: Where the model's encoder lies, if it cannot be found and the review takes it.
    """

    model: str | Path
    to: str
    _: KW_ONLY
    private: bool = False
    with_utterances: bool = False
    encoder: str | None = None


@dataclass(frozen=True, slots=True)
class PushResult:
    """Where the model is, for people (`url`) and for newfound (`address`), at which commit, and its files."""

    url: str
    address: str
    commit: str
    files: tuple[str, ...]


def push(request: PushRequest, *, reporter: Reporter | None = None) -> PushResult:
    """Put a model folder on the Hugging Face hub, with its review decisions.

    Args:
        request: Which model to put there, and where.
        reporter: Is told what is unusual.

    Raises:
        HubError: There is no token, or the hub cannot be reached or refuses it.
    """
    from huggingface_hub import get_token

    if not isinstance(request.model, str | Path):
        raise SettingsError("save the model first, and give its folder")
    repository, folder = request.to.removeprefix("hf://"), Path(request.model)
    if not REPOSITORY.fullmatch(repository):
        raise SettingsError(f"{request.to}: give owner/name, the name of a model on the hub")
    address, hub = f"hf://{repository}", open_hub()
    with tempfile.TemporaryDirectory(prefix="newfound-push-") as temporary, loading(folder):
        staged = Path(temporary)
        about = _stage(request, staged, address)
        if get_token() is None:
            raise HubError(f"{address}: there is no token for the hub", "hub_token")
        with explain(address):
            hub.create_repo(repository, private=request.private or None, exist_ok=True)
            is_private = bool(hub.model_info(repository).private)
        if request.private and not is_private:
            raise HubError(f"{address}: is public already, nothing was put there; make it private on the hub first")
        with explain(address):
            gone = [UTTERANCES_FILE, REVIEW_FILE, f"{ENCODER_FOLDER}/*", *FILES_WITHOUT_TEXTS]  # of an earlier push
            said = f"newfound {__version__}"
            commit = hub.upload_folder(
                repo_id=repository, folder_path=staged, commit_message=said, delete_patterns=gone
            )
        files = sorted(path.relative_to(staged).as_posix() for path in staged.rglob("*") if path.is_file())
    encoder = about["encoder"]
    if not encoder.get("included") and encoder["name"] not in RELEASES:
        problem = f"the model does not hold its encoder {public_name(encoder['name'])!r}"
        (reporter or LoggingReporter()).warn(f"{problem}; who loads it must have the encoder, too, and say where it is")
    return PushResult(f"{hub.endpoint}/{repository}", address, commit.oid, tuple(files))


def _stage(request: PushRequest, target: Path, address: str) -> dict[str, Any]:
    """Write what is published to a folder, and return the description of the model as it was."""
    folder, with_utterances = Path(request.model), request.with_utterances
    about, store = describe(folder), ReviewStore(folder)
    without_texts: dict[str, Any] = {} if with_utterances else {"exemplars": [], "border": []}
    encoder = {**about["encoder"], "name": public_name(about["encoder"]["name"])}
    published = {**about, "encoder": encoder, "intents": [{**entry, **without_texts} for entry in about["intents"]]}
    (target / ABOUT_FILE).write_bytes(to_json(published))
    for name in (WEIGHTS_FILE, *FILES_WITHOUT_TEXTS, *([UTTERANCES_FILE] if with_utterances else [])):
        if (folder / name).exists() or name == WEIGHTS_FILE:  # which must be there
            shutil.copyfile(inside(folder, name), target / name)
    if encoder.get("included"):
        shutil.copytree(inside(folder, ENCODER_FOLDER), target / ENCODER_FOLDER)
    decisions = [e.decision for e in store.entries() if e.undone_at is None and e.kind != "comment"]
    if not with_utterances and any(decision.kind in KINDS_WITH_TEXTS for decision in decisions):
        raise SettingsError(f"{folder}: its review has moved or split utterances, and has their texts", "publish_texts")
    if decisions:
        ReviewStore(target).decide(decisions, author="newfound push")
    card = kept_card(folder)
    if card is None:
        shown = described_without_network(store.review(), store.intents)
        if shown is None:
            from newfound.review.reviewed import load

            shown = load(folder, encoder=request.encoder).intents
        card = model_card(about, shown, name=address.rsplit("/", 1)[-1], source=address)
    (target / CARD_FILE).write_bytes(card)
    return about
