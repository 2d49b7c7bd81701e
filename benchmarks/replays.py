"""Replays from Python, in turns and two at once: `python -m benchmarks.replays`.

Captures the hot kernel of each example and replays it in this process, in turns of both ways. Prints milliseconds of
wall time per replay (the least of the rounds), disassembly kept.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hipscope.analysis.toolchain.build import build_program
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.emulator.replay import ReplaySetup, Result, replay
from hipscope.emulator.runner import EmulatorOptions, emulator_environment

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ("lds_column_read", "vector_add", "interleaved_reduction", "one_load_in_flight")
ROUNDS = 7
REPLAYS = 8  # of a round


def main() -> None:
    """Print the table."""
    print(f"{'example':24}{'KiB':>8}{'on disk':>9}{'in turns':>10}{'two at once':>13}{'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as two:
        for name in EXAMPLES:
            print(f"{name:24}{row(name, Path(folder) / name, two)}", flush=True)


def row(name: str, folder: Path, two: ThreadPoolExecutor) -> str:
    """One example: size of its memory in a capture, and both times."""
    project = resolve_project(ROOT / "examples" / f"{name}.hip")
    toolchain = find_toolchain(project.config)
    built = build_program(project, toolchain)
    options = EmulatorOptions(objdump=toolchain.objdump, cache=folder / "cache", capture=folder / "captures")
    environment = {**os.environ, **built.env, **emulator_environment(options)}
    subprocess.run(
        built.argv,
        env=environment,
        cwd=built.directory,
        stdout=subprocess.DEVNULL,
        check=False,
        timeout=600,
    )
    capture = min((folder / "captures").iterdir())
    setup = ReplaySetup(toolchain.objdump, folder / "cache")
    done = replay(capture, setup=setup)

    def one(_: int) -> Result:
        return replay(capture, setup=setup)

    in_turns, at_once = [], []
    for _ in range(ROUNDS):
        in_turns.append(milliseconds(lambda: list(map(one, range(REPLAYS)))))
        at_once.append(milliseconds(lambda: list(two.map(one, range(REPLAYS)))))
    kib = sum(map(len, done.buffers)) / 1024
    disk = sum(p.stat().st_size for p in capture.glob("buffer_*.before*")) / 1024
    ratio = min(in_turns) / min(at_once)
    return f"{kib:8.0f}{disk:9.0f}{min(in_turns):10.1f}{min(at_once):13.1f}{ratio:7.2f}"


def milliseconds(work: Callable[[], object]) -> float:
    """Wall time per replay of a round."""
    started = time.monotonic()
    work()
    return (time.monotonic() - started) * 1000 / REPLAYS


if __name__ == "__main__":
    main()
