"""The prompt of an encoder: words before every text, which it was trained with (`query: ` of the e5 models).

The prompt is put into the tokenizer. So it holds wherever texts are tokenised: in a fit, in a prediction, in a graph's
folder and in an exported one. It also is part of the encoder's hash, which names models, graphs and cached vectors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from newfound.errors import EncoderError

SETTINGS_FILE = "config_sentence_transformers.json"
# Encoders that need a prompt although their folders name none, by their names.
PROMPTS_OF_FAMILIES = ((re.compile(r"(^|[-_/])e5-(small|base|large)(-v2|-unsupervised)?$"), "query: "),)


@dataclass(frozen=True, slots=True)
class TokenizerPrompt:
    """A prompt in a tokenizer.

    Attributes:
        text: What is put before every text.
        tokenizer: A fast tokenizer of transformers, which adds the prompt.
        own_normalizer: What the tokenizer does to texts without the prompt; None for nothing.
    """

    text: str
    tokenizer: Any
    own_normalizer: Any

    @contextmanager
    def leave_out(self) -> Iterator[None]:
        """Tokenise without the prompt for a while."""
        backend = self.tokenizer.backend_tokenizer
        with_prompt = backend.normalizer
        backend.normalizer = self.own_normalizer
        try:
            yield
        finally:
            backend.normalizer = with_prompt


def prompt_of(folder: Path, name: str) -> str:
    """Return the prompt that an encoder needs; an empty text if it needs none.

    Args:
        folder: The encoder's folder; its default prompt is the one that sentence-transformers would use.
        name: What the encoder is called; a folder need not name the prompt of a known family.

    Raises:
        EncoderError: The folder's settings are damaged.
    """
    path = folder / SETTINGS_FILE
    settings = _read_json(path) if path.is_file() else {}
    chosen, prompts = settings.get("default_prompt_name"), settings.get("prompts") or {}
    if chosen is not None:
        prompt = prompts.get(chosen) if isinstance(prompts, dict) else None
        if not isinstance(prompt, str):
            raise EncoderError(f"{path}: there is no prompt {chosen!r}, which is to be the default; correct the file")
        return prompt
    for pattern, prompt in PROMPTS_OF_FAMILIES:
        if any(pattern.search(known_as) for known_as in (name.rstrip("/"), folder.name, _original_name(folder))):
            return prompt
    return ""


def _original_name(folder: Path) -> str:
    """Return the name under which the weights were loaded before they were saved here; empty if it is not told."""
    path = folder / "config.json"
    return str(_read_json(path).get("_name_or_path") or "") if path.is_file() else ""


def _read_json(path: Path) -> dict[str, Any]:
    try:
        settings = json.loads(path.read_text("utf-8"))
    except ValueError:
        settings = None
    if not isinstance(settings, dict):
        raise EncoderError(f"{path}: damaged; fetch the encoder again")
    return settings


def add_prompt(tokenizer: Any, prompt: str) -> TokenizerPrompt | None:
    """Let a tokenizer put a prompt before every text that is not empty; None if it is not a fast one, which cannot.

    Args:
        tokenizer: A tokenizer; it is changed.
        prompt: What is put before every text.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return None
    from tokenizers import normalizers

    own = backend.normalizer
    first = normalizers.Prepend(prompt)
    backend.normalizer = first if own is None else normalizers.Sequence([first, own])
    return TokenizerPrompt(prompt, tokenizer, own)


def write_prompt(folder: Path, prompt: str) -> None:
    """Make a prompt the default of an encoder's folder, where sentence-transformers reads it too.

    Args:
        folder: The encoder's folder.
        prompt: The prompt; if it is empty, the folder gets no default.
    """
    path = folder / SETTINGS_FILE
    settings = _read_json(path) if path.is_file() else {}
    prompts = dict(settings.get("prompts") or {})
    name = next((name for name, text in prompts.items() if text == prompt), "query") if prompt else None
    if name is not None:
        prompts[name] = prompt
    path.write_text(json.dumps({**settings, "prompts": prompts, "default_prompt_name": name}, indent=2), "utf-8")
