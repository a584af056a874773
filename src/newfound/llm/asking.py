"""Asks a language model within a budget. A model that is down, slow, over quota or answers nonsense ends no run.

Prompts are sent in waves of a few at once, and repeated in rounds; what is counted is counted between waves, in the
order of the prompts. So it does not depend on the speed of the answers which prompts the budget is spent on.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from newfound.data.redact import redact
from newfound.errors import SettingsError
from newfound.files import write_atomically
from newfound.llm.openai import NoAnswer, OpenAIChat
from newfound.llm.settings import LanguageModelSettings
from newfound.paths import answer_cache_dir

MAX_MESSAGE_LENGTH = 300  # characters of an utterance that are sent
MAX_LENGTH_READ = 3_000  # characters of it that are masked: masking takes long for words without end
MAX_MASKED_LENGTH = 300  # characters of what is masked; the longest are e-mail addresses, with up to 254
MAX_ANSWER_LENGTH = 20_000  # characters
MAX_FAILURES_IN_A_ROW = 3
FIRST_WAIT_SECONDS = 1.0  # before a request is repeated; twice as long before each further repetition
MAX_WAIT_SECONDS = 30.0  # an endpoint that asks for more is not waited for
MIN_SECRET_LENGTH = 8  # characters of a key; `x` or `1` is a dummy for an endpoint without keys, and part of any answer
GRACE_SECONDS = 2.0  # after which a request that ignores its time-out is left to itself
OWNER_ONLY, OWNER_ONLY_FOLDER = 0o600, 0o700
VERSION_OF_KEYS = 1

_Reply = tuple[str | None, NoAnswer | None, float]  # answer, problem, seconds


def message_of(text: str, *, masked: bool) -> str:
    """Return an utterance as it goes into a prompt: on one line, masked if that is asked for, and cut, in this order.

    The other way round, an address across the cut would leave the machine as a half that no mask recognises.
    """
    line = " ".join(text.split())
    if masked:
        read = redact(line[:MAX_LENGTH_READ])
        # What is cut off here may be the rest of an address, whose beginning no mask recognises.
        line = read if len(line) <= MAX_LENGTH_READ else read[:-MAX_MASKED_LENGTH]
    return line[:MAX_MESSAGE_LENGTH]


@dataclass(slots=True)
class _Question:
    """A prompt, and what came of the last request with it: an answer or a problem; neither if it was not sent."""

    prompt: str
    answer: str | None = None
    problem: NoAnswer | None = None
    seconds: float = 0.0
    sent: int = 0  # requests


class LanguageModel:
    """A language model that is open for questions. Use it as a context manager: problems are told at its end."""

    def __init__(
        self,
        settings: LanguageModelSettings,
        *,
        warn: Callable[[str], None],
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Check the settings and open the transcript; `warn` gets one line if questions stay without an answer."""
        settings.check()
        self.settings = settings
        self._sleep, self._key, self._endpoint = sleep, settings.key(), OpenAIChat(settings)
        self._warn: Callable[[str], None] = lambda what: warn(f"language model at {self._endpoint.address}: {what}")
        source = (self._endpoint.address, settings.model, settings.answer_tokens)
        self._cache = AnswerCache(answer_cache_dir(), source) if settings.remember else None
        self._transcript = None if settings.transcript is None else open_transcript(settings.transcript)
        self.calls = 0
        self.problem = ""
        self._n_unanswered = self._failures_in_a_row = 0
        self._gave_up = self._told_budget = False

    @property
    def calls_left(self) -> int:
        """How many requests the budget still allows; 0 after it gave up."""
        return 0 if self._gave_up else self.settings.budget - self.calls

    def ask(self, prompts: Sequence[str]) -> list[str | None]:
        """Return the answers to prompts, in their order; None where there is none, a reason of which is in `problem`.

        What is recognised as personal is masked before it leaves the machine. The budget is spent on the first prompts.
        """
        sent = [prompt.encode("utf-8", "replace").decode() for prompt in prompts]  # halves of characters cannot be sent
        if self.settings.redact:
            sent = [redact(prompt) for prompt in sent]
        answers = {prompt: self._recall(prompt) for prompt in dict.fromkeys(sent)}
        waiting = [_Question(prompt) for prompt, answer in answers.items() if answer is None]
        while waiting and not self._gave_up:
            wave, waiting = waiting[: self.settings.at_once], waiting[self.settings.at_once :]
            self._ask_wave(wave)
            for question in wave:
                answers[question.prompt] = question.answer
        return [answers[prompt] for prompt in sent]

    def __enter__(self) -> LanguageModel:
        return self

    def __exit__(self, *error: object) -> None:
        if self._n_unanswered and not self._gave_up:
            number = "1 question" if self._n_unanswered == 1 else f"{self._n_unanswered} questions"
            self._warn(f"no answer to {number} ({self.problem}); went on without")
        if self._transcript is not None:
            with suppress(OSError):  # it was told already if the disk is full
                self._transcript.close()

    def _recall(self, prompt: str) -> str | None:
        answer = None if self._cache is None else self._cache.get(prompt)
        if answer is not None:
            self._record(_Question(prompt, answer), "remembered")
        return answer

    def _ask_wave(self, wave: Sequence[_Question]) -> None:
        """Ask some questions at once, and again those that may be repeated, as far as the budget goes."""
        pending = wave[: self.calls_left]
        while pending:
            self.calls += len(pending)
            for question, reply in zip(pending, self._send_at_once(pending), strict=True):
                question.answer, question.problem, question.seconds = reply
                question.sent += 1
                self._keep(question)
            waits = [(question, wait) for question in pending if (wait := self._wait(question)) is not None]
            waits = waits[: self.calls_left]
            pending = [question for question, _ in waits]
            if waits:
                self._sleep(max(wait for _, wait in waits))
        self._count_failures(wave)

    def _wait(self, question: _Question) -> float | None:
        """Return the seconds before a question is sent again, as the endpoint says or growing; None if it is not."""
        problem = question.problem
        if problem is None or not problem.repeat or question.sent > self.settings.retries:
            return None
        growing = min(MAX_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2.0 ** (question.sent - 1))
        wait = growing if problem.wait is None else problem.wait
        return wait if wait <= MAX_WAIT_SECONDS else None

    def _send_at_once(self, questions: Sequence[_Question]) -> list[_Reply]:
        """Send questions at the same time, each in a thread; one that takes too long is left to itself."""
        limit = self.settings.timeout + GRACE_SECONDS
        too_slow = NoAnswer(f"it took longer than {self.settings.timeout:g} seconds")
        replies: list[_Reply] = [(None, too_slow, limit)] * len(questions)

        def send(i: int) -> None:
            replies[i] = self._send(questions[i].prompt)

        threads = [threading.Thread(target=send, args=(i,), daemon=True) for i in range(len(questions))]
        deadline = time.monotonic() + limit
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return list(replies)

    def _send(self, prompt: str) -> _Reply:
        start, answer, problem = time.monotonic(), None, None
        try:
            answer = self._without_key(_plain(self._endpoint.complete(prompt))) or None
            problem = None if answer else NoAnswer("its answer is empty")
        except NoAnswer as error:
            problem = error
        except Exception as error:  # whatever an endpoint sends, the run goes on
            problem = NoAnswer(f"its answer cannot be read ({type(error).__name__})")
        return answer, problem, time.monotonic() - start

    def _keep(self, question: _Question) -> None:
        if question.problem is not None:
            self.problem = self._without_key(str(question.problem))
        elif self._cache is not None and question.answer is not None:
            self._cache.put(question.prompt, question.answer)
        self._record(question, "answered" if question.problem is None else self.problem)

    def _count_failures(self, wave: Sequence[_Question]) -> None:
        for question in wave:
            if not question.sent:
                if not self._gave_up and not self._told_budget:
                    self._told_budget = True
                    self._warn(f"the budget of {self.settings.budget} requests is spent; went on without it")
            elif question.problem is None:
                self._failures_in_a_row = 0
            else:
                self._n_unanswered += 1
                if self._wait(question) is not None:
                    continue  # the calls were spent before it was known whether the endpoint fails
                self._failures_in_a_row += 1
                if question.problem.final or self._failures_in_a_row >= MAX_FAILURES_IN_A_ROW:
                    self._give_up(str(question.problem))

    def _give_up(self, problem: str) -> None:
        if not self._gave_up:
            self._gave_up, self.problem = True, self._without_key(problem)
            self._warn(f"gave it up ({self.problem}); going on without it")

    def _record(self, question: _Question, outcome: str) -> None:
        if self._transcript is None:
            return
        entry = {
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "prompt": self._without_key(question.prompt),
            "answer": question.answer,
            "seconds": round(question.seconds, 3),
            "outcome": outcome,
        }
        try:
            self._transcript.write(json.dumps(entry, ensure_ascii=False) + "\n")
        except OSError as error:  # what cannot be recorded is not asked
            self._give_up(f"the transcript cannot be written: {error.strerror}")

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "<key>") if len(self._key) >= MIN_SECRET_LENGTH else text


