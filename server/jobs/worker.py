"""The child process that does one long job: `python -m hipscope.server.jobs.worker`.

Reads one request from a line of standard input, writes messages to standard output (`messages.py`): progress while it
works, then a result or an error. With `--ready` it first imports what a rewrite needs, and just leaves when
there is no request. It dies with the process that started it, and SIGTERM makes it stop what it started before it
leaves.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hipscope.analysis.errors import HipscopeError, of_the_system
from hipscope.analysis.run import Run
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.system.cache_use import cache_in_use
from hipscope.analysis.system.directories import cache_directory
from hipscope.server.jobs.messages import (
    JobError,
    JobInspected,
    JobKind,
    JobMessage,
    JobProgress,
    JobRequest,
    JobResult,
    ReportedDiagnostic,
    encode,
    read_request,
)
from hipscope.server.reports.schema.fields import record_of, to_json

READY = "--ready"
INTERNAL_ERROR = 70
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
        sys.exit(answer(line, output, cancel))
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


def answer(line: bytes, output: Any, cancel: threading.Event) -> int:
    """Do the request on a line and write its messages; returns the exit code."""

    speaking = threading.Lock()

    def emit(message: JobMessage) -> None:
        with speaking:
            output.write(encode(message))
            output.flush()

    def progress(message: str, fraction: float | None = None) -> None:
        emit(JobProgress(message, fraction))

    try:
        request = read_request(line)
        run = Run(cancel, progress, read_texts(request))
        with cache_in_use(cache_directory()):
            with inspected_beside(request, run, emit):
                report = perform(request, run)
            emit(JobResult(report))
    except HipscopeError as failure:
        emit(describe(failure))
        return failure.exit_code
    except BrokenPipeError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and (known := of_the_system(error)):
            emit(describe(known))
            return known.exit_code
        # A defect of ours: the user sees one line, the log has the rest.
        traceback.print_exc(file=sys.stderr)
        emit(JobError(f"internal error: {type(error).__name__}: {error}", INTERNAL_ERROR))
        return INTERNAL_ERROR
    return 0


@contextlib.contextmanager
def inspected_beside(request: JobRequest, run: Run, emit: Callable[[JobMessage], None]) -> Iterator[None]:
    """While a program is built and profiled, look at its code as soon as it compiles, and tell.

    What goes wrong there is the profile's to tell.
    """

    def inspect() -> None:
        with contextlib.suppress(HipscopeError, OSError):
            emit(JobInspected(perform(replace(request, kind="inspect"), run.quietly())))

    if request.kind != "profile":
        yield
        return
    thread = threading.Thread(target=inspect, name="inspect")
    thread.start()
    try:
        yield
    finally:
        thread.join()


def perform(request: JobRequest, run: Run) -> dict[str, Any]:
    """The JSON object of what was asked for. Raises HipscopeError."""
    if request.kind == "open":
        return _open(request, run)
    if request.kind == "builds":
        from hipscope.server.jobs.builds import proposed_builds

        return to_json(proposed_builds(Path(request.target), request.file, run))
    from hipscope.formulas.propose.llm.model_settings import read_stored_keys
    from hipscope.server.jobs import tasks

    asked = tasks.TaskRequest(
        target=Path(request.target),
        program_args=request.program_args,
        alone=request.alone,
        keep_isa=True,
        backend=request.backend,
        device=request.device,
        arch=request.arch,
        time_budget_s=request.time_budget_s,
        formula=request.formula,
        kernel=request.kernel,
        rewriter=request.rewriter,
        passed_over=request.passed_over,
        yes_send=request.yes_send,
        stored_keys=read_stored_keys(request.stored_keys),
        bench=request.bench,
        time_limit_s=request.time_limit_s,
    )
    work: Mapping[JobKind, Callable[..., object]] = {
        "profile": tasks.profile,
        "prepare": tasks.prepare,
        "check": tasks.check,
        "optimize": tasks.optimize,
        "inspect": tasks.resources,
        "judge": functools.partial(tasks.judge, file=request.file, new_text=request.new_text),
        "validate": functools.partial(
            tasks.validate, comparison=tasks.Comparison(Path(request.candidate or ""), {}, request.exact)
        ),
        "isa": tasks.isa,
    }
    return to_json(work[request.kind](asked, run=run))


def _open(request: JobRequest, run: Run) -> dict[str, Any]:
    from hipscope.server.jobs.opening import OpenRequest, open_report

    roots = tuple(Path(root) for root in request.source_roots)
    return to_json(open_report(OpenRequest((Path(request.target),), roots), run).report)


def read_texts(request: JobRequest) -> SourceTexts:
    """The request's unsaved texts: those of this one job."""
    return SourceTexts({Path(f): t.encode("utf-8", "surrogatepass") for f, t in request.overlays.items()})


def describe(failure: HipscopeError) -> JobError:
    """A failure as a message."""
    return JobError(
        message=failure.message,
        exit_code=failure.exit_code,
        hint=failure.hint,
        failure=type(failure).__name__,
        output=str(getattr(failure, "output", "")),
        lacks_files=bool(getattr(failure, "lacks_files", False)),
        wants_arguments=bool(getattr(failure, "wants_arguments", False)),
        absent=tuple(map(os.path.realpath, getattr(failure, "absent", ()))),
        diagnostics=tuple(
            record_of(ReportedDiagnostic, d, file=os.path.realpath(d.file) if d.file else "")
            for d in getattr(failure, "diagnostics", ())
        ),
    )


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
