from __future__ import annotations

import numpy as np
import pytest

from newfound.estimate import _height_for, estimate_n_new
from newfound.naming import LONGEST_NAME, plain_name


@pytest.mark.parametrize(
    ("utterance", "taken", "name"),
    [
        ("How do I get my money back?", [], "how_do_i_get_my_money"),
        ("I'd like a refund!", ["id_like_a_refund"], "id_like_a_refund_2"),
        ("I'd like a refund!", ["id_like_a_refund", "id_like_a_refund_2"], "id_like_a_refund_3"),
        ("¿Dónde está mi tarjeta?", [], "dónde_está_mi_tarjeta"),
        ("???", [], "new_intent"),
        ("", ["new_intent"], "new_intent_2"),
    ],
)
def test_plain_names(utterance, taken, name):
    assert plain_name(utterance, taken=taken) == name


def test_names_are_short():
    assert len(plain_name("supercalifragilistic" * 9, taken=[])) <= LONGEST_NAME


def blobs(centres, per_blob, spread, seed):
    rng = np.random.default_rng(seed)
    x = centres[:, None] + spread * rng.normal(size=(len(centres), per_blob, centres.shape[1]))
    return x.reshape(-1, centres.shape[1]).astype(np.float32)


@pytest.mark.parametrize("truth", [1, 4, 9])
def test_the_estimate_finds_clear_clusters(truth):
    """Known and new intents of the same width: the cut that gives 12 known clusters gives the right new ones."""
    centres = np.random.default_rng(1).normal(size=(12 + truth, 16)) * 3
    known, logs = blobs(centres[:12], 30, 0.4, 2), blobs(centres[12:], 30, 0.4, 3)
    labels = np.repeat(np.arange(12), 30)
    assert estimate_n_new(known, labels, logs) == truth


def test_one_utterance_is_one_intent():
    known = np.eye(4, dtype=np.float32)
    assert estimate_n_new(known, np.array([0, 0, 1, 1]), known[:1]) == 1


def test_cut_height_by_hand():
    """Merges at 1, 2, 5, 9 of five points: three clusters are left between 2 and 5."""
    assert _height_for(np.array([1.0, 2.0, 5.0, 9.0]), 3) == 3.5
