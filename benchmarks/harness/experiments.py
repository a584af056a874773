"""The experiments as data: what is run, which numbers of the results are shown, and how.

Most of them are the paper's. A row of an experiment is a method with a variant, and with how much of the encoder trains
where the experiment says so; its cells are that row on every benchmark, ratio, split and seed. An experiment is one
entry in `EXPERIMENTS`, with its variants in `benchmarks.harness.cells`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal, NamedTuple

from benchmarks.harness.baselines import BASELINES
from benchmarks.harness.cells import GAMMAS, IMBALANCES, VARIANTS, Cell, at_random_start
from benchmarks.harness.partitions import WHOLE_DATASETS, facts
from benchmarks.harness.presets import PRESETS, preset_settings

from newfound.errors import SettingsError
from newfound.methods.registry import method_entry

ALL_BENCHMARKS = ("GID-SD", "GID-CD", "GID-MD")
EFFORT_BY_TUNE = {"heads": "quick", "layers": "standard"}  # of the consensus, in logs of new intents only


class Row(NamedTuple):
    """What a line of a table is about."""

    method: str
    variant: str = "default"
    tune: str = ""  # how much of the encoder trains; empty: what the command says


@dataclass(frozen=True, slots=True)
class Column:
    """A number that every result file has."""

    header: str
    path: tuple[str, ...]  # the keys that lead to the number; `{protocol}` stands for `paper` or `strict`
    digits: int = 1


SCORES = tuple(
    Column(header, ("scores", "{protocol}", header.lower().replace(" ", "_")))
    for header in ("IND ACC", "OOD ACC", "OOD F1", "ALL ACC", "ALL F1")
)
ALL_INTENTS = tuple(Column(name.upper(), ("all_intents", name)) for name in ("nmi", "ari", "acc"))
COMPACTNESS = tuple(Column(part, ("compactness", part), 2) for part in ("IND", "OOD", "ALL"))
PSEUDO_LABELS = tuple(Column(f"epoch {epoch}", ("pseudo_labels", str(epoch - 1))) for epoch in (1, 10, 25, 50, 75, 100))
SPEED = (
    Column("s per epoch", ("seconds per epoch", "discovery"), 3),
    Column("s per pre-training epoch", ("seconds per epoch", "pre-training"), 4),
    Column("s in all", ("seconds", "whole fit"), 1),
    Column("s per epoch of the plain loop", ("plain loop, seconds per epoch",), 2),
    Column("times faster", ("times faster than the plain loop",), 1),
)
Figure = Literal["points", "levels", "ratios", "epochs", "maps", "none"]
"""A point per row, lines over levels, ratios or epochs, maps, or no figure."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """What is run, and how it is shown."""

    name: str
    title: str
    rows: tuple[Row, ...]
    benchmarks: tuple[str, ...] = ("GID-SD",)
    ratios: tuple[int, ...] = (40,)  # shares of new intents, in percent
    splits: tuple[int, ...] = (1, 2, 3)  # into known and new intents; each is run with every seed
    seeds: tuple[int, ...] = (0, 1, 2)
    columns: tuple[Column, ...] = SCORES  # of the table
    figure: Figure = "points"
    axis: str = ""  # label of the figure's horizontal axis
    shown: Column = SCORES[1]  # in the figure
    default_level: float = 0.0  # where the variant `default` is on the horizontal axis of a figure over levels
    all_epochs_of: tuple[str, ...] = ()  # methods whose maps are shown at every recorded epoch; others at the last
    compares: bool = False  # the best method with the second best, in a paired test
    shows_published: bool = False  # whether the report adds the scores that the paper published
    in_report: bool = True  # whether the page that compares with the paper shows it; others have pages of their own

    def cells(self, encoder: str, tune: str) -> list[Cell]:
        """Return all cells, in an order in which consecutive cells can share a task and its features.

        `tune` is for the rows that do not say themselves how much of the encoder trains; `auto` is what the paper does.
        """
        return [
            Cell(
                row.method,
                benchmark,
                ratio,
                split,
                seed,
                encoder,
                row.tune or tune.replace("auto", "last"),
                row.variant,
            )
            for benchmark, ratio, split, row, seed in product(
                self.benchmarks, self.ratios, self.splits, self.rows, self.seeds
            )
            if (benchmark, ratio) != ("GID-CD", 60) or split == 1  # the only split that was published
        ]

    def narrow(
        self,
        *,
        methods: Sequence[str] = (),
        benchmarks: Sequence[str] = (),
        ratios: Sequence[int] = (),
        splits: Sequence[int] = (),
        seeds: Sequence[int] = (),
    ) -> Experiment:
        """Return the same experiment with other methods, benchmarks, ratios, splits or seeds.

        A method that the experiment does not have gets the variants that all others share.
        """
        rows = self.rows
        if methods:
            for method in methods:
                if method not in BASELINES:
                    method_entry(method).load()
            own = {row.method for row in self.rows}
            rows = tuple(row for row in self.rows if row.method in methods)
            rows += tuple(Row(m, v) for m in methods if m not in own for v in self._shared_variants())
        return replace(
            self,
            rows=rows,
            benchmarks=tuple(b.upper() for b in benchmarks) or self.benchmarks,
            ratios=tuple(ratios) or self.ratios,
            splits=tuple(splits) or self.splits,
            seeds=tuple(seeds) or self.seeds,
        )

    def at_random_start(self) -> Experiment:
        """Return the rows of DPL, from the paper's random start."""
        rows = (row._replace(variant=at_random_start(row.variant)) for row in self.rows if row.method == "dpl")
        return replace(self, rows=tuple(dict.fromkeys(rows)))

    def _shared_variants(self) -> tuple[str, ...]:
        """Return the variants that every method of this experiment has."""
        by_method = [{row.variant for row in self.rows if row.method == method} for method, *_ in self.rows]
        common = set.intersection(*by_method)
        return tuple(dict.fromkeys(row.variant for row in self.rows if row.variant in common))


