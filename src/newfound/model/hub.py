"""Models on the Hugging Face hub: `hf://owner/name` as a model folder. Its client is imported only then."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from newfound.errors import HubError, SettingsError
from newfound.files import folder_atomically, write_atomically
from newfound.paths import hub_cache_dir
from newfound.text import first_line

if TYPE_CHECKING:
    from huggingface_hub import HfApi

REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
ADDRESS = re.compile(rf"hf:/({REPOSITORY.pattern})(?:@([\w./-]+))?")  # `Path` makes one slash of two
COMMIT = re.compile("[0-9a-f]{40}")
FILES_TO_FETCH = ["*.json", "*.jsonl", "*.safetensors", "*.sqlite3", "*.txt", "*.model", "README.md"]
REFUSED = (401, 403)


def model_folder(model: str | Path) -> Path:
    """Return a model folder; a model on the hub is fetched into newfound's cache, once in a process.

    Args:
        model: A folder, or `hf://owner/name`, with `@` and a branch, a tag or a commit if it is not to be the latest.

    Raises:
        HubError: The hub cannot be reached, or does not have it.
    """
    if not Path(model).as_posix().startswith("hf:/"):
        return Path(model)
    match = ADDRESS.fullmatch(Path(model).as_posix())
    if match is None:
        raise SettingsError(f"{model}: give hf://owner/name, or hf://owner/name@revision")
    return _fetch(match[1], match[2] or "main", open_hub().endpoint)


@cache
def _fetch(repository: str, revision: str, endpoint: str) -> Path:
    address, home = f"hf://{repository}", hub_cache_dir() / quote(f"{endpoint}/{repository}", safe="")
    latest = home / f"{quote(revision, safe='')}.commit"  # which commit a revision was when it was last asked for
    try:
        with explain(f"{address}@{revision}"):
            commit = str(open_hub().model_info(repository, revision=revision).sha)
    except HubUnreachable:
        if not latest.is_file():
            raise
        commit = latest.read_text()
    if not COMMIT.fullmatch(commit):
        raise HubError(f"{address}: the hub named no commit")
    folder = home / commit
    if not folder.is_dir():
        with folder_atomically(folder) as target, explain(address):
            open_hub().snapshot_download(repository, revision=commit, local_dir=target, allow_patterns=FILES_TO_FETCH)
            shutil.rmtree(target / ".cache", ignore_errors=True)
    write_atomically(latest, commit.encode())
    return folder


def open_hub() -> HfApi:
    """Return the hub's client, for the server that `HF_ENDPOINT` names now."""
    from huggingface_hub import HfApi
    from huggingface_hub.constants import ENDPOINT

    return HfApi(endpoint=os.environ.get("HF_ENDPOINT") or ENDPOINT, library_name="newfound")


class HubUnreachable(HubError):
    """The hub did not answer."""


@contextmanager
def explain(address: str) -> Iterator[None]:
    """Turn what the hub's client raises into one line."""
    from huggingface_hub import errors

    try:
        yield
    except HubError:
        raise
    except errors.RevisionNotFoundError:
        raise HubError(f"{address}: the hub has the model, but not this revision") from None
    except errors.RepositoryNotFoundError:
        problem = "no such model on the hub, or it is private and the token may not see it"
        raise HubError(f"{address}: {problem}; check the name", "hub_token") from None
    except errors.HfHubHTTPError as error:
        status = error.response.status_code
        if status in REFUSED:
            raise HubError(f"{address}: the hub refuses the token for this (HTTP {status})", "hub_token") from None
        raise HubError(f"{address}: the hub answered with HTTP {status} ({first_line(error)[:200]})") from None
    except Exception as error:  # its HTTP library differs from version to version
        problem = f"the hub cannot be reached ({first_line(error)[:200] or type(error).__name__})"
        raise HubUnreachable(f"{address}: {problem}; check the network, or give a model folder") from error
