"""Messages that state several wishes: where they are divided, and what is said of them in every interface."""

from __future__ import annotations

import csv
import io
import itertools
import json
import time
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

import newfound
from commands import newfound as command
from newfound.engines.parts import LIMIT, MAX_CUTS, MAX_PIECES, divide, spans_of, texts_of_spans
from newfound.engines.predictor import PredictionLimits, Predictor
from newfound.errors import SettingsError
from newfound.model.types import Prediction
from newfound.review.reviewed import load

BOTH = "the pay bill is late and my gas does leak"


def answered(text, **told):
    """Predictions of all spans of a message; those that are not told are typical of no intent."""
    answers = {span: Prediction(span, "other", True, 0.4, 0.99) for span in texts_of_spans([text])}
    return answers | {span: Prediction(span, intent, True, 0.9, outlier) for span, (intent, outlier) in told.items()}


def parts_of(text, answers):
    return [(text[p.start : p.end], p.intent, p.probability) for p in divide(text, answers)]


def test_a_message_is_divided_where_both_parts_are_typical_of_different_intents():
    first, second = "the pay bill is late", "my gas does leak"
    sure = answered(BOTH, **{first: ("pay", 0.1), second: ("leak", 0.1), BOTH: ("pay", 0.5)})
    assert parts_of(BOTH, sure) == [(first, "pay", 0.9), (second, "leak", 0.9)]
    for whole in (
        answered(BOTH, **{first: ("pay", 0.1), second: ("pay", 0.1), BOTH: ("pay", 0.2)}),
        answered(BOTH, **{first: ("pay", 0.1), second: ("leak", 0.95), BOTH: ("pay", 0.3)}),
        answered(BOTH, **{first: ("pay", 0.7), second: ("leak", 0.7), BOTH: ("pay", 0.1)}),
    ):
        assert parts_of(BOTH, whole) == [(BOTH, "pay", 0.9)]
    assert parts_of(BOTH, answered(BOTH, **{BOTH: (None, 0.99)})) == []


def test_what_connects_parts_belongs_to_none():
    text = "Pay my bill. And also, leave the gas on; move house"
    pieces = {text[slice(*span)] for span in spans_of(text)}
    assert {"Pay my bill.", "leave the gas on", "move house", "leave the gas on; move house", text} <= pieces


def test_mails_with_quotes_stay_whole_and_dots_take_no_time():
    mail = "Cancel my order and pay the bill.\n\nOn Mon, 1 Jan 2024 Bob wrote:\n> I want a refund. And help"
    assert spans_of(mail) == [(0, len(mail))]
    assert len(spans_of("Cancel my order  and\npay the bill")) == 3
    began = time.process_time()
    spans_of("." * 40_000)
    assert time.process_time() - began < 1  # it took 11 s


@given(st.text(max_size=200))
def test_spans_lie_in_their_message_and_are_few(text):
    spans = spans_of(text)
    assert spans[0] == (0, len(text))
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    assert len(spans) <= 2 + MAX_PIECES * (MAX_CUTS + 1)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 1)), min_size=15, max_size=15), st.integers(1, 5))
def test_the_best_way_to_divide_is_found(answers, n_words):
    """Equal to trying all ways, where neighbours have different intents."""
    words = [f"w{i}" for i in range(n_words)]
    text = ", ".join(words)
    spans = {(a, b): ", ".join(words[a:b]) for a, b in itertools.combinations(range(n_words + 1), 2)}
    told = {t: Prediction(t, i, True, 0.5, o) for t, (i, o) in zip(spans.values(), answers, strict=False)}
    scores = []
    for cuts in itertools.chain.from_iterable(itertools.combinations(range(1, n_words), k) for k in range(n_words)):
        parts = [told[spans[pair]] for pair in itertools.pairwise((0, *cuts, n_words))]
        if all(p.intent != q.intent for p, q in itertools.pairwise(parts)):
            scores.append(sum(sqrt(1 - p.outlier) - sqrt(LIMIT) for p in parts))
    found = divide(text, told)
    assert sum(sqrt(1 - told[text[p.start : p.end]].outlier) - sqrt(LIMIT) for p in found) == pytest.approx(max(scores))


def test_limits_hold_for_parts(saved, tiny_encoder):
    model = load(saved, encoder=tiny_encoder)
    none = Predictor(model, PredictionLimits(threshold=1.0, several=True)).predictions([BOTH])[0]
    assert (none.intent, none.intents) == (None, ())
    with pytest.raises(SettingsError, match="of a whole message"):
        newfound.predict(model, [BOTH], several=True, explain=True)


def test_every_interface_gives_the_parts(saved, tiny_folder, tiny_encoder, tmp_path):
    serving = pytest.importorskip("serving", reason="extra `serve` not installed")
    texts = ["pay the bill please today and water leak with brown smell", "pay bill", "solar power light"]
    (tmp_path / "texts.txt").write_text("\n".join(texts))
    expected = newfound.predict(saved, texts, encoder=tiny_encoder, device="cpu", several=True)
    spans = [[(p.intent, p.start, p.end) for p in one.intents] for one in expected]
    assert max(map(len, spans)) > 1, "a message is divided"
    assert [p.intent for p in expected] == [p.intent for p in newfound.predict(saved, texts, encoder=tiny_encoder)]
    options = ("predict", saved, tmp_path / "texts.txt", "--encoder", tiny_folder, "--several", "--to")
    rows = [json.loads(line)["intents"] for line in command(*options, "jsonl").stdout.splitlines()]
    cells = [json.loads(row["intents"]) for row in csv.DictReader(io.StringIO(command(*options, "csv").stdout))]
    with serving.client_of(saved, tiny_encoder) as client:
        answers = client.post("/v1/predict", json={"texts": texts, "several": True}).json()["predictions"]
        assert client.post("/v1/predict", json={"texts": texts}).json()["predictions"][0].get("intents") is None
    for found in (rows, cells, [answer["intents"] for answer in answers]):
        assert [[(p["intent"], p["start"], p["end"]) for p in parts] for parts in found] == spans
