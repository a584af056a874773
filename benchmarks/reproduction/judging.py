"""How a claim is judged by the results.

A claim that one number is larger than another is judged on pairs of runs with the same split and seed, by the protocol
`strict`: it holds if the mean difference is positive and a Wilcoxon signed-rank test over the pairs gives p below 0.05.
Runs on different data are no pairs, and are compared by a Mann-Whitney U test. Results have four decimals, and so have
differences here: otherwise what is left of a subtraction would break ties.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from benchmarks.harness.cells import Cell, at_random_start
from benchmarks.harness.experiments import SCORES, Column
from benchmarks.harness.tables import Results, number_of

SIGNIFICANCE = 0.05
FEWEST_PAIRS = 6  # with fewer, no signed-rank test can give a p below 0.05
USUAL_PAIRS = 9  # three splits with three seeds each
OOD_ACC = SCORES[1]
COUNTS = ("none", "one", "two", "three", "four", "five", "six")
Runs = dict[tuple[int, int], float]  # by split and seed


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict and the numbers behind it."""

    verdict: str  # reproduced, partly (with what holds and what not), not reproduced, no clear difference, not tested
    evidence: str
    comparisons: Sequence[Comparison] = ()  # that it consists of


class Evidence:
    """The results of one encoder, by method, variant, benchmark, share of new intents, split and seed."""

    def __init__(self, results: Results, *, random_start: bool = False) -> None:
        """Take the results of all experiments; for `random_start`, DPL's are those from the paper's random start."""
        self._random_start, self.start_matters = random_start, False
        self._results = {(c.method, c.variant, c.benchmark, c.ratio, c.split, c.seed): r for c, r in results.items()}
        self._runs = sorted({(c.split, c.seed) for c in results if _is_published_split(c)})

    def values(self, method: str, variant: str, benchmark: str, ratio: int, column: Column) -> Runs:
        """Return the number of every run of a method."""
        values = {}
        if self._random_start and method == "dpl":
            self.start_matters |= variant != at_random_start(variant)
            variant = at_random_start(variant)
        for split, seed in self._runs:
            result = self._results.get((method, variant, benchmark, ratio, split, seed), {})
            value = number_of(result, column, "strict")
            if value is not None:
                values[split, seed] = value
        return values


def _is_published_split(cell: Cell) -> bool:
    return cell.split < 10  # fresh partitions are numbered from 1000


Series = Callable[[Evidence], Runs]
Judge = Callable[[Evidence], Judgement]


def runs_of(
    method: str,
    variant: str = "default",
    *,
    benchmark: str = "GID-SD",
    ratio: int = 40,
    column: Column = OOD_ACC,
) -> Series:
    """Return the numbers of a method."""
    return lambda evidence: evidence.values(method, variant, benchmark, ratio, column)


def lead(larger: Series, smaller: Series) -> Series:
    """Return the differences of the runs that both have."""

    def differences(evidence: Evidence) -> Runs:
        a, b = larger(evidence), smaller(evidence)
        return {run: round(a[run] - b[run], 4) for run in a if run in b}

    return differences


@dataclass(frozen=True, slots=True)
class Comparison:
    """One of the comparisons that a claim consists of."""

    name: str  # as a verdict names it
    outcome: Literal["holds", "reversed", "unclear", "missing"]  # of the difference that is claimed
    evidence: str = ""
    p: float | None = None


def compare(name: str, text: str, differences: Runs) -> Comparison:
    """Test the claim that differences, one for each pair of runs, are positive; `text` says what was subtracted."""
    if len(differences) < FEWEST_PAIRS:
        return Comparison(name, "missing")
    from scipy.stats import wilcoxon

    values = list(differences.values())
    mean = statistics.fmean(values)
    p = float(wilcoxon(values).pvalue) if any(values) else 1.0
    pairs = "" if len(values) == USUAL_PAIRS else f", {len(values)} pairs"
    evidence = f"{text}: {signed(mean)} ({_p_value(p)}{pairs})"
    return Comparison(name, _outcome(mean, p), evidence, p)


def signed(value: float) -> str:
    """Return a difference with its sign, the minus sign being the one of the names around it."""
    return f"{value:+.2f}".replace("-", "−")


def compare_means(
    name: str, text: str, larger: Runs, smaller: Runs, shown: Callable[[float], str] = signed
) -> Comparison:
    """Test the claim that one mean is larger than another whose runs are no pairs with its own."""
    if min(len(larger), len(smaller)) < FEWEST_PAIRS:
        return Comparison(name, "missing")
    from scipy.stats import mannwhitneyu

    p = float(mannwhitneyu(list(larger.values()), list(smaller.values())).pvalue)
    a, b = (statistics.fmean(runs.values()) for runs in (larger, smaller))
    evidence = f"{text}: {shown(a)} against {shown(b)} ({_p_value(p)}, no pairs)"
    return Comparison(name, _outcome(a - b, p), evidence, p)


def largest_significant(p_values: Sequence[float]) -> float:
    """Return the largest of the p-values that Holm's correction for their number leaves significant; 0 for none."""
    ranked = list(enumerate(sorted(p_values)))
    kept = takewhile(lambda entry: entry[1] < SIGNIFICANCE / (len(ranked) - entry[0]), ranked)
    return max((p for _, p in kept), default=0.0)


def _p_value(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _outcome(difference: float, p: float) -> Literal["holds", "reversed", "unclear"]:
    if p >= SIGNIFICANCE:
        return "unclear"
    return "holds" if difference > 0 else "reversed"


def conclude(comparisons: Sequence[Comparison]) -> Judgement:
    """Return the verdict on a claim that consists of several comparisons."""
    by_outcome = {
        outcome: [c.name for c in comparisons if c.outcome == outcome]
        for outcome in ("holds", "unclear", "reversed", "missing")
    }
    missing = f"not run: {_listed(by_outcome['missing'])}" if by_outcome["missing"] else ""
    evidence = "; ".join(filter(None, (*(c.evidence for c in comparisons), missing)))
    total, holds = len(comparisons), len(by_outcome["holds"])
    failed = by_outcome["unclear"] + by_outcome["reversed"]
    if not failed:
        return Judgement("not tested", "") if missing else Judgement("reproduced", evidence, comparisons)
    if not holds:
        return Judgement("not reproduced" if by_outcome["reversed"] else "no clear difference", evidence, comparisons)
    parts = [
        f"holds for {COUNTS[holds]} of {COUNTS[total]}",
        f"no clear difference for {_listed(by_outcome['unclear'])}" if by_outcome["unclear"] else "",
        f"the reverse for {_listed(by_outcome['reversed'])}" if by_outcome["reversed"] else "",
    ]
    return Judgement(f"partly: {'; '.join(filter(None, parts))}", evidence, comparisons)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def positive(leads: Mapping[str, Series], text: str = "{}") -> Judge:
    """Return a judge of the claim that all differences are positive.

    Args:
        leads: The differences, by what a verdict calls them.
        text: What the evidence calls them; `{}` stands for their names.
    """
    return lambda evidence: conclude([compare(n, text.format(n), x(evidence)) for n, x in leads.items()])


def larger_mean(
    pairs: Mapping[str, tuple[Series, Series]], text: str = "{}", shown: Callable[[float], str] = signed
) -> Judge:
    """Return a judge of the claim that the first mean is the larger one, of runs that are no pairs."""
    return lambda evidence: conclude(
        [compare_means(n, text.format(n), a(evidence), b(evidence), shown) for n, (a, b) in pairs.items()]
    )
