"""A server on 127.0.0.1 that speaks the OpenAI chat protocol: answers, fails or hangs as a test says.

It keeps every request. It can also record what another server answers, and replay a recording.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Reply:
    """A complete answer of the model."""

    text: str
    finish: str = "stop"
    sent: int = 1000
    received: int = 200
    after: float = 0.0
    between: float = 0.0
    """Seconds between two pieces of a streamed answer."""


@dataclass(frozen=True)
class Broken:
    """The first pieces of a streamed answer, then a closed connection."""

    text: str


@dataclass(frozen=True)
class Raw:
    """Bytes as they are, with a status: failures and garbage."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    echo_key: bool = False


@dataclass(frozen=True)
class Hang:
    """Nothing, or the beginning of an answer, until the client leaves or the server stops."""

    beginning: bool = False


@dataclass(frozen=True)
class Stalled:
    """The first pieces of a streamed answer, and then nothing until the client leaves or the server stops."""

    text: str


@dataclass(frozen=True)
class Answers:
    """A model with a mind of its own: what it says depends on the request."""

    mind: Callable[[Request], str]


Step = Reply | Broken | Raw | Hang | Stalled | Answers


@dataclass(frozen=True)
class Request:
    """One request as it arrived."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """All of what was said to the model."""
        return "\n".join(message["content"] for message in self.body["messages"])


class Loopback:
    """Answers requests with the given steps in order; the last one is repeated."""

    def __init__(self, *steps: Step, record_from: str | None = None, tape: Path | None = None) -> None:
        self._steps = list(steps)
        self._record_from = record_from
        self._tape = tape
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self.requests: list[Request] = []
        self.hung_up = threading.Event()
        self.answering = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def then(self, *steps: Step) -> None:
        """Use these steps from now on."""
        with self._lock:
            self._steps = list(steps)

    def close(self) -> None:
        """Stop; hanging requests end."""
        self._stop.set()
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                server._answer(self)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler

    def _answer(self, http: BaseHTTPRequestHandler) -> None:
        body = json.loads(http.rfile.read(int(http.headers["Content-Length"])))
        with self._lock:
            self.requests.append(Request(http.path, dict(http.headers), body))
            step = self._steps.pop(0) if len(self._steps) > 1 else next(iter(self._steps), None)
        if step is None:
            step = self._from_tape(body, dict(http.headers))
        if isinstance(step, Answers):
            step = Reply(step.mind(Request(http.path, dict(http.headers), body)))
        if isinstance(step, Hang):
            self._hang(http, step)
        elif isinstance(step, Raw):
            echoed = http.headers.get("Authorization", "").encode() if step.echo_key else b""
            self._send(http, step.status, step.body.replace(b"@KEY@", echoed), step.headers)
        elif isinstance(step, Stalled):
            self._stream(http, pieces(body["model"], Reply(step.text))[:-3])
            self._hang(http, Hang())
        elif isinstance(step, Broken):
            self._stream(http, pieces(body["model"], Reply(step.text))[:-3])
            http.close_connection = True
        else:
            time.sleep(step.after)
            if body.get("stream"):
                counted = bool((body.get("stream_options") or {}).get("include_usage"))
                self._stream(http, pieces(body["model"], step, counted=counted), step.between)
            else:
                self._send(http, 200, completion(body["model"], step), {})

    def _hang(self, http: BaseHTTPRequestHandler, step: Hang) -> None:
        if step.beginning:
            http.wfile.write(
                b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n{"id":'
            )
            http.wfile.flush()
        self.answering.set()
        http.connection.settimeout(0.02)
        while not self._stop.is_set():
            try:
                if not http.connection.recv(4096):
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        if not self._stop.is_set():
            self.hung_up.set()
        http.close_connection = True

    def _stream(self, http: BaseHTTPRequestHandler, events: Sequence[str], between: float = 0.0) -> None:
        """Server-sent events, one write each, without a length: the end of the connection is the end."""
        http.send_response(200)
        http.send_header("Content-Type", "text/event-stream")
        http.send_header("Connection", "close")
        http.end_headers()
        with contextlib.suppress(ConnectionError):  # the client left
            for event in events:
                http.wfile.write(f"data: {event}\n\n".encode())
                http.wfile.flush()
                time.sleep(between)
        http.close_connection = True

    def _send(
        self, http: BaseHTTPRequestHandler, status: int, body: bytes, headers: Mapping[str, str]
    ) -> None:
        http.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            http.send_header(name, value)
        http.send_header("Content-Length", str(len(body)))
        http.end_headers()
        http.wfile.write(body)

    def _from_tape(self, body: dict[str, Any], headers: Mapping[str, str]) -> Raw:
        """The recorded answer to this request, or a newly recorded one. Keys are never on the tape."""
        assert self._tape is not None, "no steps and no tape"
        digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        if self._record_from is None:
            for line in self._tape.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                if entry["request"] == digest:
                    return Raw(entry["status"], entry["body"].encode())
            return Raw(404, b'{"error": {"message": "this request is not on the tape"}}')
        request = urllib.request.Request(
            self._record_from + "/chat/completions",
            json.dumps(body).encode(),
            {"Content-Type": "application/json", "Authorization": headers.get("Authorization", "")},
        )
        with urllib.request.urlopen(request) as reply:
            answer = Raw(reply.status, reply.read())
        entry = {"request": digest, "status": answer.status, "body": answer.body.decode()}
        with self._lock, self._tape.open("a", encoding="utf-8") as tape:
            tape.write(json.dumps(entry) + "\n")
        return answer


def completion(model: str, reply: Reply) -> bytes:
    """The body of a chat completion."""
    return json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": model,
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": reply.text},
                    "finish_reason": reply.finish,
                }
            ],
            "usage": {
                "prompt_tokens": reply.sent,
                "completion_tokens": reply.received,
                "total_tokens": reply.sent + reply.received,
            },
        }
    ).encode()


def pieces(model: str, reply: Reply, *, counted: bool = True) -> list[str]:
    """The events of a streamed chat completion; `counted` adds the one with the tokens."""
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model}
    parts = [reply.text[at : at + 24] for at in range(0, len(reply.text), 24)]
    deltas: list[dict[str, Any]] = [
        {"role": "assistant", "content": ""},
        *({"content": part} for part in parts),
    ]
    events = [{**base, "choices": [{"index": 0, "delta": d, "finish_reason": None}]} for d in deltas]
    events.append({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": reply.finish}]})
    if counted:
        usage = {
            "prompt_tokens": reply.sent,
            "completion_tokens": reply.received,
            "total_tokens": reply.sent + reply.received,
        }
        events.append({**base, "choices": [], "usage": usage})
    return [*map(json.dumps, events), "[DONE]"]


def said(kernel: str, beliefs: Sequence[Mapping[str, Any]] = (), launch: str = "") -> str:
    """An answer in the form that is asked for."""
    return (
        f"[[ ## diagnosis ## ]]\nIt waits.\n\n[[ ## beliefs ## ]]\n{json.dumps(list(beliefs))}\n\n"
        f"[[ ## launch ## ]]\n{launch}\n\n"
        f"[[ ## kernel ## ]]\n```cpp\n{kernel}\n```\n\n[[ ## completed ## ]]"
    )


def answer_for(example: str) -> tuple[str, list[dict[str, Any]]]:
    """A stored kernel for an example, and the change that it should make: `answers/EXAMPLE.hip`."""
    text = (Path(__file__).parent / "answers" / f"{example}.hip").read_text(encoding="utf-8")
    mark = "// belief: "
    beliefs = [json.loads(row.removeprefix(mark)) for row in text.splitlines() if row.startswith(mark)]
    return "\n".join(row for row in text.splitlines() if not row.startswith(mark)), beliefs
