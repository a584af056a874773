"""What the paper claims, as data, and what the results say about it.

A claim that one number is larger than another is judged on pairs of runs with the same split and seed: it is reproduced
if the mean difference is positive and a Wilcoxon signed-rank test over the pairs gives p below 0.05.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from newfound.bench.cells import Cell
from newfound.bench.experiments import COMPACTNESS, SCORES, SPEED, Column, Row, row_label
from newfound.bench.tables import Results, number_of

Verdict = Literal["reproduced", "not reproduced", "not tested"]
SIGNIFICANCE = 0.05
MOST_TIMES_LONGER = 1.16  # twice the 8 % that the paper reports
FEWEST_PAIRS = 6  # with fewer, no signed-rank test can give a p below 0.05
OOD_ACC = SCORES[1]
BASELINES = ("kmeans", "deepaligned", "deepaligned-mix", "e2e")


@dataclass(frozen=True, slots=True)
class Judgement:
    """A claim's verdict, and the numbers behind it."""

    verdict: Verdict
    evidence: str


NOT_TESTED = Judgement("not tested", "the runs are missing")


class Evidence:
    """The results of one encoder, by row, benchmark, share of new intents, split and seed."""

    def __init__(self, results: Results) -> None:
        """Take the results of all experiments."""
        self._results = {
            ((c.method, c.variant), c.benchmark, c.ratio, c.split, c.seed): result for c, result in results.items()
        }
        self._runs: list[tuple[int, int]] = sorted({(c.split, c.seed) for c in results if _is_published_split(c)})

    def values(self, row: Row, column: Column, benchmark: str, ratio: int = 40) -> dict[tuple[int, int], float]:
        """Return the number of every run of a row, by split and seed."""
        found = {}
        for split, seed in self._runs:
            result = self._results.get((row, benchmark, ratio, split, seed))
            value = None if result is None else number_of(result, column, "strict")
            if value is not None:
                found[split, seed] = value
        return found

    def differences(
        self, larger: Row, smaller: Row, column: Column, benchmark: str, ratio: int = 40, other: Column | None = None
    ) -> list[float]:
        """Return the differences of two rows over the runs that both have."""
        a = self.values(larger, column, benchmark, ratio)
        b = self.values(smaller, other or column, benchmark, ratio)
        return [a[run] - b[run] for run in a if run in b]


def _is_published_split(cell: Cell) -> bool:
    return cell.split < 10  # fresh partitions are numbered from 1000


