from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.harness.cells import Cell
from benchmarks.harness.experiments import Column
from benchmarks.harness.provenance import CODE_HASH
from benchmarks.harness.running import fit_cell
from benchmarks.harness.studies import append_row, frozen_vectors, group_rows, read_rows
from benchmarks.harness.tables import table_of_rows
from test_bench import toy_task

from newfound.encoders.cache import FeatureCache
from newfound.errors import DataError

STUDIES = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json"])
def test_rows_are_added_one_by_one_and_read_back(name, tmp_path):
    path = tmp_path / "study" / name
    assert read_rows(path) == []
    rows = [{"task": "a", "score": 1.5}, {"task": "größer", "score": None}]
    for row in rows:
        append_row(path, row)
    assert read_rows(path) == [{**row, "code": CODE_HASH} for row in rows]


@pytest.mark.parametrize(("name", "content"), [("a.jsonl", '{"a": 1}\n{"a"'), ("a.json", "["), ("b.json", "{}")])
def test_a_damaged_file_of_rows_is_named(name, content, tmp_path):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(DataError, match=name):
        read_rows(path)


def test_a_table_of_rows_has_means_and_dashes():
    rows = [
        {"method": "a", "ood": 80.0, "known": {"f1": 50.0}},
        {"method": "a", "ood": 82.0},
        {"method": "b", "ood": 70.0, "known": {"f1": 60.0}},
    ]
    assert list(group_rows(rows, ("method",))) == [("a",), ("b",)]
    header, lines = table_of_rows(rows, ("method",), (Column("OOD", ("ood",)), Column("F1", ("known", "f1"))))
    assert header == ("method", "OOD", "F1", "runs")
    assert lines == [("a", "81.0 ± 1.4", "–", "2"), ("b", "70.0", "60.0", "1")]


def test_the_committed_files_of_rows_can_be_read():
    """Every `.jsonl` file, and every `.json` file that holds a list."""
    paths = [*STUDIES.glob("*/*.jsonl"), *(p for p in STUDIES.glob("*/*.json") if p.read_bytes().startswith(b"["))]
    assert len(paths) >= 10
    assert all(read_rows(path) for path in paths)


def test_a_model_with_a_cache_answers_as_it_does_without_and_encodes_once(tiny_encoder, tmp_path):
    task = toy_task()
    cell = Cell("kmeans", "toy", 40, 1, 0, "tiny", "heads")
    method = fit_cell(cell, tiny_encoder, "cpu", task, {"epochs": 3})
    predictor = method.model_.with_cache(FeatureCache(tmp_path))
    texts = task.test.texts
    assert predictor.predict_ids(texts).tolist() == method.model_.predict_ids(texts).tolist()
    shards = sorted(tmp_path.rglob("*.npy"))
    assert np.allclose(predictor.outlier_scores(texts), method.model_.outlier_scores(texts), atol=1e-5)
    assert sorted(tmp_path.rglob("*.npy")) == shards != []
    assert frozen_vectors(tiny_encoder, texts).shape == (len(texts), tiny_encoder.width)
