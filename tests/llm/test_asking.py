"""A language model is asked over real HTTP, and whatever its endpoint does, the run goes on."""

from __future__ import annotations

import json
import stat
import time
from pathlib import Path

import pytest
from server import BROKEN, NONSENSE, completion, drips, error, resets, says, says_by, sends, serving, slow

from newfound.errors import SettingsError
from newfound.llm import LanguageModelSettings
from newfound.llm.asking import MAX_ANSWER_LENGTH, MAX_FAILURES_IN_A_ROW, LanguageModel
from newfound.llm.openai import chat_url

KEY = "sk-very-secret-0123456789"


class Asked:
    """A language model at a test server, with what it said and how long it slept."""

    def __init__(self, endpoint, tmp_path, **settings):
        self.told, self.slept = [], []
        self.transcript = tmp_path / "transcript.jsonl"
        defaults = {"model": "some-model", "timeout": 60, "remember": False, "transcript": self.transcript}
        self.model = LanguageModel(
            LanguageModelSettings(endpoint.url, **defaults | settings), warn=self.told.append, sleep=self.slept.append
        )

    @property
    def lines(self):
        return [json.loads(line) for line in self.transcript.read_text().splitlines()]


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("NEWFOUND_LLM_KEY", KEY)


@pytest.fixture
def endpoint():
    with serving(says("fine")) as server:
        yield server


@pytest.fixture
def asked(endpoint, tmp_path):
    return lambda **settings: Asked(endpoint, tmp_path, **settings)


def test_a_prompt_is_answered_and_written_down(endpoint, asked):
    a = asked(answer_tokens=40)
    with a.model as model:
        assert model.ask(["how are you?"])[0] == "fine"
    request = endpoint.asked[0]
    assert (request.path, request.key, request.body["model"]) == ("/v1/chat/completions", f"Bearer {KEY}", "some-model")
    assert request.body["max_tokens"] == 40
    assert a.told == []
    (line,) = a.lines
    assert (line["prompt"], line["answer"], line["outcome"]) == ("how are you?", "fine", "answered")
    assert line["seconds"] >= 0
    assert stat.S_IMODE(a.transcript.stat().st_mode) == 0o600


def test_the_transcript_of_an_earlier_run_is_kept_and_closed_to_others(asked, tmp_path):
    path = tmp_path / "transcript.jsonl"
    path.write_text('{"earlier": true}\n')
    path.chmod(0o644)
    a = asked()
    a.model.ask(["x"])
    assert [line.get("earlier") for line in a.lines] == [True, None]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://localhost:11434", "http://localhost:11434/v1/chat/completions"),
        ("http://localhost:8080/", "http://localhost:8080/v1/chat/completions"),
        ("http://localhost:8000/v1", "http://localhost:8000/v1/chat/completions"),
        ("http://localhost:8000/v1/", "http://localhost:8000/v1/chat/completions"),
        ("http://[::1]:8000/v1/chat/completions", "http://[::1]:8000/v1/chat/completions"),
        ("https://a.example/api/v1beta/openai/", "https://a.example/api/v1beta/openai/chat/completions"),
        ("https://a.example/x?api-version=2", "https://a.example/x/chat/completions?api-version=2"),
    ],
)
def test_addresses_with_and_without_a_path(url, target):
    assert chat_url(url) == target


@pytest.mark.parametrize("answer", NONSENSE.values(), ids=NONSENSE)
def test_nonsense_is_no_answer_and_is_said_once(endpoint, asked, answer):
    endpoint.answer = answer
    a = asked()
    with a.model as model:
        assert model.ask(["a", "b", "c", "d", "e", "f"]) == [None] * 6
    assert len(a.told) == 1, a.told
    assert "going on without it" in a.told[0]
    assert a.told[0].isprintable()
    assert len(endpoint.asked) == model.calls == 4, "nonsense is not asked for again, and it was given up after a wave"
    assert len(a.lines) == 4
    assert all(line["answer"] is None and line["outcome"] != "answered" for line in a.lines)


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN)
def test_what_fails_is_repeated_and_then_given_up(endpoint, asked, answer):
    endpoint.answer = answer
    a = asked()
    with a.model as model:
        assert [model.ask([text])[0] for text in "abcde"] == [None] * 5
    assert len(a.told) == 1, a.told
    assert len(endpoint.asked) == model.calls == MAX_FAILURES_IN_A_ROW * 3
    assert a.slept[:2] == ([1.0, 1.0] if "HTTP 429" in a.told[0] else [1.0, 2.0])


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN)
def test_a_passing_failure_loses_nothing(endpoint, asked, answer):
    endpoint.answers = [answer, answer]
    a = asked()
    with a.model as model:
        assert model.ask(["a", "b", "c"]) == ["fine"] * 3
    assert a.told == []
    assert model.calls == len(endpoint.asked) == 5