Judge = Callable[[Evidence], Judgement]


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper.

    Attributes:
        where: The table, figure or section of the paper.
        text: What it says.
        experiment: The experiment that tests it.
        judge: What the results say.
    """

    where: str
    text: str
    experiment: str
    judge: Judge


def signed(value: float) -> str:
    """Return a difference with its sign, the minus sign being the one of the names around it."""
    return f"{value:+.2f}".replace("-", "−")


def judge_differences(differences: Sequence[float], name: str) -> Judgement:
    """Judge the claim that differences are positive.

    Args:
        differences: One per pair of runs.
        name: What was compared with what.
    """
    if len(differences) < FEWEST_PAIRS:
        return NOT_TESTED
    from scipy.stats import wilcoxon

    mean = statistics.fmean(differences)
    p = float(wilcoxon(differences).pvalue) if any(differences) else 1.0
    verdict: Verdict = "reproduced" if mean > 0 and p < SIGNIFICANCE else "not reproduced"
    return Judgement(verdict, f"{name}: {signed(mean)} (p = {p:.3f}, {len(differences)} pairs)")


def larger(
    row: Row,
    others: Sequence[Row],
    column: Column = OOD_ACC,
    benchmark: str = "GID-SD",
    other_column: Column | None = None,
) -> Judge:
    """Return a judge of the claim that a row has larger numbers than each of the others."""

    def judge(evidence: Evidence) -> Judgement:
        judged = [
            judge_differences(
                evidence.differences(row, other, column, benchmark, other=other_column),
                f"{row_label(*row)} − {row_label(*other)}",
            )
            for other in others
        ]
        return _all_of(judged)

    return judge


def _all_of(judged: Sequence[Judgement]) -> Judgement:
    """Return one judgement of several that must all hold."""
    tested = [j for j in judged if j.verdict != "not tested"]
    if any(j.verdict == "not reproduced" for j in tested):
        return Judgement("not reproduced", "; ".join(j.evidence for j in tested))
    if len(tested) < len(judged):
        return NOT_TESTED
    return Judgement("reproduced", "; ".join(j.evidence for j in tested))


def _gain_shrinks(evidence: Evidence) -> Judgement:
    gains = [evidence.differences(("dpl", "default"), ("e2e", "default"), OOD_ACC, b) for b in ("GID-SD", "GID-MD")]
    if any(len(gain) < FEWEST_PAIRS for gain in gains):
        return NOT_TESTED
    single, multiple = (statistics.fmean(gain) for gain in gains)
    verdict: Verdict = "reproduced" if single > multiple else "not reproduced"
    return Judgement(
        verdict, f"DPL − E2E: {signed(single)} on GID-SD, {signed(multiple)} on GID-MD (means compared, no test)"
    )


def _best_gamma(evidence: Evidence) -> Judgement:
    levels = {"0.9": "default", **{level: f"gamma-{level}" for level in ("0.5", "0.6", "0.7", "0.8", "0.95", "0.99")}}
    values = {level: evidence.values(("dpl", variant), OOD_ACC, "GID-SD") for level, variant in levels.items()}
    if any(len(runs) < FEWEST_PAIRS for runs in values.values()):
        return NOT_TESTED
    means = {level: statistics.fmean(runs.values()) for level, runs in values.items()}
    verdict: Verdict = "reproduced" if max(means, key=lambda level: means[level]) == "0.9" else "not reproduced"
    shown = ", ".join(f"γ = {level}: {means[level]:.1f}" for level in sorted(means))
    return Judgement(verdict, f"{shown} (means compared, no test)")


def _falls_with_ratio(evidence: Evidence) -> Judgement:
    judged = []
    for method in ("kmeans", "dpl"):
        row = (method, "default")
        for low, high in ((20, 40), (40, 60)):
            a, b = (evidence.values(row, OOD_ACC, "GID-SD", ratio) for ratio in (low, high))
            differences = [a[run] - b[run] for run in a if run in b]
            judged.append(judge_differences(differences, f"{method}, {low} % − {high} %"))
    return _all_of(judged)


def _lead_grows(evidence: Evidence) -> Judgement:
    leads = {}
    for ratio in (20, 60):
        leads[ratio] = evidence.differences(("dpl", "default"), ("kmeans", "default"), OOD_ACC, "GID-SD", ratio)
    if any(len(lead) < FEWEST_PAIRS for lead in leads.values()):
        return NOT_TESTED
    few, many = (statistics.fmean(leads[ratio]) for ratio in (20, 60))
    verdict: Verdict = "reproduced" if many > few else "not reproduced"
    evidence_text = (
        f"DPL − k-means: {signed(few)} at 20 %, {signed(many)} at 60 % (means compared, no test; E2E was not run)"
    )
    return Judgement(verdict, evidence_text)


def _falls_more_in_a_tail(evidence: Evidence) -> Judgement:
    falls = {}
    for method in ("e2e", "dpl"):
        even, tailed = (
            evidence.values((method, variant), OOD_ACC, "GID-MD") for variant in ("default", "imbalance-12")
        )
        falls[method] = {run: even[run] - tailed[run] for run in even if run in tailed}
    differences = [falls["e2e"][run] - falls["dpl"][run] for run in falls["e2e"] if run in falls["dpl"]]
    return judge_differences(differences, "fall of E2E − fall of DPL at factor 12 on GID-MD")


def _takes_a_little_longer(evidence: Evidence) -> Judgement:
    seconds = [evidence.values((method, "speed"), SPEED[0], "GID-SD") for method in ("dpl", "e2e")]
    ratios = [seconds[0][run] / seconds[1][run] for run in seconds[0] if run in seconds[1]]
    if not ratios:
        return NOT_TESTED
    ratio = statistics.fmean(ratios)
    verdict: Verdict = "reproduced" if 1 < ratio <= MOST_TIMES_LONGER else "not reproduced"
    return Judgement(verdict, f"an epoch of DPL takes {ratio:.2f} times as long as one of E2E")


def _pseudo_labels(epoch: int) -> Column:
    return Column(f"epoch {epoch}", ("pseudo_labels", str(epoch - 1)))


DPL, E2E = ("dpl", "default"), ("e2e", "default")
WATCHED_DPL, WATCHED_E2E, WATCHED_DEEPALIGNED = (("dpl", "watched"), ("e2e", "watched"), ("deepaligned", "watched"))
RANDOM_DPL = ("dpl", "start-random")

CLAIMS: tuple[Claim, ...] = (
    *(
        Claim(
            "table 1",
            f"On {benchmark}, DPL finds new intents better than every baseline (OOD ACC).",
            "main",
            larger(DPL, [(method, "default") for method in BASELINES], benchmark=benchmark),
        )
        for benchmark in ("GID-SD", "GID-CD", "GID-MD")
    ),
    Claim("section 4.4", "DPL gains more over E2E on GID-SD than on GID-MD.", "main", _gain_shrinks),
    Claim(
        "not in the paper",
        "With a random start for both, DPL is better than E2E on GID-SD.",
        "starts",
        larger(RANDOM_DPL, [E2E]),
    ),
    Claim(
        "not in the paper",
        "With a balanced k-means start for both, DPL is better than E2E on GID-SD.",
        "starts",
        larger(DPL, [("e2e", "start-balanced")]),
    ),
    Claim(
        "figure 3",
        "At the end, DPL's pseudo-labels are more accurate than E2E's.",
        "pseudo-labels",
        larger(WATCHED_DPL, [WATCHED_E2E], _pseudo_labels(100), other_column=_pseudo_labels(200)),
    ),
    Claim(
        "figure 3",
        "DPL converges faster: after ten epochs its pseudo-labels are more accurate than E2E's.",
        "pseudo-labels",
        larger(WATCHED_DPL, [WATCHED_E2E], _pseudo_labels(10)),
    ),
    Claim(
        "figure 3",
        "At the end, the pseudo-labels of E2E and DPL are more accurate than DeepAligned's.",
        "pseudo-labels",
        lambda evidence: _all_of(
            [
                larger(WATCHED_DPL, [WATCHED_DEEPALIGNED], _pseudo_labels(100))(evidence),
                larger(WATCHED_E2E, [WATCHED_DEEPALIGNED], _pseudo_labels(200), other_column=_pseudo_labels(100))(
                    evidence
                ),
            ]
        ),
    ),
    *(
        Claim(
            "table 2",
            f"{part} intents are more compact with DPL than with E2E.",
            "compactness",
            larger(WATCHED_DPL, [WATCHED_E2E], column),
        )
        for part, column in zip(("Known", "New", "All"), COMPACTNESS, strict=True)
    ),
    Claim("table 3", "DPL loses without L_ins.", "ablation", larger(DPL, [("dpl", "without-ins")])),
    Claim("table 3", "DPL loses without L_PCL.", "ablation", larger(DPL, [("dpl", "without-pcl")])),
    Claim(
        "table 3",
        "DPL loses without L_ins, from the paper's random start.",
        "ablation",
        larger(RANDOM_DPL, [("dpl", "random-without-ins")]),
    ),
    Claim(
        "table 3",
        "DPL loses without L_PCL, from the paper's random start.",
        "ablation",
        larger(RANDOM_DPL, [("dpl", "random-without-pcl")]),
    ),
    Claim(
        "table 3",
        "DPL is better than supervised contrast, alone or with L_PCL.",
        "ablation",
        larger(DPL, [("dpl", "scl"), ("dpl", "pcl+scl")]),
    ),
    Claim("figure 6", "γ = 0.9 is best.", "gamma", _best_gamma),
    Claim("figure 6", "DPL falls where γ is above 0.9.", "gamma", larger(DPL, [("dpl", "gamma-0.99")])),
    Claim(
        "table 4",
        "With 26 instead of 31 new intents DPL falls.",
        "estimate-k",
        larger(DPL, [("dpl", "k-26")]),
    ),
    Claim(
        "table 4",
        "With 26 instead of 31 new intents DPL is better than E2E and DeepAligned.",
        "estimate-k",
        larger(("dpl", "k-26"), [("e2e", "k-26"), ("deepaligned", "k-26")]),
    ),
    Claim("figure 7", "All methods fall as the share of new intents rises.", "ood-ratio", _falls_with_ratio),
    Claim("figure 7", "DPL's lead grows with the share of new intents.", "ood-ratio", _lead_grows),
    Claim(
        "figure 8",
        "In long-tailed logs E2E falls more than DPL.",
        "imbalance",
        _falls_more_in_a_tail,
    ),
    Claim(
        "section 4.3",
        "Training takes about 8 % longer with DPL than with E2E.",
        "speed",
        _takes_a_little_longer,
    ),
)


def judged_claims(results: Results) -> list[tuple[Claim, Judgement]]:
    """Return every claim with what the results say about it."""
    evidence = Evidence(results)
    return [(claim, claim.judge(evidence)) for claim in CLAIMS]
