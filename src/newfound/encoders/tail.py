"""The two parts of an encoder: the frozen trunk, run over a corpus once, and the trainable tail with its pooling."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from newfound.encoders.layers import Stack
from newfound.encoders.ragged import Batch, Packing, Ragged, batches_by_length, pack
from newfound.errors import EncoderError, SettingsError

Pooling = Literal["mean", "cls", "padded-mean"]
TOKENS_PER_BATCH = {"cpu": 4_096, "cuda": 131_072}


@dataclass(frozen=True, slots=True)
class Tune:
    """How much of an encoder trains."""

    layers: int  # how many, counted from the last
    everything: bool = False  # whether the whole encoder runs in every step, from the token ids on
    embeddings: bool = True  # whether the word embeddings train too, if `everything` is set

    @property
    def text(self) -> str:
        """The setting that stands for it."""
        return ("all" if self.embeddings else "layers") if self.everything else f"last:{self.layers}"

    @classmethod
    def parse(cls, text: str, depth: int) -> Tune:
        """Parse a setting such as `last:2`, for an encoder with `depth` layers."""
        match text.split(":"):
            case ["heads"]:
                return cls(0)
            case ["last"]:
                return cls(1)
            case ["upper"]:
                return cls(max(1, depth // 2))
            case ["last", count] if count.isdecimal() and 1 <= int(count) <= depth:
                return cls(int(count))
            case ["layers"]:
                return cls(depth, everything=True, embeddings=False)
            case ["all"]:
                return cls(depth, everything=True)
        raise SettingsError(
            f"tune={text!r} is not one of heads, last, last:K (K from 1 to {depth}), upper, layers, all"
        )


@dataclass(frozen=True, slots=True)
class Features:
    """The input of a tail for a whole corpus, one row per utterance."""

    data: Ragged  # pooled vectors, hidden states or token ids
    unpadded_lengths: Tensor | None = None  # [rows] tokens of each row before its padding, where padding is stored
    noisy: Tensor | None = None  # [runs, tokens, d] hidden states of the trunk with dropout, for training

    def __len__(self) -> int:
        return len(self.data)

    def to(self, device: torch.device, dtype: torch.dtype | None = None) -> Features:
        """Return the features on another device; the dtype applies to vectors and hidden states, not to token ids."""
        dtype = dtype if self.data.flat.is_floating_point() else None
        lengths = None if self.unpadded_lengths is None else self.unpadded_lengths.to(device)
        noisy = None if self.noisy is None else self.noisy.to(device, dtype)
        return Features(self.data.to(device, dtype), lengths, noisy)

    def tokens(self, packing: Packing, *, views: int, training: bool) -> Tensor:
        """Return the tokens of a batch, [views x T] or [views x T, d].

        In training, each view of a row comes from a random noisy run, where there are any.
        """
        if not training or self.noisy is None:
            return self.data.flat[packing.token].repeat(views, *[1] * (self.data.flat.ndim - 1))
        runs, per_run = self.noisy.shape[:2]
        run = torch.randint(runs, (views, len(packing.length)), device=packing.token.device)  # [views, B]
        return self.noisy.flatten(0, 1)[(run[:, packing.place] * per_run + packing.token).flatten()]


class Tail(nn.Module):
    """The trainable end of an encoder: its last layers (none, some or all of them) and its pooling.

    It has copies of its layers, so that several runs can start from one loaded encoder.
    """

    def __init__(self, stack: Stack | None, pooling: Pooling, normalize: bool, trunk: Stack | None = None) -> None:
        """Take the trainable layers (None if only heads train), and what makes one vector of the tokens of a text.

        The frozen layers are the `trunk`, if they run in every step with their dropout, as in the released code. The
        features are then token ids, and nothing is cached.
        """
        super().__init__()
        self.stack, self.trunk, self.pooling, self.normalize = stack, trunk, pooling, normalize

    def forward(self, features: Features, batch: Batch, views: int = 1) -> Tensor:
        """Return pooled vectors [views x B, d] of a batch; in training, dropout makes the views differ."""
        if self.stack is None:
            return features.data.flat[batch.rows].repeat(views, 1)
        packing = pack(features.data.offsets, batch)
        keys = attention_keys(features, packing)
        x = features.tokens(packing, views=views, training=self.training)
        if self.trunk is not None:
            with torch.no_grad():
                x = self.trunk(x, packing, keys)
        return pool_hidden_states(self.stack(x, packing, keys), packing, self.pooling, self.normalize)

    @contextmanager
    def without_attention_dropout(self) -> Iterator[None]:
        """Train without dropout of the attention weights for a while; the other dropout stays."""
        assert self.stack is not None
        self.stack.attention_dropout = False
        yield
        self.stack.attention_dropout = True

    def trained(self) -> dict[str, Tensor]:
        """Return the parameters that training may change, by name."""
        return {name: p.detach() for name, p in self.named_parameters() if p.requires_grad}


def attention_keys(features: Features, packing: Packing) -> Tensor:
    """Return which slots attention may look at, [T]: all tokens but padding."""
    if features.unpadded_lengths is None:
        return packing.used
    length = features.unpadded_lengths[packing.batch.rows[packing.batch.order]]  # [B]
    return packing.used & (packing.position < length[packing.place])


def pool_hidden_states(h: Tensor, packing: Packing, pooling: Pooling, normalize: bool) -> Tensor:
    """Return one vector per row, [views x B, d], of the hidden states of the slots, [views x T, d].

    `cls` takes the first token, `mean` the mean over all tokens. `padded-mean` is a mean as well: there the padding is
    part of the row.
    """
    weight = (packing.position == 0).float() if pooling == "cls" else 1 / packing.length[packing.place]
    z = packing.combine(h, weight)
    return F.normalize(z, dim=-1) if normalize else z


def pooling_of(sentence_transformer: Any) -> Pooling:
    """Return the pooling of a loaded SentenceTransformer or `LightEncoder`."""
    for module in sentence_transformer:
        if type(module).__name__ == "Pooling":
            mode = getattr(module, "pooling_mode", None) or module.get_pooling_mode_str()
            mode = mode if isinstance(mode, str) else "+".join(mode)
            if mode not in get_args(Pooling):
                raise EncoderError(f"this encoder pools by {mode!r}; newfound knows mean and cls")
            return cast(Pooling, mode)
    return "mean"


def whole_corpus(lengths: Tensor, device: torch.device) -> list[Batch]:
    """Return batches of similar length that cover a corpus with these token counts (CPU)."""
    return [Batch.of(lengths, rows, device) for rows in batches_by_length(lengths, TOKENS_PER_BATCH[device.type])]


@torch.no_grad()
def pool_corpus(whole: Tail, tokens: Features) -> Tensor:
    """Return the vectors [n, d] (CPU) of a corpus of token ids (CPU), given all layers (`Encoder.whole`)."""
    weight = next(whole.parameters())
    pooled = torch.empty(len(tokens), weight.shape[-1])
    on_device = tokens.to(weight.device)
    for batch in whole_corpus(tokens.data.lengths, weight.device):
        pooled[batch.rows.cpu()] = whole(on_device, batch).cpu()
    return pooled


@torch.no_grad()
def run_trunk(trunk: Stack, tokens: Features, *, keep_on_device: bool = False) -> Ragged:
    """Return the hidden states of a corpus of token ids (CPU). Rows of similar length run together.

    Args:
        trunk: The layers, with the embeddings.
        tokens: The token ids of the corpus.
        keep_on_device: Return them in bfloat16 precision on the device of the layers, and not on the CPU.
    """
    weight = next(trunk.parameters())
    run_on, device = weight.device, weight.device if keep_on_device else torch.device("cpu")
    flat = torch.empty(len(tokens.data.flat), weight.shape[-1], device=device)
    on_device = tokens.to(run_on)
    for batch in whole_corpus(tokens.data.lengths, run_on):
        packing = pack(on_device.data.offsets, batch)
        with torch.autocast(run_on.type, dtype=torch.bfloat16, enabled=keep_on_device and run_on.type == "cuda"):
            h = trunk(on_device.data.flat[packing.token], packing, attention_keys(on_device, packing))
        used = packing.used
        flat[packing.token[used].to(device)] = h[used].to(device, flat.dtype)
    return Ragged(flat, tokens.data.offsets.to(device))
