"""`Encoder` turns text into vectors, and is divided into a frozen trunk and a trainable tail.

An encoder is loaded with its own pooling: through sentence-transformers, or where that makes no difference without it,
which is quicker (`newfound.encoders.light`). The setting `tune` says what trains:

    heads    nothing of the encoder; features are pooled vectors
    last     the last layer (the paper's setting); features are the hidden states below it
    last:K   the last K layers
    upper    the upper half of the layers
    layers   all layers but not the word embeddings; features are token ids
    all      everything; features are token ids
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import copy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from newfound.encoders.cache import FeatureCache, Vectors, folder_name
from newfound.encoders.layers import Stack, family_of
from newfound.encoders.light import LightEncoder, load_sentence_transformer
from newfound.encoders.onnx import can_build
from newfound.encoders.ragged import Ragged
from newfound.encoders.registry import RELEASES, check_modules, hash_of, locate
from newfound.encoders.tail import Features, Pooling, Tail, Tune, pool_corpus, pooling_of, run_trunk
from newfound.encoders.tokenizer import prompt_of, tokenizer_state, write_prompt
from newfound.errors import EncoderError, NotSplittable, OtherWeights
from newfound.text import first_line

if TYPE_CHECKING:
    from newfound.encoders.onnx.session import GraphSession

__all__ = ["MAX_LENGTH", "Encoder", "Features", "Pooling", "Tail", "Tune", "load_encoder"]

MAX_LENGTH = 128  # tokens of one text; the rest is cut off


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
        prompt: str = "",
    ) -> None:
        """Wrap a loaded SentenceTransformer or `LightEncoder`; `load_encoder` does so by name (see there)."""
        self.name = name
        self.graph_problem: str | None = None
        self._hashed: tuple[list[tuple[int, int]], str] | None = None
        self.cache = cache
        self._st = sentence_transformer.eval().requires_grad_(False)
        self.model: Any = next(iter(sentence_transformer)).auto_model
        self.tokenizer: Any = sentence_transformer.tokenizer
        self.pooling = pooling or pooling_of(sentence_transformer)
        self.normalize = any(type(module).__name__ == "Normalize" for module in sentence_transformer)
        self.max_length = self._limit_length(max_length)
        self.depth = int(getattr(self.model.config, "num_hidden_layers", 0))
        self.width = int(self.model.config.hidden_size)
        self.prompt = prompt if self.is_splittable() else ""  # of others, sentence-transformers adds it
        if pooling == "padded-mean" and family_of(self.model).first_position != 0:
            raise EncoderError("pooling='padded-mean' is for BERT encoders; others number padding differently")

    def __sklearn_clone__(self) -> Encoder:
        """Return itself: clones of an estimator share the pretrained weights, which fits do not change."""
        return self

    @property
    def device(self) -> torch.device:
        device: torch.device = next(self.model.parameters()).device
        return device

    def to(self, device: torch.device | str) -> Encoder:
        """Move the weights to a device, in place, and return the encoder."""
        self._st.to(device)
        return self

    def with_cache(self, cache: FeatureCache | None) -> Encoder:
        """Return an encoder with the same weights and another cache."""
        encoder = copy(self)
        encoder.cache = cache
        return encoder

    def variant(self, *, pooling: Pooling | None = None, max_length: int = MAX_LENGTH) -> Encoder:
        """Return an encoder with the same weights and another pooling or length; itself if both are the same."""
        if pooling in (None, self.pooling) and self._limit_length(max_length) == self.max_length:
            return self
        return Encoder(
            self.name, self._st, pooling=pooling, max_length=max_length, cache=self.cache, prompt=self.prompt
        )

    def session(self, tail: Tail | None = None, dense: torch.nn.Linear | None = None) -> GraphSession | None:
        """Return what computes vectors with ONNX Runtime, which is chosen on a CPU; None if torch is to do it.

        An encoder that has no graph is run by torch, and `graph_problem` says why. The trained end of the encoder and
        the trained layer after the pooling, if there are any, become part of the graph.
        """
        if self.device.type != "cpu" or self.graph_problem is not None or not can_build():
            return None
        from newfound.encoders.onnx.engine import open_session

        try:
            return open_session(self, tail, dense)
        except Exception as error:  # protobuf and ONNX Runtime have many types, as for a graph of more than 2 GB
            self.graph_problem = f"encoder {self.name!r} has no ONNX graph: {first_line(error)}; torch encodes instead"
            return None

    def _limit_length(self, max_length: int) -> int:
        return min(max_length, int(self._st.max_seq_length or MAX_LENGTH))

    def weights_hash(self) -> str:
        """Return a SHA-256 of weights, tokenizer and pooling; a saved model can only be loaded with the same hash."""
        state = self._st.state_dict()
        stamp = [(t.data_ptr(), t._version) for t in state.values()]  # torch counts the changes of a tensor
        if self._hashed is None or self._hashed[0] != stamp:
            rules = tokenizer_state(self.tokenizer, self.prompt) or sorted(self.tokenizer.get_vocab().items())
            tokenizer = json.dumps(rules, sort_keys=True)
            self._hashed = stamp, hash_of(state, tokenizer, self.pooling, str(self.normalize))
        return self._hashed[1]

    def save(self, folder: Path) -> None:
        """Write the encoder to a folder that `load_encoder` can read."""
        self._st.save(str(folder), create_model_card=False, safe_serialization=True)
        if self.is_splittable():  # otherwise sentence-transformers adds its own
            write_prompt(folder, self.prompt)

    def tune(self, text: str) -> Tune:
        """Parse the setting `tune` for this encoder.

        Raises:
            SettingsError: The setting is not a valid one.
            NotSplittable: Layers are to be trained, but the layers of this encoder's family are not known.
        """
        tune = Tune.parse(text, self.depth)
        if tune.layers:
            family_of(self.model)
        return tune

    def tail(self, tune: Tune, *, trunk_dropout: bool = False) -> Tail:
        """Return a trainable copy of the end of the encoder; with `trunk_dropout` it runs the frozen layers as well."""
        if not tune.layers:
            return Tail(None, self.pooling, self.normalize)
        cut = self.depth - tune.layers
        stack = Stack(self.model, cut, self.depth, embeddings=tune.everything, copy_weights=True).requires_grad_(True)
        if stack.embeddings is not None and not tune.embeddings:
            stack.embeddings.requires_grad_(False)
        if stack.relative_attention_bias is not None and not tune.everything:
            stack.relative_attention_bias.requires_grad_(False)  # shared by all layers, so it belongs to the trunk
        trunk = None
        if trunk_dropout and not tune.everything:
            trunk = Stack(self.model, 0, cut, embeddings=True, copy_weights=True).requires_grad_(False)
        return Tail(stack, self.pooling, self.normalize, trunk)

    def whole(self, tail: Tail | None = None) -> Tail:
        """Return the encoder from the token ids on, with a trained end in the place of its own last layers."""
        if tail is None or tail.stack is None:
            return Tail(self._trunk(0), self.pooling, self.normalize).eval()
        if tail.stack.embeddings is not None:
            return tail.eval()
        return Tail(tail.stack, self.pooling, self.normalize, self._trunk(len(tail.stack.layers))).eval()

    def tokenize(self, texts: Sequence[str]) -> Features:
        """Return the token ids of texts after the prompt, with the special tokens, cut at `max_length`."""
        padding = "max_length" if self.pooling == "padded-mean" else False
        batch = self.tokenizer(
            [self.prompt + text if text else text for text in texts],
            truncation=True,
            max_length=self.max_length,
            padding=padding,
            return_attention_mask=True,
        )
        lengths = torch.tensor([sum(mask) for mask in batch["attention_mask"]]) if padding else None
        return Features(Ragged.of(batch["input_ids"]), lengths)

    def features(self, texts: Sequence[str], tune: Tune, *, trunk_dropout: bool = False) -> Features:
        """Return the input of the tail, on the CPU; vectors of a frozen encoder are read from the cache or stored.

        With `trunk_dropout` the tail runs the frozen layers itself, so that its input is token ids.
        """
        if not tune.layers:
            return Features(Ragged(torch.from_numpy(self.vectors(texts)), torch.arange(len(texts) + 1)))
        tokens = self.tokenize(texts)
        if tune.everything or trunk_dropout:
            return tokens
        return Features(run_trunk(self._trunk(tune.layers), tokens), tokens.unpadded_lengths)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of the frozen encoder, [n, d], from the cache if there is one; equal texts run once."""
        if self.cache is not None:
            return self.cache.fetch(self._cache_key(), texts, self._compute_vectors)
        place: dict[str, int] = {}
        rows = [place.setdefault(text, len(place)) for text in texts]
        return self._compute_vectors(list(place))[rows]

    def _compute_vectors(self, texts: Sequence[str]) -> Vectors:
        if not self.is_splittable():
            encoded: Vectors = self._st.encode(list(texts), convert_to_tensor=True).cpu().float().numpy()
            return encoded
        tokens, session = self.tokenize(texts), self.session()
        if session is not None:
            from newfound.encoders.onnx.engine import vectors_of

            return vectors_of(session, tokens, max_width=self.max_length)
        pooled: Vectors = pool_corpus(self.whole(), tokens).numpy()
        return pooled

    def with_noise(self, features: Features, texts: Sequence[str], tune: Tune, *, seeds: Sequence[int]) -> Features:
        """Return the features with noisy ones added: the output of the trunk with dropout, once per seed.

        Dropout in the frozen layers is part of what makes two views of an utterance differ. Training draws from these
        stored runs, which costs nothing in a step.
        """
        if not tune.layers or tune.everything or not seeds:
            return features
        trunk, tokens = self._trunk(tune.layers), self.tokenize(texts)
        noisy = []
        for seed in seeds:
            torch.manual_seed(seed)
            run = run_trunk(trunk.train(), tokens, keep_on_device=True)
            noisy.append(run.flat.to(features.data.flat.dtype))
        trunk.eval()
        return Features(features.data, features.unpadded_lengths, torch.stack(noisy))

    def is_splittable(self) -> bool:
        """Return whether the encoder consists of layers of a known family, a pooling and at most a normalisation."""
        try:
            family_of(self.model)
        except NotSplittable:
            return False
        # `pool_hidden_states` would skip more than transformer, pooling and normalisation, for instance a Dense module.
        return len(list(self._st)) <= 3

    def _trunk(self, trained_layers: int) -> Stack:
        return Stack(self.model, 0, self.depth - trained_layers, embeddings=True, copy_weights=False).eval()

    def _cache_key(self) -> dict[str, str | int]:
        """Return all that the vectors of the frozen encoder depend on besides the texts."""
        own = "" if self.is_splittable() else str(self._st.prompts.get(self._st.default_prompt_name) or "")
        return {"weights": self.weights_hash(), "prompt of sentence-transformers": own, "max_length": self.max_length}

    def vectors_folder(self) -> str:
        """Return the name of the folder in a feature cache that has the vectors of the frozen encoder."""
        return folder_name(self._cache_key())


