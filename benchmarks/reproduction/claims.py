"""What the paper claims, as data: one claim for each statement of its sections."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmarks.harness.cells import GAMMAS
from benchmarks.harness.experiments import COMPACTNESS, SCORES, SPEED, Column
from benchmarks.harness.tables import Results
from benchmarks.reproduction.judging import (
    Evidence,
    Judge,
    Judgement,
    Series,
    larger_mean,
    largest_significant,
    lead,
    positive,
    runs_of,
)

MOST_TIMES_LONGER = 1.16  # twice the 8 % that the paper reports
MOST_TIMES_MORE_PARAMETERS = 1.1  # "basically the same"
ALL_F1 = SCORES[4]
TRAINABLE, AT_INFERENCE = (Column(part, ("parameters", part)) for part in ("trainable", "inference"))
BASELINES = ["kmeans", "deepaligned", "deepaligned-mix", "e2e"]
NAMES = dict(zip((*BASELINES, "dpl"), ("k-means", "DeepAligned", "DeepAligned-Mix", "E2E", "DPL"), strict=True))
BENCHMARKS = ("GID-SD", "GID-CD", "GID-MD")
WITHOUT = {"without L_ins": "without-ins", "without L_PCL": "without-pcl"}
LAST_EPOCH = {"dpl": 100, "deepaligned": 100, "e2e": 200}
NOT_IN_THE_PAPER = "not in the paper"
SURVIVES = " †"  # after a comparison that Holm's correction leaves significant
DPL, E2E = runs_of("dpl"), runs_of("e2e")


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper."""

    where: str  # the table, figure or section of the paper, or `NOT_IN_THE_PAPER`
    text: str  # what it says
    experiment: str  # that tests it
    judge: Judge  # what the results say


def better(
    method: str, others: Sequence[str], *, benchmark: str = "GID-SD", own: str = "default", theirs: str = "default"
) -> Judge:
    """Return a judge of the claim that a method in one variant is better than each of the others in another one."""
    mine = runs_of(method, own, benchmark=benchmark)
    leads = {NAMES[other]: lead(mine, runs_of(other, theirs, benchmark=benchmark)) for other in others}
    return positive(leads, "over {}")


def _over_e2e(benchmark: str, variant: str = "default") -> Series:
    return lead(*(runs_of(method, variant, benchmark=benchmark) for method in ("dpl", "e2e")))


def _pseudo_labels(method: str, other: str, epochs: dict[str, int]) -> Series:
    columns = {m: Column(f"epoch {epoch}", ("pseudo_labels", str(epoch - 1))) for m, epoch in epochs.items()}
    return lead(*(runs_of(m, "watched", column=columns[m]) for m in (method, other)))


def _compactness(column: Column) -> Series:
    return lead(*(runs_of(method, "watched", column=column) for method in ("dpl", "e2e")))


def _not_measured(evidence: Evidence) -> Judgement:
    return Judgement("not tested", "to be seen in the maps below; no number was defined for it")


def _with_gamma(gamma: float) -> Series:
    return DPL if gamma == 0.9 else runs_of("dpl", f"gamma-{gamma}")


def _over(method: str, variant: str = "default", ratio: int = 40) -> Series:
    return lead(runs_of("dpl", variant, ratio=ratio), runs_of(method, variant, ratio=ratio))


def _fall_in_the_tail(method: str) -> Series:
    return lead(*(runs_of(method, variant, benchmark="GID-MD") for variant in ("default", "imbalance-12")))


def _falls_more(method: str, other: str) -> Judge:
    falls = lead(_fall_in_the_tail(method), _fall_in_the_tail(other))
    return positive({"": falls}, f"fall of {NAMES[method]} − fall of {NAMES[other]} at factor 12")


def _at_most(column: Column, limit: float, text: str) -> Judge:
    """Return a judge of the claim that DPL needs no more than `limit` times what E2E needs."""

    def judge(evidence: Evidence) -> Judgement:
        dpl, e2e = (runs_of(method, "speed", column=column)(evidence) for method in ("dpl", "e2e"))
        ratios = [dpl[run] / e2e[run] for run in dpl if run in e2e]
        if not ratios:
            return Judgement("not tested", "")
        ratio = statistics.fmean(ratios)
        return Judgement("reproduced" if ratio <= limit else "not reproduced", text.format(f"{ratio:.2f}"))

    return judge


