"""The HTTP API, its limits, and whom it answers."""

from __future__ import annotations

import dataclasses
import io
import json
import re
import shutil
import socket
import threading
import time
import zipfile
from urllib.parse import urlsplit

import httpx
import pytest
import yaml
from serving import QUIET, client_of, server_of

from conftest import themed_corpus
from newfound.errors import SettingsError
from newfound.exports.registry import EXPORTS
from newfound.methods.kmeans import KMeans
from newfound.review import views
from newfound.serve.settings import ServeSettings
from waiting import until

TOKEN = "a-secret-of-24-characters"


@pytest.fixture
def client(folder, tiny_encoder):
    with client_of(folder, tiny_encoder) as client:
        yield client


@pytest.fixture(scope="module")
def shared_client(saved, tmp_path_factory, tiny_encoder):
    """One server for all tests that change nothing."""
    with client_of(shutil.copytree(saved, tmp_path_factory.mktemp("shared") / "model"), tiny_encoder) as client:
        yield client


def decide(client, *decisions, author="ana", version=None):
    version = client.get("/v1/review/state").json()["version"] if version is None else version
    return client.post(
        "/v1/review/decisions", json={"author": author, "version": version, "decisions": list(decisions)}
    )


def new_names(client):
    return [i["name"] for i in client.get("/v1/review/state").json()["intents"] if i["status"] == "new"]


def test_operation_endpoints(client):
    assert client.get("/healthz").json() == {"status": "ok"}
    client.post("/v1/predict", json={"texts": ["pay"]})
    metrics = client.get("/metrics").text
    assert 'newfound_requests_total{route="/v1/predict",status="200"} 1.0' in metrics
    description = client.get("/openapi.json").json()
    for path, operations in description["paths"].items():
        for operation in operations.values():
            schema = operation["responses"]["200"].get("content", {}).get("application/json", {}).get("schema")
            assert schema is None or {"$ref", "type"} & set(schema), f"the answer of {path} has no schema"
    assert description["components"]["schemas"]["PredictBody"]["examples"] == [{"texts": ["where is my card?"]}]


def scripts_of(client):
    return re.findall(r'"(/static/[^"]+)"', client.get("/").text)


