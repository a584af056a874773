"""Words beside vectors, and when other labellings count."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from newfound.algorithms.ensembles import consistency, is_more_consistent, with_words


def test_other_labellings_count_only_where_they_are_is_more_consistent():
    sure = [torch.tensor([0, 0, 1, 1, 2, 2])] * 3
    torn = [torch.tensor([0, 0, 1, 1, 2, 2]), torch.tensor([0, 1, 1, 2, 2, 0]), torch.tensor([0, 1, 2, 0, 1, 2])]
    assert is_more_consistent(sure, torn, 0.05)
    assert not is_more_consistent(torn, sure, 0.05)
    assert not is_more_consistent(sure, sure, 0.05)
    assert not is_more_consistent(sure, torn, 1.01 - consistency(torn))
    assert not is_more_consistent([], torn, 0.05)


def test_words_tell_apart_what_vectors_do_not():
    texts = [f"please fix my {thing} today" for thing in ("toaster", "kettle") for _ in range(5)]
    x = F.normalize(torch.ones(10, 4), dim=-1)
    worded = with_words(x, texts, seed=0)
    assert torch.allclose(worded.norm(dim=-1), torch.ones(10))
    similarity = worded @ worded.T
    assert similarity[0, 1] == pytest.approx(1.0)
    assert similarity[0, 5] < 0.95
    assert torch.equal(with_words(x, [f"word{i}" for i in range(10)], seed=0), x)  # no word occurs twice
