from __future__ import annotations

import json

import pytest

from newfound.bench.cells import Cell, missing, plan, read_results, run_cell, write_result
from newfound.bench.tables import as_markdown, main_rows
from newfound.data.corpus import Corpus
from newfound.data.task import make_task
from newfound.errors import DataError, SettingsError


def fake_result(cell, value):
    score = dict.fromkeys(("ind_acc", "ood_acc", "ood_f1", "all_acc", "all_f1"), value)
    return {"scores": {"paper": score, "strict": {k: v - 1 for k, v in score.items()}}, "seed": cell.seed}


@pytest.fixture
def cells():
    return plan(methods=["kmeans"], benchmarks=["GID-SD"], splits=[1, 2], seeds=[0, 1], encoder="minilm", tune="heads")


def test_a_table_equals_the_raw_scores(cells, tmp_path):
    for cell, value in zip(cells, [80.0, 82.0, 84.0, 86.0], strict=True):
        write_result(cell, fake_result(cell, value), tmp_path)
    header, rows = main_rows(cells, tmp_path)
    assert rows[0][:4] == ("GID-SD 40%", "kmeans", "paper", "83.0 ± 2.6")
    assert rows[1][2:4] == ("strict", "82.0 ± 2.6")
    assert as_markdown(header, rows).count("\n") == 3


def test_an_incomplete_row_is_blank(cells, tmp_path):
    write_result(cells[0], fake_result(cells[0], 80.0), tmp_path)
    _, rows = main_rows(cells, tmp_path)
    assert rows[0][3:8] == ("", "", "", "", "")
    assert rows[0][8] == "1/4"
    assert missing(cells, tmp_path) == cells[1:]


def test_damaged_results_are_named(cells, tmp_path):
    write_result(cells[0], fake_result(cells[0], 80.0), tmp_path).write_text("{")
    with pytest.raises(DataError, match="delete it"):
        read_results(cells, tmp_path)


def test_unknown_methods_are_refused():
    with pytest.raises(SettingsError, match="no method 'magic'"):
        plan(methods=["magic"], benchmarks=["GID-SD"], encoder="minilm", tune="heads")


def test_a_cell_records_all_that_moves_its_number(tiny_encoder, themed, tmp_path):
    from conftest import themed_corpus

    gold = themed_corpus(unlabelled=())
    test = themed_corpus(per_theme=10, unlabelled=(), seed=1)
    task = make_task("toy", ["pay", "meter", "leak"], ["move", "solar"], train=gold, dev=Corpus((), ()), test=test)
    cell = Cell("kmeans", "toy", 40, 1, 0, "tiny", "heads")
    result = run_cell(cell, tiny_encoder, "cpu", task, settings={"epochs": 3})
    again = run_cell(cell, tiny_encoder, "cpu", task, settings={"epochs": 3}, memory={})
    assert result["scores"] == again["scores"]
    assert set(result["scores"]["strict"]) == {"ind_acc", "ood_acc", "ood_f1", "all_acc", "all_f1"}
    for key in ("method", "benchmark", "ratio", "split", "seed", "encoder", "tune", "timings", "settings", "versions"):
        assert key in result
    assert result["settings"]["epochs"] == 3
    path = write_result(cell, result, tmp_path)
    assert json.loads(path.read_text()) == json.loads(json.dumps(result))


def test_speed_names_every_phase_and_compares_with_the_plain_loop(tiny_encoder):
    from conftest import themed_corpus
    from newfound.bench.speed import measure

    gold = themed_corpus(unlabelled=())
    task = make_task("toy", ["pay", "meter", "leak"], ["move", "solar"], train=gold, dev=gold, test=gold)
    result = measure("dpl", task, tiny_encoder, tune="last", device="cpu", epochs=2)
    assert set(result["seconds per epoch"]) == {"pre-training", "discovery"}
    assert set(result["seconds"]) == {"encode", "discover", "predict", "whole fit"}
    assert result["plain loop, seconds per epoch"] > 0
    assert result["times faster than the plain loop"] > 0


def test_the_plain_loop_computes_dpls_step(tiny_folder):
    """Same start, no dropout: the plain step and the fast step have the same losses and move mu to the same place."""
    import torch

    from conftest import themed_corpus
    from newfound.assignment import move_prototypes
    from newfound.bench.speed import _PlainHeads
    from newfound.objectives import instance_contrastive, prototypical_contrastive

    corpus = themed_corpus()
    torch.manual_seed(0)
    heads = _PlainHeads(8, 3, 2)
    y = torch.tensor([-1 if label is None else {"pay": 0, "meter": 1, "leak": 2}[label] for label in corpus.labels])
    x1, x2 = (torch.nn.functional.normalize(torch.randn(len(y), 8), dim=-1) for _ in range(2))
    heads.mu.copy_(torch.nn.functional.normalize(torch.randn(5, 128), dim=-1))
    mu = heads.mu.clone()
    loss = heads.loss(x1, x2, y)

    from newfound.assignment import align, disambiguate
    from newfound.objectives import swapped_prediction

    z1, z2 = (torch.nn.functional.normalize(heads.projection(x), dim=-1) for x in (x1, x2))
    weight = torch.nn.functional.normalize(heads.classifier.weight, dim=-1)
    logits = torch.stack([x1 @ weight.T, x2 @ weight.T])
    q = [align(v[:, 3:].detach(), y, 3, epsilon=0.05, iterations=3) for v in logits]
    pcl = (prototypical_contrastive(z1, mu, q[1], 0.1) + prototypical_contrastive(z2, mu, q[0], 0.1)) / 2
    ins = instance_contrastive(z1, z2, 0.5)
    targets = torch.nn.functional.one_hot(disambiguate(torch.stack([z1, z2]), mu, y, 3), 5).float()
    ce = swapped_prediction(logits, targets, 0.1)
    assert torch.allclose(loss, (pcl + ins + ce) / 3, atol=1e-5)
    moved = move_prototypes(mu, torch.cat([z1, z2]).detach(), torch.cat(q).argmax(-1), 0.9)
    assert torch.allclose(heads.mu, moved, atol=1e-5)