def test_slow_endpoints_are_cut_off_and_not_asked_again(endpoint, asked):
    endpoint.answer = slow(600)
    a = asked(timeout=0.2)
    with a.model as model:
        assert model.ask(list("abcdefgh")) == [None] * 8
    assert model.calls == 4
    assert len(a.told) == 1
    assert "longer than 0.2 seconds" in a.told[0]


def test_a_reply_that_drips_is_cut_off(endpoint, asked):
    endpoint.answer = drips
    a = asked(timeout=0.3)
    with a.model as model:
        assert model.ask(["a"])[0] is None
    assert a.told == [
        f"language model at {endpoint.url}/v1/chat/completions: no answer to 1 question (it took longer than 0.3 "
        "seconds); went on without"
    ]


def test_nobody_listens(asked, endpoint, tmp_path):
    endpoint.url = "http://127.0.0.1:9"
    a = asked()
    with a.model as model:
        assert model.ask(["a", "b", "c"]) == [None] * 3
    assert len(a.told) == 1
    assert "cannot be reached: Connection refused" in a.told[0]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (error(401, f"Incorrect API key provided: {KEY}"), "HTTP 401, Incorrect API key provided: <key>"),
        (error(404, "no such model"), "HTTP 404, no such model"),
        (error(429, "You exceeded your quota", "insufficient_quota"), "HTTP 429, You exceeded your quota"),
        (error(402, "pay first"), "HTTP 402, pay first"),
    ],
)
def test_what_cannot_get_better_is_asked_once(endpoint, asked, answer, reason):
    endpoint.answer = answer
    a = asked(at_once=1)
    with a.model as model:
        assert model.ask(["a", "b", "c"]) == [None] * 3
        assert model.calls_left == 0
    assert len(endpoint.asked) == 1
    assert len(a.told) == 1
    assert f"gave it up ({reason}); going on without it" in a.told[0]


def test_retry_after_is_respected_up_to_a_limit(endpoint, asked):
    endpoint.answers = [error(429, "wait", Retry_After="7")]
    a = asked()
    assert a.model.ask(["a"])[0] == "fine"
    assert a.slept == [7.0]
    endpoint.answers = [error(429, "wait", Retry_After="3600")]
    assert a.model.ask(["b"])[0] is None
    assert a.slept == [7.0], "nobody waits for an hour"
    endpoint.answers = [error(429, "wait"), sends(503, "", Retry_After="?")]
    assert a.model.ask(["c"])[0] == "fine"
    assert a.slept == [7.0, 1.0, 2.0]


@pytest.mark.parametrize("budget", [0, 1, 4, 5])
def test_the_budget_is_kept_and_spent_on_the_first(endpoint, asked, budget):
    a = asked(budget=budget)
    with a.model as model:
        answers = model.ask(list("abcdefgh"))
        assert model.ask(["later"])[0] is None
    assert answers == ["fine"] * budget + [None] * (8 - budget)
    assert sorted(endpoint.prompts) == list("abcdefgh"[:budget])
    assert len(a.told) == 1
    assert f"the budget of {budget} requests is spent" in a.told[0]


def test_repetitions_count_against_the_budget(endpoint, asked):
    endpoint.answer = resets
    a = asked(budget=2, retries=5)
    with a.model as model:
        assert model.ask(["a"])[0] is None
    assert len(endpoint.asked) == model.calls == 2
    assert model.calls_left == 0


def test_failures_in_a_row_are_forgotten_after_an_answer(endpoint, asked):
    endpoint.answers = [*[NONSENSE["null"]] * 2, says("1"), *[NONSENSE["null"]] * 2, says("2")]
    a = asked(at_once=1)
    with a.model as model:
        assert model.ask(list("abcdef")) == [None, None, "1", None, None, "2"]
    assert len(a.told) == 1
    assert "no answer to 4 questions (its answer is not a chat completion); went on without" in a.told[0]


