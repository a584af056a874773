"""A stand-in of the Hugging Face hub's HTTP API, as far as newfound uses it. It listens on this machine only.

The hub takes large files by a protocol of their own (Xet), which its client brings along; here all files are small.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import unquote, urlsplit

TOKEN = "hf_standin"


class Hub:
    """Models by name, each with its commits: the number of a commit, and its files."""

    def __init__(self, url: str = "") -> None:
        self.url = url
        self.private: dict[str, bool] = {}
        self.commits: dict[str, list[tuple[str, dict[str, bytes]]]] = {}
        self.requests: list[str] = []

    def commit(self, name: str, files: dict[str, bytes]) -> str:
        sha = hashlib.sha1(repr((name, len(self.commits[name]), sorted(files))).encode()).hexdigest()
        self.commits[name].append((sha, files))
        return sha

    def create(self, name: str, *, private: bool = False) -> None:
        self.private[name], self.commits[name] = private, []
        self.commit(name, {".gitattributes": b""})

    def files(self, name: str, revision: str = "main") -> dict[str, bytes]:
        return self.find(name, revision)[1]

    def find(self, name: str, revision: str) -> tuple[str, dict[str, bytes]]:
        if revision == "main":
            return self.commits[name][-1]
        return next(commit for commit in self.commits[name] if commit[0] == revision)


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def log_message(self, *args) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        hub, path = self.server.hub, unquote(urlsplit(self.path).path)
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        hub.requests.append(f"{self.command} {path}")
        is_known = self.headers.get("authorization") == f"Bearer {TOKEN}"
        if self.command == "POST" and not is_known:
            return self._send(401, {"error": "Invalid username or password."})
        if path == "/api/validate-yaml":
            return self._send(200, {"errors": [], "warnings": []})
        if path == "/api/repos/create":
            return self._create(json.loads(body))
        match = re.fullmatch(r"/(?:api/models/)?([\w.-]+/[\w.-]+)(?:/(\w+)/([^/]+)(?:/(.+))?)?", path)
        name = match[1] if match else ""
        if name not in hub.commits or (hub.private[name] and not is_known):
            return self._fail(404, "RepoNotFound")
        return self._about(name, match[2], match[3] or "main", match[4], body)

    def _create(self, wanted: dict) -> None:
        hub, name = self.server.hub, f"{wanted['organization']}/{wanted['name']}"
        if wanted["organization"] == "others":
            return self._send(403, {"error": "You don't have the rights to create a model under this namespace"})
        exists = name in hub.commits
        if not exists:
            hub.create(name, private=wanted.get("visibility") == "private" or bool(wanted.get("private")))
        return self._send(409 if exists else 200, {"url": f"{hub.url}/{name}", "name": name})

    def _about(self, name: str, what: str | None, revision: str, path: str | None, body: bytes) -> None:
        hub = self.server.hub
        try:
            sha, files = hub.find(name, revision)
        except StopIteration:
            return self._fail(404, "RevisionNotFound")
        if what in (None, "revision"):
            siblings = [{"rfilename": file} for file in files]
            return self._send(200, {"id": name, "sha": sha, "private": hub.private[name], "siblings": siblings})
        if what == "tree":
            entries = [
                {"type": "file", "path": file, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}
                for file, content in files.items()
            ]
            return self._send(200, entries)
        if what == "preupload":
            names = [file["path"] for file in json.loads(body)["files"]]
            modes = [{"path": name, "uploadMode": "regular", "shouldIgnore": False} for name in names]
            return self._send(200, {"files": modes})
        if what == "commit":
            return self._commit(name, dict(files), [json.loads(line) for line in body.splitlines()])
        if path not in files:
            return self._fail(404, "EntryNotFound")
        tag = hashlib.sha256(files[path]).hexdigest()
        return self._send(200, files[path], {"etag": f'"{tag}"', "x-repo-commit": sha})

    def _commit(self, name: str, files: dict[str, bytes], operations: list[dict]) -> None:
        for operation in operations:
            value = operation["value"]
            if operation["key"] == "deletedFile":
                del files[value["path"]]
            elif operation["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
        sha = self.server.hub.commit(name, files)
        self._send(200, {"commitUrl": f"{self.server.hub.url}/{name}/commit/{sha}", "commitOid": sha})

    def _fail(self, status: int, code: str) -> None:
        self._send(status, {"error": code}, {"x-error-code": code})

    def _send(self, status: int, content: object, headers: dict[str, str] | None = None) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for key, value in {**(headers or {}), "content-length": str(len(data))}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.hub = Hub(f"http://127.0.0.1:{self.server_port}")


@contextmanager
def running_hub() -> Iterator[Hub]:
    server = _Server()
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