OVER_DEEPALIGNED = lead(runs_of("e2e", benchmark="GID-CD"), runs_of("deepaligned", benchmark="GID-CD"))
F1_OF_MANY, F1_OF_ONE = (runs_of("dpl", benchmark=benchmark, column=ALL_F1) for benchmark in ("GID-MD", "GID-SD"))
PARTS_OF_INTENTS = dict(zip(("known intents", "new intents", "all intents"), COMPACTNESS, strict=True))
SUPERVISED = {"L_SCL alone": runs_of("dpl", "scl"), "L_PCL + L_SCL": runs_of("dpl", "pcl+scl")}
JUDGES: dict[tuple[str, str], dict[str, Judge]] = {  # by experiment and place
    ("main", "table 1"): {
        f"On {b}, DPL finds new intents better than all baselines.": better("dpl", BASELINES, benchmark=b)
        for b in BENCHMARKS
    },
    ("main", "section 4.4"): {
        "A single domain is harder than many.": larger_mean(
            {"": (F1_OF_MANY, F1_OF_ONE)}, "ALL F1 of DPL on GID-MD and GID-SD", "{:.2f}".format
        ),
        "DPL gains more over E2E on GID-SD than on GID-MD.": larger_mean(
            {"": (_over_e2e("GID-SD"), _over_e2e("GID-MD"))}, "DPL − E2E on GID-SD and GID-MD"
        ),
        "On GID-CD, E2E gains over DeepAligned.": positive({"DeepAligned": OVER_DEEPALIGNED}, "over {}"),
        "On GID-CD, DPL's gain over E2E is larger than E2E's over DeepAligned.": positive(
            {"": lead(_over_e2e("GID-CD"), OVER_DEEPALIGNED)}, "(DPL − E2E) − (E2E − DeepAligned)"
        ),
    },
    ("starts", NOT_IN_THE_PAPER): {
        "With a balanced k-means start for both, DPL is better than E2E on GID-SD.": better(
            "dpl", ["e2e"], theirs="start-balanced"
        ),
    },
    ("pseudo-labels", "figure 3"): {
        "E2E and DPL end with more accurate pseudo-labels than DeepAligned.": positive(
            {NAMES[m]: _pseudo_labels(m, "deepaligned", LAST_EPOCH) for m in ("e2e", "dpl")}, "{} over DeepAligned"
        ),
        "DPL converges faster than E2E.": positive(
            {"": _pseudo_labels("dpl", "e2e", {"dpl": 10, "e2e": 10})}, "over E2E after ten epochs"
        ),
        "DPL ends with more accurate pseudo-labels than E2E.": positive(
            {"DPL": _pseudo_labels("dpl", "e2e", LAST_EPOCH)}, "{} over E2E"
        ),
    },
    ("compactness", "table 2"): {
        "Intents are more compact with DPL than with E2E.": positive(
            {name: _compactness(column) for name, column in PARTS_OF_INTENTS.items()}
        ),
    },
    ("embedding", "figure 4"): {
        "DPL's clusters are compact and more evenly distributed than E2E's.": _not_measured,
    },
    ("embedding", "figure 5"): {"Prototypes move to the centres of their intents.": _not_measured},
    ("ablation", "table 3"): {
        "DPL loses without L_ins, and without L_PCL.": positive(
            {name: lead(DPL, runs_of("dpl", variant)) for name, variant in WITHOUT.items()}
        ),
        "DPL is better than supervised contrast, alone or with L_PCL.": positive(
            {name: lead(DPL, runs) for name, runs in SUPERVISED.items()}
        ),
    },
    ("ablation", "section 5.3"): {
        "Without either part, DPL is still better than E2E.": positive(
            {name: lead(runs_of("dpl", variant), E2E) for name, variant in WITHOUT.items()}
        ),
    },
    ("gamma", "figure 6"): {
        "γ = 0.9 is best.": positive({f"over {g}": lead(DPL, _with_gamma(g)) for g in GAMMAS if g != 0.9}),
        "With γ between 0.7 and 0.95, DPL is better than E2E.": positive(
            {f"γ = {gamma}": lead(_with_gamma(gamma), E2E) for gamma in (0.7, 0.8, 0.9, 0.95)}
        ),
        "DPL falls where γ is above 0.9.": positive(
            {f"γ = {gamma}": lead(DPL, _with_gamma(gamma)) for gamma in (0.95, 0.99)}
        ),
    },
    ("estimate-k", "table 4"): {
        "With 26 instead of 31 new intents all methods fall.": positive(
            {NAMES[m]: lead(runs_of(m), runs_of(m, "k-26")) for m in ("deepaligned", "e2e", "dpl")}
        ),
        "With 26, DPL is better than the baselines.": better("dpl", ["deepaligned", "e2e"], own="k-26", theirs="k-26"),
        "With 26, DPL's lead is larger than with 31.": positive(
            {f"the lead over {NAMES[m]}": lead(_over(m, "k-26"), _over(m)) for m in ("deepaligned", "e2e")}
        ),
    },
    ("ood-ratio", "figure 7"): {
        "All methods fall as the share of new intents rises, from 20 % to 60 %.": positive(
            {name: lead(runs_of(m, ratio=20), runs_of(m, ratio=60)) for m, name in NAMES.items()}
        ),
        "DPL's lead grows with the share of new intents, from 20 % to 60 %.": larger_mean(
            {f"the lead over {NAMES[m]}": (_over(m, ratio=60), _over(m, ratio=20)) for m in BASELINES}
        ),
    },
    ("imbalance", "figure 8"): {
        "In long-tailed logs E2E falls.": positive({"": _fall_in_the_tail("e2e")}, "E2E, equal sizes − factor 12"),
        "In long-tailed logs DPL is better than E2E.": positive(
            {f"factor {f}": _over_e2e("GID-MD", f"imbalance-{f}") for f in (2, 3, 6, 12, 24)}
        ),
        "In long-tailed logs E2E falls more than DPL.": _falls_more("e2e", "dpl"),
        "In long-tailed logs DPL falls more than DeepAligned.": _falls_more("dpl", "deepaligned"),
    },
    ("speed", "section 4.3"): {
        "Training takes about 8 % longer with DPL than with E2E.": _at_most(
            SPEED[0], MOST_TIMES_LONGER, "an epoch of DPL takes {} times as long as one of E2E"
        ),
        "DPL has basically as many trainable parameters as E2E.": _at_most(
            TRAINABLE, MOST_TIMES_MORE_PARAMETERS, "{} times as many"
        ),
        "At inference, DPL costs nothing more.": _at_most(AT_INFERENCE, 1.0, "{} times the parameters of E2E"),
    },
}
CLAIMS = [
    Claim(where, text, experiment, judge)
    for (experiment, where), judges in JUDGES.items()
    for text, judge in judges.items()
]


