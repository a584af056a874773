from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import tiny_backbone, write_tiny_encoder
from newfound.encoders.encoder import load_encoder
from newfound.encoders.layers import FAMILIES, relative_bias
from newfound.encoders.ragged import Batch, batches_by_length, lay_out, pack
from newfound.errors import EncoderError, SettingsError

CPU = torch.device("cpu")
TEXTS = ["pay my bill", "leak", "where is the new meter and why was it not read today please", "move house", "gas"]


@pytest.fixture(scope="module", params=list(FAMILIES))
def encoder(request, tmp_path_factory):
    folder = write_tiny_encoder(tmp_path_factory.mktemp("family") / request.param, request.param)
    return load_encoder(str(folder))


def whole_model(encoder, texts):
    """The plain way: pad, run the transformers model, take the mean over real tokens."""
    batch = encoder.tokenizer(list(texts), padding=True, return_tensors="pt", truncation=True, max_length=64)
    with torch.no_grad():
        h = encoder.model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).last_hidden_state
    mask = batch["attention_mask"][..., None].float()
    return (h * mask).sum(1) / mask.sum(1)


def through_tail(encoder, texts, tune, **kwargs):
    features = encoder.features(texts, encoder.tune(tune), **kwargs)
    tail = encoder.tail(encoder.tune(tune), **kwargs).eval()
    rows = torch.arange(len(texts))
    with torch.no_grad():
        return tail(features, Batch.of(features.data.lengths, rows, CPU))


@pytest.mark.parametrize("tune", ["heads", "last", "last:2", "all"])
def test_trunk_and_tail_equal_the_whole_model(encoder, tune):
    assert torch.allclose(through_tail(encoder, TEXTS, tune), whole_model(encoder, TEXTS), atol=1e-5)


def test_trunk_in_the_tail_equals_the_cached_trunk(encoder):
    direct = through_tail(encoder, TEXTS, "last", trunk_dropout=True)
    assert torch.allclose(direct, through_tail(encoder, TEXTS, "last"), atol=1e-5)


@pytest.mark.parametrize(("tune", "layers"), [("heads", set()), ("last", {2}), ("last:2", {1, 2}), ("all", {0, 1, 2})])
def test_gradients_reach_exactly_the_tuned_parameters(encoder, tune, layers):
    kind = encoder.tune(tune)
    tail = encoder.tail(kind).train()
    features = encoder.features(TEXTS, kind)
    rows = torch.arange(len(TEXTS))
    z = tail(features, Batch.of(features.data.lengths, rows, CPU))
    if not layers:
        assert not z.requires_grad
        assert not list(tail.parameters())
        return
    (z * torch.randn_like(z)).sum().backward()
    reached = {name for name, p in tail.named_parameters() if p.grad is not None and p.grad.abs().sum() > 0}
    tuned = {name for name, p in tail.named_parameters() if p.requires_grad}
    # A key's bias moves all scores of a query alike, so the softmax has no gradient for it but rounding.
    key_bias = {name for name in tuned if name.endswith((".key.bias", ".k.bias", ".k_lin.bias"))}
    assert tuned - reached <= key_bias
    numbers = {int(name.split("layers.")[1].split(".")[0]) for name in tuned if "layers." in name}
    assert numbers == set(range(len(layers)))
    assert any("embeddings" in name for name in tuned) == (tune == "all")
    assert all(p.grad is None for p in encoder.model.parameters()), "the loaded encoder itself must stay untouched"
    assert not any(p.requires_grad for p in encoder.model.parameters())


def test_two_tails_of_one_encoder_are_independent(tiny_encoder):
    tune = tiny_encoder.tune("last")
    one, two = tiny_encoder.tail(tune), tiny_encoder.tail(tune)
    with torch.no_grad():
        next(one.parameters()).zero_()
    assert next(two.parameters()).abs().sum() > 0


def test_dropout_is_off_in_the_frozen_trunk_and_on_in_the_tail(tiny_encoder):
    tune = tiny_encoder.tune("last")
    first = tiny_encoder.features(TEXTS, tune).data.flat
    assert torch.equal(first, tiny_encoder.features(TEXTS, tune).data.flat)
    tail = tiny_encoder.tail(tune).train()
    features = tiny_encoder.features(TEXTS, tune)
    batch = Batch.of(features.data.lengths, torch.arange(len(TEXTS)), CPU)
    assert not torch.equal(tail(features, batch), tail(features, batch))
    one, two = tail(features, batch, 2).chunk(2)
    assert not torch.equal(one, two)


def test_unused_slots_and_windows_change_neither_result_nor_gradient(tiny_encoder):
    """A captured step has fixed shapes: its windows fit the longest row and the fullest batch of the whole plan."""
    tune = tiny_encoder.tune("last:2")
    features = tiny_encoder.features(TEXTS, tune)
    batches = torch.tensor([[3, 0, 4], [2, 2, 2]])
    numbers, batch_of = lay_out(features.data.lengths, batches, CPU)
    loose = batch_of(numbers[0])
    tight = Batch.of(features.data.lengths, batches[0], CPU)
    assert loose.windows * loose.width > tight.windows * tight.width
    results = []
    for batch in (tight, loose):
        tail = tiny_encoder.tail(tune).eval()
        z = tail(features, batch, 2)
        (z * torch.arange(z.numel()).view_as(z)).sum().backward()
        results.append([z.detach(), *(p.grad for p in tail.parameters() if p.grad is not None)])
    for one, other in zip(*results, strict=True):
        assert torch.allclose(one, other, rtol=1e-4, atol=1e-3)


