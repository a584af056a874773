"""What a reviewer looks at: one model, its utterances embedded once, and views of them as the review stands.

No HTTP here. A `View` belongs to one version of the review and never changes; the next decision makes another.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.clustering import kmeans
from newfound.encoders.encoder import Encoder
from newfound.errors import DecisionError
from newfound.landscape import NEIGHBOURS, flatten, overlaps
from newfound.metrics import silhouette
from newfound.model import IntentModel, load
from newfound.naming import border_cases, exemplars, keywords, name_intents
from newfound.neighbours import nearest
from newfound.review.decisions import Review
from newfound.review.reviewed import Assigned, ReviewedModel
from newfound.review.store import ReviewStore

MOST_COMPARED = 400  # utterances of an intent that are compared with another's
DESCRIBING = 12  # utterances that describe a part of a proposed split
LEAST_TO_SPLIT = 8
SHOWN_OVERLAP = 0.1
T = TypeVar("T")


class Workbench:
    """One model folder: the model, its decisions, and what is computed once for both."""

    def __init__(self, folder: str | Path, *, encoder: str | Encoder | None = None) -> None:
        self.folder = Path(folder)
        self.store = ReviewStore(self.folder)
        self.model: IntentModel = load(self.folder, encoder=encoder)
        self._view: View | None = None
        self._made: dict[str, Any] = {}
        self._lock, self._locks = Lock(), defaultdict[str, Lock](Lock)

    def view(self) -> View:
        """The review as it stands; the last view again if nobody decided since."""
        with self._lock:
            version = self.store.version()
            if self._view is None or self._view.version != version:
                self._view = View(self, self.store.review(), version)
            return self._view

    @property
    def vectors(self) -> Tensor:
        return self._once("vectors", lambda: F.normalize(self.model.utterance_vectors, dim=-1))

    @property
    def near(self) -> Tensor:
        """Row numbers of the nearest utterances, [n, k]."""
        return self._once("near", lambda: nearest(self.vectors, NEIGHBOURS)[1])

    @property
    def layout(self) -> list[list[float]]:
        """A place on the map for every utterance."""
        return self._once("layout", lambda: np.round(flatten(self.vectors.numpy()), 4).tolist())

    def warm_up(self) -> None:
        """Do what takes long before somebody waits for it."""
        self.view().state()
        _ = self.near, self.layout

    def _once(self, name: str, make: Callable[[], T]) -> T:
        """Made by the first who asks; others wait for it, and only for it."""
        if name not in self._made:
            with self._locks[name]:
                if name not in self._made:
                    self._made[name] = make()
        found: T = self._made[name]
        return found


class View:
    """The intents and utterances after the decisions up to one version."""

    def __init__(self, bench: Workbench, review: Review, version: int) -> None:
        self.bench = bench
        self.version = version
        self.reviewed = ReviewedModel(bench.model, review)
        self.names = list(self.reviewed.names)

    @cached_property
    def assigned(self) -> list[Assigned]:
        _ = self.bench.vectors  # embedded there, once, whoever asks first
        return self.reviewed.assigned()

    @cached_property
    def label(self) -> Tensor:
        """Number of each utterance's intent [n], -1 for none."""
        place = {name: i for i, name in enumerate(self.names)}
        return torch.tensor([-1 if u.intent is None else place[u.intent] for u in self.assigned])

    @cached_property
    def probabilities(self) -> Tensor:
        return self.reviewed.probabilities_of([u.text for u in self.assigned], self.bench.vectors)

    @cached_property
    def overlap(self) -> Tensor:
        return overlaps(self.bench.near, self.label, len(self.names))

    @cached_property
    def words(self) -> list[tuple[str, ...]]:
        return keywords([[self.assigned[i].text for i in self.rows(c)] for c in range(len(self.names))])

    def rows(self, intent: int) -> list[int]:
        found: list[int] = (self.label == intent).nonzero().squeeze(1).tolist()
        return found

    def number(self, name: str) -> int:
        if name not in self.names:
            raise DecisionError(f"no intent {name!r}; somebody may have renamed or merged it")
        return self.names.index(name)

    # What the page shows

    def state(self) -> dict[str, Any]:
        """The intents, the progress, and how much of the logs is expected to be wrong."""
        intents = [self._summary(c) for c in range(len(self.names))]
        intents.sort(key=lambda i: (i["status"] == "known", -i["size"], i["name"]))
        new = [i for i in intents if i["status"] != "known"]
        settled = len(self.reviewed.review.accepted)
        return {
            "version": self.version,
            "intents": intents,
            "progress": {
                "accepted": settled,
                "new": len(new),
                "checked": len(self.reviewed.review.moved),
                "expected_error": round(self.expected_error, 4),
            },
        }

    def _summary(self, c: int) -> dict[str, Any]:
        rows = self.rows(c)
        logs = [i for i in rows if not self.assigned[i].labelled] or rows
        certainty = float(np.mean([self.assigned[i].probability for i in logs])) if logs else 0.0
        return {
            "name": self.names[c],
            "status": self.reviewed.review.status(self.names[c]),
            "size": sum(self.assigned[i].count for i in rows),
            "certainty": round(certainty, 3),
            "keywords": list(self.words[c]),
        }

    @cached_property
    def expected_error(self) -> float:
        """Share of the logs whose intent is wrong, by the model's own probabilities; what a person said is right."""
        logs = [u for u in self.assigned if not u.labelled]
        total = sum(u.count for u in logs)
        return sum(u.count * (1 - u.probability) for u in logs) / total if total else 0.0

    def intent(self, name: str, *, start: int = 0, most: int = 50) -> dict[str, Any]:
        """All about one intent, with some of its utterances, the least certain first."""
        c = self.number(name)
        rows = self.rows(c)
        texts = [self.assigned[i].text for i in rows]
        x = self.bench.vectors[rows]
        border = border_cases(self.probabilities[rows], c, texts) if rows else []
        order = sorted(rows, key=lambda i: self.assigned[i].probability)
        return {
            **self._summary(c),
            "exemplars": [texts[i] for i in exemplars(x, x.mean(0), texts)] if rows else [],
            "border": [texts[i] for i in border],
            "merges": self._merges(c) if start == 0 else [],
            "split": self._split(c, rows) if start == 0 else None,
            "total": len(rows),
            "utterances": [self.utterance(i) for i in order[start : start + most]],
        }

    def utterance(self, i: int) -> dict[str, Any]:
        u = self.assigned[i]
        return {
            "id": i,
            "text": u.text,
            "intent": u.intent,
            "labelled": u.labelled,
            "probability": round(u.probability, 4),
            "count": u.count,
        }

    def _merges(self, c: int, most: int = 3) -> list[dict[str, Any]]:
        """Intents that this one overlaps with, and the closest utterances of both as evidence."""
        found: list[dict[str, Any]] = []
        for d in self.overlap[c].argsort(descending=True).tolist():
            share = float(self.overlap[c, d])
            if d == c or share < SHOWN_OVERLAP or len(found) == most:
                continue
            own, other = self.rows(c)[:MOST_COMPARED], self.rows(d)[:MOST_COMPARED]
            alike = self.bench.vectors[own] @ self.bench.vectors[other].T
            pairs = [divmod(i, len(other)) for i in alike.flatten().topk(min(3, alike.numel())).indices.tolist()]
            found.append(
                {
                    "name": self.names[d],
                    "status": self.reviewed.review.status(self.names[d]),
                    "overlap": round(share, 3),
                    "evidence": [[self.assigned[own[a]].text, self.assigned[other[b]].text] for a, b in pairs],
                }
            )
        return found

    def _split(self, c: int, rows: Sequence[int]) -> dict[str, Any] | None:
        """Two parts that the intent may really be, and how clearly they are apart (silhouette)."""
        if len(rows) < LEAST_TO_SPLIT:
            return None
        x = self.bench.vectors[list(rows)]
        label = kmeans(x, 2, restarts=5, seed=0).labels
        groups = [(label == part).nonzero().squeeze(1) for part in (0, 1)]
        if any(len(group) < 2 for group in groups):
            return None
        texts = [[self.assigned[rows[i]].text for i in group.tolist()] for group in groups]
        names = name_intents(texts, taken=self.names)
        sample = torch.randperm(len(rows), generator=torch.Generator().manual_seed(0))[:MOST_COMPARED]
        parts = []
        for group, own, name in zip(groups, texts, names, strict=True):
            shown = exemplars(x[group], x[group].mean(0), own, most=DESCRIBING)
            parts.append({"name": name, "size": len(own), "utterances": [own[i] for i in shown]})
        return {"separation": round(silhouette(x[sample], label[sample]), 3), "parts": parts}

    def queue(self, most: int = 20) -> list[dict[str, Any]]:
        """The utterances from the logs that most need a look: unsure, and unlike their neighbours."""
        rows = [i for i, u in enumerate(self.assigned) if not u.labelled and u.text not in self.reviewed.review.moved]
        if not rows:
            return []
        p = self.probabilities[rows].clamp(min=1e-9)
        entropy = -(p * p.log()).sum(1) / math.log(max(2, len(self.names)))
        agreement = (self.label[self.bench.near[rows]] == self.label[rows][:, None]).float().mean(1)
        doubt = entropy + (1 - agreement)
        chosen = doubt.argsort(descending=True, stable=True)[:most].tolist()
        found = []
        for j in chosen:
            best = self.probabilities[rows[j]].topk(min(4, len(self.names)))
            candidates = [
                [self.names[c], round(v, 3)] for v, c in zip(best.values.tolist(), best.indices.tolist(), strict=True)
            ]
            found.append(
                {
                    **self.utterance(rows[j]),
                    "candidates": candidates,
                    "agreement": round(float(agreement[j]), 2),
                }
            )
        return found

    def search(self, words: str, most: int = 100) -> list[dict[str, Any]]:
        """Utterances that hold all the words."""
        wanted = words.casefold().split()
        found = (i for i, u in enumerate(self.assigned) if all(w in u.text.casefold() for w in wanted))
        return [self.utterance(i) for i, _ in zip(found, range(most), strict=False)]

    def points(self) -> dict[str, Any]:
        """The map of the logs: place, number of the intent and number of the utterance."""
        rows = [i for i, u in enumerate(self.assigned) if not u.labelled] or list(range(len(self.assigned)))
        label = self.label.tolist()
        return {
            "version": self.version,
            "names": self.names,
            "status": [self.reviewed.review.status(name) for name in self.names],
            "points": [[*self.bench.layout[i], label[i], i] for i in rows],
        }

    def explain(self, text: str) -> dict[str, Any]:
        """What one text is classified as, and why: likely intents and the utterances it is closest to."""
        (prediction,) = self.reviewed.classify([text])
        vector = F.normalize(torch.from_numpy(self.bench.model.transform([text])), dim=-1)
        p = self.reviewed.probabilities_of([text], vector)[0]
        best = p.topk(min(5, len(self.names)))
        alike = (self.bench.vectors @ vector[0]).topk(min(5, len(self.assigned)))
        return {
            "intent": prediction.intent,
            "known": prediction.known,
            "probability": prediction.probability,
            "outlier": prediction.outlier,
            "intents": [
                [self.names[c], round(v, 4)] for v, c in zip(best.values.tolist(), best.indices.tolist(), strict=True)
            ],
            "utterances": [
                {**self.utterance(i), "similarity": round(v, 3)}
                for v, i in zip(alike.values.tolist(), alike.indices.tolist(), strict=True)
            ],
        }
