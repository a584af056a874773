"""Put a model on the Hugging Face hub with a card about it, without customers' texts unless they are asked for."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from newfound.encoders.registry import RELEASES
from newfound.errors import HubError, SettingsError
from newfound.files import CARD_FILE, GROUPS_FILE, REVIEW_FILE, THRESHOLDS_FILE, to_json
from newfound.model.about import ABOUT_FILE, ENCODER_FOLDER, UTTERANCES_FILE, WEIGHTS_FILE, Description, inside, loading
from newfound.model.hub import REPOSITORY, explain, open_hub
from newfound.model.sidecars import read_groups
from newfound.model.types import Intent, KnownCheck, unquoted_name
from newfound.review.store import ReviewStore
from newfound.version import __version__
from newfound.workflows.assigned import read_intents

FILES_TO_COPY = (WEIGHTS_FILE, GROUPS_FILE, THRESHOLDS_FILE, CARD_FILE)  # they have no texts of customers
OF_AN_EARLIER_PUSH = [UTTERANCES_FILE, REVIEW_FILE, f"{ENCODER_FOLDER}/*", GROUPS_FILE, THRESHOLDS_FILE]
KINDS_WITH_TEXTS = ("move", "split", "divide")  # of decisions


@dataclass(frozen=True, slots=True)
class PushResult:
    """Where the model is, for people (`url`) and for newfound (`address`), and at which commit."""

    url: str
    address: str
    commit: str


def push(
    model: str | Path,
    to: str,
    *,
    private: bool = False,
    with_utterances: bool = False,
    encoder: str | None = None,
) -> PushResult:
    """Put a model folder on the Hugging Face hub, with its review decisions.

    Args:
        model: The model folder.
        to: The model on the hub, as owner/name. It is created if it does not exist.
        private: Only its owner may see it.
        with_utterances: Also publish the training utterances, which are customers' texts. Without them the model
            predicts, but cannot be reviewed, updated or exported.
        encoder: Where the model's encoder lies, if it cannot be found and the review takes it.

    Raises:
        HubError: There is no token, or the hub cannot be reached or refuses it.
    """
    from huggingface_hub import get_token

    repository = to.removeprefix("hf://")
    if not REPOSITORY.fullmatch(repository):
        raise SettingsError(f"{to}: give owner/name, the name of a model on the hub")
    address, hub = f"hf://{repository}", open_hub()
    with tempfile.TemporaryDirectory(prefix="newfound-push-") as temporary, loading(model):
        staged = Path(temporary)
        about = _stage(Path(model), staged, with_utterances=with_utterances)
        if not (staged / CARD_FILE).exists():
            intents = [replace(i, name=unquoted_name(i)) for i in read_intents(model, encoder)]
            card = model_card(about, intents, address)
            (staged / CARD_FILE).write_text(card, encoding="utf-8")
        if get_token() is None:
            raise HubError(f"{address}: there is no token for the hub", "hub_token")
        with explain(address):
            hub.create_repo(repository, private=private or None, exist_ok=True)
            if private and not hub.model_info(repository).private:
                raise HubError(f"{address}: is public already, nothing was put there; make it private on the hub first")
            said = f"newfound {__version__}"
            commit = hub.upload_folder(
                repo_id=repository, folder_path=staged, commit_message=said, delete_patterns=OF_AN_EARLIER_PUSH
            )
    return PushResult(f"{hub.endpoint}/{repository}", address, commit.oid)


def _stage(folder: Path, target: Path, *, with_utterances: bool) -> dict[str, Any]:
    """Write what is published to a folder, and return the description of the model as it is published."""
    about = Description.read(folder).about
    about["encoder"]["name"] = public_name(about["encoder"]["name"])
    names = {} if with_utterances else {i.name: unquoted_name(i) for i in Description.read(folder).intents}
    if not with_utterances:
        about["intents"] = [{**entry, "exemplars": [], "border": []} for entry in about["intents"]]
        about = _with_names(about, names)
    (target / ABOUT_FILE).write_bytes(to_json(about))
    for name in (*FILES_TO_COPY, *([UTTERANCES_FILE] if with_utterances else [])):
        if not with_utterances and name == GROUPS_FILE and "“" in str(read_groups(folder)):
            continue  # names of groups may quote utterances
        if (folder / name).exists() or name == WEIGHTS_FILE:  # which must be there
            shutil.copyfile(inside(folder, name), target / name)
    if about["encoder"].get("included"):
        shutil.copytree(inside(folder, ENCODER_FOLDER), target / ENCODER_FOLDER)
    decisions = [e.decision for e in ReviewStore(folder).entries() if e.undone_at is None and e.kind != "comment"]
    if not with_utterances and any(decision.kind in KINDS_WITH_TEXTS for decision in decisions):
        raise SettingsError(f"{folder}: its review has moved or split utterances, and has their texts", "publish_texts")
    if decisions:
        decisions = [replace(d, arguments=_with_names(d.arguments, names)) for d in decisions]
        ReviewStore(target).decide(decisions, author="newfound push")
    return about


def _with_names(value: Any, names: Mapping[str, str]) -> Any:
    """Return a JSON value in which intents have other names."""
    if isinstance(value, dict):
        return {names.get(key, key): _with_names(item, names) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_names(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str) else value


def model_card(about: Mapping[str, Any], intents: Sequence[Intent], address: str) -> str:
    """Return the card of a model from the content of `model.json`, its intents, and its address (`hf://owner/name`)."""
    from jinja2 import Environment

    provenance, encoder = about["provenance"], about["encoder"]["name"]
    release, unknown = RELEASES.get(encoder), {"labelled": "?", "unlabelled": "?", "fingerprint": "?"}
    template = resources.files("newfound.workflows").joinpath("card.md.jinja").read_text("utf-8")
    return (
        Environment(trim_blocks=True, keep_trailing_newline=True)
        .from_string(template)
        .render(
            about=about,
            provenance=provenance,
            data={**unknown, **provenance.get("data", {})},
            release=release,
            encoder=f"{release.repo} ({release.licence})" if release else encoder,
            known_check=KnownCheck.of(provenance),
            name=address.rsplit("/", 1)[-1],
            address=address,
            intents=intents,
            n_known=sum(intent.known for intent in intents),
        )
    )


def public_name(encoder: str) -> str:
    """Return the name of an encoder without the folders of this machine."""
    return encoder if REPOSITORY.fullmatch(encoder) else re.split(r"[/\\]", encoder.rstrip("/\\"))[-1]
