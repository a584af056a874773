from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import tiny_backbone, write_tiny_encoder
from newfound.encoders.encoder import Features, batches_by_length, load_encoder
from newfound.encoders.layers import FAMILIES, relative_bias
from newfound.encoders.ragged import Bounds, Ragged, fold, in_batch_order, pack, unfold
from newfound.errors import EncoderError, SettingsError

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
        return tail(features, rows, Bounds.of(features.data.lengths, rows[None]))


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
    z = tail(features, rows, Bounds.of(features.data.lengths, rows[None]))
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
    features, rows = tiny_encoder.features(TEXTS, tune), torch.arange(len(TEXTS))
    bounds = Bounds.of(features.data.lengths, rows[None])
    assert not torch.equal(tail(features, rows, bounds), tail(features, rows, bounds))


def test_surplus_slots_and_a_wider_grid_change_nothing(tiny_encoder):
    """A captured step has fixed shapes, larger than most batches need."""
    tune = tiny_encoder.tune("last:2")
    features, tail = tiny_encoder.features(TEXTS, tune), tiny_encoder.tail(tune).eval()
    rows = torch.tensor([3, 0, 4])
    exact = Bounds.of(features.data.lengths, rows[None])
    with torch.no_grad():
        tight = tail(features, rows, exact)
        loose = tail(features, rows, Bounds(exact.slots + 57, ((1, 40), (2, 24))))
    assert torch.allclose(tight, loose, atol=1e-6)


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
        with pytest.raises(EncoderError, match="use --tune heads"):
            tiny_encoder.tune("last")
    finally:
        tiny_encoder.model.config.model_type = "bert"


@given(st.lists(st.integers(1, 30), min_size=1, max_size=40), st.integers(0, 2**32 - 1))
@settings(max_examples=80, deadline=None)
def test_unfold_and_fold_are_inverse_and_so_are_their_gradients(lengths, seed):
    rng = np.random.default_rng(seed)
    offsets = torch.tensor([0, *np.cumsum(lengths)])
    rows = torch.from_numpy(rng.permutation(len(lengths))[: max(1, len(lengths) // 2)])
    tokens = sum(lengths[i] for i in rows.tolist())
    exact = Bounds.of(torch.tensor(lengths), rows[None])
    assert exact.slots == tokens
    assert sum(count for count, _ in exact.grids) == len(rows)
    packing = pack(offsets, rows, Bounds(tokens + 3, exact.grids))
    flat = torch.arange(int(offsets[-1])).float()[:, None]
    packed = flat[packing.token].requires_grad_()
    grids = unfold(packed, packing)
    unfolded = [row for grid in grids for row in grid]
    for place, i in enumerate(packing.order.tolist()):
        expected = flat[offsets[rows[i]] : offsets[rows[i] + 1], 0]
        assert unfolded[place][: len(expected), 0].tolist() == expected.tolist()
        assert unfolded[place][len(expected) :].abs().sum() == 0
    assert torch.equal(fold(grids, packing)[:tokens], packed[:tokens])
    by_place = torch.stack([row.sum(0) for row in unfolded])
    own = torch.tensor([[float(flat[offsets[r] : offsets[r + 1]].sum())] for r in rows.tolist()])
    assert torch.equal(in_batch_order(by_place, packing), own)
    sum(grid.sum() for grid in grids).backward()
    assert packed.grad[:, 0].tolist() == [1.0] * tokens + [0.0] * 3


def test_bounds_by_hand():
    """Lengths 50, 9, 8, 3 ... : one row may need 56 cells, the next three 16, the rest 8; two copies double it."""
    lengths = torch.tensor([3] * 12 + [8, 9, 9, 50])
    bounds = Bounds.of(lengths, torch.arange(16)[None])
    assert bounds == Bounds(12 * 3 + 8 + 18 + 50, ((1, 56), (3, 16), (12, 8)))
    assert bounds.twice().grids == ((2, 112 // 2), (6, 16), (24, 8))


@given(st.lists(st.integers(1, 60), min_size=1, max_size=200), st.integers(10, 300))
@settings(max_examples=50, deadline=None)
def test_batches_by_length_cover_every_row_once(lengths, budget):
    batches = batches_by_length(torch.tensor(lengths), budget)
    assert sorted(torch.cat(batches).tolist()) == list(range(len(lengths)))
    longest = [max(lengths[i] for i in batch.tolist()) for batch in batches]
    assert longest == sorted(longest)


def test_ragged_rows():
    ragged = Ragged.of([[1, 2], [], [3]])
    assert [ragged.row(i).tolist() for i in range(3)] == [[1, 2], [], [3]]
    assert ragged.lengths.tolist() == [2, 0, 1]
    assert len(Features(ragged)) == 3
