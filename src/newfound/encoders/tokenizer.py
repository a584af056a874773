"""Tokenizers, and prompts of encoders. This module needs neither transformers nor torch, which load slowly.

A prompt is words before every text, which an encoder was trained with (`query: ` of the e5 models). A tokenizer that is
written for a graph has the prompt in it. It also is part of the encoder's hash, which names models and cached vectors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from newfound.errors import EncoderError

TOKENIZER_LOCK = Lock()  # cutting and padding are settings of a tokenizer, which threads share
SETTINGS_FILE = "config_sentence_transformers.json"
# Encoders that need a prompt although their folders name none, by their names.
PROMPTS_OF_FAMILIES = ((re.compile(r"(^|[-_/])e5-(small|base|large)(-v2|-unsupervised)?$"), "query: "),)


class LightTokenizer:
    """The part of the interface of transformers' tokenizers that newfound uses, on the package `tokenizers`."""

    def __init__(self, backend: Any, pad_token: str, pad_token_id: int, unk_token_id: int | None) -> None:
        """Wrap a `tokenizers.Tokenizer`; `unk_token_id` is None if nothing stands for unknown pieces."""
        self.backend_tokenizer = backend
        self.pad_token, self.pad_token_id, self.unk_token_id = pad_token, pad_token_id, unk_token_id

    def __call__(
        self,
        texts: Sequence[str],
        *,
        truncation: bool = False,
        max_length: int | None = None,
        padding: str | bool = False,
        add_special_tokens: bool = True,
        return_attention_mask: bool = True,
    ) -> dict[str, list[list[int]]]:
        """Return token ids and attention masks; with `truncation` they are cut at `max_length`."""
        backend = self.backend_tokenizer
        with TOKENIZER_LOCK:
            if truncation:
                backend.enable_truncation(max_length)
            else:
                backend.no_truncation()
            if padding:
                backend.enable_padding(length=max_length, pad_id=self.pad_token_id, pad_token=self.pad_token)
            else:
                backend.no_padding()
            encoded = backend.encode_batch(list(texts), add_special_tokens=add_special_tokens)
        return {"input_ids": [e.ids for e in encoded], "attention_mask": [e.attention_mask for e in encoded]}

    def __len__(self) -> int:
        return int(self.backend_tokenizer.get_vocab_size())

    def get_vocab(self) -> dict[str, int]:
        return dict(self.backend_tokenizer.get_vocab())


def tokenizer_state(tokenizer: Any, prompt: str = "") -> dict[str, Any] | None:
    """Return the content of tokenizer.json; None for a tokenizer that has no such file.

    The tokenizer puts the prompt before every text that is not empty.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return None
    state: dict[str, Any] = json.loads(backend.to_str())
    for setting in ("padding", "truncation"):  # of the last call; they are not part of the tokenizer
        del state[setting]
    if prompt:
        own = state["normalizer"] or {"type": "Sequence", "normalizers": []}
        steps = own["normalizers"] if own["type"] == "Sequence" else [own]
        state["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": prompt}, *steps]}
    return state


def prompt_of(folder: Path, name: str) -> str:
    """Return the prompt that an encoder needs; an empty text if it needs none.

    It is the default that its folder states, as for sentence-transformers; of known families the name is enough.

    Raises:
        EncoderError: The folder's settings are damaged.
    """
    path = folder / SETTINGS_FILE
    settings = _read_json(path)
    chosen, prompts = settings.get("default_prompt_name"), settings.get("prompts") or {}
    if chosen is not None:
        prompt = prompts.get(chosen) if isinstance(prompts, dict) else None
        if not isinstance(prompt, str):
            raise EncoderError(f"{path}: there is no prompt {chosen!r}, which is to be the default; correct the file")
        return prompt
    # The name under which the weights were loaded before they were saved in this folder.
    original = str(_read_json(folder / "config.json").get("_name_or_path") or "")
    for pattern, prompt in PROMPTS_OF_FAMILIES:
        if any(pattern.search(known_as) for known_as in (name.rstrip("/"), folder.name, original)):
            return prompt
    return ""


def write_prompt(folder: Path, prompt: str) -> None:
    """Make a prompt the default of an encoder's folder, as sentence-transformers reads it; an empty one is none."""
    path = folder / SETTINGS_FILE
    settings = _read_json(path)
    prompts = dict(settings.get("prompts") or {})
    name = next((name for name, text in prompts.items() if text == prompt), "query") if prompt else None
    if name is not None:
        prompts[name] = prompt
    path.write_text(json.dumps({**settings, "prompts": prompts, "default_prompt_name": name}, indent=2), "utf-8")


def _read_json(path: Path) -> dict[str, Any]:
    """Return the settings in a file; none if there is no such file."""
    if not path.is_file():
        return {}
    try:
        settings = json.loads(path.read_text("utf-8"))
    except ValueError:
        settings = None
    if not isinstance(settings, dict):
        raise EncoderError(f"{path}: damaged; fetch the encoder again")
    return settings
