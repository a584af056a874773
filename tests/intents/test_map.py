"""The colours of the map."""

from __future__ import annotations

import numpy as np

from newfound.intents.map import distinct_colours


def test_near_intents_have_different_colours():
    """Two dozen directions on a circle: the twelve colours repeat, and never between neighbours."""
    angles = 2 * np.pi * np.arange(24) / 24
    around = np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32)
    colours = distinct_colours(around, range(24))
    assert len(set(colours.values())) == 12
    assert all(colours[k] not in (colours[(k + 1) % 24], colours[(k + 2) % 24]) for k in range(24))
    assert distinct_colours(around, [3]) == {3: 0}, "known intents are grey and take no colour"
