"""Requests made up from the OpenAPI description: whatever they hold, no answer is a server error."""

from __future__ import annotations

import shutil

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from serving import server_of

schemathesis = pytest.importorskip("schemathesis")


@pytest.fixture(scope="module")
def description(saved, tmp_path_factory, tiny_encoder):
    folder = shutil.copytree(saved, tmp_path_factory.mktemp("any") / "model")
    with server_of(folder, tiny_encoder) as address:
        # Python 3.11 cannot parse sources in two threads at once: the server's warm-up, which
        # imports scikit-learn, must be over before schemathesis reads sources.
        httpx.get(f"{address}/v1/review/map", timeout=120).raise_for_status()
        yield schemathesis.openapi.from_url(f"{address}/openapi.json")


@pytest.mark.slow
def test_no_request_breaks_the_server(description):
    tried = []
    for found in description.get_all_operations():
        operation = found.ok()
        if operation.method == "post" and operation.path in ("/v1/review/refit", "/v1/discover", "/v1/update"):
            continue  # they would train

        @settings(max_examples=5, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def ask(case):
            answer = case.call(timeout=300)  # the first evaluation waits for a process that imports torch
            assert answer.status_code < 500, (case.method, case.path, answer.text)

        ask()
        tried.append(operation.path)
    assert {"/v1/predict", "/v1/review/decisions", "/v1/review/undo", "/v1/export/{format}"} <= set(tried)
