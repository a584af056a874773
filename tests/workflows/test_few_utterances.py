"""Logs that are nearly empty of words: fewer utterances are left to cluster than new intents were asked for."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import newfound
from commands import newfound as command
from newfound.model.folder import load

SMILEYS = ["".join(parts) for parts in product(":;=x", ["", "-", "^", "'"], ")(/|<>")][:55]
WORDS = ["pay my bill late", "read the meter", "brown water leak", "move house when", "solar power refund"]


def test_mostly_smileys_without_known_intents(tiny_folder, tmp_path):
    """Of 60 texts 5 hold words, and 20 new intents are wanted; beside so many smileys, words may look untypical."""
    logs, out = tmp_path / "logs.csv", tmp_path / "model"
    logs.write_text("\n".join(["text", *SMILEYS, *WORDS]))
    options = ["--encoder", tiny_folder, "--device", "cpu"]
    refused = command("discover", logs, "--n-new", 20, "--out", out, *options)
    assert refused.returncode in (0, 2), refused.stderr
    assert "Traceback" not in refused.stderr
    done = command("discover", logs, "--n-new", 20, "--out", out, "--no-intent", "none", "--force", *options)
    assert done.returncode == 0, done.stderr
    model = load(out, encoder=str(tiny_folder))
    assert 2 <= len(model.intents) <= 20


@pytest.mark.parametrize("words", [0, 1])
def test_hardly_a_word_without_known_intents_is_one_clear_line(words, tiny_folder, tmp_path):
    logs = tmp_path / "logs.csv"
    logs.write_text("\n".join(["text", *SMILEYS, *WORDS[:words]]))
    done = command("discover", logs, "--n-new", 20, "--out", tmp_path / "model", "--encoder", tiny_folder)
    assert done.returncode == 2
    assert "hold no word" in done.stderr.strip().splitlines()[-1]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("labels", [1, 4, 30])
@pytest.mark.parametrize("words", [0, 1, 5])
def test_mostly_smileys_beside_known_intents(words, labels, themed, tiny_encoder):
    """Every known intent keeps its labelled utterances; new ones are at most as many as utterances with words."""
    known = themed.labelled()
    rows = [row for intent in known.intents for row in np.flatnonzero(np.array(known.labels) == intent)[:labels]]
    texts, intents = [known.texts[row] for row in rows], [known.labels[row] for row in rows]
    logs = [*SMILEYS, *WORDS[:words]]
    model = newfound.discover((texts, intents), logs, n_new=20, encoder=tiny_encoder, device="cpu").model
    labelled = {(u.text, u.intent) for u in model.utterances if u.labelled}
    assert labelled == set(zip(texts, intents, strict=True))
    assert sum(not intent.known and intent.size > 0 for intent in model.intents) <= words
