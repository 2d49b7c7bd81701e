"""The child process that does one long job: `python -m hipscope.server.jobs.worker`.

Reads one request, a JSON object on one line of standard input; writes JSON lines to standard output: `progress`
while it works, then `result` or `error`. With `--ready` it first imports what a rewrite needs, and just leaves when
there is no request. It dies with the process that started it, and SIGTERM makes it stop what it started before it
leaves.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

READY = "--ready"
STOP_SECONDS = 3.0
_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Do the request on standard input and exit with its exit code."""
    parent = os.getppid()
    cancel = threading.Event()
    signal.signal(signal.SIGTERM, lambda _number, _frame: stop(cancel))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent(parent)
    output = _own_stdout()
    try:
        if READY in sys.argv[1:]:
            get_ready()
        line = sys.stdin.buffer.readline()
        if not line and READY in sys.argv[1:]:
            sys.exit(0)
        request = json.loads(line or b"{}")
        sys.exit(answer(request, output, cancel))
    except BrokenPipeError:
        os._exit(1)


def get_ready() -> None:
    """Import what takes long to import, and find out how untrusted code can be confined here."""
    for name in ("hipscope.server.jobs.tasks", "hipscope.formulas.optimize.loop"):
        importlib.import_module(name)
    from hipscope.analysis.system.sandbox import isolation

    isolation()


def stop(cancel: threading.Event) -> None:
    """Stop what was started and, should this process not get there in time, leave: its children end with it."""
    cancel.set()
    watchdog = threading.Timer(STOP_SECONDS, os._exit, (128 + signal.SIGTERM,))
    watchdog.daemon = True
    watchdog.start()


def answer(request: Mapping[str, Any], output: Any, cancel: threading.Event) -> int:
    """Do one request and write its messages; returns the exit code."""

    def emit(kind: str, **fields: Any) -> None:
        output.write(json.dumps({"type": kind, **fields}) + "\n")
        output.flush()

    from hipscope.analysis.errors import HipscopeError, of_the_system
    from hipscope.analysis.run import Run

    def progress(message: str, fraction: float | None = None) -> None:
        emit("progress", message=message, fraction=fraction)

    try:
        from hipscope.server.jobs import tasks

        work = {
            "profile": tasks.profile,
            "prepare": tasks.prepare,
            "check": tasks.check,
            "optimize": tasks.optimize,
        }[request["kind"]]
        run = Run(cancel, progress, read_texts(request))
        emit("result", report=work(read_request(request), run))
    except HipscopeError as failure:
        emit("error", **describe(failure))
        return failure.exit_code
    except BrokenPipeError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and (known := of_the_system(error)):
            emit("error", **describe(known))
            return known.exit_code
        # A defect of ours: the user sees one line, the log has the rest.
        traceback.print_exc(file=sys.stderr)
        emit("error", message=f"internal error: {type(error).__name__}: {error}", exit_code=70)
        return 70
    return 0


def read_request(data: Mapping[str, Any]) -> Any:
    """The request as `tasks.Request`."""
    from hipscope.formulas.propose.llm.model_settings import read_stored_keys
    from hipscope.server.jobs.tasks import Request

    return Request(
        target=Path(data["target"]),
        program_args=tuple(data.get("program_args") or ()),
        backend=data.get("backend"),
        device=data.get("device"),
        arch=data.get("arch"),
        time_budget_s=data.get("time_budget_s"),
        formula=data.get("formula"),
        kernel=data.get("kernel"),
        rewriter=data.get("rewriter"),
        yes_send=bool(data.get("yes_send")),
        stored_keys=read_stored_keys(data.get("stored_keys") or ""),
    )


def read_texts(data: Mapping[str, Any]) -> Any:
    """The request's unsaved texts as `SourceTexts`: those of this one job."""
    from hipscope.analysis.source.texts import SourceTexts

    unsaved = data.get("overlays") or {}
    return SourceTexts({Path(f): text.encode("utf-8", "surrogatepass") for f, text in unsaved.items()})


def describe(failure: Any) -> dict[str, Any]:
    """A HipscopeError as the fields of an `error` message."""
    return {
        "message": failure.message,
        "hint": failure.hint,
        "exit_code": failure.exit_code,
        "failure": type(failure).__name__,
        "output": getattr(failure, "output", ""),
        "diagnostics": [
            {
                "file": os.path.realpath(d.file) if d.file else "",
                "line": d.line,
                "column": d.column,
                "severity": d.severity,
                "message": d.message,
            }
            for d in getattr(failure, "diagnostics", ())
        ],
    }


def die_with_parent(parent: int) -> None:
    """Ask the kernel for SIGTERM when the parent dies, and leave at once if it already has."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0) != 0 or os.getppid() != parent:
        os._exit(1)


def _own_stdout() -> Any:
    """The message stream. Whatever else is printed, here or in a child, goes to standard error instead."""
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return stream


if __name__ == "__main__":
    main()
