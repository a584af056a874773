"""The OpenAPI description and the documentation say what the server does."""

from __future__ import annotations

import re
import runpy
import shutil
from pathlib import Path

import pytest
from serving import client_of

from newfound.serve import bodies

jsonschema = pytest.importorskip("jsonschema")
ROOT = Path(__file__).parents[2]
DOCUMENTATION = ROOT / "docs" / "serve.md"


@pytest.fixture(scope="module")
def client(saved, tmp_path_factory, tiny_encoder):
    folder = shutil.copytree(saved, tmp_path_factory.mktemp("described") / "model")
    with client_of(folder, tiny_encoder) as client:
        yield client


@pytest.fixture(scope="module")
def description(client):
    return client.get("/openapi.json").json()


def test_every_documented_route_exists_and_every_route_is_documented(description):
    section = DOCUMENTATION.read_text("utf-8").partition("## The API")[2].partition("\n## ")[0]
    table = "\n".join(line for line in section.splitlines() if line.startswith("|"))
    routes = r"/v1/(?!review)[a-z]+(?:/(?:[a-z]+|\{[a-z]+\}))?(?=[`, ])|/(?:healthz|metrics)"
    documented = set(re.findall(routes, table))
    names = re.search(r"what the page uses: ([a-z, -]+)", table)[1].split(", ")
    assert documented | {f"/v1/review/{name.strip()}" for name in names} == set(description["paths"])


def test_every_post_has_an_example_that_is_valid(description):
    posts = {path: operations["post"] for path, operations in description["paths"].items() if "post" in operations}
    assert len(posts) >= 8
    for path, post in posts.items():
        if path == "/v1/files":  # its body is the file
            continue
        name = post["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        examples = description["components"]["schemas"][name].get("examples")
        assert examples, path
        for example in examples:
            getattr(bodies, name).model_validate(example)


DECISION = {"author": "a", "version": 0, "decisions": [{"accept": "pay"}]}
BAD = [
    ("post", "/v1/predict", {"json": {"texts": []}}, 422),
    ("post", "/v1/predict", {"json": {"texts": ["a"], "stray": 1}}, 422),
    ("get", "/v1/review/intent", {"params": {"name": "nosuch"}}, 422),
    ("get", "/v1/export/{format}", {"params": {"only_new": "true"}}, 422),
    ("get", "/v1/export/{format}", {"params": {"language": "../"}}, 422),
    ("get", "/v1/export/{format}", {"params": {"only": "accepted"}}, 409),
    ("post", "/v1/review/decisions", {"json": {"author": "a", "version": 0, "decisions": [{"accept": "nosuch"}]}}, 422),
    ("post", "/v1/review/decisions", {"json": {"author": "a", "version": 9, "decisions": [{"accept": "pay"}]}}, 409),
    ("post", "/v1/review/undo", {"json": {"author": "a", "version": 0, "model": "other"}}, 409),
    ("post", "/v1/review/decisions", {"json": {**DECISION, "model": "other"}}, 409),
    ("post", "/v1/review/serve", {"json": {"author": "a"}}, 409),
    ("post", "/v1/predict", {"json": {"texts": ["a"]}, "headers": {"origin": "http://elsewhere"}}, 403),
]


@pytest.mark.parametrize(("method", "path", "given", "status"), BAD)
def test_errors_are_as_described(client, description, method, path, given, status):
    answer = client.request(method, path.replace("{format}", "csv"), **given)
    assert answer.status_code == status, answer.text
    described = description["paths"][path][method]["responses"][f"{status // 100}XX"]
    assert described["description"]
    schema = described["content"]["application/json"]["schema"]
    jsonschema.validate(answer.json(), {**schema, "components": description["components"]})
    assert set(answer.json()) == {"detail"}


def test_what_a_route_does_not_have_is_refused_by_its_name(client):
    """A client that asks for what an older version had must not get the whole export as if it had not asked."""
    unknown = client.get("/v1/export/csv", params={"only_new": "true", "language": "en"})
    assert unknown.status_code == 422
    expected = "unknown parameter; expected language, min_probability, only, with_guesses"
    assert unknown.json()["detail"] == [{"where": ["query", "only_new"], "what": expected}]
    stray = client.post("/v1/predict", json={"texts": ["a"], "only_new": True})
    assert stray.json()["detail"][0]["where"] == ["body", "only_new"]
    queued = client.post("/v1/predict?stray=1", json={"texts": ["a"]})
    assert queued.json()["detail"] == [{"where": ["query", "stray"], "what": "unknown parameter; expected none"}]
    assert client.get("/healthz?probe=1").status_code == 200, "what is no part of the API is left alone"


def test_fields_of_answers_are_described_as_in_their_docstrings(description):
    described = description["components"]["schemas"]["QueueItem"]["description"]
    assert "candidates: The intents that it may belong to" in described


def test_the_types_of_the_page_are_made_from_the_description(description):
    maker = runpy.run_path(str(ROOT / "tools" / "page" / "api_types.py"))
    assert maker["TARGET"].read_text("utf-8") == maker["declarations"](description), (
        "make it anew while `newfound serve` runs: python tools/page/api_types.py http://127.0.0.1:8000/openapi.json"
    )