def test_answers_come_in_the_order_of_the_prompts_and_repeats_are_asked_once(endpoint, asked):
    def answer(handler, prompt):
        time.sleep(0.02 * (9 - int(prompt)))
        handler.reply(200, completion(f"answer {prompt}"))

    endpoint.answer = answer
    prompts = [str(i) for i in (3, 1, 4, 1, 5, 9, 2, 6, 5)]
    a = asked()
    assert a.model.ask(prompts) == [f"answer {p}" for p in prompts]
    assert sorted(endpoint.prompts) == sorted(set(prompts))
    assert [line["prompt"] for line in a.lines] == list(dict.fromkeys(prompts)), "and so does the transcript"


def test_answers_are_cut_and_cleaned(endpoint, asked):
    endpoint.answers = [says("a\x00b\x1b[31m\tc\n" + "x" * 60_000), says("<think>hm\nhm</think>\n yes")]
    a = asked()
    answer = a.model.ask(["a"])[0]
    assert answer.startswith("a b [31m\tc\nxxx")
    assert len(answer) == MAX_ANSWER_LENGTH
    assert a.model.ask(["b"])[0] == "yes"


def test_fields_that_an_endpoint_refuses_are_left_out(endpoint, asked):
    def picky(handler, _prompt):
        body = handler.endpoint.asked[-1].body
        refused = next((field for field in ("max_tokens", "temperature") if field in body), None)
        if refused:
            return error(400, f"Unsupported parameter: '{refused}'")(handler, "")
        return says("fine")(handler, "")

    endpoint.answer = picky
    a = asked()
    assert a.model.ask(["a"])[0] == "fine"
    assert a.model.ask(["b"])[0] == "fine"
    assert a.model.calls == 4
    assert a.told == []


def test_personal_data_are_masked_in_what_is_sent_and_written(endpoint, asked):
    prompt = "call 0171 2345678 or write to ana@example.org\nDE89 3704 0044 0532 0130 00"
    a = asked()
    a.model.ask([prompt])
    masked = "call <phone> or write to <email>\n<iban>"
    assert endpoint.prompts == [masked]
    assert a.lines[0]["prompt"] == masked
    asked(redact=False).model.ask([prompt])[0]
    assert endpoint.prompts[1] == prompt


def test_the_key_is_nowhere_but_in_the_header(endpoint, asked, capfd, caplog, tmp_path):
    caplog.set_level(0)
    endpoint.answer = says_by(lambda prompt: f"your key is {KEY}")
    a = asked(remember=True)
    with a.model as model:
        assert model.ask([f"is {KEY} my key?"])[0] == "your key is <key>"
    endpoint.answer = error(500, f"bad key {KEY}")
    b = asked(remember=True)
    with b.model as model:
        assert model.ask(["and now?"])[0] is None
    assert KEY not in a.transcript.read_text()
    assert KEY not in "".join(a.told + b.told) + repr(a.model.settings) + model.problem
    assert KEY not in caplog.text + "".join(capfd.readouterr())
    from newfound.paths import answer_cache_dir

    assert all(KEY not in path.read_text() for path in answer_cache_dir().rglob("*.json"))


@pytest.mark.parametrize("key", ["1", "x", "none"])
def test_a_dummy_key_is_not_looked_for_in_answers(monkeypatch, endpoint, asked, key):
    monkeypatch.setenv("NEWFOUND_LLM_KEY", key)
    answer = '{"group": 1, "name": "next_exit", "other": "none"}'
    endpoint.answer = says(answer)
    a = asked()
    assert a.model.ask(["which 1 of x, or none?"])[0] == answer
    assert endpoint.asked[0].key == f"Bearer {key}"
    assert (a.lines[0]["prompt"], a.lines[0]["answer"]) == ("which 1 of x, or none?", answer)


