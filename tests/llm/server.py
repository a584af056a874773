"""A server that speaks the chat protocol over real HTTP, well or badly."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = Callable[["Handler", str], None]


@dataclass
class Request:
    path: str
    key: str | None
    body: dict

    @property
    def prompt(self) -> str:
        return self.body["messages"][0]["content"]


@dataclass
class Endpoint:
    """The running server; `answers` are used up first, then `answer` is used for every request."""

    url: str
    answer: Answer
    answers: list[Answer] = field(default_factory=list)
    asked: list[Request] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def prompts(self) -> list[str]:
        return [request.prompt for request in self.asked]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    endpoint: Endpoint

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        request = Request(self.path, self.headers.get("Authorization"), body)
        with self.endpoint.lock:
            self.endpoint.asked.append(request)
            answer = self.endpoint.answers.pop(0) if self.endpoint.answers else self.endpoint.answer
        self.close_connection = True
        with suppress(BrokenPipeError, ConnectionResetError):
            answer(self, request.prompt)

    def reply(self, status: int, content: str | bytes, **headers: str) -> None:
        content = content.encode() if isinstance(content, str) else content
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        pass


@contextmanager
def serving(answer: Answer):
    """Run a server on a free port of this machine."""
    handler = type("EndpointHandler", (Handler,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    handler.endpoint = Endpoint(f"http://127.0.0.1:{server.server_port}", answer)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield handler.endpoint
    finally:
        server.shutdown()
        server.server_close()


def completion(text: object) -> str:
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]})


def says(text: object) -> Answer:
    return lambda handler, _prompt: handler.reply(200, completion(text))


def says_by(function: Callable[[str], str]) -> Answer:
    """Answer each prompt with what a function makes of it."""
    return lambda handler, prompt: handler.reply(200, completion(function(prompt)))


def sends(status: int, content: str | bytes, **headers: str) -> Answer:
    return lambda handler, _prompt: handler.reply(status, content, **headers)


def error(status: int, message: str, code: str = "", **headers: str) -> Answer:
    return sends(status, json.dumps({"error": {"message": message, "code": code}}), **headers)


def slow(seconds: float) -> Answer:
    def answer(handler: Handler, _prompt: str) -> None:
        time.sleep(seconds)
        handler.reply(200, completion("too late"))

    return answer


def drips(handler: Handler, _prompt: str) -> None:
    """Send a byte now and then, so that no single read times out."""
    handler.send_response(200)
    handler.end_headers()
    for _ in range(100):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.05)


def resets(handler: Handler, _prompt: str) -> None:
    """Break the connection off, as a crashed server does."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


def closes_early(handler: Handler, _prompt: str) -> None:
    """Announce more than is sent."""
    handler.send_response(200)
    handler.send_header("Content-Length", "5000")
    handler.end_headers()
    handler.wfile.write(completion("half")[:20].encode())


def no_http(handler: Handler, _prompt: str) -> None:
    handler.wfile.write(b"\x00\xff hello\r\n\r\n")


NONSENSE: dict[str, Answer] = {
    "not JSON": sends(200, "<html>It works!</html>"),
    "not UTF-8": sends(200, b"\xff\xfe\x00"),
    "no choices": sends(200, '{"choices": []}'),
    "a list": sends(200, "[1, 2]"),
    "null": sends(200, "null"),
    "deep": sends(200, "[" * 50_000),
    "an error with status 200": error(200, "model not loaded"),
    "no text": says(None),
    "a number": says(42),
    "a list of parts": says([{"text": "x"}]),
    "an empty text": says(""),
    "an empty reply": sends(200, ""),
    "blanks": says(" \n\t "),
    "control characters only": says("\x00\x1b\x07"),
    "a huge reply": sends(200, b"x" * 1_000_000),
    "status 204": sends(204, ""),
    "status 418": sends(418, "teapot"),
}
BROKEN: dict[str, Answer] = {
    "500": sends(500, "oops"),
    "503": error(503, "overloaded"),
    "429": error(429, "slow down", Retry_After="1"),
    "reset": resets,
    "closed early": closes_early,
    "no HTTP": no_http,
}
