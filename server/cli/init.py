"""`hipscope init`: a `hipscope.toml` for a directory, from its Makefile, its CMakeLists.txt or its sources; tried."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hipscope.server.console.options import named_path, program_arguments
from hipscope.server.console.terminal import (
    check_writable,
    failures_reported,
    progress_shown,
    told,
    work_begun,
)

if TYPE_CHECKING:
    from hipscope.analysis.build_files.proposal import BuildProposal, ProposedBuilds
    from hipscope.analysis.runs.try_build import Tried

_SECONDS = 30.0
_MOST_TRIED = 4


def init(
    context: typer.Context,
    directory: Annotated[
        Path,
        typer.Argument(parser=named_path, metavar="DIR", help="The directory whose program is described."),
    ] = Path(),
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the file; write nothing.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a hipscope.toml that is there.")] = False,
    program: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which of several programs to take."),
    ] = None,
    untried: Annotated[
        bool, typer.Option("--untried", help="Write what the build files say; build and run nothing.")
    ] = False,
    seconds: Annotated[
        float, typer.Option(min=1.0, help="How long a program may run until it launches a kernel.")
    ] = _SECONDS,
) -> None:
    """Write a hipscope.toml: how the program of a directory is built and run, as its build files say.

    What they say is tried first: it has to build, and the program has to launch a kernel.
    """
    with failures_reported():
        from hipscope.analysis.build_files.proposal import no_hip
        from hipscope.analysis.config import CONFIG_FILE
        from hipscope.analysis.errors import UsageError
        from hipscope.analysis.system.directories import write_atomically

        if not directory.is_dir():
            raise UsageError(f"{directory}: not a directory", "name the one with the Makefile or the sources")
        file = directory / CONFIG_FILE
        if not dry_run:
            check_writable(file, "it is where the settings are read from: move what is there away")
        if file.exists() and not (force or dry_run):
            raise UsageError(
                f"{file} is there already", "--force replaces it, --dry-run only shows the new one"
            )
        if (nothing := no_hip(directory)) is not None:
            raise UsageError(f"{directory}: {nothing}", "name the directory of a HIP program")
        arguments = program_arguments(context)
        found, notes = _chosen(directory.absolute(), program, arguments, untried, seconds)
        settings = found.lines or (
            f"# {found.origin} is a program of one source: it needs no `build`.",
            f"args = {_list(arguments)}",
        )
        text = "\n".join([f"# Written by `hipscope init` from {found.origin}.", *settings, ""])
        if not dry_run:
            write_atomically(file, text.encode())
        sys.stdout.write(text)
        for note in notes:
            told(note)
        told(f"{'would write' if dry_run else 'wrote'} {file}")


def _chosen(
    directory: Path, program: str | None, arguments: Sequence[str], untried: bool, seconds: float
) -> tuple[BuildProposal, list[str]]:
    """The proposal to write, and what to say about it. Raises UsageError where there is none, BuildFailed."""
    from hipscope.analysis.build_files.cmake import CMAKE_FILE
    from hipscope.analysis.build_files.proposal import builds_of_sources, propose_builds
    from hipscope.analysis.config import Config
    from hipscope.analysis.errors import BuildFailed
    from hipscope.analysis.run import Run
    from hipscope.analysis.runs.try_build import try_builds
    from hipscope.analysis.toolchain.discovery import find_toolchain

    config = Config()
    with work_begun() as cancel, progress_shown() as progress:
        run = Run(cancel, progress)
        run.say("reading the build files")
        toolchain = find_toolchain(config)
        proposals = propose_builds(directory, toolchain.calls, cancel=cancel)
        found = _named(directory, proposals, program)
        if untried:
            return _with_arguments(found[0], arguments), [*proposals.refused, *found[0].notes]

        def those_tried(found: Sequence[BuildProposal]) -> list[Tried]:
            return try_builds(
                directory, found[:_MOST_TRIED], config, toolchain, run, seconds=seconds, arguments=arguments
            )

        tried = those_tried(found)
        asked = not (directory / CMAKE_FILE).is_file() or any(one.origin == CMAKE_FILE for one in found)
        if program is None and not asked and not any(one.built for one in tried):
            by_cmake = propose_builds(directory, toolchain.calls, below=False, by_make=False, cancel=cancel)
            tried += those_tried([one for one in by_cmake.found if one.origin == CMAKE_FILE])
        if program is None and not any(one.built for one in tried):
            of_sources = [one for one in builds_of_sources(directory) if one not in found]
            by_hipcc = those_tried(of_sources)
            tried += by_hipcc if any(one.built for one in by_hipcc) else []
    notes = list(proposals.refused)
    last = tried[-1]
    if last.launched:
        notes += [_of_tried(one) for one in tried[:-1]]
        others = [one.program for one in proposals.found if one.program != last.proposal.program]
        if others and len(tried) == 1 and program is None:
            notes.append(f"it builds {', '.join(others)} as well; --program NAME takes another one")
        if last.long is not None:
            if not arguments and (given := _ask_for_less(last)):
                return _chosen(directory, last.proposal.program, given, untried, seconds)
            notes += _of_long_run(last)
        notes += [last.reason] if last.reason else []
        return last.proposal, [*notes, *last.proposal.notes]
    built = [one for one in tried if one.built]
    others_fail = bool(proposals.refused) or len(built) < len(tried)
    if not built or (others_fail and all(one.idle for one in built)):
        reasons = [*proposals.refused, *(_of_tried(one) for one in tried)]
        raise BuildFailed("; ".join(reasons), "--untried writes it all the same")
    best = next((one for one in built if one.asks), built[0])
    if not arguments and (given := _ask_for_arguments(best)):
        return _chosen(directory, best.proposal.program, given, untried, seconds)
    notes += [_of_tried(one) for one in tried]
    if best.asks:
        notes.append("its arguments: `hipscope init --force -- ARGUMENTS`, or in `run` of hipscope.toml")
    return best.proposal, [*notes, *best.proposal.notes]


def _named(directory: Path, proposals: ProposedBuilds, program: str | None) -> list[BuildProposal]:
    """The proposals for a program of that name. Raises UsageError when there is none."""
    from hipscope.analysis.errors import UsageError

    found = [one for one in proposals.found if program in (None, one.program, Path(one.program).name)]
    if found:
        return found
    if proposals.found:
        names = ", ".join(one.program for one in proposals.found)
        raise UsageError(f"{directory}: it builds no program `{program}`", f"it builds {names}")
    what = "; ".join(proposals.refused) or (
        "neither a Makefile or CMakeLists.txt that builds a program, nor one source with `main`"
    )
    raise UsageError(
        f"{directory}: {what}",
        "write `build` and `run` into hipscope.toml by hand, or name the directory of one program",
    )


def _of_tried(one: Tried) -> str:
    """What came of a proposal that is not taken, in one line."""
    if not one.built:
        return f"`{one.proposal.build or one.proposal.origin}` fails: {one.reason}"
    return f"`{one.proposal.run or one.proposal.program}` builds, but {one.reason}"


def _ask_for_arguments(best: Tried) -> list[str]:
    """What somebody at a terminal answers to the program's wish for arguments."""
    import shlex

    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return []
    sys.stderr.write(f"hipscope: {_of_tried(best)}\n")
    said: str = typer.prompt("arguments", default="", err=True)
    return shlex.split(said)