def _plain(answer: str) -> str:
    """Return an answer without control characters, and not longer than any answer need be."""
    return "".join(c if c.isprintable() or c in "\n\t" else " " for c in answer[:MAX_ANSWER_LENGTH]).strip()


def open_transcript(path: Path) -> TextIO:
    """Open a file for one JSON line for each request. Only its owner may read it: it holds utterances."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, OWNER_ONLY)
    except OSError as error:
        raise SettingsError(f"transcript {path}: cannot be written ({error.strerror})") from None
    if path.is_file():  # and no device; it may have been there before
        with suppress(OSError):
            path.chmod(OWNER_ONLY)
    return os.fdopen(handle, "w", buffering=1, encoding="utf-8", errors="replace")  # each line is written at once


class AnswerCache:
    """Answers on disk, one file each. What cannot be read counts as missing, and what cannot be written is not kept."""

    def __init__(self, folder: Path, source: Sequence[str | int]) -> None:
        """Use a folder for answers, which depend on the prompt and the source: address, model, longest answer."""
        self._folder, self._source = folder, [VERSION_OF_KEYS, *source]

    def get(self, prompt: str) -> str | None:
        """Return the answer to a prompt; None if there is none."""
        try:
            kept = json.loads(self._path(prompt).read_bytes())
            return kept["answer"] if kept["source"] == self._source and isinstance(kept["answer"], str) else None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def put(self, prompt: str, answer: str) -> None:
        path = self._path(prompt)
        with suppress(OSError):
            self._folder.mkdir(mode=OWNER_ONLY_FOLDER, parents=True, exist_ok=True)
            self._folder.chmod(OWNER_ONLY_FOLDER)
            write_atomically(path, json.dumps({"source": self._source, "answer": answer}).encode())

    def _path(self, prompt: str) -> Path:
        digest = hashlib.sha256(json.dumps([*self._source, prompt]).encode()).hexdigest()
        return self._folder / digest[:2] / f"{digest}.json"
