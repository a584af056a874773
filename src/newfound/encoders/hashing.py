"""Hashes of weights and tokenizers, by which models, graphs and cached vectors know their encoder."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import torch
from torch import Tensor


def hash_of(state: dict[str, Tensor], *extra: str) -> str:
    """Return a SHA-256 of tensors by name, and of further texts."""
    digest = hashlib.sha256()
    for name in sorted(state):
        tensor = state[name].detach().cpu().contiguous()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.view(torch.uint8).numpy().data if tensor.ndim else bytes(str(tensor.item()), "ascii"))
    for text in extra:
        digest.update(text.encode())
    return digest.hexdigest()


def state_of_tokenizer(tokenizer: Any) -> str:
    """Return all that a tokenizer does, as text: its vocabulary, its rules and a prompt that was added to it."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return json.dumps(sorted(tokenizer.get_vocab().items()))
    # to_str() includes the padding and truncation of the last call, which are not part of the tokenizer.
    state = json.loads(backend.to_str())
    return json.dumps({k: v for k, v in state.items() if k not in ("padding", "truncation")}, sort_keys=True)
