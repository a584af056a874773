from __future__ import annotations

import json
import re

import pytest

from newfound import KMeans
from newfound.algorithms.neighbours import nearest
from newfound.data.corpus import Corpus
from newfound.intents.description import overlaps
from newfound.report.page import write_page
from newfound.review.reviewed import ReviewedModel
from newfound.review.state import Review
from newfound.text import percent

HOSTILE = "<script>alert('pay bill')</script> </script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def reviewed(tiny_encoder, themed):
    corpus = themed + Corpus.of([HOSTILE] * 2, [None, "pay"])
    model = KMeans(n_new=2, encoder=tiny_encoder, tune="heads", epochs=5, device="cpu").fit(corpus.texts, corpus.labels)
    names = [intent.name for intent in model.intents]
    return ReviewedModel(model.model_, Review.begin(names, names[:3]))


def test_the_page_shows_every_intent_and_needs_nothing_from_outside(reviewed, tmp_path):
    write_page(reviewed, tmp_path / "page.html", title="my <bot>")
    page = (tmp_path / "page.html").read_text()
    for name in reviewed.names:
        assert f'data-name="{name}"' in page
    assert "http://" not in page
    assert "https://" not in page
    assert not re.search(r'(src|href)="', page)
    assert "my &lt;bot&gt;" in page


def test_the_page_opens_with_what_is_new(reviewed, tmp_path):
    write_page(reviewed, tmp_path / "page.html", title="bot")
    page = (tmp_path / "page.html").read_text()
    opening = re.sub(r"\s+", " ", page[page.index("<h1>") : page.index("Map of the logs")])
    logs = [u.intent for u in reviewed.assigned if not u.labelled]
    new = [name for name in reviewed.names if name not in reviewed.review.known]
    share = sum(intent in new for intent in logs) / len(logs)
    assert f"{len(new)} new intents cover {percent(share)} of the logs" in opening
    largest = sorted(new, key=lambda name: -logs.count(name))
    assert re.findall(r'<th scope="row">(.*?)</th>', opening.replace("\u200b", "")) == [n for n in largest if n in logs]
    assert "Consensus" not in opening, "method and encoder come last"


def test_utterances_are_data(reviewed, tmp_path):
    write_page(reviewed, tmp_path / "page.html", title="bot")
    page = (tmp_path / "page.html").read_text()
    assert page.count("<script") == page.count("</script>") == 2, "the data and the code"
    assert "<img" not in page
    points = json.loads(re.search(r'<script id="data" type="application/json">(.*)</script>', page).group(1))["points"]
    assert HOSTILE in {point[3] for point in points}
    assert all(0 <= point[0] <= 1 and 0 <= point[1] <= 1 for point in points)


def test_overlaps_by_hand():
    """Two utterances of intent 0 side by side with one of intent 1, and one of intent 1 far away."""
    import torch

    x = torch.nn.functional.normalize(torch.tensor([[1.0, 0.0], [1.0, 0.1], [1.0, 0.2], [0.0, 1.0]]), dim=-1)
    overlap = overlaps(nearest(x, 10)[1], torch.tensor([0, 0, 1, 1]), 2)
    assert overlap.sum(1).tolist() == [1, 1]
    assert overlap[0, 1] == pytest.approx(4 / 6)  # three neighbours each: all others


def test_intents_in_groups_lie_in_sections(reviewed, tmp_path):
    groups = {intent.id: ("<bills>" if intent.known else "others",) for intent in reviewed.classifier.intents[1:]}
    write_page(ReviewedModel(reviewed.model, reviewed.review, groups=groups), tmp_path / "page.html", title="bot")
    page = (tmp_path / "page.html").read_text()
    assert re.findall("<summary>(.*?)</summary>", page) == [
        "Map of the logs",
        "All intents",
        "&lt;bills&gt;: 2 intents",
        "others: 2 intents",
        "in no group: 1 intents",
        "About this model",
    ]
    assert page.count("<article") == len(reviewed.names)
    write_page(reviewed, tmp_path / "page.html", title="bot")
    assert (tmp_path / "page.html").read_text().count("<summary>") == 3
