"""An encoder that is loaded without sentence-transformers is the same encoder, to the last bit."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
import torch

import newfound
from conftest import write_tiny_encoder
from newfound.encoders.encoder import Encoder, load_encoder
from newfound.encoders.light import LightEncoder
from newfound.errors import OtherWeights

TEXTS = ["where is my card", "pay", "the é 日本 🎉 water " * 40, "leak of gas, please!", ""]
real_encoder = pytest.mark.real_encoder


def assert_same(light: Encoder, whole: Encoder) -> None:
    assert isinstance(light._st, LightEncoder)
    assert not isinstance(whole._st, LightEncoder)
    assert light.weights_hash() == whole.weights_hash()
    assert (light.pooling, light.normalize, light.max_length) == (whole.pooling, whole.normalize, whole.max_length)
    assert light._st.max_seq_length == whole._st.max_seq_length
    for tune in ("heads", "last", "layers", "all"):
        one, other = (encoder.features(TEXTS, encoder.tune(tune)) for encoder in (light, whole))
        assert torch.equal(one.data.flat, other.data.flat), tune
        assert torch.equal(one.data.offsets, other.data.offsets), tune
        assert light.vectors_folder() == whole.vectors_folder()
        torch.manual_seed(0)
        noisy = light.with_noise(one, TEXTS, light.tune("last"), seeds=[1]).noisy
        assert torch.equal(noisy, whole.with_noise(other, TEXTS, whole.tune("last"), seeds=[1]).noisy)


@pytest.mark.parametrize("family", ["bert", "roberta", "xlm-roberta"])
@pytest.mark.parametrize("pooling", [None, "cls"])
def test_a_light_encoder_is_the_same(tmp_path, family, pooling):
    folder = str(write_tiny_encoder(tmp_path / family, family))
    whole = load_encoder(folder, pooling=pooling)
    assert_same(load_encoder(folder, pooling=pooling, weights_hash=whole.weights_hash()), whole)


def test_padding_is_the_same(tiny_folder):
    whole = load_encoder(str(tiny_folder), pooling="padded-mean", max_length=20)
    light = load_encoder(str(tiny_folder), pooling="padded-mean", max_length=20, weights_hash=whole.weights_hash())
    assert_same(light, whole)


@real_encoder
def test_minilm_is_the_same_with_and_without_sentence_transformers():
    assert_same(load_encoder("minilm"), load_encoder("minilm", whole=True))


def test_folders_of_sentence_transformers_are_the_same(tmp_path, tiny_encoder):
    tiny_encoder.save(tmp_path / "saved")
    whole = load_encoder(str(tmp_path / "saved"))
    assert_same(load_encoder(whole.name, weights_hash=whole.weights_hash()), whole)


def test_a_light_encoder_is_saved_whole(tmp_path, tiny_folder, tiny_encoder):
    light = load_encoder(str(tiny_folder), weights_hash=tiny_encoder.weights_hash())
    assert isinstance(light._st, LightEncoder)
    light.save(tmp_path / "copy")
    assert load_encoder(str(tmp_path / "copy")).weights_hash() == tiny_encoder.weights_hash()


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("config.json", {"hidden_act": "relu"}),
        ("config.json", {"model_type": "distilbert"}),
        ("config.json", {"position_embedding_type": "relative_key"}),
        ("config.json", {"num_hidden_layers": 2}),
        ("config.json", {"num_hidden_layers": 10**12}),
        ("config.json", {"vocab_size": 10**15}),
        ("config.json", {"hidden_size": "wide"}),
        ("tokenizer_config.json", {"truncation_side": "left"}),
        ("tokenizer_config.json", {"pad_token": None}),
    ],
)
def test_what_is_different_is_left_to_sentence_transformers(tmp_path, tiny_folder, file, change):
    folder = shutil.copytree(tiny_folder, tmp_path / "other")
    content = json.loads((folder / file).read_text()) | change
    (folder / file).write_text(json.dumps(content))
    assert LightEncoder.load(folder) is None


def test_another_hash_is_refused(tiny_folder):
    with pytest.raises(OtherWeights):
        load_encoder(str(tiny_folder), weights_hash="0" * 64)


def test_a_saved_model_is_loaded_without_slow_packages(saved):
    """Importing transformers and scikit-learn takes longer than everything else together."""
    code = (
        "import sys, newfound\n"
        f"print(newfound.predict({str(saved)!r}, ['pay my bill'])[0].intent)\n"
        "slow = {'transformers', 'sentence_transformers', 'sklearn', 'scipy', 'pandas', 'sympy', 'torch._dynamo'}\n"
        "assert not slow & set(sys.modules), slow & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    expected = newfound.predict(saved, ["pay my bill"])[0].intent
    assert (done.returncode, done.stdout.strip()) == (0, expected), done.stderr