def test_a_key_that_cannot_be_sent_is_refused_and_not_repeated(monkeypatch, asked):
    monkeypatch.setenv("NEWFOUND_LLM_KEY", f"{KEY}\nsecond line")
    with pytest.raises(SettingsError, match="NEWFOUND_LLM_KEY") as caught:
        asked()
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_takes_neither_key_nor_prompt_to_another_host(endpoint, asked, status):
    with serving(says("mine now")) as other:
        endpoint.answer = sends(status, "", Location=f"{other.url}/v1/chat/completions")
        a = asked()
        with a.model as model:
            assert model.ask(["a"])[0] is None
        assert other.asked == []
    assert "redirects to http://127.0.0.1; give that address" in a.told[0]


def test_a_proxy_of_the_environment_is_used(monkeypatch, endpoint, asked):
    monkeypatch.setenv("http_proxy", endpoint.url)
    monkeypatch.setenv("no_proxy", "")
    real, endpoint.url = endpoint.url, "http://llm.invalid/v1"
    assert asked().model.ask(["a"])[0] == "fine"
    assert endpoint.asked[0].path == "http://llm.invalid/v1/chat/completions", real


def test_answers_are_remembered_and_cost_nothing(endpoint, asked):
    a = asked(remember=True)
    assert a.model.ask(["one prompt", "another"]) == ["fine", "fine"]
    b = asked(remember=True, budget=0)
    with b.model as model:
        assert model.ask(["one prompt"])[0] == "fine"
        assert model.calls == 0
    assert b.told == []
    assert b.lines[-1]["outcome"] == "remembered"
    assert len(endpoint.asked) == 2
    for settings in ({"model": "another model"}, {"remember": False}):
        asked(**{"remember": True, **settings}).model.ask(["one prompt"])
    assert len(endpoint.asked) == 4, "another model has other answers, and remembering can be switched off"


def test_failures_are_not_remembered(endpoint, asked):
    endpoint.answers = [NONSENSE["null"]]
    assert asked(remember=True).model.ask(["unlucky prompt"])[0] is None
    assert asked(remember=True).model.ask(["unlucky prompt"])[0] == "fine"


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"source": 1, "answer": "evil"}', b"\xff", b'{"answer": 3}'])
def test_a_damaged_cache_is_asked_anew(endpoint, asked, monkeypatch, tmp_path, damage):
    monkeypatch.setenv("NEWFOUND_CACHE", str(tmp_path / "cache"))
    asked(remember=True).model.ask(["a"])[0]
    (kept,) = (tmp_path / "cache").rglob("*.json")
    assert stat.S_IMODE((tmp_path / "cache" / "answers").stat().st_mode) == 0o700
    kept.write_bytes(damage)
    assert asked(remember=True).model.ask(["a"])[0] == "fine"
    assert len(endpoint.asked) == 2


def test_a_cache_that_cannot_be_written_is_no_error(asked, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NEWFOUND_CACHE", str(tmp_path / "file"))
    assert asked(remember=True).model.ask(["a"])[0] == "fine"


def test_without_a_transcript_nothing_more_is_asked(asked):
    a = asked(transcript=Path("/dev/full"))
    with a.model as model:
        assert model.ask(list("abcdefgh"))[4:] == [None] * 4
    assert len(a.told) == 1
    assert "the transcript cannot be written: No space left on device" in a.told[0]


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"url": "localhost:8000"}, "address"),
        ({"url": "file:///etc/passwd"}, "address"),
        ({"url": "http://"}, "address"),
        ({"url": "http://a:b"}, "address"),
        ({"url": "http://host/a b"}, "address"),
        ({"url": "https://me:secret@example.org"}, "environment"),
        ({"budget": -1}, "budget=-1"),
        ({"budget": True}, "budget=True"),
        ({"at_once": 0}, "at_once=0"),
        ({"timeout": 0}, "timeout=0"),
        ({"timeout": float("nan")}, "timeout=nan"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings, match):
    with pytest.raises(SettingsError, match=match) as caught:
        LanguageModelSettings(**{"url": "http://localhost", **settings}).check()
    assert "secret" not in str(caught.value)


def test_a_transcript_that_cannot_be_written_is_refused_before_anything_is_asked(tmp_path, asked):
    with pytest.raises(SettingsError, match="cannot be written"):
        asked(transcript=tmp_path)


def test_halves_of_characters_are_replaced(endpoint, asked):
    endpoint.answer = says("ok \ud83d")
    a = asked(remember=True)
    assert a.model.ask(["a \udcff b"])[0].startswith("ok")
    assert endpoint.prompts == ["a ? b"]
    assert len(a.lines) == 1
