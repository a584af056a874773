"""What the paper claims, as data, and what the results say about it: one claim for each statement of its sections.

A claim that one number is larger than another is judged on pairs of runs with the same split and seed, by the protocol
`strict`: it holds if the mean difference is positive and a Wilcoxon signed-rank test over the pairs gives p below 0.05.
Runs on different data are no pairs, and are compared by a Mann-Whitney U test.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from benchmarks.harness.cells import GAMMAS, Cell
from benchmarks.harness.experiments import COMPACTNESS, SCORES, SPEED, Column, Row
from benchmarks.harness.tables import Results, number_of

SIGNIFICANCE = 0.05
MOST_TIMES_LONGER = 1.16  # twice the 8 % that the paper reports
MOST_TIMES_MORE_PARAMETERS = 1.1  # "basically the same"
FEWEST_PAIRS = 6  # with fewer, no signed-rank test can give a p below 0.05
USUAL_PAIRS = 9  # three splits with three seeds each
OOD_ACC, ALL_F1 = SCORES[1], SCORES[4]
TRAINABLE, AT_INFERENCE = (Column(part, ("parameters", part)) for part in ("trainable", "inference"))
NAMES = {
    "kmeans": "k-means",
    "deepaligned": "DeepAligned",
    "deepaligned-mix": "DeepAligned-Mix",
    "e2e": "E2E",
    "dpl": "DPL",
}
BASELINES = tuple(Row(method) for method in NAMES if method != "dpl")
DPL, E2E, DEEPALIGNED = Row("dpl"), Row("e2e"), Row("deepaligned")
COUNTS = ("none", "one", "two", "three", "four", "five", "six")
Runs = dict[tuple[int, int], float]  # by split and seed


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict and the numbers behind it.

    Attributes:
        verdict: "reproduced", "partly: ..." with what holds and what does not, "not reproduced", "no clear difference"
            or "not tested".
        evidence: The numbers.
    """

    verdict: str
    evidence: str


class Evidence:
    """The results of one encoder, by method, variant, benchmark, share of new intents, split and seed."""

    def __init__(self, results: Results) -> None:
        """Take the results of all experiments."""
        self._results = {(c.method, c.variant, c.benchmark, c.ratio, c.split, c.seed): r for c, r in results.items()}
        self._runs = sorted({(c.split, c.seed) for c in results if _is_published_split(c)})

    def values(self, row: Row, column: Column = OOD_ACC, benchmark: str = "GID-SD", ratio: int = 40) -> Runs:
        """Return the number of every run of a row."""
        values = {}
        for split, seed in self._runs:
            result = self._results.get((row.method, row.variant, benchmark, ratio, split, seed), {})
            value = number_of(result, column, "strict")
            if value is not None:
                values[split, seed] = value
        return values


def _is_published_split(cell: Cell) -> bool:
    return cell.split < 10  # fresh partitions are numbered from 1000


def minus(a: Runs, b: Runs) -> Runs:
    """Return the differences of the runs that both have."""
    return {run: a[run] - b[run] for run in a if run in b}


@dataclass(frozen=True, slots=True)
class Comparison:
    """One of the comparisons that a claim consists of.

    Attributes:
        name: What the comparison is about, as a verdict names it.
        outcome: Whether the difference that is claimed is there, is the other way round, or cannot be told.
        evidence: The numbers.
    """

    name: str
    outcome: Literal["holds", "reversed", "unclear", "missing"]
    evidence: str = ""


def compare(name: str, text: str, differences: Runs) -> Comparison:
    """Test the claim that differences are positive.

    Args:
        name: What the comparison is about, as a verdict names it.
        text: What was subtracted from what.
        differences: One for each pair of runs.
    """
    if len(differences) < FEWEST_PAIRS:
        return Comparison(name, "missing")
    from scipy.stats import wilcoxon

    values = list(differences.values())
    mean = statistics.fmean(values)
    p = float(wilcoxon(values).pvalue) if any(values) else 1.0
    pairs = "" if len(values) == USUAL_PAIRS else f", {len(values)} pairs"
    evidence = f"{text}: {signed(mean)} ({_p_value(p)}{pairs})"
    return Comparison(name, _outcome(mean, p), evidence)


