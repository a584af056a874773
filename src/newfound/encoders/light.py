"""Loads a BERT or RoBERTa encoder without transformers and sentence-transformers, whose imports take seconds.

What is loaded here has the same modules under the same names as what sentence-transformers loads, so that weights,
hashes and vectors are equal. An encoder that differs in any way from what is written here is not loaded; then
`newfound.encoders.encoder.load_encoder` uses sentence-transformers.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from newfound.encoders.tokenizer import LightTokenizer
from newfound.errors import EncoderError
from newfound.text import first_line

WEIGHTS_FILE, TOKENIZER_FILE = "model.safetensors", "tokenizer.json"
MODEL_TYPES = ("bert", "roberta", "xlm-roberta")
# Settings that change what the layers compute, with the only values that are supported.
REQUIRED_SETTINGS = {"hidden_act": "gelu", "position_embedding_type": "absolute", "is_decoder": False}
DEFAULT_SETTINGS = {
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "layer_norm_eps": 1e-12,
    "pad_token_id": 0,
}
TRANSFORMER_SETTINGS = {
    "do_lower_case": False,
    "transformer_task": "feature-extraction",
    "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}},
    "module_output_name": "token_embeddings",
}
COUNT_SETTINGS = """
vocab_size hidden_size num_hidden_layers num_attention_heads intermediate_size max_position_embeddings type_vocab_size
pad_token_id
""".split()


class _Linear(nn.Linear):
    """A linear layer without initial weights, since they are loaded; initialising them takes longer than loading."""

    def reset_parameters(self) -> None: ...


class _Embedding(nn.Embedding):
    """An embedding without initial weights."""

    def reset_parameters(self) -> None: ...


class BertEmbeddings(nn.Module):
    """The sum of word, position and token type embeddings, normalised."""

    def __init__(self, config: SimpleNamespace) -> None:
        super().__init__()
        width = config.hidden_size
        self.word_embeddings = _Embedding(config.vocab_size, width, padding_idx=config.pad_token_id)
        self.position_embeddings = _Embedding(config.max_position_embeddings, width)
        self.token_type_embeddings = _Embedding(config.type_vocab_size, width)
        self.LayerNorm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, input_ids: Tensor, position_ids: Tensor) -> Tensor:
        """Return the embeddings [n, L, d] of token ids [n, L] at positions [n or 1, L]; all are of token type 0."""
        x = self.word_embeddings(input_ids) + self.token_type_embeddings(torch.zeros_like(position_ids))
        x = x + self.position_embeddings(position_ids)
        embedded: Tensor = self.dropout(self.LayerNorm(x))
        return embedded


def _module(**parts: Any) -> nn.Module:
    module = nn.Module()
    for name, part in parts.items():
        setattr(module, name, part)
    return module


def _layer(config: SimpleNamespace) -> nn.Module:
    """Return the modules of one layer; `newfound.encoders.layers` runs them."""
    width, inner = config.hidden_size, config.intermediate_size
    projections = {name: _Linear(width, width) for name in ("query", "key", "value")}
    return _module(
        attention=_module(
            self=_module(**projections, dropout=nn.Dropout(config.attention_probs_dropout_prob)),
            output=_projection(config, width, width),
        ),
        intermediate=_module(dense=_Linear(width, inner), intermediate_act_fn=F.gelu),
        output=_projection(config, inner, width),
    )


def _projection(config: SimpleNamespace, inputs: int, outputs: int) -> nn.Module:
    return _module(
        dense=_Linear(inputs, outputs),
        LayerNorm=nn.LayerNorm(outputs, eps=config.layer_norm_eps),
        dropout=nn.Dropout(config.hidden_dropout_prob),
    )


class LightTransformer(nn.Module):
    """The first module of an encoder; `model` has the modules of a transformers model."""

    def __init__(self, config: SimpleNamespace, *, has_pooler: bool) -> None:
        """Create the modules that a config describes, without initial weights."""
        super().__init__()
        layers = nn.ModuleList(_layer(config) for _ in range(config.num_hidden_layers))
        self.model = _module(config=config, embeddings=BertEmbeddings(config), encoder=_module(layer=layers))
        if has_pooler:  # it is not run, but its weights are part of the encoder's hash
            self.model.pooler = _module(dense=_Linear(config.hidden_size, config.hidden_size))

    @property
    def auto_model(self) -> nn.Module:
        """The transformer, by the name that sentence-transformers uses."""
        return self.model


class Pooling(nn.Module):
    """Says how token vectors become one vector; `newfound.encoders.tail` does it."""

    def __init__(self, pooling_mode: str) -> None:
        super().__init__()
        self.pooling_mode = pooling_mode


class Normalize(nn.Module):
    """Says that vectors have unit length."""


def load_sentence_transformer(folder: Path) -> Any:
    """Return the encoder in a folder, loaded by sentence-transformers, in fp32 on the CPU."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    with _quietly():
        from sentence_transformers import SentenceTransformer

        try:
            return SentenceTransformer(str(folder), device="cpu", local_files_only=True).float()
        except Exception as error:  # A damaged folder raises different types, depending on the file.
            raise EncoderError(f"{folder}: cannot be loaded as an encoder ({first_line(error)})") from None


@contextmanager
def _quietly() -> Iterator[None]:
    """Show only errors of transformers and sentence-transformers, and no progress bars."""
    import transformers
    from transformers.utils import logging as transformers_logging

    logger = logging.getLogger("sentence_transformers")
    level, verbosity = logger.level, transformers.logging.get_verbosity()
    logger.setLevel(logging.ERROR)
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        logger.setLevel(level)


