"""The paper's experiments, and some it leaves to others, as data: rows, benchmarks, what is read from the results.

A row of an experiment is a method with a variant; its cells are that row on every benchmark, ratio, split and seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

from newfound.bench.cells import Cell
from newfound.bench.variants import GAMMAS, IMBALANCES, MIXED, NOISE, VARIANTS
from newfound.errors import SettingsError
from newfound.methods.registry import METHODS, method_named

ALL_BENCHMARKS = ("GID-SD", "GID-CD", "GID-MD")
Row = tuple[str, str]  # method, variant


@dataclass(frozen=True, slots=True)
class Column:
    """A number in every result file, at a path; `{protocol}` stands for paper and for strict in turn."""

    header: str
    path: tuple[str, ...]
    digits: int = 1


SCORES = tuple(
    Column(header, ("scores", "{protocol}", name))
    for header, name in (
        ("IND ACC", "ind_acc"),
        ("OOD ACC", "ood_acc"),
        ("OOD F1", "ood_f1"),
        ("ALL ACC", "all_acc"),
        ("ALL F1", "all_f1"),
    )
)
COMPACTNESS = tuple(Column(part, ("compactness", part), 2) for part in ("IND", "OOD", "ALL"))
PSEUDO_LABELS = tuple(Column(f"epoch {epoch}", ("pseudo_labels", str(epoch - 1))) for epoch in (1, 10, 25, 50, 75, 100))
SPEED = (
    Column("s per epoch", ("seconds per epoch", "discovery"), 3),
    Column("s per pre-training epoch", ("seconds per epoch", "pre-training"), 4),
    Column("s in all", ("seconds", "whole fit"), 1),
    Column("times the plain loop", ("times faster than the plain loop",), 1),
)
Figure = Literal["points", "levels", "ratios", "epochs", "maps", "none"]


@dataclass(frozen=True, slots=True)
class Experiment:
    """What is run, and how it is shown. `shown` is the column of the figure; `axis` what its levels are."""

    name: str
    title: str
    rows: tuple[Row, ...]
    benchmarks: tuple[str, ...] = ("GID-SD",)
    ratios: tuple[int, ...] = (40,)
    splits: tuple[int, ...] = (1, 2, 3)
    seeds: tuple[int, ...] = (0, 1, 2)
    columns: tuple[Column, ...] = SCORES
    figure: Figure = "points"
    axis: str = ""
    shown: Column = SCORES[1]
    compares: bool = False  # the best method against the second, in a paired test

    def cells(self, encoder: str, tune: str) -> list[Cell]:
        """In an order that lets neighbours share a task and its features."""
        return [
            Cell(method, benchmark, ratio, split, seed, encoder, tune, variant)
            for benchmark, ratio, split, (method, variant), seed in product(
                self.benchmarks, self.ratios, self.splits, self.rows, self.seeds
            )
            if (benchmark, ratio) != ("GID-CD", 60) or split == 1  # no other was published
        ]

    def narrowed(
        self,
        *,
        methods: Sequence[str] = (),
        benchmarks: Sequence[str] = (),
        ratios: Sequence[int] = (),
        splits: Sequence[int] = (),
        seeds: Sequence[int] = (),
    ) -> Experiment:
        """The same with another choice of methods, benchmarks, ratios, splits or seeds."""
        rows = self.rows
        if methods:
            for method in methods:
                method_named(method)
            rows = tuple(row for row in self.rows if row[0] in methods)
            rows += tuple((m, v) for m in methods if m not in dict(self.rows) for v in self._shared_variants())
        return replace(
            self,
            rows=rows,
            benchmarks=tuple(b.upper() for b in benchmarks) or self.benchmarks,
            ratios=tuple(ratios) or self.ratios,
            splits=tuple(splits) or self.splits,
            seeds=tuple(seeds) or self.seeds,
        )

    def _shared_variants(self) -> tuple[str, ...]:
        """Variants that are no business of one method alone: those that every method of this experiment has."""
        by_method = [{v for m, v in self.rows if m == method} for method, _ in self.rows]
        common = set.intersection(*by_method)
        return tuple(dict.fromkeys(v for _, v in self.rows if v in common))


def _each(methods: Sequence[str], variants: Sequence[str]) -> tuple[Row, ...]:
    return tuple(product(methods, variants))


def _levels(prefix: str, values: Sequence[float], default: float | None = None) -> tuple[str, ...]:
    """Names of variants; the level at which the defaults stand needs no runs of its own."""
    return tuple("default" if value == default else f"{prefix}-{value}" for value in values)


EVERY = tuple(METHODS)  # the order of the registry is the order of the tables
EVERY_KIND = ("kmeans", "deepaligned", "e2e", "dpl", "consensus")
EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment("main", "All methods on all benchmarks", _each(EVERY, ["default"]), ALL_BENCHMARKS, compares=True),
        Experiment(
            "pseudo-labels",
            "Accuracy of the pseudo-labels by epoch",
            _each(["deepaligned", "e2e", "dpl"], ["watched"]),
            columns=PSEUDO_LABELS,
            figure="epochs",
            axis="epoch",
        ),
        Experiment(
            "compactness",
            "Inter-class over intra-class distance",
            _each(["deepaligned", "e2e", "dpl"], ["watched"]),
            columns=COMPACTNESS,
            shown=COMPACTNESS[1],
        ),
        Experiment(
            "embedding",
            "Maps of intents and prototypes, E2E against DPL, and DPL at four epochs",
            _each(["e2e", "dpl"], ["maps"]),
            splits=(1,),
            seeds=(0,),
            figure="maps",
        ),
        Experiment(
            "ablation",
            "DPL without its parts",
            (*_each(["dpl"], ["default", "without-ins", "without-pcl", "scl", "pcl+scl"]), ("e2e", "default")),
        ),
        Experiment(
            "gamma",
            "The prototypes' moving average",
            _each(["dpl"], _levels("gamma", GAMMAS, 0.9)),
            figure="levels",
            axis="γ",
        ),
        Experiment(
            "estimate-k",
            "The number of new intents: given, and estimated",
            _each(["deepaligned", "e2e", "dpl"], ["default", "k-26", "k-auto"]),
        ),
        Experiment(
            "ood-ratio",
            "The share of new intents",
            _each(EVERY, ["default"]),
            ratios=(20, 40, 60),
            figure="ratios",
            axis="new intents, % of all",
        ),
        Experiment(
            "imbalance",
            "Long-tailed logs",
            (
                *_each(EVERY_KIND, _levels("imbalance", IMBALANCES, 1)),
                ("consensus", "imbalance-12-equal"),
            ),
            ("GID-MD",),
            figure="levels",
            axis="largest over smallest new intent",
        ),
        Experiment(
            "noise",
            "Utterances of no intent in the logs",
            _each(EVERY_KIND, _levels("noise", NOISE)),
            ("GID-MD",),
            columns=(*SCORES, Column("AUROC", ("out_of_scope", "auroc"))),
            figure="levels",
            axis="out-of-scope utterances in the logs, %",
        ),
        Experiment(
            "mixed",
            "Utterances of known intents in the logs",
            _each(EVERY_KIND, _levels("mixed", MIXED)),
            columns=(*SCORES, Column("known F1", ("logs", "known_f1"))),
            figure="levels",
            axis="known utterances in the logs, %",
        ),
        Experiment(
            "trunk-dropout",
            "Stored views of the frozen layers against dropout in them at every step",
            _each(["dpl"], ["default", "trunk-dropout"]),
            ("GID-SD", "GID-MD"),
        ),
        Experiment(
            "speed",
            "Seconds",
            (("dpl", "speed"), ("dpl", "speed-trunk-dropout"), ("e2e", "speed")),
            splits=(1,),
            seeds=(0,),
            columns=SPEED,
            figure="none",
        ),
    )
}


def experiment_named(name: str) -> Experiment:
    if name not in EXPERIMENTS:
        raise SettingsError(f"no experiment {name!r}; one of {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]


def row_label(method: str, variant: str) -> str:
    label = VARIANTS[variant].label
    return f"{method}, {label}" if label else method