def signed(value: float) -> str:
    """Return a difference with its sign, the minus sign being the one of the names around it."""
    return f"{value:+.2f}".replace("-", "−")


def compare_means(
    name: str, text: str, larger: Runs, smaller: Runs, shown: Callable[[float], str] = signed
) -> Comparison:
    """Test the claim that one mean is larger than another whose runs are no pairs with its own.

    Args:
        name: What the comparison is about, as a verdict names it.
        text: What the two numbers are.
        larger: The runs that are claimed to have larger numbers.
        smaller: The other runs.
        shown: How a number is written.
    """
    if min(len(larger), len(smaller)) < FEWEST_PAIRS:
        return Comparison(name, "missing")
    from scipy.stats import mannwhitneyu

    p = float(mannwhitneyu(list(larger.values()), list(smaller.values())).pvalue)
    a, b = (statistics.fmean(runs.values()) for runs in (larger, smaller))
    evidence = f"{text}: {shown(a)} against {shown(b)} ({_p_value(p)}, no pairs)"
    return Comparison(name, _outcome(a - b, p), evidence)


def _p_value(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _outcome(difference: float, p: float) -> Literal["holds", "reversed", "unclear"]:
    if p >= SIGNIFICANCE:
        return "unclear"
    return "holds" if difference > 0 else "reversed"


@dataclass(frozen=True, slots=True)
class Words:
    """How a verdict says for which comparisons a claim holds; `{}` stands for their names."""

    holds: str
    unclear: str
    reversed: str


BETTER_THAN = Words("better than {}", "not distinguishable from {}", "worse than {}")
HOLDS_FOR = Words("holds for {}", "no clear difference for {}", "the reverse for {}")


def conclude(comparisons: Sequence[Comparison], words: Words = HOLDS_FOR) -> Judgement:
    """Return the verdict on a claim that consists of several comparisons."""
    by_outcome = {
        outcome: [c.name for c in comparisons if c.outcome == outcome]
        for outcome in ("holds", "unclear", "reversed", "missing")
    }
    evidence = "; ".join(c.evidence for c in comparisons if c.evidence)
    total, holds = len(comparisons), len(by_outcome["holds"])
    failed = by_outcome["unclear"] + by_outcome["reversed"]
    if not failed:
        return Judgement("not tested", "") if by_outcome["missing"] else Judgement("reproduced", evidence)
    if not holds:
        return Judgement("not reproduced" if by_outcome["reversed"] else "no clear difference", evidence)
    parts = [
        words.holds.format(f"{COUNTS[holds]} of {COUNTS[total]}"),
        words.unclear.format(_listed(by_outcome["unclear"])) if by_outcome["unclear"] else "",
        words.reversed.format(_listed(by_outcome["reversed"])) if by_outcome["reversed"] else "",
        f"{_listed(by_outcome['missing'])} not run" if by_outcome["missing"] else "",
    ]
    return Judgement(f"partly: {'; '.join(filter(None, parts))}", evidence)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


Judge = Callable[[Evidence], Judgement]
NOT_IN_THE_PAPER = "not in the paper"


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper.

    Attributes:
        where: The table, figure or section of the paper, or `NOT_IN_THE_PAPER`.
        text: What it says.
        experiment: The experiment that tests it.
        judge: What the results say.
    """

    where: str
    text: str
    experiment: str
    judge: Judge


def better(row: Row, others: Sequence[Row], benchmark: str = "GID-SD", column: Column = OOD_ACC) -> Judge:
    """Return a judge of the claim that a row has larger numbers than each of the others."""

    def judge(evidence: Evidence) -> Judgement:
        own = evidence.values(row, column, benchmark)
        comparisons = [
            compare(
                NAMES[other.method],
                f"over {NAMES[other.method]}",
                minus(own, evidence.values(other, column, benchmark)),
            )
            for other in others
        ]
        return conclude(comparisons, BETTER_THAN)

    return judge


def better_than_variants(row: Row, others: dict[str, Row]) -> Judge:
    """Return a judge of the claim that a row is better than others on GID-SD, which have names of their own."""

    def judge(evidence: Evidence) -> Judgement:
        own = evidence.values(row)
        comparisons = [compare(n, n, minus(own, evidence.values(o))) for n, o in others.items()]
        return conclude(comparisons)

    return judge


def _better_than_e2e_everywhere(evidence: Evidence) -> Judgement:
    comparisons = []
    for benchmark in ("GID-SD", "GID-CD", "GID-MD"):
        differences = minus(evidence.values(DPL, OOD_ACC, benchmark), evidence.values(E2E, OOD_ACC, benchmark))
        comparisons.append(compare(benchmark, benchmark, differences))
    return conclude(comparisons)


def _gains(evidence: Evidence, row: Row, other: Row, benchmark: str, ratio: int = 40) -> Runs:
    return minus(evidence.values(row, OOD_ACC, benchmark, ratio), evidence.values(other, OOD_ACC, benchmark, ratio))


def _gain_is_larger_in_one_domain(evidence: Evidence) -> Judgement:
    single, multiple = (_gains(evidence, DPL, E2E, benchmark) for benchmark in ("GID-SD", "GID-MD"))
    return conclude([compare_means("", "DPL − E2E on GID-SD and GID-MD", single, multiple)])


def _one_domain_is_harder(evidence: Evidence) -> Judgement:
    multiple, single = (evidence.values(DPL, ALL_F1, benchmark) for benchmark in ("GID-MD", "GID-SD"))
    return conclude([compare_means("", "ALL F1 of DPL on GID-MD and GID-SD", multiple, single, "{:.2f}".format)])


def _gain_is_larger_than_the_previous(evidence: Evidence) -> Judgement:
    now, before = _gains(evidence, DPL, E2E, "GID-CD"), _gains(evidence, E2E, DEEPALIGNED, "GID-CD")
    return conclude([compare("", "(DPL − E2E) − (E2E − DeepAligned)", minus(now, before))])


def _pseudo_labels(method: str, epoch: int) -> tuple[Row, Column]:
    return Row(method, "watched"), Column(f"epoch {epoch}", ("pseudo_labels", str(epoch - 1)))


LAST_EPOCH = {"dpl": 100, "deepaligned": 100, "e2e": 200}


def _pseudo_labels_at_the_end(pairs: Sequence[tuple[str, str]]) -> Judge:
    def judge(evidence: Evidence) -> Judgement:
        comparisons = []
        for better_one, other in pairs:
            a, b = (evidence.values(*_pseudo_labels(method, LAST_EPOCH[method])) for method in (better_one, other))
            comparisons.append(compare(NAMES[better_one], f"{NAMES[better_one]} over {NAMES[other]}", minus(a, b)))
        return conclude(comparisons)

    return judge


def _converges_faster(evidence: Evidence) -> Judgement:
    a, b = (evidence.values(*_pseudo_labels(method, 10)) for method in ("dpl", "e2e"))
    return conclude([compare("", "over E2E after ten epochs", minus(a, b))])


def _more_compact(evidence: Evidence) -> Judgement:
    comparisons = []
    for name, column in zip(("known intents", "new intents", "all intents"), COMPACTNESS, strict=True):
        a, b = (evidence.values(Row(method, "watched"), column) for method in ("dpl", "e2e"))
        comparisons.append(compare(name, name, minus(a, b)))
    return conclude(comparisons)


def _not_measured(evidence: Evidence) -> Judgement:
    return Judgement("not tested", "to be seen in the maps below; no number was defined for it")


def _ablated_is_better_than_e2e(evidence: Evidence) -> Judgement:
    e2e = evidence.values(E2E)
    parts = {"without L_ins": "without-ins", "without L_PCL": "without-pcl"}
    return conclude([compare(n, n, minus(evidence.values(Row("dpl", v)), e2e)) for n, v in parts.items()])


def _with_gamma(gamma: float) -> Row:
    return DPL if gamma == 0.9 else Row("dpl", f"gamma-{gamma}")


def _best_gamma(evidence: Evidence) -> Judgement:
    values = {gamma: evidence.values(_with_gamma(gamma)) for gamma in GAMMAS}
    if any(len(runs) < FEWEST_PAIRS for runs in values.values()):
        return Judgement("not tested", "")
    means = {gamma: statistics.fmean(runs.values()) for gamma, runs in values.items()}
    best = max(means, key=lambda gamma: means[gamma])
    shown = ", ".join(f"{gamma}: {mean:.1f}" for gamma, mean in means.items())
    if best == 0.9:
        return Judgement("reproduced", shown)
    over_best = conclude([compare("", f"0.9 over {best}", minus(values[0.9], values[best]))])
    return Judgement(over_best.verdict, f"{shown}; {over_best.evidence}")


def _better_than_e2e_with_every_gamma(evidence: Evidence) -> Judgement:
    e2e = evidence.values(E2E)
    comparisons = []
    for gamma in (0.8, 0.9):
        differences = minus(evidence.values(_with_gamma(gamma)), e2e)
        comparisons.append(compare(f"γ = {gamma}", f"γ = {gamma}", differences))
    return conclude(comparisons)


WITH_26 = {method: Row(method, "k-26") for method in ("deepaligned", "e2e", "dpl")}


def _all_fall_with_26(evidence: Evidence) -> Judgement:
    comparisons = []
    for method, row in WITH_26.items():
        differences = minus(evidence.values(Row(method)), evidence.values(row))
        comparisons.append(compare(NAMES[method], NAMES[method], differences))
    return conclude(comparisons)


def _lead_grows_with_26(evidence: Evidence) -> Judgement:
    comparisons = []
    for method in ("deepaligned", "e2e"):
        given = minus(evidence.values(DPL), evidence.values(Row(method)))
        estimated = minus(evidence.values(WITH_26["dpl"]), evidence.values(WITH_26[method]))
        text = f"lead over {NAMES[method]}"
        comparisons.append(compare(f"the lead over {NAMES[method]}", text, minus(estimated, given)))
    return conclude(comparisons)


def _all_fall_with_the_ratio(evidence: Evidence) -> Judgement:
    comparisons = []
    for method, name in NAMES.items():
        few, many = (evidence.values(Row(method), ratio=ratio) for ratio in (20, 60))
        comparisons.append(compare(name, name, minus(few, many)))
    return conclude(comparisons)


def _lead_grows_with_the_ratio(evidence: Evidence) -> Judgement:
    comparisons = []
    for row in BASELINES:
        many, few = (_gains(evidence, DPL, row, "GID-SD", ratio) for ratio in (60, 20))
        name = f"the lead over {NAMES[row.method]}"
        comparisons.append(compare_means(name, name, many, few))
    return conclude(comparisons)


def _fall_in_the_tail(evidence: Evidence, method: str) -> Runs:
    equal, tailed = (evidence.values(Row(method, v), OOD_ACC, "GID-MD") for v in ("default", "imbalance-12"))
    return minus(equal, tailed)


def _falls_in_the_tail(evidence: Evidence) -> Judgement:
    return conclude([compare("", "E2E, equal sizes − factor 12", _fall_in_the_tail(evidence, "e2e"))])


def _falls_more(method: str, other: str) -> Judge:
    def judge(evidence: Evidence) -> Judgement:
        falls = minus(_fall_in_the_tail(evidence, method), _fall_in_the_tail(evidence, other))
        return conclude([compare("", f"fall of {NAMES[method]} − fall of {NAMES[other]} at factor 12", falls)])

    return judge


def _better_in_every_tail(evidence: Evidence) -> Judgement:
    comparisons = []
    for factor in (2, 3, 6, 12, 24):
        a, b = (evidence.values(Row(m, f"imbalance-{factor}"), OOD_ACC, "GID-MD") for m in ("dpl", "e2e"))
        comparisons.append(compare(f"factor {factor}", f"factor {factor}", minus(a, b)))
    return conclude(comparisons)


def _ratio_of_speed_cells(evidence: Evidence, column: Column) -> float | None:
    dpl, e2e = (evidence.values(Row(method, "speed"), column) for method in ("dpl", "e2e"))
    ratios = [dpl[run] / e2e[run] for run in dpl if run in e2e]
    return statistics.fmean(ratios) if ratios else None


def _at_most(column: Column, limit: float, text: str) -> Judge:
    """Return a judge of the claim that DPL needs no more than `limit` times what E2E needs."""

    def judge(evidence: Evidence) -> Judgement:
        ratio = _ratio_of_speed_cells(evidence, column)
        if ratio is None:
            return Judgement("not tested", "")
        return Judgement("reproduced" if ratio <= limit else "not reproduced", text.format(f"{ratio:.2f}"))

    return judge


RANDOM_DPL = Row("dpl", "start-random")
CLAIMS: tuple[Claim, ...] = (
    *(
        Claim("table 1", f"On {b}, DPL finds new intents better than all baselines.", "main", better(DPL, BASELINES, b))
        for b in ("GID-SD", "GID-CD", "GID-MD")
    ),
    Claim("section 4.4", "DPL is better than E2E on every benchmark.", "main", _better_than_e2e_everywhere),
    Claim("section 4.4", "A single domain is harder than many.", "main", _one_domain_is_harder),
    Claim("section 4.4", "DPL gains more over E2E on GID-SD than on GID-MD.", "main", _gain_is_larger_in_one_domain),
    Claim("section 4.4", "On GID-CD, E2E gains over DeepAligned.", "main", better(E2E, [DEEPALIGNED], "GID-CD")),
    Claim(
        "section 4.4",
        "On GID-CD, DPL's gain over E2E is larger than E2E's over DeepAligned.",
        "main",
        _gain_is_larger_than_the_previous,
    ),
    Claim(
        NOT_IN_THE_PAPER,
        "With a random start for both, DPL is better than E2E on GID-SD.",
        "starts",
        better(RANDOM_DPL, [E2E]),
    ),
    Claim(
        NOT_IN_THE_PAPER,
        "With a balanced k-means start for both, DPL is better than E2E on GID-SD.",
        "starts",
        better(DPL, [Row("e2e", "start-balanced")]),
    ),
    Claim(
        "figure 3",
        "E2E and DPL end with more accurate pseudo-labels than DeepAligned.",
        "pseudo-labels",
        _pseudo_labels_at_the_end([("e2e", "deepaligned"), ("dpl", "deepaligned")]),
    ),
    Claim("figure 3", "DPL converges faster than E2E.", "pseudo-labels", _converges_faster),
    Claim(
        "figure 3",
        "DPL ends with more accurate pseudo-labels than E2E.",
        "pseudo-labels",
        _pseudo_labels_at_the_end([("dpl", "e2e")]),
    ),
    Claim("table 2", "Intents are more compact with DPL than with E2E.", "compactness", _more_compact),
    Claim("figure 4", "DPL's clusters are compact and more evenly distributed than E2E's.", "embedding", _not_measured),
    Claim("figure 5", "Prototypes move to the centres of their intents.", "embedding", _not_measured),
    Claim(
        "table 3",
        "DPL loses without L_ins, and without L_PCL.",
        "ablation",
        better_than_variants(
            DPL, {"without L_ins": Row("dpl", "without-ins"), "without L_PCL": Row("dpl", "without-pcl")}
        ),
    ),
    Claim(
        "table 3",
        "The same, from the paper's random start.",
        "ablation",
        better_than_variants(
            RANDOM_DPL,
            {"without L_ins": Row("dpl", "random-without-ins"), "without L_PCL": Row("dpl", "random-without-pcl")},
        ),
    ),
    Claim("section 5.3", "Without either part, DPL is still better than E2E.", "ablation", _ablated_is_better_than_e2e),
    Claim(
        "table 3",
        "DPL is better than supervised contrast, alone or with L_PCL.",
        "ablation",
        better_than_variants(DPL, {"L_SCL alone": Row("dpl", "scl"), "L_PCL + L_SCL": Row("dpl", "pcl+scl")}),
    ),
    Claim("figure 6", "γ = 0.9 is best.", "gamma", _best_gamma),
    Claim(
        "figure 6", "With γ between 0.7 and 0.95, DPL is better than E2E.", "gamma", _better_than_e2e_with_every_gamma
    ),
    Claim(
        "figure 6",
        "DPL falls where γ is above 0.9.",
        "gamma",
        better_than_variants(DPL, {f"γ = {gamma}": _with_gamma(gamma) for gamma in (0.95, 0.99)}),
    ),
    Claim("table 4", "With 26 instead of 31 new intents all methods fall.", "estimate-k", _all_fall_with_26),
    Claim(
        "table 4",
        "With 26, DPL is better than the baselines.",
        "estimate-k",
        better(WITH_26["dpl"], [WITH_26["deepaligned"], WITH_26["e2e"]]),
    ),
    Claim("table 4", "With 26, DPL's lead is larger than with 31.", "estimate-k", _lead_grows_with_26),
    Claim(
        "figure 7",
        "All methods fall as the share of new intents rises, from 20 % to 60 %.",
        "ood-ratio",
        _all_fall_with_the_ratio,
    ),
    Claim(
        "figure 7",
        "DPL's lead grows with the share of new intents, from 20 % to 60 %.",
        "ood-ratio",
        _lead_grows_with_the_ratio,
    ),
    Claim("figure 8", "In long-tailed logs E2E falls.", "imbalance", _falls_in_the_tail),
    Claim("figure 8", "In long-tailed logs DPL is better than E2E.", "imbalance", _better_in_every_tail),
    Claim("figure 8", "In long-tailed logs E2E falls more than DPL.", "imbalance", _falls_more("e2e", "dpl")),
    Claim(
        "figure 8",
        "In long-tailed logs DPL falls more than DeepAligned.",
        "imbalance",
        _falls_more("dpl", "deepaligned"),
    ),
    Claim(
        "section 4.3",
        "Training takes about 8 % longer with DPL than with E2E.",
        "speed",
        _at_most(SPEED[0], MOST_TIMES_LONGER, "an epoch of DPL takes {} times as long as one of E2E"),
    ),
    Claim(
        "section 4.3",
        "DPL has basically as many trainable parameters as E2E.",
        "speed",
        _at_most(TRAINABLE, MOST_TIMES_MORE_PARAMETERS, "{} times as many"),
    ),
    Claim(
        "section 4.3",
        "At inference, DPL costs nothing more.",
        "speed",
        _at_most(AT_INFERENCE, 1.0, "{} times the parameters of E2E"),
    ),
)


def judged_claims(results: Results) -> list[tuple[Claim, Judgement]]:
    """Return every claim with what the results say about it; one without runs names the command that makes them."""
    evidence = Evidence(results)
    judged = []
    for claim in CLAIMS:
        judgement = claim.judge(evidence)
        if not judgement.evidence:
            judgement = Judgement(judgement.verdict, f"runs are missing: `python -m benchmarks run {claim.experiment}`")
        judged.append((claim, judgement))
    return judged
