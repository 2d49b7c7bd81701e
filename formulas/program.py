"""The last gate: the whole program, built and run with the rewrite in place of the original.

Takes a bench and the new text, gives what is different or slower, in words. Nothing on disk changes.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from hipscope.analysis.errors import BuildFailed, ProgramFailed
from hipscope.analysis.ingest.definitions import base_name
from hipscope.analysis.session import ProfileOptions, profile_project
from hipscope.formulas.judge import Bench, Progress

_OTHERS_SLOWER = 1.03


def try_program(
    bench: Bench,
    text: bytes,
    *,
    overlay: Mapping[Path, bytes] | None = None,
    progress: Progress = lambda _message, _share: None,
    cancel: threading.Event | None = None,
) -> str | None:
    """Build and run the whole program with the new text. What is different or slower there, or None when nothing is."""
    progress("running the program with the rewrite", None)
    texts = {**(overlay or {}), bench.source: text}
    try:
        session = profile_project(
            bench.project,
            options=ProfileOptions(overlay=texts, backend="emulator"),
            progress=progress,
            cancel=cancel,
        )
    except (BuildFailed, ProgramFailed) as failure:
        return f"The program with the rewrite fails: {failure.message}."
    old, new = bench.session.profile, session.profile
    if (fault := next(iter(new.faults), None)) is not None and not old.faults:
        return f"The program with the rewrite faults: {fault.message}."
    if old.program.exit_code != new.program.exit_code:
        codes = f"{old.program.exit_code} to {new.program.exit_code}"
        return f"The program's exit code changes from {codes} with the rewrite."
    ignored = bench.project.config.optimize.ignore_output
    if (difference := output_difference(old.program.output, new.program.output, ignored)) is not None:
        return difference
    for kernel in old.kernels:
        again = new.kernel(kernel.mangled)
        if base_name(kernel.name) == bench.kernel.name:
            continue
        if again is None:
            return f"The kernel {kernel.name} does not run any more with the rewrite."
        if again.time_ns > kernel.time_ns * _OTHERS_SLOWER:
            return (
                f"Another kernel, {kernel.name}, becomes slower: {again.time_ns / 1e3:.4g} us, "
                f"before {kernel.time_ns / 1e3:.4g} us."
            )
    return None


def output_difference(before: str, after: str, ignored: Sequence[str]) -> str | None:
    """The first line of output that differs, in words, or None. Lines that match an ignored pattern do not count."""
    patterns = [re.compile(p) for p in ignored]

    def kept(text: str) -> list[str]:
        return [line for line in text.splitlines() if not any(p.search(line) for p in patterns)]

    old, new = kept(before), kept(after)
    if old == new:
        return None
    pairs = zip(old + [""] * len(new), new + [""] * len(old), strict=False)
    was, now = next((a, b) for a, b in pairs if a != b)
    return (
        f"The program's output changes: `{now.strip()}` instead of `{was.strip()}`. If it may differ, name it in "
        "optimize.ignore_output in hipscope.toml."
    )
