"""Verdicts on the paper's claims, and where results come from."""

from __future__ import annotations

import subprocess

import torch
from benchmarks.harness import provenance
from benchmarks.harness.cells import Cell
from benchmarks.harness.experiments import EXPERIMENTS
from benchmarks.reproduction.claims import CLAIMS, SURVIVES, better, judged_claims
from benchmarks.reproduction.judging import Evidence, compare, compare_means, largest_significant, lead, runs_of


def results(scores):
    """Results of nine runs each: strict OOD ACC by row, as a number or as a function of split and seed."""
    made = {}
    for (method, variant), score in scores.items():
        for split in (1, 2, 3):
            for seed in (0, 1, 2):
                value = score(split, seed) if callable(score) else score
                cell = Cell(method, "GID-SD", 40, split, seed, "minilm", "last", variant)
                made[cell] = {"scores": {"strict": {"ood_acc": value}, "paper": {"ood_acc": 0.0}}}
    return made


def by_run(values):
    return {(i // 3 + 1, i % 3): value for i, value in enumerate(values)}


def test_a_difference_is_judged_by_its_sign_and_a_test():
    assert compare("b", "a − b", by_run([1.0] * 6)).outcome == "holds"  # p = 2 / 2**6
    assert compare("b", "a − b", by_run([1.0] * 5)).outcome == "missing"
    assert compare("b", "a − b", by_run([-1.0] * 9)).outcome == "reversed"
    mixed = compare("b", "a − b", by_run([3.0, -2.9, 2.8, -2.7, 2.6, -2.5, 2.4, -2.3, 2.2]))
    assert mixed.outcome == "unclear"
    assert mixed.evidence.startswith("a − b: +0.29 (p = 0.")
    assert compare("b", "a − b", by_run([0.0] * 9)).outcome == "unclear"


def test_what_a_subtraction_leaves_does_not_break_ties():
    """Two of the differences are 0.7258 and -0.7258. If these do not tie, p is 0.164."""
    others = [76.9355, 76.6936, 75.7258, 75.5645, 73.8709, 74.2742, 78.7097, 77.9839, 74.5161]
    rows = {("dpl", "default"): 75.0, ("e2e", "default"): lambda split, seed: others[(split - 1) * 3 + seed]}
    differences = lead(runs_of("dpl"), runs_of("e2e"))(Evidence(results(rows)))
    assert compare("b", "a − b", differences).evidence == "a − b: −1.03 (p = 0.137)"


def test_holms_correction_by_hand():
    """Of four tests at 0.05, the least p must be below 0.0125, the next below 0.0167, then 0.025: 0.04 ends it."""
    assert largest_significant([0.04, 0.001, 0.016, 0.04]) == 0.016
    assert largest_significant([0.0126, 0.02, 0.03, 0.04]) == 0.0


def test_runs_that_are_no_pairs_are_tested_too():
    low, high = by_run([1.0, 2, 3, 4, 5, 6]), by_run([7.0, 8, 9, 10, 11, 12])
    assert compare_means("", "a and b", high, low).outcome == "holds"
    assert compare_means("", "a and b", low, high).outcome == "reversed"
    alike = compare_means("", "a and b", by_run([1.1, 2, 3, 4, 5, 6]), low, "{:.2f}".format)
    assert alike.outcome == "unclear"
    assert alike.evidence.startswith("a and b: 3.52 against 3.50 (p = ")


def test_a_verdict_on_several_comparisons_says_in_words_which_hold():
    def noisy(base):
        return lambda split, seed: base + split + 0.1 * seed

    rows = {("dpl", "default"): noisy(80), ("e2e", "default"): noisy(75), ("kmeans", "default"): noisy(70)}
    judge = better("dpl", ["e2e", "kmeans"])
    assert judge(Evidence(results(rows))).verdict == "reproduced"
    worse = judge(Evidence(results({**rows, ("kmeans", "default"): noisy(90)})))
    assert worse.verdict == "partly: holds for one of two; the reverse for k-means"
    alike = judge(Evidence(results({**rows, ("e2e", "default"): noisy(80)})))
    assert alike.verdict == "partly: holds for one of two; no clear difference for E2E"
    assert judge(
        Evidence(results({**rows, ("e2e", "default"): noisy(90), ("kmeans", "default"): noisy(90)}))
    ).verdict == ("not reproduced")
    del rows["kmeans", "default"]
    assert judge(Evidence(results(rows))).verdict == "not tested"
    # One baseline that wins is enough, whatever is missing.
    lost = judge(Evidence(results({**rows, ("e2e", "default"): noisy(90)})))
    assert (lost.verdict, lost.evidence[-16:]) == ("not reproduced", "not run: k-means")


def test_a_claim_about_dpl_is_judged_from_both_starts_and_what_survives_the_number_of_tests_is_marked():
    def noisy(base):
        return lambda split, seed: base + split + 0.1 * seed

    rows = {("dpl", "default"): noisy(80), ("dpl", "start-random"): noisy(70), ("e2e", "default"): noisy(75)}
    rows |= {(method, "default"): noisy(75) for method in ("kmeans", "deepaligned", "deepaligned-mix")}
    judged, tests = judged_claims(results(rows))
    by_text = {claim.text: (own.verdict, random and random.verdict) for claim, own, random in judged}
    assert by_text["On GID-SD, DPL finds new intents better than all baselines."] == ("reproduced", "not reproduced")
    assert by_text["In long-tailed logs E2E falls."] == ("not tested", None)
    assert tests == 9, "four in table 1 from either start, and E2E over DPL with gamma = 0.9 from the random one"
    assert judged[0][1].evidence.count("(p = 0.004) †") == 4, "p is 2 / 2**9, and 0.05 / 9 is more"
    more = {(method, "k-26"): noisy(70) for method in ("dpl", "e2e", "deepaligned")}
    judged, tests = judged_claims(results(rows | more))
    assert (tests, judged[0][1].evidence.count("(p = 0.004);")) == (16, 3), "0.05 / 16 is less"
    assert not any(SURVIVES in own.evidence for _, own, _ in judged)


def test_every_claim_belongs_to_an_experiment_and_nothing_is_claimed_without_results():
    assert {claim.experiment for claim in CLAIMS} <= set(EXPERIMENTS)
    judged, tests = judged_claims({})
    assert {judgement.verdict for _, *pair in judged for judgement in pair if judgement} == {"not tested"}
    assert tests == 0


def test_the_commit_comes_from_the_environment_or_from_git(monkeypatch, tmp_path):
    provenance.commit.cache_clear()
    monkeypatch.setenv("NEWFOUND_COMMIT", "abc123")
    assert provenance.commit() == "abc123"
    monkeypatch.delenv("NEWFOUND_COMMIT")
    provenance.commit.cache_clear()

    def no_git(*arguments, **options):
        raise FileNotFoundError("git")

    monkeypatch.setattr(subprocess, "run", no_git)
    assert provenance.commit() is None
    provenance.commit.cache_clear()


def test_the_hash_of_the_code_follows_its_sources(tmp_path):
    """It changes with the content and the name of any measured source, and with nothing else."""
    for name in (*provenance.MEASURED_PACKAGES, "serve"):
        (tmp_path / name / "deeper").mkdir(parents=True)
        (tmp_path / name / "deeper" / "a.py").write_text("x = 1\n")
    before = provenance.code_hash(tmp_path)
    (tmp_path / "serve" / "deeper" / "a.py").write_text("x = 2\n")
    (tmp_path / "model" / "notes.txt").write_text("no source")
    assert provenance.code_hash(tmp_path) == before
    (tmp_path / "model" / "deeper" / "a.py").rename(tmp_path / "model" / "deeper" / "b.py")
    renamed = provenance.code_hash(tmp_path)
    (tmp_path / "model" / "deeper" / "b.py").write_text("x = 2\n")
    assert len({before, renamed, provenance.code_hash(tmp_path)}) == 3


def test_weights_that_were_rounded_are_recognised(tiny_folder):
    from newfound.encoders.encoder import load_encoder

    encoder = load_encoder(str(tiny_folder))
    assert provenance.weights_precision(encoder) == "float32"
    rounded = load_encoder(str(tiny_folder))
    with torch.no_grad():
        for weight in rounded.model.parameters():
            weight.copy_(weight.half().float())
    assert provenance.weights_precision(rounded) == "float16"


def test_every_verdict_comes_from_results():
    """With results for every cell the only claims that are "not tested" are those about the look of the maps."""
    made = {}
    for experiment in EXPERIMENTS.values():
        for cell in (*experiment.cells("minilm", "last"), *experiment.at_random_start().cells("minilm", "last")):
            value = 50.0 + cell.split + 0.1 * cell.seed
            made[cell] = {
                "scores": {"strict": {"ood_acc": value, "all_f1": value}},
                "pseudo_labels": {str(epoch): value for epoch in range(200)},
                "compactness": {"IND": value, "OOD": value, "ALL": value},
                "seconds per epoch": {"discovery": 1.08 if cell.method == "dpl" else 1.0},
                "parameters": {"trainable": 120 if cell.method == "dpl" else 100, "inference": 90},
            }
    judged, _ = judged_claims(made)
    tested = [(claim, judgement) for claim, *pair in judged for judgement in pair if judgement]
    assert {claim.experiment for claim, judgement in tested if judgement.verdict == "not tested"} == {"embedding"}
    verdicts = {claim.text: own.verdict for claim, own, _ in judged}
    assert verdicts["Training takes about 8 % longer with DPL than with E2E."] == "reproduced"
    assert verdicts["DPL has basically as many trainable parameters as E2E."] == "not reproduced"
    assert verdicts["In long-tailed logs E2E falls more than DPL."] == "no clear difference"  # both fall alike
    assert verdicts["γ = 0.9 is best."] == "no clear difference"  # all are equal
