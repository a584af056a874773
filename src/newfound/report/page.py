"""The report page of a model: its intents, how certain they are, which of them overlap, and a map of the logs.

It is one HTML file that loads nothing from elsewhere. All utterances and names in it are escaped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from importlib import resources
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import torch.nn.functional as F

from newfound.errors import DataError
from newfound.files import write_atomically
from newfound.intents.description import MIN_OVERLAP_TO_SUGGEST, expected_error_of
from newfound.intents.map import Positions, map_positions
from newfound.intents.overview import said_by, traffic_of
from newfound.model.types import Intent, KnownCheck, Utterance
from newfound.review.reviewed import ReviewedModel
from newfound.text import percent, shorten

SHARED = ("format", "palette", "plot", "points", "gestures", "overlay", "scatter")  # each uses only earlier ones
SCRIPTS = (*(f"shared/{name}.js" for name in SHARED), "report.js")
MAX_POINTS = 3_000  # on the map; with more, t-SNE and the browser are slow
MAX_EXAMPLE_LENGTH = 60  # characters
MAX_INTENTS_IN_OVERVIEW = 10


def write_page(reviewed: ReviewedModel, path: Path, *, title: str, min_users: int = 0) -> None:
    """Write the report of a model as an HTML file, without the intents that fewer than `min_users` people said."""
    write_atomically(path, render_page(reviewed, title=title, min_users=min_users).encode())


def render_page(reviewed: ReviewedModel, *, title: str, min_users: int = 0, layout: Positions | None = None) -> str:
    """Return the report of a model as HTML; the layout of the map is computed unless there is one."""
    utterances = reviewed.assigned
    if not any(u.intent is not None for u in utterances):
        raise DataError("no utterance belongs to any intent; there is nothing to show")
    described = list(map(reviewed.identified, reviewed.describer().describe_all()))
    shown = said_by(described, min_users)
    intents = sorted(shown, key=lambda i: (i.path is None, i.path, i.known, -i.size, i.name))
    is_grouped = intents[0].path is not None
    return _render(
        title=title,
        cards=intents,
        groups=[(path or "in no group", list(members)) for path, members in groupby(intents, key=lambda i: i.path)],
        is_grouped=is_grouped,
        statuses={intent.name: intent.status for intent in intents},
        data={
            "points": _points(reviewed, {intent.name for intent in shown}, layout),
            "names": list(reviewed.names),
            "colours": [reviewed.colours[name] for name in reviewed.names],
            "known": sorted(reviewed.review.known),
        },
        overview=_overview(reviewed, utterances, shown),
        hidden=f"{len(described) - len(shown)} intents of fewer than {min_users} people are not shown."
        if min_users
        else "",
        about=_about(reviewed, utterances),
        min_overlap=MIN_OVERLAP_TO_SUGGEST,
        scripts=_scripts(),
    )


def _points(reviewed: ReviewedModel, names: set[str], layout: Positions | None) -> list[list[Any]]:
    """Return x, y, the number of the intent and the text of a sample of the logs that are in these intents."""
    utterances = reviewed.assigned
    shown = [i for i, u in enumerate(utterances) if u.intent in names]
    logs = [i for i in shown if not utterances[i].labelled] or shown
    chosen = np.sort(np.random.default_rng(0).permutation(np.array(logs))[:MAX_POINTS])
    vectors = F.normalize(reviewed.model.utterance_vectors[chosen], dim=-1)
    positions = map_positions(vectors.numpy()) if layout is None else layout[chosen]
    intent_number = {name: i for i, name in enumerate(reviewed.names)}
    return [
        [round(float(x), 4), round(float(y), 4), intent_number[str(utterances[i].intent)], utterances[i].text]
        for (x, y), i in zip(positions, chosen.tolist(), strict=True)
    ]


def _overview(reviewed: ReviewedModel, utterances: Sequence[Utterance], shown: Sequence[Intent]) -> dict[str, Any]:
    """Return what somebody who decides wants to know first."""
    traffic = traffic_of(utterances, reviewed.review.known)
    new = sorted((i for i in shown if not i.known and i.size), key=lambda i: -i.size)
    return {
        "n_new": len(reviewed.names) - len(reviewed.review.known),
        "n_known": len(reviewed.review.known),
        "traffic": traffic,
        "largest": new[:MAX_INTENTS_IN_OVERVIEW],
        "more": len(new[MAX_INTENTS_IN_OVERVIEW:]),
        "wrong": round(traffic.utterances * expected_error_of(utterances)),
        "known_check": KnownCheck.of(reviewed.model.provenance),
    }


def _about(reviewed: ReviewedModel, utterances: Sequence[Utterance]) -> list[tuple[str, str]]:
    """Return the lines of the section about the model: name and value."""
    provenance = reviewed.model.provenance
    seconds = sum(provenance.get("timings", {}).values())
    n_labelled = sum(u.count for u in utterances if u.labelled)
    without = [shorten(u.text, MAX_EXAMPLE_LENGTH) for u in utterances if u.intent is None]
    return [
        ("method", f"{provenance.get('method', '?')} on encoder {reviewed.model.encoder.name}"),
        ("made", f"{provenance.get('created', '?')}, in {seconds:.0f} s on {provenance.get('device', '?')}"),
        ("labelled utterances", f"{n_labelled:,}"),
        ("utterances of no intent", f"for instance {'; '.join(without[:3])}" if without else "none"),
    ]


def _scripts() -> str:
    """Return the report's modules, some of which the review page has as well, as one script without modules."""
    folder = resources.files("newfound.report")
    sources = (folder.joinpath(name).read_text("utf-8") for name in SCRIPTS)
    return re.sub(r"^(export |import [^;]*;$)", "", "\n".join(sources), flags=re.MULTILINE)


def _render(**content: Any) -> str:
    from jinja2 import Environment

    template = resources.files("newfound.report").joinpath("page.html.jinja").read_text("utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    # Browsers do not decode HTML escapes inside a script element, so the data is JSON in which `<` is escaped.
    environment.filters["script_json"] = lambda value: json.dumps(value, ensure_ascii=True).replace("<", "\\u003c")
    environment.filters["percent"] = percent
    page: str = environment.from_string(template).render(**content)
    return page
