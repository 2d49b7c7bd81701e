"""Runs one captured dispatch again, with the reference's code object or a candidate's.

Takes a captured dispatch and a code object, drives the replay executable in a child with limits and a time-out, gives
what the run left in memory. Candidate code is never executed in our own process.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.capture import CapturedBuffer, CapturedDispatch, CapturedVariable
from hipscope.analysis.errors import HipscopeError
from hipscope.analysis.process import Limits, run_process
from hipscope.emulator.sanitize import SANITIZE_FILE, SanitizerRun, read_sanitizer_run

READ_FIRST, WRITTEN, READ, ATOMIC = 1, 2, 4, 8  # bits of an access map

Status = Literal["ok", "fault", "timeout", "unsupported", "launch_error"]
_STATUSES: tuple[Status, ...] = ("ok", "fault", "timeout", "unsupported", "launch_error")
_SPARE_SECONDS = 10.0
_PASSED_ON = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "LD_LIBRARY_PATH")
_MAX_FILE_BYTES = 8 << 30
_LEAST_SECONDS = 5.0
_PATIENCE = 20.0


class ReplayBroken(HipscopeError):
    """The replay executable itself failed: nothing can be said about the candidate."""

    exit_code = 3


@dataclass(frozen=True)
class ReplayTool:
    """How to call the replay executable: `argv` is its command, `options` what every call gets."""

    argv: tuple[str, ...]
    options: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = 60.0


@dataclass(frozen=True)
class Replay:
    """One finished run that took `seconds` of our time. `directory` holds its buffers; only "ok" left usable ones."""

    status: Status
    message: str
    time_ns: float | None
    directory: Path
    fault: Mapping[str, object] = field(default_factory=dict)
    seconds: float = 0.0

    def after(self, buffer: int, size: int) -> bytes:
        """What the run left in a buffer. Raises ReplayBroken when it is not there."""
        return _read(self.directory / f"buffer_{buffer}.after", size)

    def image(self, buffer: CapturedBuffer) -> bytes:
        """What the run left in a captured buffer. Raises ReplayBroken when it is not there."""
        return self.after(buffer.index, buffer.size)

    def variable(self, variable: CapturedVariable) -> bytes | None:
        """What the run left in a device variable; None when the code object that ran does not have it."""
        path = self.directory / f"global_{variable.index}.after"
        return _read(path, variable.size) if path.exists() else None

    def access(self, buffer: int, size: int) -> NDArray[np.uint8]:
        """One byte for each byte of the buffer: READ_FIRST, WRITTEN, READ, ATOMIC bits (runs with `trace_access`)."""
        return np.frombuffer(_read(self.directory / f"access_{buffer}.bin", size), dtype=np.uint8)

    def sanitizers(self, code_object: Path) -> SanitizerRun | None:
        """What the sanitizers found (runs with `sanitize`); None when the run did not get that far."""
        try:
            return read_sanitizer_run(self.directory, lambda _: code_object)
        except (ValueError, KeyError, TypeError) as error:
            raise ReplayBroken(f"the replay left a damaged {SANITIZE_FILE}") from error


def patient(tool: ReplayTool, known: Replay) -> ReplayTool:
    """The tool with as much time as another run deserves: many times what the known one took, within the limit."""
    return replace(tool, timeout_s=min(tool.timeout_s, max(_LEAST_SECONDS, _PATIENCE * known.seconds)))


def replay(
    tool: ReplayTool,
    dispatch: CapturedDispatch,
    code_object: Path,
    out: Path,
    *,
    seed: int = 0,
    poison: int | None = None,
    poison_mask: Path | None = None,
    inputs: Path | None = None,
    trace_access: bool = False,
    profile: bool = False,
    sanitize: str = "",
    cancel: threading.Event | None = None,
) -> Replay:
    """Run `dispatch` with the kernel of `code_object`; results go to `out`, which is made.

    `seed` orders the waves. `poison` fills LDS, registers and, with `poison_mask` (the access maps of the reference),
    all bytes that the reference writes without reading them first. `inputs` holds buffers that replace captured ones.
    `sanitize` names the checks to run under ("all", or names with commas); `Replay.sanitizers` has what they found.
    Raises ReplayBroken, Cancelled.
    """
    out.mkdir(parents=True, exist_ok=True)
    argv = [*tool.argv, "--dispatch", str(dispatch.directory), "--code-object", str(code_object)]
    argv += ["--kernel", dispatch.kernel, "--out", str(out), "--seed", str(seed), *tool.options]
    argv += ["--max-seconds", f"{tool.timeout_s:g}"]
    if poison is not None:
        argv += ["--poison", str(poison)]
    if poison_mask is not None:
        argv += ["--poison-mask", str(poison_mask)]
    if inputs is not None:
        argv += ["--inputs", str(inputs)]
    argv += ["--trace-access"] if trace_access else []
    argv += ["--profile"] if profile else []
    argv += ["--sanitize", sanitize] if sanitize else []
    done = run_process(
        argv,
        timeout=tool.timeout_s + _SPARE_SECONDS,
        env={**_plain_environment(), **tool.env},
        limits=Limits(file_bytes=_MAX_FILE_BYTES, no_network=True),
        cancel=cancel,
    )
    if done.timed_out:
        return Replay(
            "timeout", f"it did not end within {tool.timeout_s:g} s", None, out, seconds=done.seconds
        )
    try:
        result = json.loads((out / "result.json").read_text(encoding="utf-8"))
        status = result["status"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        if done.returncode < 0:
            return Replay("fault", f"it brought the replay down (signal {-done.returncode})", None, out)
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        last = said[-1] if said else f"exit status {done.returncode}"
        raise ReplayBroken(f"the replay of dispatch {dispatch.id} failed: {last}") from error
    if status not in _STATUSES:
        raise ReplayBroken(f"the replay of dispatch {dispatch.id} ended with an unknown status `{status}`")
    fault = result.get("fault")
    return Replay(
        status=status,
        message=str(result.get("message") or ""),
        time_ns=result.get("time_ns"),
        directory=out,
        fault=fault if isinstance(fault, dict) else {},
        seconds=done.seconds,
    )


def _plain_environment() -> dict[str, str]:
    """What the child needs of our environment: no key and no token ever reaches candidate code."""
    return {name: os.environ[name] for name in _PASSED_ON if name in os.environ}


def _read(path: Path, size: int) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ReplayBroken(f"the replay left no {path.name}: {error.strerror}") from error
    if len(data) != size:
        raise ReplayBroken(f"the replay left {len(data)} bytes in {path.name} instead of {size}")
    return data
