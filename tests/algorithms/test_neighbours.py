from __future__ import annotations

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
