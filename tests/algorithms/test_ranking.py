from __future__ import annotations

import torch
import torch.nn.functional as F

from newfound.algorithms.neighbours import rank_descending
from newfound.intents.description import border_cases, exemplars

ROUNDING = 3e-6  # more than two processors differ by


def test_by_hand():
    """0.7 three times, up to rounding: they keep the order of their rows."""
    assert rank_descending(torch.tensor([0.5, 0.7, 0.7000001, 0.6999999, 0.9])).tolist() == [4, 1, 2, 3, 0]
    assert rank_descending(torch.tensor([[1.0, -torch.inf], [-torch.inf, 1.0]])).tolist() == [[0, 1], [1, 0]]


def test_examples_of_an_intent_do_not_depend_on_rounding():
    """Twenty utterances that are equally central and equally close to the other intent, on two processors."""
    texts = [f"utterance {chr(97 + i)}" for i in range(20)]
    angle = torch.arange(20) * torch.pi / 10
    x = F.normalize(torch.stack([angle.cos(), angle.sin(), torch.full((20,), 2.0)], dim=1), dim=-1)
    prototype = torch.tensor([0.0, 0.0, 1.0])
    noise = ROUNDING * torch.rand(20, 3, generator=torch.Generator().manual_seed(0))
    assert exemplars(x, prototype, texts) == exemplars(x + noise, prototype, texts)
    scores = torch.tensor([[0.61234, 0.31234]]).expand(20, 2)
    assert border_cases(scores, 0, texts) == border_cases(scores + noise[:, :2], 0, texts) == [0, 1, 2]
