"""Who may use the server: tokens, sessions, the lock-out after wrong tokens, and in whose name decisions are made."""

from __future__ import annotations

import dataclasses

import pytest
from serving import QUIET, client_of

from newfound.errors import SettingsError
from newfound.serve import middleware
from newfound.serve.middleware import Sessions, client_address
from newfound.serve.settings import ServeSettings, read_token

TOKEN = "a-secret-of-24-characters"
SHARED = dataclasses.replace(QUIET, host="0.0.0.0", token=TOKEN)
ANA, BO = "the-secret-of-ana-1234", "the-secret-of-bo-12345"
PERSONAL = dataclasses.replace(SHARED, token={"Ana": ANA, "Bo": BO})


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still unless `clock.now` is changed."""

    class Clock:
        now = 1_000.0

        def monotonic(self):
            return self.now

    stopped = Clock()
    monkeypatch.setattr(middleware, "monotonic", stopped.monotonic)
    return stopped


def bearer(secret):
    return {"authorization": f"Bearer {secret}"}


def log_in(client, secret=TOKEN, **options):
    return client.post("/login", data={"token": secret}, follow_redirects=False, **options)


def csrf_of(client):
    return client.get("/").text.split('name="csrf" content="')[1].split('"')[0]


def test_a_token_is_asked_of_everyone_once_there_is_one(folder, tiny_encoder):
    with client_of(folder, tiny_encoder, SHARED) as client:
        described = client.get("/openapi.json", headers=bearer(TOKEN)).json()["paths"]
        for path in {*described, "/", "/openapi.json", "/nosuch"} - {"/healthz"}:
            assert client.get(path, follow_redirects=False).status_code == (303 if path == "/" else 401), path
        assert [client.get(path).status_code for path in ("/healthz", "/login")] == [200] * 2


def test_a_wrong_login_is_401_and_ten_of_them_lock_the_client_out(folder, tiny_encoder, clock):
    with client_of(folder, tiny_encoder, SHARED) as client:
        for _ in range(10):
            answer = log_in(client, "wrong")
            assert answer.status_code == 401
            assert "That is not a token of this server." in answer.text
            assert "<form" in answer.text, "the login page, to try again"
        answer = log_in(client)
        assert answer.status_code == 429, "the right token is refused as well, or guessing could go on"
        assert answer.headers["retry-after"] == "900"
        assert "try again in 900 s" in answer.text
        assert client.get("/v1/intents", headers=bearer(TOKEN)).status_code == 429
        assert client.get("/login").status_code == client.get("/healthz").status_code == 200
        clock.now += 900
        assert log_in(client, "wrong").status_code == 401
        assert log_in(client).status_code == 303, "the count began anew"


def test_wrong_bearer_tokens_lock_the_client_out_but_end_no_session(folder, tiny_encoder, clock):
    with client_of(folder, tiny_encoder, SHARED) as client:
        log_in(client)
        for _ in range(10):
            assert client.get("/v1/intents", headers=bearer("wrong")).status_code == 401
        answer = client.get("/v1/intents", headers=bearer(TOKEN))
        assert answer.status_code == 429
        assert answer.headers["retry-after"] == "900"
        assert client.get("/v1/intents").status_code == 200, "who has logged in goes on"


def test_a_session_ends_when_it_is_not_used(folder, tiny_encoder, clock):
    half_a_day = 12 * 3600
    with client_of(folder, tiny_encoder, SHARED) as client:
        log_in(client)
        for _ in range(3):
            clock.now += half_a_day - 1
            assert client.get("/v1/intents").status_code == 200
        clock.now += half_a_day + 1
        assert client.get("/v1/intents").status_code == 401


def test_the_number_of_sessions_is_limited(monkeypatch):
    monkeypatch.setattr(middleware, "MAX_SESSIONS", 2)
    sessions = Sessions()
    first, second = sessions.begin("a"), sessions.begin("b")
    sessions.use(first)
    third = sessions.begin("c")
    assert [sessions.use(key) for key in (first, second, third)] == ["a", None, "c"]


def test_a_logout_ends_the_session_and_needs_the_secret_of_the_page(folder, tiny_encoder):
    with client_of(folder, tiny_encoder, SHARED) as client:
        assert 'id="logout"' not in client.get("/login").text
        log_in(client)
        cookie = "; ".join(f"{c.name}={c.value}" for c in client.cookies.jar)
        assert 'id="logout"' in client.get("/").text
        assert client.post("/logout").status_code == 403
        assert client.get("/v1/intents").status_code == 200
        answer = client.post("/logout", headers={"x-csrf-token": csrf_of(client)})
        assert answer.status_code == 200
        assert "Max-Age=0" in answer.headers["set-cookie"]
        assert client.get("/v1/intents", headers={"cookie": cookie}).status_code == 401, "the server forgot it as well"


@pytest.mark.parametrize(
    ("behind_proxy", "logins"),
    [
        (False, [("http", "", False), ("https", "", True), ("http", "https", False)]),
        (True, [("http", "https", True), ("http", "https, http", False)]),
    ],
)
def test_the_cookie_is_secure_over_tls(folder, tiny_encoder, behind_proxy, logins):
    with client_of(folder, tiny_encoder, dataclasses.replace(SHARED, behind_proxy=behind_proxy)) as client:
        for scheme, forwarded, secure in logins:
            client.base_url = f"{scheme}://127.0.0.1"
            cookie = log_in(client, headers={"x-forwarded-proto": forwarded}).headers["set-cookie"]
            assert ("; Secure" in cookie) == secure
            assert "HttpOnly" in cookie
            assert "SameSite=strict" in cookie


def test_behind_a_proxy_each_client_is_locked_out_alone(folder, tiny_encoder):
    with client_of(folder, tiny_encoder, dataclasses.replace(SHARED, host="127.0.0.1", behind_proxy=True)) as client:
        client.base_url = "https://intents.example"  # the name of the proxy, which passes it on
        for _ in range(11):
            answer = log_in(client, "wrong", headers={"x-forwarded-for": "198.51.100.7, 203.0.113.1"})
        assert answer.status_code == 429
        assert log_in(client, headers={"x-forwarded-for": "198.51.100.8, 203.0.113.1"}).status_code == 429
        assert log_in(client, headers={"x-forwarded-for": "203.0.113.1, 203.0.113.2"}).status_code == 303


def test_clients_cannot_say_who_they_are_without_a_proxy(folder, tiny_encoder):
    with client_of(folder, tiny_encoder, SHARED) as client:
        statuses = [
            log_in(client, "wrong", headers={"x-forwarded-for": f"203.0.113.{i}"}).status_code for i in range(11)
        ]
        assert statuses == [401] * 10 + [429]


@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        ("192.0.2.1", "", "192.0.2.1"),
        ("::ffff:192.0.2.1", "", "192.0.2.1"),
        ("2001:db8::1", "", "2001:db8::/64"),
        ("2001:db8::2:3", "", "2001:db8::/64"),
        ("testclient", "", "testclient"),
        ("127.0.0.1", "203.0.113.2", "203.0.113.2"),
        ("127.0.0.1", "nonsense", "127.0.0.1"),
    ],
)
def test_a_client_is_counted_by_its_address(peer, forwarded, expected):
    assert client_address(peer, forwarded) == expected


def test_a_token_file_may_hold_one_secret_for_each_person(tmp_path):
    path = tmp_path / "token"
    path.write_text(f"\n Ana Maria :  {ANA}\n\nBo: {BO}:x\n", "utf-8")
    assert read_token(path) == {"Ana Maria": ANA, "Bo": f"{BO}:x"}
    path.write_text(f"Ana: {ANA}")
    assert read_token(path) == {"Ana": ANA}
    path.write_text("name:one-secret-with-a-colon\n")
    assert read_token(path) == "name:one-secret-with-a-colon", "one secret, as ever"
    assert ANA not in repr(ServeSettings(token={"Ana": ANA}))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"Ana: {ANA}\nBo: short-secret\n", "line 2: the secret needs at least 16"),
        (f"Ana: {ANA}\nAna: {BO}\n", "line 2: the name Ana occurs twice"),
        (f"Ana: {ANA}\nBo: {ANA}\n", "line 2: the secret is somebody else's"),
        (f"\nAna: {ANA}\n{BO}\n", "line 3: write it as `name: secret`"),
        (f": {ANA}\nBo: {BO}", "line 1: write it as"),
        (f"Ana: {ANA} {BO}", "line 1: the secret needs"),
        ("a secret with spaces in it", "line 1: write it as"),
    ],
)
def test_a_bad_token_file_is_refused_without_repeating_a_secret(tmp_path, content, message):
    path = tmp_path / "token"
    path.write_text(content)
    with pytest.raises(SettingsError, match=message) as error:
        read_token(path)
    assert not any(secret in str(error.value) for secret in (ANA, BO, "short-secret"))


def test_with_personal_tokens_the_author_is_the_owner_of_the_token(folder, tiny_encoder):
    with client_of(folder, tiny_encoder, PERSONAL) as client:
        decision = {"accept": {"intent": "pay"}}
        body = {"version": 0, "decisions": [decision]}
        lie = client.post("/v1/review/decisions", json={**body, "author": "Bo"}, headers=bearer(ANA))
        assert lie.status_code == 403
        assert "belongs to Ana" in lie.json()["detail"]
        for path, other in (
            ("/v1/review/undo", {"version": 0}),
            ("/v1/review/refit", {}),
            ("/v1/review/serve", {}),
            ("/v1/update", {"logs": ["a"]}),
            ("/v1/discover", {"known": [{"text": "a", "label": "b"}], "logs": ["a"]}),
        ):
            assert client.post(path, json={**other, "author": "Bo"}, headers=bearer(ANA)).status_code == 403, path
        assert client.get("/v1/review/log", headers=bearer(BO)).json()["entries"] == [], "nothing was done"

        done = client.post("/v1/review/decisions", json=body, headers=bearer(ANA)).json()
        assert [entry["author"] for entry in done["entries"]] == ["Ana"]
        client.post("/v1/review/undo", json={"author": "Bo", "version": 1, "id": 1}, headers=bearer(BO))
        (entry,) = client.get("/v1/review/log", headers=bearer(BO)).json()["entries"]
        assert (entry["author"], entry["undone_by"]) == ("Ana", "Bo")
        assert client.post("/v1/review/refit", json={}, headers=bearer(BO)).json()["author"] == "Bo"
        assert client.post("/v1/jobs/cancel", json={}, headers=bearer(ANA)).status_code == 403
        assert client.post("/v1/jobs/cancel", json={}, headers=bearer(BO)).json()["status"] == "cancelled"


def test_with_one_token_for_all_the_author_must_be_named(folder, tiny_encoder):
    with client_of(folder, tiny_encoder, SHARED) as client:
        body = {"version": 0, "decisions": [{"accept": {"intent": "pay"}}]}
        missing = client.post("/v1/review/decisions", json=body, headers=bearer(TOKEN))
        assert missing.status_code == 422
        assert missing.json()["detail"] == [{"where": ["body", "author"], "what": "Field required"}]
        named = client.post("/v1/review/decisions", json={**body, "author": "Eve"}, headers=bearer(TOKEN))
        assert named.json()["entries"][0]["author"] == "Eve"
