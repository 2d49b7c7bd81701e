"""How quick hipscope is, as ratios to what one would wait for anyway. `make bench` prints the tables; `--update` writes
them into docs/benchmarks.md.

Three questions: what profiling costs over compiling the program; how long an editor waits for the server; how many
wave instructions a second the emulator executes, and how much of that recording a profile takes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.build import BuiltProgram, build_program
from hipscope.analysis.toolchain.discovery import Toolchain, find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.emulator.devices import write_device_config
from hipscope.emulator.runner import EmulatorOptions, emulator_environment

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
EXAMPLES = sorted((ROOT / "examples").glob("*.hip"))
HIPSCOPE = Path(sys.executable).with_name("hipscope")
BEGIN, END = "<!-- begin: make bench -->\n", "<!-- end: make bench -->\n"
HOVERED = ROOT / "examples" / "lds_column_read.hip"


def main() -> int:
    """Measure, print, and on request write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3, help="runs of each measurement; the median is shown")
    parser.add_argument("--update", action="store_true", help="write the tables into docs/benchmarks.md")
    options = parser.parse_args()
    sections = [
        machine(),
        *profile_over_compile(options.repeat),
        *editor(options.repeat),
        *emulator_speed(options.repeat),
    ]
    text = "\n".join(sections) + "\n"
    print(text, end="")
    if options.update:
        page = PAGE.read_text(encoding="utf-8")
        head, _, rest = page.partition(BEGIN)
        _, _, tail = rest.partition(END)
        PAGE.write_text(head + BEGIN + text + END + tail, encoding="utf-8")
    return 0


def machine() -> str:
    """What the figures were taken on."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.machine(),
    )
    version = find_toolchain(Config()).version
    load = os.getloadavg()[0]
    return f"{os.cpu_count()} CPU cores ({model}), {version}, load {load:.1f} at the start.\n"


def profile_over_compile(repeat: int) -> Iterator[str]:
    """`hipscope profile` from nothing, and again with nothing changed, over one plain compile of the same program."""
    yield "| example | plain compile | profile, first | ratio | profile, unchanged | ratio |"
    yield "|---|--:|--:|--:|--:|--:|"
    ratios = []
    for example in EXAMPLES:
        runs = [profile_once(example) for _ in range(repeat)]
        compiled, first, again = (statistics.median(column) for column in zip(*runs, strict=True))
        ratios.append(first / compiled)
        yield (
            f"| {example.name} | {compiled:.2f} s | {first:.2f} s | {first / compiled:.2f} "
            f"| {again:.2f} s | {again / compiled:.2f} |"
        )
    yield f"| **median** | | | **{statistics.median(ratios):.2f}** | | |\n"


def profile_once(example: Path) -> tuple[float, float, float]:
    """Seconds of a plain compile, of a profile with nothing cached, and of a profile with everything cached."""
    with tempfile.TemporaryDirectory() as directory:
        env = {**os.environ, "XDG_CACHE_HOME": directory}
        prepare(env)
        command: list[str | Path] = [HIPSCOPE, "profile", "--format", "json", example]
        plain = compile_command(example, Path(directory) / "plain")
        return seconds(run, plain, env), seconds(run, command, env), seconds(run, command, env)


def editor(repeat: int) -> Iterator[str]:
    """What an editor waits for: the answer to `initialize` of a new server, and a hover on a profiled line."""
    bare = statistics.median(seconds(run, [sys.executable, "-c", "pass"], os.environ) for _ in range(repeat))
    starts, hovers, nothing = [], [], []
    for _ in range(repeat):
        started = time.perf_counter()
        with server() as client:
            client.request(
                "initialize", {"processId": os.getpid(), "rootUri": ROOT.as_uri(), "capabilities": {}}
            )
            starts.append(time.perf_counter() - started)
            client.notify("initialized", {})
            uri = HOVERED.as_uri()
            text = HOVERED.read_text()
            document = {"uri": uri, "languageId": "hip", "version": 1, "text": text}
            client.notify("textDocument/didOpen", {"textDocument": document})
            client.request(
                "workspace/executeCommand",
                {"command": "hipscope.server.profile", "arguments": [{"uri": uri}]},
            )
            line = next(n for n, row in enumerate(text.splitlines()) if "hipscope: expect" in row)
            where = {"textDocument": {"uri": uri}, "position": {"line": line, "character": 12}}
            assert client.request("textDocument/hover", where), "no hover on the marked line"
            empty = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}}
            hovers += [seconds(client.request, "textDocument/hover", where) for _ in range(100)]
            nothing += [seconds(client.request, "textDocument/hover", empty) for _ in range(100)]
    start, hover, trip = (statistics.median(values) * 1e3 for values in (starts, hovers, nothing))
    slowest = statistics.quantiles(hovers, n=100)[98] * 1e3
    base = f"`python -c pass` {bare * 1e3:.0f} ms"
    yield "| editor | time | over | ratio |"
    yield "|---|--:|---|--:|"
    yield f"| start to `initialize` answered | {start:.0f} ms | {base} | {start / bare / 1e3:.1f} |"
    yield f"| hover on a stalled line | {hover:.2f} ms | hover on a comment {trip:.2f} ms | {hover / trip:.1f} |"
    yield f"| hover, 99th percentile | {slowest:.2f} ms | hover on a comment | {slowest / trip:.1f} |\n"


def emulator_speed(repeat: int) -> Iterator[str]:
    """Wave instructions a second, over all cores: running plain, and recording a profile."""
    yield "| example | wave instructions | plain | profiled | plain / profiled |"
    yield "|---|--:|--:|--:|--:|"
    toolchain = find_toolchain(Config())
    for example in EXAMPLES:
        built = build_program(resolve_project(example), toolchain)
        plain = statistics.median(dispatch_seconds(built, toolchain, record=False)[0] for _ in range(repeat))
        runs = [dispatch_seconds(built, toolchain, record=True) for _ in range(repeat)]
        profiled = statistics.median(run[0] for run in runs)
        executed = runs[0][1]
        yield (
            f"| {example.name} | {executed / 1e6:.2f} M | {executed / plain / 1e6:.1f} M/s "
            f"| {executed / profiled / 1e6:.1f} M/s | {profiled / plain:.1f} |"
        )


def dispatch_seconds(built: BuiltProgram, toolchain: Toolchain, *, record: bool) -> tuple[float, int]:
    """Wall time inside the program's dispatches, and (when recording) how many wave instructions they executed."""
    with tempfile.TemporaryDirectory() as directory:
        raw = Path(directory) / "raw"
        raw.mkdir()
        device = None
        if record:
            device = Path(directory) / "device.conf"
            write_device_config("mi300x", device)
        options = EmulatorOptions(
            out=raw,
            objdump=toolchain.objdump,
            device_config=device,
            profile_launches=1_000_000 if record else 0,
        )
        run(built.argv, {**os.environ, **emulator_environment(options)})
        rows = [json.loads(line) for line in (raw / "dispatches.jsonl").read_text().splitlines()]
        assert all(row["profiled"] is record for row in rows), (
            "a dispatch was not run the way that is measured"
        )
        hits = 0
        for profile in raw.glob("profile_*.json"):
            hits += sum(row["hits"] for row in json.loads(profile.read_text())["instructions"])
        return sum(row["wall_ms"] for row in rows) / 1e3, hits


