"""A stand-in of GitHub's API on loopback, and a repository with a bare remote, for the tests of the action's steps."""

from __future__ import annotations

import http.server
import json
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TOKEN = "ghs_only_for_publishing"


@dataclass
class Hub:
    """What the API holds and was asked for; `refusals` are answered first, in their order."""

    address: str = ""
    comments: list[dict[str, Any]] = field(default_factory=list)
    pulls: list[dict[str, Any]] = field(default_factory=list)
    refusals: list[tuple[int, dict[str, str], Any]] = field(default_factory=list)
    asked: list[tuple[str, str, Any]] = field(default_factory=list)
    tokens: set[str | None] = field(default_factory=set)

    @property
    def written(self) -> list[tuple[str, str]]:
        return [(method, path) for method, path, _ in self.asked if method != "GET"]

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if method == "GET" and "/comments" in path:
            page = int(re.findall(r"[&?]page=(\d+)", path)[0])
            return 200, self.comments[100 * (page - 1) : 100 * page]
        if method == "GET":
            head = path.rpartition("%3A")[2].replace("%2F", "/")
            return 200, [p for p in self.pulls if p["head"] == head]
        if method == "POST" and path.endswith("/comments"):
            self.comments.append({"id": 1000 + len(self.comments), "user": {"type": "Bot"}, **body})
            return 201, self.comments[-1]
        if method == "POST":
            if any(p["head"] == body["head"] for p in self.pulls):
                return 422, {
                    "message": "Validation Failed",
                    "errors": [{"message": "A pull request already exists"}],
                }
            self.pulls.append({"number": 7 + len(self.pulls), **body})
            return 201, self.pulls[-1]
        number = int(path.rpartition("/")[2])
        for one in [*self.comments, *self.pulls]:
            if number in (one.get("id"), one.get("number")):
                one.update(body)
        return 200, {}


@contextmanager
def hub_running() -> Iterator[Hub]:
    """A stand-in that listens on a free port."""
    hub = Hub()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            hub.asked.append((self.command, self.path, body))
            hub.tokens.add(self.headers.get("Authorization"))
            if hub.refusals:
                status, headers, data = hub.refusals.pop(0)
            else:
                headers = {}
                status, data = hub.answer(self.command, self.path, body)
            text = json.dumps(data).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(text))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        do_POST = do_PATCH = do_GET  # noqa: N815

        def log_message(self, *_: Any) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(folder: Path, message: str) -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def checkout_with_remote(folder: Path, files: dict[str, str]) -> tuple[Path, Path]:
    """A checkout of branch `main` with these files, and its bare remote."""
    bare, work = folder / "remote.git", folder / "work"
    work.mkdir()
    git(folder, "init", "-q", "--bare", str(bare))
    git(work, "init", "-q")
    for name, text in files.items():
        (work / name).write_text(text)
    commit(work, "first")
    git(work, "push", "-q", str(bare), "HEAD:refs/heads/main")
    return work, bare
