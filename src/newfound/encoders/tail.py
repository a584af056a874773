"""The trainable end of an encoder: what trains, what it reads of a corpus, and its pooling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from newfound.encoders.layers import Stack
from newfound.encoders.ragged import Batch, Packing, Ragged, pack
from newfound.errors import EncoderError, SettingsError

Pooling = Literal["mean", "cls", "padded-mean"]


@dataclass(frozen=True, slots=True)
class Tune:
    """How much of an encoder trains.

    Attributes:
        layers: The number of layers that train, counted from the last.
        everything: Whether the whole encoder runs in every step, from the token ids on.
        embeddings: Whether the word embeddings train too, if `everything` is set.
    """

    layers: int
    everything: bool = False
    embeddings: bool = True

    @classmethod
    def parse(cls, text: str, depth: int) -> Tune:
        """Parse a setting such as `last:2`, for an encoder with `depth` layers."""
        match text.split(":"):
            case ["heads"]:
                return cls(0)
            case ["last"]:
                return cls(1)
            case ["last", count] if count.isdecimal() and 1 <= int(count) <= depth:
                return cls(int(count))
            case ["layers"]:
                return cls(depth, everything=True, embeddings=False)
            case ["all"]:
                return cls(depth, everything=True)
        raise SettingsError(f"tune={text!r} is not one of heads, last, last:K (K from 1 to {depth}), layers, all")


@dataclass(frozen=True, slots=True)
class Features:
    """The input of a tail for a whole corpus, one row per utterance.

    Attributes:
        data: Pooled vectors, hidden states or token ids.
        unpadded_lengths: Number of tokens of each row before its padding, [rows]; None if no padding is stored.
        noisy: Hidden states from several runs of the trunk with dropout, [runs, tokens, d], for training.
    """

    data: Ragged
    unpadded_lengths: Tensor | None = None
    noisy: Tensor | None = None

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

        Args:
            packing: What each of the T slots of the batch holds.
            views: How often the batch is repeated.
            training: Whether each view of a row comes from a random noisy run, where there are any.
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
        """Put a tail together.

        Args:
            stack: The trainable layers; None if only heads train.
            pooling: How the tokens of a text become one vector.
            normalize: Whether pooled vectors are scaled to unit length.
            trunk: The frozen layers, if they run in every step with their dropout, as in the released code. The
                features are then token ids, and nothing is cached.
        """
        super().__init__()
        self.stack = stack
        self.trunk = trunk
        self.pooling = pooling
        self.normalize = normalize

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
    """Return one vector per row, [views x B, d].

    Args:
        h: Hidden states of the slots, [views x T, d].
        packing: What each of the T slots holds.
        pooling: `cls` takes the first token, `mean` the mean over all tokens. `padded-mean` is a mean as well: there
            the padding is part of the row.
        normalize: Whether the vectors are scaled to unit length.
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