def _ask_for_less(tried: Tried) -> list[str]:
    """What somebody at a terminal answers to the question for a smaller problem; nothing: it stays as it is."""
    import shlex

    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return []
    for line in _of_long_run(tried):
        sys.stderr.write(f"hipscope: {line}\n")
    said: str = typer.prompt("arguments for a smaller problem (empty: as it is)", default="", err=True)
    return shlex.split(said)


def _of_long_run(tried: Tried) -> list[str]:
    """That the program runs for long, what it takes for its size, and how to give it less."""
    import shlex

    long = tried.long
    if long is None:
        return []
    run = f"`{tried.proposal.run or tried.proposal.program}`"
    lines = [
        f"{run} runs for long: {long.said}; a profile stops at `timeout_s` and shows what was done by then"
    ]
    if long.options:
        lines.append(f"its sources speak of: {'; '.join(long.options)}")
    if long.options or long.smaller:
        example = shlex.join(long.smaller) or "ARGUMENTS"
        lines.append(f"a smaller problem: `hipscope init --force -- {example}`")
    return lines


def _with_arguments(proposal: BuildProposal, arguments: Sequence[str]) -> BuildProposal:
    from dataclasses import replace

    from hipscope.analysis.toolchain.run_command import with_arguments

    if not arguments or proposal.run is None:
        return proposal
    return replace(proposal, run=with_arguments(proposal.run, arguments))


def _list(arguments: Sequence[str]) -> str:
    import json

    return json.dumps(list(arguments))
