"""What a reviewer is shown: intents that may be the same, two parts of an intent, and pairs that are mixed up."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from newfound.intents.description import IntentDescriber
from newfound.model.types import Utterance
from newfound.review.proposals import confused_pairs, merge_proposals, split_proposal, two_parts


def around(angle, n, spread=0.05):
    """Points of the unit circle around an angle, evenly spread."""
    angles = angle + spread * torch.linspace(-1, 1, n)
    return torch.stack([angles.cos(), angles.sin()], dim=1)


def described(groups, probabilities=None):
    """A describer of intents, each with some texts and their vectors; the second intent is a known one."""
    statuses = {name: "known" if i == 1 else "new" for i, name in enumerate(groups)}
    utterances = [Utterance(text, name, False, 0.9) for name, (texts, _) in groups.items() for text in texts]
    vectors = torch.cat([x for _, x in groups.values()])
    return IntentDescriber(statuses, utterances, vectors, lambda: probabilities), F.normalize(vectors, dim=-1)


def test_an_intent_is_proposed_to_be_merged_with_the_one_around_it_and_not_with_a_distant_one():
    near, same, far = ([f"{name} {i}" for i in range(12)] for name in ("near", "same", "far"))
    describer, vectors = described(
        {"near": (near, around(0.0, 12)), "same": (same, around(0.001, 12)), "far": (far, around(2.0, 12))}
    )
    (proposal,) = merge_proposals(describer, vectors, 0)
    assert (proposal.name, proposal.status) == ("same", "known")
    assert 0.3 < proposal.overlap <= 1
    assert len(proposal.evidence) == 3
    for one, other in proposal.evidence:
        assert one.split()[0] == "near"
        assert other == one.replace("near", "same"), "the nearest utterance of the other intent"
    assert merge_proposals(describer, vectors, 2) == ()


def test_a_split_is_proposed_with_names_and_central_utterances_of_both_parts():
    pay, leak = [f"pay the bill {i}" for i in range(9)], [f"report a leak {i}" for i in range(5)]
    describer, vectors = described(
        {"all": (pay + leak, torch.cat([around(0.0, 9), around(1.5, 5)])), "pay_bill": (["-"], around(3.0, 1))}
    )
    parts = two_parts(vectors[:14])
    assert parts[1] > 0.9
    assert sorted(torch.bincount(parts[0]).tolist()) == [5, 9]
    proposal = split_proposal(describer, vectors, 0, parts)
    assert proposal.separation == parts[1]
    assert sorted(part.size for part in proposal.parts) == [5, 9]
    by_size = {part.size: part for part in proposal.parts}
    assert set(by_size[9].utterances) <= set(pay)
    assert set(by_size[5].utterances) <= set(leak)
    assert "leak" in by_size[5].name
    names = {part.name for part in proposal.parts}
    assert len(names) == 2
    assert "pay_bill" not in names, "another intent has this name"


def test_too_few_utterances_are_not_divided():
    assert two_parts(around(0.0, 1)) is None


def test_confused_pairs_add_what_is_expected_in_both_directions():
    """Worked by hand: of `a`'s two utterances 0.4 + 0.3 are expected to be `b`'s, of `b`'s one 0.2 `a`'s: 0.9."""
    probabilities = torch.tensor([[0.5, 0.4, 0.1], [0.6, 0.3, 0.1], [0.2, 0.8, 0.0], [0.0, 0.3, 0.7], [0.2, 0.2, 0.6]])
    groups = {"a": (["a1", "a2"], around(0, 2)), "b": (["b1"], around(1, 1)), "c": (["c1", "c2"], around(2, 2))}
    describer, _ = described(groups, probabilities)
    pairs = confused_pairs(describer, range(5), count=5)
    assert [(pair.first, pair.second, pair.expected) for pair in pairs] == [("a", "b", 0.9), ("b", "c", 0.5)]
    assert len(confused_pairs(describer, range(5), count=1)) == 1
    assert confused_pairs(describer, [3, 4], count=5)[0].expected == pytest.approx(0.5), "only the rows that count"


def test_pairs_that_are_hardly_ever_mixed_up_and_utterances_of_no_intent_do_not_count():
    utterances = [Utterance("x", None, False, 0.9), Utterance("y", "a", False, 0.9)]
    probabilities = torch.tensor([[0.5, 0.5], [0.9, 0.1]])
    describer = IntentDescriber({"a": "new", "b": "new"}, utterances, around(0, 2), lambda: probabilities)
    assert confused_pairs(describer, range(2), count=5) == []
