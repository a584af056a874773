from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from newfound.algorithms.neighbours import nearest


def test_neighbours_equal_a_naive_search(monkeypatch):
    monkeypatch.setattr("newfound.algorithms.neighbours.ROWS_AT_ONCE", 4)
    x = F.normalize(torch.randn(11, 5, generator=torch.Generator().manual_seed(0)), dim=-1)
    among = torch.tensor([9, 2, 4, 7, 0])
    for rows in (None, among):
        value, index = nearest(x, 3, among=rows)
        for i in range(len(x)):
            others = [j for j in (range(len(x)) if rows is None else rows.tolist()) if j != i]
            expected = sorted(others, key=lambda j: -float(x[i] @ x[j]))[:3]
            assert index[i].tolist() == expected
            assert torch.allclose(value[i], torch.stack([x[i] @ x[j] for j in expected]))


def test_fewer_rows_than_neighbours():
    x = torch.eye(3)
    assert nearest(x, 10)[1].shape == (3, 2)
    assert nearest(x[:1], 10)[1].shape == (1, 0)


def clustered(n, d=16, centres=30, seed=0):
    generator = torch.Generator().manual_seed(seed)
    around = torch.randn(centres, d, generator=generator)[torch.arange(n) % centres]
    return F.normalize(around + 0.3 * torch.randn(n, d, generator=generator), dim=-1)


def test_an_index_finds_nearly_all_neighbours_and_never_the_row_itself(monkeypatch):
    pytest.importorskip("faiss", reason="needs the extra scale")
    x, among = clustered(3_000), torch.arange(0, 3_000, 2)
    for rows in (None, among):
        exact = nearest(x, 10, among=rows)[1]
        monkeypatch.setattr("newfound.algorithms.neighbours.MIN_PAIRS_FOR_INDEX", 1)
        value, index = nearest(x, 10, among=rows)
        monkeypatch.undo()
        assert index.shape == exact.shape
        assert not bool((index == torch.arange(len(x))[:, None]).any())
        assert bool((value[:, :-1] >= value[:, 1:]).all())
        assert torch.allclose(value, (x[:, None] * x[index]).sum(-1), atol=1e-5)
        if rows is not None:
            assert set(index.unique().tolist()) <= set(rows.tolist())
        found = (index[:, :, None] == exact[:, None, :]).any(2).float().mean()
        assert float(found) > 0.9


def test_rows_for_which_an_index_finds_too_few_are_searched_exactly(monkeypatch):
    pytest.importorskip("faiss", reason="needs the extra scale")
    monkeypatch.setattr("newfound.algorithms.neighbours.CELLS_SEARCHED", 1)
    x = clustered(400, centres=40)
    exact = nearest(x, 60)[1]
    monkeypatch.setattr("newfound.algorithms.neighbours.MIN_PAIRS_FOR_INDEX", 1)
    value, index = nearest(x, 60)
    assert bool((index >= 0).all())
    assert bool(value.isfinite().all())
    assert float((index[:, :, None] == exact[:, None, :]).any(2).float().mean()) > 0.9
