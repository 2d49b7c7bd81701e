"""How long an editor waits for each read request while somebody types, in a file of many kernels; what a session costs.

    python benchmarks/editor_latency.py [--kernels 900] [--edits 20] [--seconds 10] [--profiles 50]

The worker of the tests stands in for the profile, so that nothing but the language server is measured. The target is
that 95 of 100 answers take less than 50 ms on an idle machine; that a server starts within 0.7 s, ends within 1 s,
takes less than 0.2 % of a core while nobody does anything, and holds less than 80 MB after many profiles.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from queue import Queue
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
KERNEL = """\
__global__ void kernel_{n}(float* p, int n) {{
  __shared__ float tile[32][32];
  tile[n][0] = p[n];  // cost 0.2 global_memory
  p[n] = tile[n][n] * {n};  // cost 0.6 lds // find bankConflict
}}

"""


class Server:
    """The language server as a process. Answers are stamped in a thread of their own."""

    def __init__(self, folder: Path) -> None:
        variables = {
            "HIPSCOPE_WORKER": str(ROOT / "tests" / "server" / "fake_worker.py"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "XDG_STATE_HOME": str(folder / "state"),
        }
        command = [sys.executable, "-m", "hipscope.server", "lsp"]
        self._process = subprocess.Popen(
            command, env={**os.environ, **variables}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._number = 0
        self._lock = threading.Lock()
        self._answers: dict[int, Queue[tuple[float, Any]]] = {}
        threading.Thread(target=self._read, daemon=True).start()

    def request(self, method: str, params: object) -> tuple[float, Any]:
        """Seconds until the answer, and the answer."""
        self._number += 1
        answer = self._answers[self._number] = Queue()
        begun = time.perf_counter()
        self.send({"id": self._number, "method": method, "params": params})
        at, message = answer.get(timeout=120)
        return at - begun, message.get("result")

    def notify(self, method: str, params: object) -> None:
        """Send a notification."""
        self.send({"method": method, "params": params})

    def send(self, message: dict[str, Any]) -> None:
        """Write one message."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        with self._lock:
            self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
            self._process.stdin.flush()

    def seconds_to_end(self) -> float:
        """Seconds that the server takes to end as an editor ends it."""
        begun = time.perf_counter()
        self.request("shutdown", None)
        self.notify("exit", None)
        self._process.wait(timeout=60)
        return time.perf_counter() - begun

    def cpu_seconds(self) -> float:
        """Processor time that it has taken until now."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def megabytes(self) -> float:
        """Memory that it holds."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def close(self) -> None:
        """End the server."""
        self._process.kill()
        self._process.wait()

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        while True:
            length = 0
            while line := stream.readline().strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            if not length:
                return
            body = stream.read(length)
            at = time.perf_counter()
            message = json.loads(body)
            if "method" in message and "id" in message:
                self.send({"id": message["id"], "result": None})
            elif "id" in message:
                self._answers[message["id"]].put((at, message))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kernels", type=int, default=900)
    parser.add_argument("--edits", type=float, default=20, help="a second")
    parser.add_argument("--seconds", type=float, default=10, help="of typing, per place; of doing nothing")
    parser.add_argument("--profiles", type=int, default=50, help="before the memory is looked at")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        file = folder / "many.hip"
        text = "".join(KERNEL.format(n=n) for n in range(options.kernels)) + "int main() { return 0; }\n"
        file.write_text(text)
        server = Server(folder)
        try:
            print("| typing | request | answers | median | 95 % | slowest |\n|---|---|--:|--:|--:|--:|")
            begin(server, file, text)
            for place, line in (("in a kernel", 2), ("in host code", text.count("\n") - 1)):
                for row in typed(server, file, line, options.edits, options.seconds):
                    print(f"| {place} | {row}", flush=True)
            ended = server.seconds_to_end()
        finally:
            server.close()
        print(f"\nEnd with {options.kernels} kernels: {ended:.2f} s.\n")
        print("\n".join(session(folder, options.profiles, options.seconds)))


def session(folder: Path, profiles: int, seconds: float) -> list[str]:
    """What a session with a file of two kernels costs; a row for each figure."""
    file = folder / "few.hip"
    text = "".join(KERNEL.format(n=n) for n in range(2)) + "int main() { return 0; }\n"
    file.write_text(text)
    server = Server(folder)
    try:
        started = begin(server, file, text)
        for _ in range(profiles - 1):
            profile(server, file)
        held = server.megabytes()
        time.sleep(1)  # what a profile leaves to do
        before = server.cpu_seconds()
        time.sleep(seconds)
        share = (server.cpu_seconds() - before) / seconds
        ended = server.seconds_to_end()
    finally:
        server.close()
    return [
        "| session | |\n|---|--:|",
        f"| initialize | {started:.2f} s |",
        f"| memory after {profiles} profiles | {held:.0f} MB |",
        f"| a core, idle | {100 * share:.2f} % |",
        f"| end | {ended:.2f} s |",
    ]


def begin(server: Server, file: Path, text: str) -> float:
    """Open and profile the file; seconds from the start of the process to the answer of `initialize`."""
    folder = file.parent
    options = {"hipscopeExtension": True, "profileOnSave": False}
    started, _ = server.request(
        "initialize",
        {"processId": os.getpid(), "rootUri": folder.as_uri(), "capabilities": {}, "initializationOptions": options},
    )  # fmt: skip
    server.notify("initialized", {})
    document = {"uri": file.as_uri(), "languageId": "hip", "version": 1, "text": text}
    server.notify("textDocument/didOpen", {"textDocument": document})
    profile(server, file)
    return started


def profile(server: Server, file: Path) -> None:
    """Profile the file and wait for the end."""
    command = {"command": "hipscope.server.profile", "arguments": [{"uri": file.as_uri()}]}
    _, answer = server.request("workspace/executeCommand", command)
    assert answer["status"] == "done", answer


def typed(server: Server, file: Path, line: int, edits: float, seconds: float) -> list[str]:
    """Type on that line and ask for everything meanwhile; a row per request."""
    document: dict[str, Any] = {"uri": file.as_uri()}
    span = {"start": {"line": line, "character": 0}, "end": {"line": line + 40, "character": 0}}
    requests: dict[str, dict[str, Any]] = {
        "textDocument/hover": {"position": {"line": 3, "character": 4}},
        "textDocument/codeLens": {},
        "textDocument/inlayHint": {"range": span},
        "textDocument/codeAction": {"range": span, "context": {"diagnostics": []}},
    }
    times: dict[str, list[float]] = {name: [] for name in requests}
    ended = threading.Event()

    def ask() -> None:
        while not ended.is_set():
            for name, more in requests.items():
                times[name].append(server.request(name, {"textDocument": document, **more})[0])

    asking = threading.Thread(target=ask)
    asking.start()
    start = {"line": line, "character": 0}
    for version in range(2, 2 + int(edits * seconds)):
        change = {"range": {"start": start, "end": start}, "text": "x"}
        server.notify(
            "textDocument/didChange",
            {"textDocument": dict(document, version=version), "contentChanges": [change]},
        )
        time.sleep(1 / edits)
    ended.set()
    asking.join()
    rows = []
    for name, values in times.items():
        middle, most = statistics.median(values), statistics.quantiles(values, n=20)[-1]
        shown = " | ".join(f"{value * 1e3:.0f} ms" for value in (middle, most, max(values)))
        rows.append(f"{name.partition('/')[2]} | {len(values)} | {shown} |")
    return rows


if __name__ == "__main__":
    main()