def test_scripts_are_compressed_and_loaded_once_until_they_change(shared_client):
    """Their address holds a hash of what they are, so that a browser need not ask for them again."""
    whole = sent = 0
    for address in dict.fromkeys(scripts_of(shared_client)):
        answer = shared_client.get(address)
        whole, sent = whole + len(answer.content), sent + int(answer.headers["content-length"])
        assert answer.headers["cache-control"] == "max-age=31536000, immutable"
    assert sent < 0.45 * whole
    page = shared_client.get("/")
    assert page.headers["cache-control"] == shared_client.get("/v1/review/state").headers["cache-control"] == "no-store"
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert shared_client.get("/v1/review/queue?most=200").headers["content-encoding"] == "gzip"
    plain = shared_client.get("/v1/review/state", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers


def test_requests_are_counted_by_their_routes(client):
    paths = client.get("/openapi.json").json()["paths"]
    for path in [*paths, "/", "/wp-login.php", "/v1/predictions"]:
        client.head(path.replace("{format}", "csv"))
    counted = re.findall(r'newfound_requests_total\{route="([^"]*)"', client.get("/metrics").text)
    assert set(counted) == {*paths, "/", "other"}


def test_a_review_changes_predictions_intents_and_exports_at_once(client, themed):
    first, second = new_names(client)
    moving = "“I'm moving house…”"  # a name as newfound gives it where no phrase would be right
    answers = client.post("/v1/predict", json={"texts": list(themed.texts)}).json()["predictions"]
    text = next(t for t, found in zip(themed.texts, answers, strict=True) if found["intent"] == first)
    answer = decide(client, {"rename": {"intent": first, "to": moving}}, {"accept": {"intent": moving}})
    assert answer.status_code == 200
    assert [e["kind"] for e in answer.json()["entries"]] == ["rename", "accept"]
    assert client.post("/v1/predict", json={"texts": [text]}).json()["predictions"][0]["intent"] == moving
    described = {i["name"]: i for i in client.get("/v1/intents").json()}
    assert described[moving]["status"] == "accepted"
    assert described[moving]["description"].lower() in map(str.lower, themed.texts)
    assert (
        client.get("/v1/review/intent", params={"name": moving}).json()["description"]
        == described[moving]["description"]
    )
    details = {i["name"]: i for i in client.get("/v1/review/details").json()["intents"]}
    assert details[moving]["description"] == described[moving]["description"]
    export = client.get("/v1/export/rasa")
    rasa, left_out = yaml.safe_load(export.content), export.headers["x-new-intents-left-out"]
    assert {block["intent"] for block in rasa["nlu"]} == {"pay", "meter", "leak", "i_m_moving_house"}, (
        "what was accepted"
    )
    export = client.get("/v1/export/rasa", params={"with_guesses": True})
    assert second in {block["intent"] for block in yaml.safe_load(export.content)["nlu"]}
    assert (left_out, export.headers["x-new-intents-left-out"]) == ("1", "0")
    body = {"author": "bo", "version": answer.json()["version"]}
    assert client.post("/v1/review/undo", json=body).status_code == 422, "it is not bo's own"
    undone = client.post("/v1/review/undo", json={**body, "id": answer.json()["entries"][-1]["id"]})
    assert undone.json()["entries"][0]["kind"] == "accept"
    log = client.get("/v1/review/log").json()["entries"]
    assert [(e["author"], e["undone_by"]) for e in log] == [("ana", None), ("ana", "bo")]


def test_answering_the_queue_lowers_the_expected_error(client):
    before = client.get("/v1/review/queue").json()
    assert before["items"][0]["labelled"] is False
    for item in before["items"][:5]:
        assert decide(client, {"move": {"texts": [item["text"]], "to": item["intent"]}}).status_code == 200
    out = before["items"][5]
    assert client.get(f"/v1/review/queue?most=1&shown={out['id']}").json()["items"][0]["id"] == out["id"], "it is read"
    assert decide(client, {"move": {"texts": [out["text"]], "to": None}}).status_code == 200
    after = client.get(f"/v1/review/queue?shown={out['id']}").json()
    assert after["expected_error"] < before["expected_error"]
    assert not {i["text"] for i in after["items"]} & {i["text"] for i in before["items"][:6]}
    assert client.post("/v1/predict", json={"texts": [out["text"]]}).json()["predictions"][0]["intent"] is None


@pytest.mark.parametrize("ids", [[], [-1], [10**9], ["a"], [1.5], "all"])
def test_numbers_that_name_no_utterance_are_refused(shared_client, ids):
    assert decide(shared_client, {"move": {"ids": ids, "to": "pay"}}).status_code == 422
    assert shared_client.post("/v1/review/selection", json={"ids": ids}).status_code == 422


def test_what_is_selected_has_likely_intents_and_utterances_like_it(shared_client):
    """Leaving the labelled ones out, nothing is more like an utterance of the logs than itself."""
    hits = shared_client.get("/v1/review/search?q=a&logs_only=true").json()["utterances"]
    likely = shared_client.post("/v1/review/selection", json={"ids": [hits[0]["id"]]}).json()["likely"]
    assert likely[0] == [hits[0]["intent"], pytest.approx(hits[0]["probability"], abs=1e-3)]
    assert [p for _, p in likely] == sorted((p for _, p in likely), reverse=True)
    query = {"q": hits[0]["text"], "by_meaning": True, "logs_only": True}
    like = shared_client.get("/v1/review/search", params=query).json()["utterances"]
    assert like[0]["text"] == hits[0]["text"]
    assert not any(u["labelled"] for u in like)


def test_the_limit_of_a_move_is_told_and_kept(client, monkeypatch):
    monkeypatch.setattr(views, "MAX_UTTERANCES_TO_MOVE", 5)
    hits = client.get("/v1/review/search?q=a").json()
    assert len(hits["ids"]) == 5 < hits["total"]
    assert decide(client, {"move": {"ids": hits["ids"], "to": "pay"}}).status_code == 200
    refused = decide(client, {"move": {"ids": list(range(6)), "to": "pay"}})
    assert (refused.status_code, refused.json()["detail"]) == (422, "move: at most 5 utterances at once")


@pytest.mark.parametrize("format", [name for name in EXPORTS if name != "parquet"])
def test_every_format_is_exported(shared_client, format):
    answer = shared_client.get(f"/v1/export/{format}")
    assert answer.status_code == 200
    assert "attachment" in answer.headers["content-disposition"]
    if EXPORTS[format].suffix == ".zip":
        assert zipfile.ZipFile(io.BytesIO(answer.content)).testzip() is None
    assert shared_client.get("/v1/export/../../etc/passwd").status_code == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"texts": []}', 422),
        (b'{"texts": "pay"}', 422),
        (b'{"texts": [1]}', 422),
        (b'{"texts": ["pay"], "more": 1}', 422),
        (b'{"texts": ["\\ud800"]}', 422),
        (b'{"texts": ["' + b"a" * 10_001 + b'"]}', 422),
        (json.dumps({"texts": ["pay"] * 257}).encode(), 422),
        (b"{", 422),
        (b'{"texts": ["caf\xe9"]}', 422),
        (b"[" * 100_000, 422),
        (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, 422),
        (b"x" * (4 * 2**20 + 1), 413),
    ],
)
def test_hostile_bodies_get_a_clear_answer(shared_client, body, status):
    answer = shared_client.post("/v1/predict", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (status, 400)
    assert answer.json()["detail"]
    assert shared_client.post("/v1/predict", json={"texts": ["pay"]}).status_code == 200


@pytest.mark.parametrize(
    "path",
    ["/static/../app.py", "/static/%2e%2e%2fapp.py", "/..%2f..%2fetc/passwd", "/v1/export/%2e%2e", "//etc/passwd"],
)
def test_no_path_reaches_the_file_system(shared_client, path):
    assert shared_client.get(path).status_code in (404, 422)


def test_a_page_of_another_site_is_not_obeyed(client):
    body = {"author": "eve", "version": 0, "decisions": [{"accept": {"intent": "pay"}}]}
    for headers in (
        {"origin": "https://evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"origin": "http://127.0.0.1"},  # our origin, but without the page's secret
    ):
        assert client.post("/v1/review/decisions", json=body, headers=headers).status_code == 403
    page = client.get("/")
    secret = page.text.split('name="csrf" content="')[1].split('"')[0]
    ours = {"origin": "http://127.0.0.1", "sec-fetch-site": "same-origin", "x-csrf-token": secret}
    assert client.post("/v1/review/decisions", json=body, headers=ours).status_code == 200
    assert client.get("/healthz", headers={"host": "evil.example"}).status_code == 421
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize(("header", "value"), [("host", "["), ("origin", "http://[")])
def test_odd_headers_are_no_server_error(shared_client, header, value):
    answer = shared_client.post("/v1/predict", json={"texts": ["pay"]}, headers={header: value})
    assert answer.status_code in (400, 421)


def test_odd_cookies_of_other_servers_do_not_end_a_session(folder, tiny_encoder):
    with client_of(folder, tiny_encoder, dataclasses.replace(QUIET, host="0.0.0.0", token=TOKEN)) as client:
        client.post("/login", data={"token": TOKEN})
        own = "; ".join(f"{c.name}={c.value}" for c in client.cookies.jar)
        client.cookies.clear()
        assert client.get("/v1/intents", headers={"cookie": f'prefs={{"a": 1}}; {own}'}).status_code == 200


def test_a_server_for_others_needs_a_token():
    with pytest.raises(SettingsError, match="give a token"):
        ServeSettings(host="0.0.0.0")


def test_a_full_queue_says_when_to_come_back(folder, tiny_encoder, monkeypatch):
    monkeypatch.setattr("newfound.serve.batching.MAX_WAITING_TEXTS", 2)
    with client_of(folder, tiny_encoder) as client:
        answer = client.post("/v1/predict", json={"texts": ["a", "b", "c"]})
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"


def test_a_slow_client_is_cut_off_and_others_are_answered(folder, tiny_encoder, monkeypatch):
    monkeypatch.setattr("newfound.serve.server.SECONDS_TO_KEEP_ALIVE", 1)
    monkeypatch.setattr("newfound.serve.middleware.SECONDS_TO_SEND", 1.0)
    with server_of(folder, tiny_encoder) as address:
        place = (urlsplit(address).hostname, urlsplit(address).port)

        with socket.create_connection(place) as silent, socket.create_connection(place) as slow:
            silent.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
            slow.sendall(b"POST /v1/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 50\r\n\r\n{")
            assert httpx.post(f"{address}/v1/predict", json={"texts": ["pay"]}).status_code == 200
            for connection in (silent, slow):
                connection.settimeout(60)
            assert silent.recv(100) == b"", "hung up on"
            again = socket.create_connection(place)
            again.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            again.settimeout(60)
            answer = b""
            while b'"ok"' not in answer:
                part = again.recv(2_000)
                assert part, answer
                answer += part
            again.sendall(b"GET /hea")  # a second request that never comes
            assert again.recv(100) == b""
            assert b" 408 " in slow.recv(1_000)


def test_another_model_in_the_folder_is_taken_up_without_a_dropped_request(folder, tiny_encoder, tmp_path):

    corpus = themed_corpus(unlabelled=("leak",), seed=3)
    other = KMeans(n_new=1, encoder=tiny_encoder, tune="heads", epochs=5, device="cpu").fit(corpus.texts, corpus.labels)
    answers, stop = [], threading.Event()
    with server_of(folder, tiny_encoder) as address, httpx.Client() as http:

        def ask():
            while not stop.is_set():
                answers.append(http.post(f"{address}/v1/predict", json={"texts": ["pay"]}).status_code)

        asking = threading.Thread(target=ask)
        asking.start()
        while len(answers) < 3:
            time.sleep(0.01)
        other.save(folder, overwrite=True)
        is_served = until(lambda: "solar" in httpx.get(f"{address}/v1/intents").text)
        stop.set()
        asking.join()
    assert is_served
    assert set(answers) == {200}
    assert len(answers) > 3