class LightEncoder(nn.Sequential):
    """Stands for a SentenceTransformer, of which it has the parts that newfound runs."""

    def __init__(
        self, folder: Path, modules: Sequence[nn.Module], tokenizer: LightTokenizer, max_seq_length: int
    ) -> None:
        """Put an encoder from a folder together: transformer, pooling, and perhaps normalisation."""
        super().__init__(*modules)
        self.folder, self.tokenizer, self.max_seq_length = folder, tokenizer, max_seq_length

    def save(self, folder: str, **options: Any) -> None:
        """Write the encoder as sentence-transformers does."""
        load_sentence_transformer(self.folder).save(folder, **options)

    @classmethod
    def load(cls, folder: Path) -> Self | None:
        """Return the encoder in a folder; None if it has to be loaded by sentence-transformers."""
        try:
            return cls._load(folder)
        except Exception:  # such as a damaged file: sentence-transformers says what is wrong with it
            return None

    @classmethod
    def _load(cls, folder: Path) -> Self:
        from safetensors.torch import load_file

        config = _read_config(folder)
        pooling, normalize, most = _read_modules(folder)
        tokenizer, tokenizer_most = _read_tokenizer(folder, config)
        weights = {name: t.float() for name, t in load_file(folder / WEIGHTS_FILE).items()}
        weights.pop("embeddings.position_ids", None)
        layers = {name.split(".")[2] for name in weights if name.startswith("encoder.layer.")}
        if len(layers) != config.num_hidden_layers:  # before any layer is made: the number may be huge
            raise ValueError("its weights have another number of layers")
        transformer = LightTransformer(config, has_pooler="pooler.dense.weight" in weights)
        if set(transformer.model.state_dict()) != set(weights):
            raise ValueError("its weights have other names")
        transformer.model.load_state_dict(weights, assign=True)
        modules = [transformer, Pooling(pooling), *([Normalize()] if normalize else [])]
        # As sentence-transformers: its own setting counts as it is, the tokenizer's up to the number of positions.
        limit = most if most is not None else min(tokenizer_most, config.max_position_embeddings)
        return cls(folder, modules, tokenizer, limit)


def _read_config(folder: Path) -> SimpleNamespace:
    settings = {**DEFAULT_SETTINGS, **REQUIRED_SETTINGS, **_read_json(folder / "config.json")}
    if settings.get("model_type") not in MODEL_TYPES:
        raise ValueError(f"model type {settings.get('model_type')!r}")
    if any(settings[name] != value for name, value in REQUIRED_SETTINGS.items()):
        raise ValueError("its config has settings that change the layers")
    if any(type(settings.get(name)) is not int for name in COUNT_SETTINGS):
        raise ValueError("its config does not state all sizes")
    return SimpleNamespace(**settings)


def _read_modules(folder: Path) -> tuple[str, bool, int | None]:
    """Return the pooling, whether vectors are normalised, and the largest number of tokens if it is set."""
    if not (folder / "modules.json").is_file():  # a plain transformers model, which is pooled by its mean
        if any((folder / name).exists() for name in ("sentence_bert_config.json", "1_Pooling")):
            raise ValueError("parts of a sentence-transformers model")
        return "mean", False, None
    modules = _read_json(folder / "modules.json")
    kinds = [str(module["type"]).rpartition(".")[2] for module in modules]
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]) or modules[0]["path"]:
        raise ValueError(f"its modules are {kinds}")
    own = _read_json(folder / "sentence_bert_config.json")
    most = own.pop("max_seq_length", None)
    if {**TRANSFORMER_SETTINGS, **own} != TRANSFORMER_SETTINGS or not isinstance(most, int | None):
        raise ValueError("its transformer has other settings")
    return _pooling(_read_json(folder / modules[1]["path"] / "config.json")), len(kinds) == 3, most


def _pooling(settings: dict[str, Any]) -> str:
    """Return the pooling; newer files name it, and older ones have a flag for each."""
    flags = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
    chosen = [flags.get(name, name) for name, value in settings.items() if name.startswith("pooling_mode_") and value]
    mode = settings.get("pooling_mode", chosen[0] if len(chosen) == 1 else None)
    if mode not in flags.values() or not settings.get("include_prompt", True):
        raise ValueError(f"its pooling is {mode!r}")
    return str(mode)


def _read_tokenizer(folder: Path, config: SimpleNamespace) -> tuple[LightTokenizer, int]:
    """Return the tokenizer, and the largest number of tokens that it states."""
    from tokenizers import Tokenizer

    settings = _read_json(folder / "tokenizer_config.json")
    sides = {settings.get(name, "right") for name in ("truncation_side", "padding_side")}
    if sides != {"right"} or settings.get("split_special_tokens", False):
        raise ValueError("its tokenizer has other settings")
    backend = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
    names = {name: _token(settings.get(name)) for name in ("pad_token", "unk_token")}
    ids = {name: backend.token_to_id(token) for name, token in names.items() if token is not None}
    pad_id = ids.get("pad_token")
    if pad_id is None:
        raise ValueError("its tokenizer has no padding")
    most = settings.get("model_max_length")
    tokenizer = LightTokenizer(backend, str(names["pad_token"]), pad_id, ids.get("unk_token"))
    return tokenizer, config.max_position_embeddings if not isinstance(most, int | float) else int(most)


def _token(value: Any) -> str | None:
    """Return a special token, which is a text or a mapping with its content."""
    content = value.get("content") if isinstance(value, dict) else value
    return content if isinstance(content, str) else None


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))
