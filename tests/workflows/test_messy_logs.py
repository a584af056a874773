"""Logs as they come out of a database on Monday morning: everything wrong at once, and still a sane result."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

from commands import newfound
from newfound.algorithms.metrics import both_protocols
from newfound.data.demo_corpus import load_demo, off_topic
from newfound.model.folder import load

OTHER_LANGUAGES = [
    "Ich möchte mein Geld für die doppelte Zahlung zurück",
    "Bitte die Rückerstattung überweisen, es ist zu spät",
    "¿Dónde está mi factura? Quiero el reembolso, por favor",
    "Mañana no estaré en casa, ¿pueden cambiar la cita?",
]


def messy_csv(task) -> bytes:
    """New and known utterances, two fifths of them repeats; two encodings, three languages, emoji, gaps and a rant."""
    rng = np.random.default_rng(0)
    labels = np.array(task.train.labels, dtype=object)
    of_new = [task.train.texts[i] for i in np.flatnonzero(np.isin(labels, task.new))]
    of_known = [task.train.texts[i] for i in np.flatnonzero(np.isin(labels, task.known))[::2]]
    texts = [*of_new, *of_known[:150], *off_topic().texts[:20], *OTHER_LANGUAGES, "no power 😡😡", "🎉"]
    repeated = [texts[i].upper() + "!!" for i in rng.integers(0, 40, size=2 * len(texts) // 3)]
    rant = "\n".join(
        f"line {i}: I have been waiting for an answer for weeks, and nobody ever calls back" for i in range(30)
    )
    lines = [texts[i] for i in rng.permutation(len(texts))] + repeated + ["", "   ", rant]
    sink = io.StringIO(newline="")
    csv.writer(sink).writerows([("text",), *((line,) for line in lines)])
    whole = sink.getvalue().encode()
    for text in OTHER_LANGUAGES[::2]:  # somebody's export was in another encoding
        whole = whole.replace(text.encode(), text.encode("cp1252"))
    return whole


@pytest.mark.real_encoder
def test_a_messy_file_goes_through_with_clear_warnings_and_a_sane_result(tmp_path):
    task = load_demo()
    labels = np.array(task.train.labels, dtype=object)
    known = np.flatnonzero(np.isin(labels, task.known))[1::2].tolist()
    with (tmp_path / "known.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *((task.train.texts[i], labels[i]) for i in known)])
    (tmp_path / "logs.csv").write_bytes(messy_csv(task))
    files = (tmp_path / "known.csv", tmp_path / "logs.csv")
    # Fine-tuning takes minutes and is tested on everyday logs; what is read and said here does not depend on it.
    options = ("--n-new", len(task.new), "--device", "cpu", "--effort", "quick")
    done = newfound("discover", *files, *options, "--out", tmp_path / "model")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stderr.split())
    for expected in (
        "2 rows not UTF-8, read as Windows-1252",
        "rows empty, skipped",
        "1 row longer than 2,000",
        "distinct",
    ):
        assert expected in said, expected
    model = load(tmp_path / "model")
    assert set(OTHER_LANGUAGES) <= {u.text for u in model.utterances}, "both encodings are read right"
    assert sum(u.count for u in model.utterances if not u.labelled) > 1.5 * sum(
        not u.labelled for u in model.utterances
    )
    predicted = model.predict_ids(list(task.test.texts))
    strict = both_protocols(task.gold_ids(task.test), predicted, len(task.known))["strict"]
    assert strict.ind_acc > 70, "79.6 on two cores"
    assert strict.ood_acc > 65, "76.6"
    lines = (tmp_path / "model" / "utterances.jsonl").read_text("utf-8").splitlines()
    assert all(json.loads(line)["text"].strip() for line in lines)
