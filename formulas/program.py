"""The last gate: the whole program, built and run with the rewrite in place of the original.

Takes a bench and the new text, gives what is different or slower, in words. Nothing on disk changes.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from hipscope.analysis.confine import Box, paths_in, plain_environment, private_copy, run_confined
from hipscope.analysis.errors import BuildFailed, ProgramFailed
from hipscope.analysis.ingest.definitions import base_name
from hipscope.analysis.paths import cache_directory
from hipscope.analysis.profile import Profile
from hipscope.analysis.project import Project
from hipscope.analysis.session import ProfileOptions, ProfileSession, profile_project
from hipscope.emulator.runner import EmulatorOptions, emulator_environment
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
            options=ProfileOptions(overlay=texts, backend="emulator", confined=True),
            progress=progress,
            cancel=cancel,
        )
    except (BuildFailed, ProgramFailed) as failure:
        return f"The program with the rewrite fails: {failure.message}."
    ignored = bench.project.config.optimize.ignore_output
    different = program_difference(bench.session.profile, session.profile, bench.kernel.name, ignored)
    command = bench.project.config.optimize.test_command
    if different is not None or command is None:
        return different
    progress("running the project's tests on the rewrite", None)
    return failed_tests(bench.project, session, texts, command, cancel=cancel)


def failed_tests(
    project: Project,
    session: ProfileSession,
    texts: Mapping[Path, bytes],
    command: str,
    *,
    cancel: threading.Event | None = None,
) -> str | None:
    """Run the project's own tests confined, in a copy of the project with `texts` in it; why they fail, or None."""
    root = session.built.directory
    cache = cache_directory() / "disassembly"
    options = EmulatorOptions(objdump=session.toolchain.objdump, cache=cache)
    variables = {**emulator_environment(options), "HIPSCOPE_PROGRAM": session.built.argv[0]}
    with private_copy(root) as shown:
        if not shown:
            return f"The test command was not run: {root} is too large to copy."
        for path, text in texts.items():
            if path.is_relative_to(project.root):
                (shown[root] / path.relative_to(project.root)).write_bytes(text)
        words = paths_in([session.built.argv[0], *variables.values(), *project.config.env.values()])
        done = run_confined(
            ["/bin/sh", "-c", command],
            Box(read=tuple(p if p.is_dir() else p.parent for p in words), write=(cache,), shown=shown),
            timeout=project.config.timeout_s,
            cwd=root,
            env=plain_environment({**project.config.env, **session.built.env, **variables}),
            cancel=cancel,
        )
    if done.ok:
        return None
    how = "took too long" if done.timed_out else done.stopped or f"left with {done.returncode}"
    said = done.text.strip().splitlines()
    return f"The test command fails with the rewrite: it {how.removeprefix('it ')}" + (
        f": {said[-1]}" if said else "."
    )


def program_difference(old: Profile, new: Profile, rewritten: str, ignored: Sequence[str]) -> str | None:
    """What another run of the program does otherwise, or how another kernel than `rewritten` is slower; or None."""
    if (fault := next(iter(new.faults), None)) is not None and not old.faults:
        return f"The program with the rewrite faults: {fault.message}."
    if old.program.exit_code != new.program.exit_code:
        codes = f"{old.program.exit_code} to {new.program.exit_code}"
        return f"The program's exit code changes from {codes} with the rewrite."
    if (difference := output_difference(old.program.output, new.program.output, ignored)) is not None:
        return difference
    known = {kernel.mangled for kernel in old.kernels}
    if (more := next((k for k in new.kernels if k.mangled not in known), None)) is not None:
        return f"The program runs another kernel, {more.name}, with the rewrite."
    for kernel in old.kernels:
        again = new.kernel(kernel.mangled)
        if again is None:
            return f"The kernel {kernel.name} does not run any more with the rewrite."
        if len(again.dispatches) != len(kernel.dispatches):
            return (
                f"The kernel {kernel.name} is launched {len(again.dispatches)} times with the rewrite, "
                f"before {len(kernel.dispatches)} times."
            )
        if base_name(kernel.name) == rewritten:
            continue
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
