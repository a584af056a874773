"""A tokenizer on the package `tokenizers` alone: it needs neither transformers nor torch, which load slowly."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

TOKENIZER_LOCK = Lock()  # cutting and padding are settings of a tokenizer, which threads share


class LightTokenizer:
    """The part of the interface of transformers' tokenizers that newfound uses, on the package `tokenizers`."""

    def __init__(self, backend: Any, pad_token: str, pad_token_id: int, unk_token_id: int | None) -> None:
        """Wrap a `tokenizers.Tokenizer`.

        Args:
            backend: The `tokenizers.Tokenizer`.
            pad_token: The token that pads.
            pad_token_id: The id of that token.
            unk_token_id: The id of the token that stands for unknown pieces; None if there is none.
        """
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
        if truncation != (max_length is not None) or padding not in (False, "max_length"):
            raise ValueError("the light tokenizer cuts at max_length, and pads to max_length or not at all")
        with TOKENIZER_LOCK:
            if truncation:
                self.backend_tokenizer.enable_truncation(max_length)
            else:
                self.backend_tokenizer.no_truncation()
            if padding:
                self.backend_tokenizer.enable_padding(
                    length=max_length, pad_id=self.pad_token_id, pad_token=self.pad_token
                )
            else:
                self.backend_tokenizer.no_padding()
            encoded = self.backend_tokenizer.encode_batch(list(texts), add_special_tokens=add_special_tokens)
        return {"input_ids": [e.ids for e in encoded], "attention_mask": [e.attention_mask for e in encoded]}

    def __len__(self) -> int:
        """Return the size of the vocabulary."""
        size: int = self.backend_tokenizer.get_vocab_size()
        return size

    def get_vocab(self) -> dict[str, int]:
        """Return the id of each token."""
        vocabulary: dict[str, int] = self.backend_tokenizer.get_vocab()
        return vocabulary
