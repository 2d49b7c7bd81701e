"""Runs a captured dispatch again, with its own code object or another one.

Takes the directory of a captured dispatch, gives what the run left in memory. The native library makes each replay in a
copy of this process (fork), without the interpreter's lock: several threads have several at once, and what a damaged
capture does to its replay it does to nobody else. Unreviewed code (candidates of rewriters) belongs into
a process without our environment and files: `hipscope.accordo.replay.replay` does that.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from hipscope.emulator.captures import CaptureDamaged, read_checked, read_checksums
from hipscope.emulator.native_library import native_library
from hipscope.emulator.sanitize import SANITIZE_FILE


class ReplayFailed(Exception):
    """The replay could not be started: wrong arguments, or a native library that does not fit."""


@dataclass(frozen=True)
class LaunchShape:
    """Another launch than the captured one. `grid` and `workgroup` count work-items, `dynamic_lds` is bytes."""

    grid: tuple[int, int, int]
    workgroup: tuple[int, int, int]
    dynamic_lds: int = 0


@dataclass(frozen=True)
class Result:
    """How a replay ended: "ok", "fault", "timeout", "unsupported" or "launch_error", with one line on why.

    `buffers` and `variables` hold what the run left, in the order of the capture; only "ok" fills them. `reports` are
    the sanitizers' findings, as `sanitize.json` has them.
    """

    status: str
    message: str
    fault: Mapping[str, Any] | None
    buffers: tuple[bytes, ...]
    variables: Mapping[str, bytes]
    reports: tuple[Mapping[str, Any], ...] = field(default_factory=tuple)


@dataclass(frozen=True)
class ReplaySetup:
    """What a replay is made with: `objdump` None takes the one on PATH, `timeout_s` None waits for ever.

    The disassembly of a code object is kept in `cache_directory`, which makes all but the first replay quick.
    """

    objdump: Path | None = None
    cache_directory: Path | None = None
    threads: int = 1
    timeout_s: float | None = None


def replay(
    capture: Path,
    code_object: Path | None = None,
    *,
    inputs: Mapping[int, bytes] | None = None,
    launch: LaunchShape | None = None,
    poison: int | None = None,
    schedule: int = 0,
    sanitize: str | None = None,
    setup: ReplaySetup | None = None,
) -> Result:
    """Run the dispatch of the directory `capture`, with `code_object` in place of its own when given.

    `inputs` replaces the contents of captured buffers, by index; `poison` fills LDS, registers and scratch with a
    pattern of that seed; `schedule` orders waves and workgroups; `sanitize` is "all" or names with commas. Calls from
    several Python threads run side by side.

    Raises ReplayFailed, CaptureDamaged, NativePartsMissing.
    """
    setup = setup or ReplaySetup()
    checks = read_checksums(capture)
    try:
        meta = json.loads(read_checked(capture / "meta.json", checks))
        sizes = [int(b["bytes"]) for b in meta["buffers"]]
        symbols = [str(g["symbol"]) for g in meta["globals"]]
    except (ValueError, KeyError, TypeError) as error:
        raise CaptureDamaged(f"{capture / 'meta.json'}: not a captured dispatch") from error
    for index, data in (inputs or {}).items():
        if not 0 <= index < len(sizes) or len(data) != sizes[index]:
            raise ReplayFailed(f"the input for buffer {index} does not fit: {len(data)} bytes")
    with tempfile.TemporaryDirectory(prefix="hipscope-replay-") as folder:
        out = Path(folder) / "out"
        replaced = Path(folder) / "inputs"
        replaced.mkdir()
        for index, data in (inputs or {}).items():
            (replaced / f"buffer_{index}.before").write_bytes(data)
        options = {
            "--dispatch": capture,
            "--out": out,
            "--inputs": replaced,
            "--code-object": code_object,
            "--objdump": setup.objdump,
            "--cache": setup.cache_directory,
            "--poison": poison,
            "--seed": schedule,
            "--sanitize": sanitize,
            "--threads": setup.threads,
            "--max-seconds": setup.timeout_s,
            "--grid": launch and ",".join(map(str, launch.grid)),
            "--workgroup": launch and ",".join(map(str, launch.workgroup)),
            "--dynamic-lds": launch and launch.dynamic_lds,
        }
        words = [(name, str(value)) for name, value in options.items() if value is not None]
        _call(["hipscope-replay", *chain.from_iterable(words)])
        done = json.loads((out / "result.json").read_text(encoding="utf-8"))
        ok = done["status"] == "ok"
        return Result(
            status=done["status"],
            message=done["message"],
            fault=done["fault"],
            buffers=tuple((out / f"buffer_{i}.after").read_bytes() for i in range(len(sizes))) if ok else (),
            variables=dict(_variables(out, symbols)) if ok else {},
            reports=_reports(out),
        )


def _variables(out: Path, symbols: list[str]) -> Iterator[tuple[str, bytes]]:
    for i, symbol in enumerate(symbols):
        path = out / f"global_{i}.after"
        if path.exists():  # the code object may not have it any more
            yield symbol, path.read_bytes()


def _reports(out: Path) -> tuple[Mapping[str, Any], ...]:
    path = out / SANITIZE_FILE
    return tuple(json.loads(path.read_text(encoding="utf-8"))["reports"]) if path.exists() else ()


def _call(words: list[str]) -> None:
    try:
        native_library().replay(words)
    except RuntimeError as error:
        raise ReplayFailed(str(error)) from error