def prepare(env: dict[str, str]) -> None:
    """Make the device libraries, which happens once per machine and not once per program."""
    code = (
        "from hipscope.analysis.config import Config\n"
        "from hipscope.analysis.toolchain.discovery import find_toolchain\n"
        "find_toolchain(Config())"
    )
    run([sys.executable, "-c", code], env)


def compile_command(source: Path, output: Path) -> list[str | Path]:
    """What a developer types: the compiler's driver, once, at -O3."""
    toolchain = find_toolchain(Config())
    flags = [
        "-x",
        "hip",
        *toolchain.hip_flags,
        "-std=c++17",
        "-O3",
        str(source),
        "--hip-link",
        *toolchain.link_flags,
    ]
    return [toolchain.clang, *flags, "-o", output]


def seconds(action: Callable[..., object], *arguments: object) -> float:
    """Wall time of one call."""
    started = time.perf_counter()
    action(*arguments)
    return time.perf_counter() - started


def run(command: Sequence[str | Path], env: Any) -> None:
    """Run to the end; what it printed is shown only if it failed."""
    done = subprocess.run(
        [str(part) for part in command],
        env=dict(env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(
            f"{command[0]} left with {done.returncode}:\n{(done.stdout + done.stderr).decode(errors='replace')}"
        )


@contextmanager
def server() -> Iterator[Client]:
    """A new `hipscope lsp`, ended when the block ends; it may build and run our own programs."""
    subprocess.run([HIPSCOPE, "allow", ROOT], check=True, stdout=subprocess.DEVNULL)
    process = subprocess.Popen(
        [HIPSCOPE, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdin is not None
    assert process.stdout is not None
    client = Client(process.stdin, process.stdout)
    try:
        yield client
        client.request("shutdown", None)
        client.notify("exit", None)
        process.wait(10)
    finally:
        process.kill()
        process.wait()


class Client:
    """As much of LSP as these measurements need."""

    def __init__(self, to_server: IO[bytes], from_server: IO[bytes]) -> None:
        self._to, self._from = to_server, from_server
        self._number = 0

    def request(self, method: str, params: Any) -> Any:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while True:
            message = self._receive()
            if message.get("id") == self._number and "method" not in message:
                if "error" in message:
                    sys.exit(f"{method}: {message['error']}")
                return message.get("result")
            if "id" in message:  # the server asks us something: say that there is nothing
                self._send({"id": message["id"], "result": None})

    def notify(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._to.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._to.flush()

    def _receive(self) -> dict[str, Any]:
        length = 0
        while line := self._from.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if not length:
            sys.exit("the server ended")
        message: dict[str, Any] = json.loads(self._from.read(length))
        return message


if __name__ == "__main__":
    sys.exit(main())