def load_encoder(
    name: str,
    *,
    pooling: Pooling | None = None,
    max_length: int = MAX_LENGTH,
    cache: FeatureCache | None = None,
    weights_hash: str | None = None,
    whole: bool = False,
    prompt: str | None = None,
) -> Encoder:
    """Load a pretrained encoder.

    Args:
        name: A short name (`minilm`, `mpnet`, `bert`, `multilingual`), a folder, or owner/name on the Hugging Face hub.
        pooling: Overrides the encoder's own pooling.
        max_length: Maximum number of tokens of a text.
        cache: Where features of the frozen trunk are stored.
        weights_hash: The hash (`Encoder.weights_hash`) that the encoder must have; None accepts any.
        whole: Load it through sentence-transformers in any case.
        prompt: What is put before every text; None for the encoder's own prompt, an empty text for none.

    Raises:
        EncoderError: There is no such encoder, or it cannot be loaded.
        OtherWeights: Its hash is not the expected one.
    """
    folder = locate(name)
    check_modules(folder)
    if prompt is None:
        prompt = prompt_of(folder, RELEASES[name].repo if name in RELEASES else name)
    make = partial(Encoder, name, pooling=pooling, max_length=max_length, cache=cache, prompt=prompt)
    if not whole and (weights_hash is not None or (name in RELEASES and RELEASES[name].is_light)):
        light = LightEncoder.load(folder)
        encoder = None if light is None else make(light)
        if encoder is not None and weights_hash in (None, encoder.weights_hash()):
            return encoder
    encoder = make(load_sentence_transformer(folder))
    if weights_hash not in (None, encoder.weights_hash()):
        raise OtherWeights(name)
    return encoder