def judged_claims(results: Results) -> tuple[list[tuple[Claim, Judgement, Judgement | None]], int]:
    """Return every claim with what the results say about it from newfound's start and from the paper's random start.

    The latter is None where the start of DPL plays no part. A claim without runs names the command that makes them. The
    number is that of all tests; a comparison that is significant in spite of them, by Holm's correction, is marked.
    """
    own, random = Evidence(results), Evidence(results, random_start=True)
    judged: list[tuple[Claim, Judgement, Judgement | None]] = []
    for claim in CLAIMS:
        random.start_matters = False
        from_random = claim.judge(random)
        has_both = random.start_matters and claim.where != NOT_IN_THE_PAPER
        judged.append((claim, claim.judge(own), from_random if has_both else None))
    made = {(claim.text, c.evidence): c.p for claim, *pair in judged for j in pair if j for c in j.comparisons}
    p_values = [p for p in made.values() if p is not None]  # what both starts share was tested once
    limit = largest_significant(p_values)

    def finish(claim: Claim, judgement: Judgement, start: str) -> Judgement:
        evidence = judgement.evidence or f"runs are missing: `python -m benchmarks run {claim.experiment}{start}`"
        for text in (c.evidence for c in judgement.comparisons if c.p is not None and c.p <= limit):
            evidence = evidence.replace(text, text + SURVIVES)
        holds = "holds" if claim.where == NOT_IN_THE_PAPER else "reproduced"
        return replace(judgement, verdict=judgement.verdict.replace("reproduced", holds), evidence=evidence)

    return [(c, finish(c, a, ""), b and finish(c, b, " --start random")) for c, a, b in judged], len(p_values)
