"""`Encoder`: text to vectors, and the cut between a frozen trunk and a trainable tail.

An encoder is loaded through sentence-transformers, with its own pooling. `tune` says what trains:

    heads    nothing of the encoder; features are pooled vectors
    last     the last layer (the paper's setting); features are the hidden states below it
    last:K   the last K layers
    all      everything; features are token ids
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from newfound.encoders.cache import FeatureCache
from newfound.encoders.layers import Stack, family_of
from newfound.encoders.ragged import Batch, Packing, Ragged, pack
from newfound.encoders.registry import locate
from newfound.errors import EncoderError, NotSplittable, SettingsError

Pooling = Literal["mean", "cls", "padded-mean"]
MAX_LENGTH = 128
TOKENS_PER_BATCH = {"cpu": 4_096, "cuda": 131_072}


@dataclass(frozen=True, slots=True)
class Tune:
    """How much of an encoder trains: that many layers at the top, or everything."""

    layers: int
    everything: bool = False

    @classmethod
    def parse(cls, text: str, depth: int) -> Tune:
        match text.split(":"):
            case ["heads"]:
                return cls(0)
            case ["last"]:
                return cls(1)
            case ["last", count] if count.isdecimal() and 1 <= int(count) <= depth:
                return cls(int(count))
            case ["all"]:
                return cls(depth, everything=True)
        raise SettingsError(f"tune={text!r} is not one of heads, last, last:K (K from 1 to {depth}), all")


@dataclass(frozen=True, slots=True)
class Features:
    """What a tail reads of a corpus: pooled vectors, hidden states or token ids; one row per utterance."""

    data: Ragged
    keys: Tensor | None = None  # [rows] leading tokens that attention may see, where padding was stored as well
    noisy: Tensor | None = None  # [views, tokens, d] hidden states with dropout in the trunk, for training

    def __len__(self) -> int:
        return len(self.data)

    def to(self, device: torch.device, dtype: torch.dtype | None = None) -> Features:
        dtype = dtype if self.data.flat.is_floating_point() else None
        keys = None if self.keys is None else self.keys.to(device)
        return Features(self.data.to(device, dtype), keys, None if self.noisy is None else self.noisy.to(device, dtype))

    def tokens(self, packing: Packing, *, views: int, training: bool) -> Tensor:
        """The tokens of a batch, [views x T]; in training, each row from random ones of its noisy runs."""
        if not training or self.noisy is None:
            return self.data.flat[packing.token].repeat(views, *[1] * (self.data.flat.ndim - 1))
        runs, per_run = self.noisy.shape[:2]
        run = torch.randint(runs, (views, len(packing.length)), device=packing.token.device)  # [views, B]
        return self.noisy.flatten(0, 1)[(run[:, packing.place] * per_run + packing.token).flatten()]


class Tail(nn.Module):
    """The trainable end of an encoder: its last layers (perhaps none, perhaps all) and its pooling.

    It owns copies of its layers, so that several runs can start from one loaded encoder. With `trunk` it starts
    from token ids and runs the frozen layers too, with their dropout: the released code's way, never cached.
    """

    def __init__(self, stack: Stack | None, pooling: Pooling, normalize: bool, trunk: Stack | None = None) -> None:
        super().__init__()
        self.stack = stack
        self.trunk = trunk
        self.pooling = pooling
        self.normalize = normalize

    def forward(self, features: Features, batch: Batch, views: int = 1) -> Tensor:
        """Pooled vectors [views x B, d] of a batch; dropout makes the views differ."""
        if self.stack is None:
            return features.data.flat[batch.rows].repeat(views, 1)
        packing = pack(features.data.offsets, batch)
        keys = _keys(features, packing)
        x = features.tokens(packing, views=views, training=self.training)
        if self.trunk is not None:
            with torch.no_grad():
                x = self.trunk(x, packing, keys)
        return pooled(self.stack(x, packing, keys), packing, self.pooling, self.normalize)

    def trained(self) -> dict[str, Tensor]:
        """The parameters that training may change, by name."""
        return {name: p.detach() for name, p in self.named_parameters() if p.requires_grad}


def _keys(features: Features, packing: Packing) -> Tensor:
    """[T] which tokens attention may look at: all but stored padding."""
    if features.keys is None:
        return packing.used
    real = features.keys[packing.batch.rows[packing.batch.order]]  # [B]
    return packing.used & (packing.position < real[packing.place])


def pooled(h: Tensor, packing: Packing, pooling: Pooling, normalize: bool) -> Tensor:
    """[views x T, d] -> [views x B, d]. `padded-mean` is a mean too: there the padding was encoded with the row."""
    weight = (packing.position == 0).float() if pooling == "cls" else 1 / packing.length[packing.place]
    z = packing.combine(h, weight)
    return F.normalize(z, dim=-1) if normalize else z


class Encoder:
    """A pretrained sentence encoder on this machine."""

    def __init__(
        self,
        name: str,
        sentence_transformer: Any,
        *,
        pooling: Pooling | None = None,
        max_length: int = MAX_LENGTH,
        cache: FeatureCache | None = None,
    ) -> None:
        self.name = name
        self.cache = cache
        self._st = sentence_transformer.eval().requires_grad_(False)
        self.model: Any = _backbone(sentence_transformer)
        self.tokenizer: Any = sentence_transformer.tokenizer
        self.pooling = pooling or _pooling_of(sentence_transformer)
        self.normalize = any(type(module).__name__ == "Normalize" for module in sentence_transformer)
        self.max_length = min(max_length, self._longest())
        self.depth = int(getattr(self.model.config, "num_hidden_layers", 0))
        self.width = int(self.model.config.hidden_size)
        if pooling == "padded-mean" and family_of(self.model).first_position(self.model.config) != 0:
            raise EncoderError("pooling='padded-mean' is for BERT encoders; others number padding differently")

    @property
    def device(self) -> torch.device:
        device: torch.device = next(self.model.parameters()).device
        return device

    def to(self, device: torch.device | str) -> Encoder:
        self._st.to(device)
        return self

    def variant(self, *, pooling: Pooling | None = None, max_length: int = MAX_LENGTH) -> Encoder:
        """The same weights with another pooling or length; itself where nothing differs."""
        if pooling in (None, self.pooling) and min(max_length, self._longest()) == self.max_length:
            return self
        return Encoder(self.name, self._st, pooling=pooling, max_length=max_length, cache=self.cache)

    def _longest(self) -> int:
        return int(self._st.max_seq_length or MAX_LENGTH)

    def weights_hash(self) -> str:
        """SHA-256 of the weights in memory, the tokenizer and the pooling: what a saved model must find again."""
        return _hash_of(self._st.state_dict(), self._tokenizer_state(), self.pooling, str(self.normalize))

    def _tokenizer_state(self) -> str:
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        if backend is None:
            return json.dumps(sorted(self.tokenizer.get_vocab().items()))
        # to_str() also shows the padding and truncation of the last call, which are not part of the tokenizer.
        state = json.loads(backend.to_str())
        return json.dumps({k: v for k, v in state.items() if k not in ("padding", "truncation")}, sort_keys=True)

    def save(self, folder: Path) -> None:
        """A copy that `load_encoder` reads."""
        self._st.save(str(folder), create_model_card=False, safe_serialization=True)

    def tune(self, text: str) -> Tune:
        tune = Tune.parse(text, self.depth)
        if tune.layers:
            family_of(self.model)
        return tune

    def tail(self, tune: Tune, *, trunk_dropout: bool = False) -> Tail:
        """A fresh, trainable copy of the end of the encoder."""
        if not tune.layers:
            return Tail(None, self.pooling, self.normalize)
        cut = self.depth - tune.layers
        stack = Stack(self.model, cut, self.depth, embeddings=tune.everything, own=True).requires_grad_(True)
        if stack.relative_attention_bias is not None and not tune.everything:
            stack.relative_attention_bias.requires_grad_(False)  # shared by all layers, so it belongs to the trunk
        trunk = None
        if trunk_dropout and not tune.everything:
            trunk = Stack(self.model, 0, cut, embeddings=True, own=True).requires_grad_(False)
        return Tail(stack, self.pooling, self.normalize, trunk)

    def tokenize(self, texts: Sequence[str]) -> Features:
        """Token ids of the texts, with the special tokens, cut at `max_length`."""
        padding = "max_length" if self.pooling == "padded-mean" else False
        batch = self.tokenizer(
            list(texts),
            truncation=True,
            max_length=self.max_length,
            padding=padding,
            return_attention_mask=True,
        )
        keys = torch.tensor([sum(mask) for mask in batch["attention_mask"]]) if padding else None
        return Features(Ragged.of(batch["input_ids"]), keys)

    def features(self, texts: Sequence[str], tune: Tune, *, trunk_dropout: bool = False) -> Features:
        """What the tail of `tune` reads, on the CPU: computed by the frozen trunk once, then from the cache."""
        tokens = self.tokenize(texts) if tune.layers or self._is_splittable() else None
        if tokens is not None and (tune.everything or (trunk_dropout and tune.layers)):
            return tokens
        trunk = self._trunk(tune)

        def compute(rows: list[int]) -> Ragged:
            if tokens is None:
                vectors = self._st.encode([texts[i] for i in rows], convert_to_tensor=True).cpu().float()
                return Ragged(vectors, torch.arange(len(rows) + 1))
            return self._run_trunk(trunk, tokens, rows, pool=not tune.layers)

        data = (
            compute(list(range(len(texts))))
            if self.cache is None
            else self.cache.fetch(self._cache_key(tune), texts, compute)
        )
        return Features(data, tokens.keys if tokens is not None and tune.layers else None)

    def with_noise(self, features: Features, texts: Sequence[str], tune: Tune, *, seeds: Sequence[int]) -> Features:
        """The features with stochastic ones beside them: the trunk run with its dropout on, once per seed.

        Dropout in the frozen layers is part of what makes two views of an utterance differ. Drawing from a few
        stored runs keeps that and costs nothing in a training step.
        """
        trunk = self._trunk(tune)
        if trunk is None or not tune.layers or tune.everything or not seeds:
            return features
        tokens = self.tokenize(texts)
        noisy = []
        for seed in seeds:
            torch.manual_seed(seed)
            run = self._run_trunk(trunk.train(), tokens, list(range(len(texts))), pool=False, there=True)
            noisy.append(run.flat.to(features.data.flat.dtype))
        trunk.eval()
        return Features(features.data, features.keys, torch.stack(noisy))

    def _is_splittable(self) -> bool:
        try:
            family_of(self.model)
        except NotSplittable:
            return False
        return len(list(self._st)) <= 3  # a Dense module after the pooling would be skipped by our own pooling

    def _trunk(self, tune: Tune) -> Stack | None:
        if not self._is_splittable():
            return None
        return Stack(self.model, 0, self.depth - tune.layers, embeddings=True, own=False).eval()

    def _cache_key(self, tune: Tune) -> dict[str, str | int]:
        trunk = self._trunk(tune)
        state = self._st.state_dict() if trunk is None else trunk.state_dict()
        pooling = "" if tune.layers else f"{self.pooling}, normalized: {self.normalize}"
        return {
            "weights": _hash_of(state, self._tokenizer_state()),
            "layer": self.depth - tune.layers,
            "padding": str(self.pooling == "padded-mean"),
            "pooling": pooling,
            "max_length": self.max_length,
            "dtype": "float32",
        }

    @torch.no_grad()
    def _run_trunk(
        self, trunk: Stack | None, tokens: Features, rows: list[int], *, pool: bool, there: bool = False
    ) -> Ragged:
        """Hidden states (or pooled vectors) of the given rows, in batches of like lengths; `there`: on the device."""
        assert trunk is not None
        device = self.device if there else torch.device("cpu")
        lengths = tokens.data.lengths[rows]
        ends = (
            torch.arange(len(rows) + 1) if pool else torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])
        )
        out = Ragged(torch.empty(int(ends[-1]), self.width, device=device), ends.to(device))
        on_device = tokens.to(self.device)
        for batch in batches_by_length(lengths, TOKENS_PER_BATCH[self.device.type]):
            laid = Batch.of(tokens.data.lengths, torch.tensor(rows)[batch], self.device)
            packing = pack(on_device.data.offsets, laid)
            with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=there and self.device.type == "cuda"):
                h = trunk(on_device.data.flat[packing.token], packing, _keys(on_device, packing))
            if pool:
                out.flat[batch.to(device)] = pooled(h, packing, self.pooling, self.normalize).to(device)
            else:
                first = out.offsets[batch.to(device)][laid.order.to(device)]  # [B] where each row goes, by place
                goes_to = first[packing.place.to(device)] + packing.position.to(device)
                used = packing.used.to(device)
                out.flat[goes_to[used]] = h.to(device, out.flat.dtype)[used]
        return out


def batches_by_length(lengths: Tensor, tokens_per_batch: int) -> list[Tensor]:
    """Row numbers in batches of similar length, each of about `tokens_per_batch` tokens."""
    order = lengths.argsort(stable=True)
    batch_of = lengths[order].cumsum(0).sub(1).div(tokens_per_batch, rounding_mode="floor")
    _, sizes = torch.unique_consecutive(batch_of, return_counts=True)
    return list(torch.split(order, sizes.tolist()))


def whole_corpus(lengths: Tensor, device: torch.device) -> list[Batch]:
    """Batches of like lengths that cover a corpus with these token counts (CPU)."""
    return [Batch.of(lengths, rows, device) for rows in batches_by_length(lengths, TOKENS_PER_BATCH[device.type])]


def load_encoder(
    name: str,
    *,
    pooling: Pooling | None = None,
    max_length: int = MAX_LENGTH,
    cache: FeatureCache | None = None,
) -> Encoder:
    """Load by short name (`minilm`, `mpnet`, `bert`), folder, or owner/name on the hub."""
    from newfound.encoders.quiet import quietly

    folder = locate(name)
    _refuse_foreign_code(folder)
    with quietly():
        from sentence_transformers import SentenceTransformer

        try:
            st = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
        except Exception as error:  # a damaged folder fails in as many ways as it has files
            raise EncoderError(f"{folder}: cannot be loaded as an encoder ({_first_line(error)})") from None
    return Encoder(name, st.float(), pooling=pooling, max_length=max_length, cache=cache)


def _refuse_foreign_code(folder: Path) -> None:
    """modules.json names the classes to build an encoder from; only sentence-transformers' own are built."""
    path = folder / "modules.json"
    if not path.is_file():
        return
    try:
        modules = json.loads(path.read_text("utf-8"))
        kinds = [str(module["type"]) for module in modules]
        places = [str(module["path"]) for module in modules]
    except (ValueError, KeyError, TypeError):
        raise EncoderError(f"{path}: damaged; fetch the encoder again") from None
    for kind in kinds:
        if not kind.startswith("sentence_transformers."):
            raise EncoderError(f"{path}: asks for {kind!r}, which is not part of sentence-transformers; refused")
    for place in places:
        if Path(place).is_absolute() or ".." in Path(place).parts:
            raise EncoderError(f"{path}: the path {place!r} leads out of the encoder folder; refused")


def _backbone(st: Any) -> Any:
    first = next(iter(st))
    return first.auto_model


def _pooling_of(st: Any) -> Pooling:
    for module in st:
        if type(module).__name__ == "Pooling":
            mode = getattr(module, "pooling_mode", None) or module.get_pooling_mode_str()
            mode = mode if isinstance(mode, str) else "+".join(mode)
            if mode not in get_args(Pooling):
                raise EncoderError(f"this encoder pools by {mode!r}; newfound knows mean and cls")
            return cast(Pooling, mode)
    return "mean"


def _hash_of(state: dict[str, Tensor], *extra: str) -> str:
    digest = hashlib.sha256()
    for name in sorted(state):
        tensor = state[name].detach().cpu().contiguous()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.view(torch.uint8).numpy().data if tensor.ndim else bytes(str(tensor.item()), "ascii"))
    for text in extra:
        digest.update(text.encode())
    return digest.hexdigest()


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
