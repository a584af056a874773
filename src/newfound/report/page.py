"""The report page of a model: its intents, how sure they are, which of them overlap, and a map of the logs.

One HTML file without any reference to the outside; every utterance and name in it is escaped data.
"""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from newfound.errors import DataError
from newfound.files import write_atomically
from newfound.landscape import NEIGHBOURS, flatten, overlaps
from newfound.naming import border_cases, exemplars, keywords
from newfound.neighbours import nearest
from newfound.review.reviewed import Assigned, ReviewedModel

MOST_POINTS = 3_000  # on the map: enough to see, and few enough for t-SNE and a browser


@dataclass(frozen=True, slots=True)
class Card:
    """One intent as the page shows it."""

    name: str
    status: str
    size: int
    certainty: float  # mean probability of its utterances from the logs, or of all if there are none
    keywords: tuple[str, ...]
    exemplars: tuple[str, ...]
    border: tuple[str, ...]
    near: tuple[tuple[str, str, float], ...]  # other intents: name, status, share of neighbours that are theirs


def write_page(reviewed: ReviewedModel, path: Path, *, title: str, seed: int = 0) -> None:
    assigned = reviewed.assigned()
    rows = [i for i, u in enumerate(assigned) if u.intent is not None]
    if not rows:
        raise DataError("no utterance belongs to any intent; there is nothing to show")
    utterances = [assigned[i] for i in rows]
    vectors = F.normalize(reviewed.model.utterance_vectors[rows], dim=-1)
    page = _render(
        title=title,
        cards=_cards(reviewed, utterances, vectors),
        points=_points(reviewed, utterances, vectors, seed),
        names=list(reviewed.names),
        known=sorted(reviewed.review.known),
        about=_about(reviewed, utterances),
    )
    write_atomically(path, page.encode())


def _cards(reviewed: ReviewedModel, utterances: list[Assigned], vectors: torch.Tensor) -> list[Card]:
    """New intents first, the largest first; known ones after them."""
    place = {name: i for i, name in enumerate(reviewed.names)}
    label = torch.tensor([place[str(u.intent)] for u in utterances])
    texts = [[utterances[i].text for i in (label == c).nonzero().squeeze(1).tolist()] for c in range(len(place))]
    words = keywords(texts)
    overlap = overlaps(nearest(vectors, NEIGHBOURS)[1], label, len(place))
    probabilities = reviewed.probabilities_of([u.text for u in utterances], vectors)
    cards = []
    for name, c in place.items():
        rows = (label == c).nonzero().squeeze(1)
        own = [utterances[i] for i in rows.tolist()]
        x = vectors[rows]
        shown = exemplars(x, x.mean(0), texts[c]) if len(rows) else []
        border = border_cases(probabilities[rows], c, texts[c]) if len(rows) else []
        logs = [u.probability for u in own if not u.labelled] or [u.probability for u in own]
        near = [(other, reviewed.review.status(other), float(overlap[c, d])) for other, d in place.items() if d != c]
        near.sort(key=lambda entry: -entry[2])
        cards.append(
            Card(
                name,
                reviewed.review.status(name),
                sum(u.count for u in own),
                statistics.fmean(logs) if logs else 0.0,
                words[c],
                tuple(texts[c][i] for i in shown),
                tuple(texts[c][i] for i in border),
                tuple(entry for entry in near[:3] if entry[2] >= 0.1),
            )
        )
    return sorted(cards, key=lambda card: (card.status == "known", -card.size, card.name))


def _points(reviewed: ReviewedModel, utterances: list[Assigned], vectors: torch.Tensor, seed: int) -> list[list[Any]]:
    """x, y, number of the intent and text of a sample of the logs."""
    logs = np.array([i for i, u in enumerate(utterances) if not u.labelled] or range(len(utterances)))
    chosen = np.sort(np.random.default_rng(seed).permutation(logs)[:MOST_POINTS])
    flat = flatten(vectors[chosen].numpy(), seed)
    place = {name: i for i, name in enumerate(reviewed.names)}
    return [
        [round(float(x), 4), round(float(y), 4), place[str(utterances[i].intent)], utterances[i].text]
        for (x, y), i in zip(flat, chosen.tolist(), strict=True)
    ]


def _about(reviewed: ReviewedModel, utterances: list[Assigned]) -> list[tuple[str, str]]:
    made = reviewed.model.provenance
    seconds = sum(made.get("timings", {}).values())
    logs = [u for u in utterances if not u.labelled]
    as_known = sum(u.intent in reviewed.review.known for u in logs)
    return [
        ("method", f"{made.get('method', '?')} on encoder {reviewed.model.encoder.name}"),
        ("made", f"{made.get('created', '?')}, in {seconds:.0f} s on {made.get('device', '?')}"),
        ("labelled utterances", f"{len(utterances) - len(logs):,}"),
        ("utterances from the logs", f"{len(logs):,}, of which {as_known:,} are of known intents"),
    ]


def _render(**content: Any) -> str:
    from jinja2 import Environment

    template = resources.files("newfound.report").joinpath("page.html.jinja").read_text("utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    # Inside a script element HTML escapes are not undone, so data goes in as JSON without any `<`.
    environment.filters["script_json"] = lambda value: json.dumps(value, ensure_ascii=True).replace("<", "\\u003c")
    page: str = environment.from_string(template).render(**content)
    return page