def _rows(methods: Sequence[str], variants: Sequence[str], tune: str = "") -> tuple[Row, ...]:
    """Return a row for each method with each variant."""
    return tuple(Row(method, variant, tune) for method, variant in product(methods, variants))


def _with_consensus(methods: Sequence[str], variants: Sequence[str]) -> tuple[Row, ...]:
    """Return rows for the methods and for the consensus, which runs with a frozen encoder (effort `quick`)."""
    return (*_rows(methods, variants), *_rows(["consensus"], variants, "heads"))


def _levels(prefix: str, values: Sequence[float], default: float | None = None) -> tuple[str, ...]:
    """Return the names of the variants at some levels; the level of the defaults is the variant `default`."""
    return tuple("default" if value == default else f"{prefix}-{value}" for value in values)


METHODS_OF_THE_PAPER = ("kmeans", "deepaligned", "deepaligned-mix", "e2e", "dpl")
EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "main",
            "All methods on all benchmarks",
            (*_with_consensus(METHODS_OF_THE_PAPER, ["default"]), Row("consensus", "standard", "layers")),
            ALL_BENCHMARKS,
            compares=True,
            shows_published=True,
        ),
        Experiment(
            "efforts",
            "The recipe with the upper layers fine-tuned, and with all",
            (Row("consensus", "default", "upper"), Row("consensus", "standard", "layers")),
            ALL_BENCHMARKS,
            in_report=False,
        ),
        Experiment(
            "starts",
            "DPL and E2E, each with a random start and with a balanced k-means start",
            (*_rows(["dpl"], ["start-random", "default"]), *_rows(["e2e"], ["default", "start-balanced"])),
        ),
        Experiment(
            "presets",
            "Published settings beside the defaults",
            (
                *_rows(["dpl", "e2e", "deepaligned"], ["default"]),
                *(Row(m, name, preset_settings(m, name)["tune"]) for m, names in PRESETS.items() for name in names),
            ),
        ),
        Experiment("released", "DPL as released, beside its code", (Row("dpl", "released", "last"),), in_report=False),
        Experiment(
            "pseudo-labels",
            "Accuracy of the pseudo-labels by epoch",
            _rows(["deepaligned", "e2e", "dpl"], ["watched"]),
            columns=PSEUDO_LABELS,
            figure="epochs",
            axis="epoch",
        ),
        Experiment(
            "compactness",
            "Inter-class over intra-class distance",
            _rows(["deepaligned", "e2e", "dpl"], ["watched"]),
            columns=COMPACTNESS,
            shown=COMPACTNESS[1],
        ),
        Experiment(
            "embedding",
            "Maps of intents and prototypes, E2E against DPL, and DPL at four epochs",
            _rows(["e2e", "dpl"], ["maps"]),
            splits=(1,),
            seeds=(0,),
            figure="maps",
            all_epochs_of=("dpl",),
        ),
        Experiment(
            "ablation",
            "DPL without its parts",
            (
                *_rows(["dpl"], ["default", "without-ins", "without-pcl", "scl", "pcl+scl"]),
                *_rows(["dpl"], ["start-random", "random-without-ins", "random-without-pcl"]),
                Row("e2e"),
            ),
        ),
        Experiment(
            "gamma",
            "The prototypes' moving average",
            _rows(["dpl"], _levels("gamma", GAMMAS, default=0.9)),
            figure="levels",
            axis="γ",
            default_level=0.9,
        ),
        Experiment(
            "estimate-k",
            "The number of new intents: given, and estimated",
            _rows(["deepaligned", "e2e", "dpl"], ["default", "k-26", "k-auto"]),
        ),
        Experiment(
            "ood-ratio",
            "The share of new intents",
            _with_consensus(METHODS_OF_THE_PAPER, ["default"]),
            ratios=(20, 40, 60),
            figure="ratios",
            axis="new intents, % of all",
        ),
        Experiment(
            "imbalance",
            "Long-tailed logs",
            (
                *_with_consensus(["kmeans", "deepaligned", "e2e", "dpl"], _levels("imbalance", IMBALANCES, default=1)),
                Row("consensus", "imbalance-12-equal", "heads"),
                *_rows(["e2e", "dpl"], ["imbalance-12-estimated"]),
            ),
            ("GID-MD",),
            figure="levels",
            axis="largest over smallest new intent",
            default_level=1.0,
        ),
        Experiment(
            "noise",
            "Utterances of no intent in the logs",
            _with_consensus(["kmeans", "e2e", "dpl"], _levels("noise", [0, 30])),
            ("GID-MD",),
            columns=(*SCORES, Column("AUROC", ("out_of_scope", "auroc"))),
            figure="none",
        ),
        Experiment(
            "mixed",
            "Utterances of known intents in the logs",
            _with_consensus(["kmeans", "e2e", "dpl"], _levels("mixed", [30, 60])),
            columns=(*SCORES, Column("known F1", ("logs", "known_f1"))),
            figure="none",
        ),
        Experiment(
            "unsupervised",
            "No labels at all: all intents are new",
            _rows(["kmeans", "consensus", "bertopic"], ["k-given", "k-estimated"], "heads"),
            WHOLE_DATASETS,
            ratios=(100,),
            splits=(0,),
            columns=ALL_INTENTS,
            figure="none",
            in_report=False,
        ),
        Experiment(
            "few-labels",
            "A tenth of the known intents' labels; known and new intents in the logs",
            (*_rows(["consensus"], ["labels-10", "labels-10-auto"]), Row("bertopic", "labels-10", "heads")),
            WHOLE_DATASETS,
            ratios=(75, 50, 25),
            seeds=(0,),
            columns=ALL_INTENTS,
            figure="none",
            in_report=False,
        ),
        Experiment(
            "trunk-dropout",
            "Stored views of the frozen layers against dropout in them at every step",
            _rows(["dpl"], ["default", "trunk-dropout"]),
            ("GID-SD", "GID-MD"),
        ),
        Experiment(
            "speed",
            "Seconds",
            (*_rows(["dpl"], ["speed", "speed-trunk-dropout"]), Row("e2e", "speed")),
            splits=(1,),
            seeds=(0,),
            columns=SPEED,
            figure="none",
        ),
    )
}

IN_THE_PAPER: dict[str, str] = facts("published")["experiments"]  # by table or figure of the paper


def experiment_named(name: str) -> Experiment:
    """Return an experiment by its name or by that of a table or figure of the paper; the error lists the names."""
    name = IN_THE_PAPER.get(name, name)
    if name not in EXPERIMENTS:
        raise SettingsError(f"no experiment {name!r}; one of {', '.join((*EXPERIMENTS, *IN_THE_PAPER))}")
    return EXPERIMENTS[name]


def row_label(method: str, variant: str = "default", tune: str = "") -> str:
    """Return what tables and figures call a row; the consensus is named with its effort."""
    effort = EFFORT_BY_TUNE.get(tune, tune) if method == "consensus" else ""
    return ", ".join(filter(None, (f"{method} {effort}".strip(), VARIANTS[variant].label)))