def test_utterances_that_share_a_window_do_not_see_each_other(tiny_encoder):
    tune = tiny_encoder.tune("last:2")
    features, tail = tiny_encoder.features(TEXTS, tune), tiny_encoder.tail(tune).eval()
    with torch.no_grad():
        together = tail(features, Batch.of(features.data.lengths, torch.arange(5), CPU))
        alone = [tail(features, Batch.of(features.data.lengths, torch.tensor([i]), CPU)) for i in range(5)]
    assert torch.allclose(together, torch.cat(alone), atol=1e-6)


def test_padded_mean_equals_the_released_codes_pooling(tiny_folder):
    """Mean over all positions of a fixed length, padding included, where attention does not look at padding."""
    encoder = load_encoder(str(tiny_folder), pooling="padded-mean", max_length=20)
    batch = encoder.tokenizer(TEXTS, padding="max_length", max_length=20, truncation=True, return_tensors="pt")
    with torch.no_grad():
        h = encoder.model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).last_hidden_state
    for tune in ("heads", "last", "all"):
        assert torch.allclose(through_tail(encoder, TEXTS, tune), h.mean(1), atol=1e-5), tune


def test_cls_pooling(tiny_folder):
    encoder = load_encoder(str(tiny_folder), pooling="cls")
    batch = encoder.tokenizer(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        h = encoder.model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).last_hidden_state
    assert torch.allclose(through_tail(encoder, TEXTS, "last"), h[:, 0], atol=1e-5)


def test_mpnets_relative_bias_equals_transformers():
    model = tiny_backbone("mpnet")
    expected = model.encoder.compute_position_bias(torch.zeros(1, 70, 4))
    assert torch.equal(relative_bias(model.encoder.relative_attention_bias, 70), expected)


def test_unknown_tune_and_family(tiny_encoder):
    for text in ("", "first", "last:0", "last:9", "last:x", "heads:1"):
        with pytest.raises(SettingsError, match="is not one of heads"):
            tiny_encoder.tune(text)
    tiny_encoder.model.config.model_type = "t5"
    try:
        with pytest.raises(EncoderError, match="train heads only"):
            tiny_encoder.tune("last")
    finally:
        tiny_encoder.model.config.model_type = "bert"


@given(st.lists(st.integers(1, 30), min_size=1, max_size=40), st.integers(1, 3), st.integers(0, 2**32 - 1))
@settings(max_examples=80)
def test_every_row_lies_whole_in_one_window_and_combines_to_its_own_sum(lengths, steps, seed):
    rng = np.random.default_rng(seed)
    offsets = torch.tensor([0, *np.cumsum(lengths)])
    size = max(1, len(lengths) // 2)
    batches = torch.stack([torch.from_numpy(rng.permutation(len(lengths))[:size]) for _ in range(steps)])
    numbers, batch_of = lay_out(torch.tensor(lengths), batches, CPU)
    flat = torch.from_numpy(rng.normal(size=(int(offsets[-1]), 2))).float()
    for step, rows in enumerate(batches):
        batch = batch_of(numbers[step])
        packing = pack(offsets, batch)
        slots = {}
        for slot in packing.used.nonzero().squeeze(1).tolist():
            slots.setdefault(int(batch.order[packing.place[slot]]), []).append(slot)
        for i, row in enumerate(rows.tolist()):
            assert packing.token[slots[i]].tolist() == list(range(int(offsets[row]), int(offsets[row + 1])))
            assert packing.position[slots[i]].tolist() == list(range(lengths[row]))
            assert len({slot // batch.width for slot in slots[i]}) == 1
        h = flat[packing.token].repeat(2, 1).requires_grad_()
        sums = packing.combine(h, torch.ones(len(packing.token)))
        own = torch.stack([flat[offsets[r] : offsets[r + 1]].sum(0) for r in rows.tolist()])
        assert torch.allclose(sums.detach(), own.repeat(2, 1), atol=1e-4)
        sums.sum().backward()
        assert torch.equal(h.grad[:, 0], packing.used.float().repeat(2))


def test_layout_by_hand():
    """Falling lengths 11, 6, 6, 4, 3 in windows of 16: [11], [6, 6, 4] and [3]."""
    batch = Batch.of(torch.tensor([3, 6, 11, 6, 4]), torch.arange(5), CPU)
    assert (batch.windows, batch.width, batch.max_rows_per_window) == (3, 16, 3)
    assert batch.order.tolist() == [2, 1, 3, 4, 0]
    assert batch.start.tolist() == [0, 16, 22, 28, 32]


@given(st.lists(st.integers(1, 60), min_size=1, max_size=200), st.integers(10, 300))
@settings(max_examples=50)
def test_batches_by_length_cover_every_row_once(lengths, budget):
    batches = batches_by_length(torch.tensor(lengths), budget)
    assert sorted(torch.cat(batches).tolist()) == list(range(len(lengths)))
    longest = [max(lengths[i] for i in batch.tolist()) for batch in batches]
    assert longest == sorted(longest)
