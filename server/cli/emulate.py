"""`hipscope emulate [OPTIONS] -- PROGRAM [ARGS]`: a stand-in for `rocprofv3` that needs no GPU."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
import typer.core

from hipscope.server.console.terminal import STOPPED, check_output, failures_reported, told, work_begun

if TYPE_CHECKING:
    from hipscope.analysis.config import Config
    from hipscope.analysis.run import Run
    from hipscope.analysis.runs.rocprof_options import Job

HELP = """Run a program that is linked against HIP on the emulator and write the files that rocprofv3 writes.

Usage: hipscope emulate [OPTIONS] -- PROGRAM [ARGS]
       hipscope emulate [OPTIONS] [--bench NAME] -- SOURCE [ARGS]

A source is built first; one without main by its benches (docs/benches.md), or by the one that --bench names.

  -d, --output-directory DIR       where the files go (the current directory)
  -o, --output-file NAME           start of their names (HOST/PID)
  -f, --output-format csv json     tables, results.json, or both (csv)
  --kernel-trace                   start, end and resources of each launch
  --stats                          sums per kernel; needs --kernel-trace
  --pmc NAME...                    hardware counters
  --att, --advanced-thread-trace   thread trace of the first launch of each kernel
  --kernel-include-regex REGEX     counters and traces of these kernels only
  --kernel-exclude-regex REGEX     not of these
  --kernel-iteration-range [1,3-5] of these launches of each kernel, counted from 1
  -M, --mangled-kernels            kernel names as they are in the code object
  -T, --truncate-kernels           kernel names without parameters
  -i, --input FILE                 jobs as JSON or YAML, or `pmc:` lines in a .txt file
  --device NAME                    GPU to model (mi300x)
  --timeout SECONDS                stop the program after this long (600)

Times and cycles are modelled. The exit code is the program's, 124 when the time was over, 130 when it was stopped by
Ctrl-C; what had ended by then is written.
"""


class _Unparsed(typer.core.TyperCommand):
    """Leaves all words alone: the first `--` says where the program begins, and click would drop it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.args = list(args)
        return args


def add(app: typer.Typer) -> None:
    """Register the subcommand."""

    @app.command(
        cls=_Unparsed, short_help="Run a HIP program without a GPU and write the files of rocprofv3."
    )
    def emulate(context: typer.Context) -> None:
        with failures_reported():
            words = list(context.args)
            if words and words[0] in ("-h", "--help"):
                sys.stdout.write(HELP)
                return
            from hipscope.analysis.build_files.source_files import is_source
            from hipscope.analysis.config import Config
            from hipscope.analysis.errors import UsageError
            from hipscope.analysis.run import Run
            from hipscope.analysis.runs import rocprof_options
            from hipscope.analysis.runs.emulate import emulate as run

            before, program = _split(words)
            before, bench = _named_bench(before)
            jobs = rocprof_options.parse(before)
            if not program or not program[0].strip():
                raise UsageError("no program", "hipscope emulate [OPTIONS] -- PROGRAM [ARGS]")
            config = Config()
            _keep_inputs(jobs, context.args)
            with work_begun() as interrupt:
                if bench is not None or is_source(Path(program[0])):
                    config, program = _built(program, bench, Run(interrupt))
                if shutil.which(program[0]) is None:
                    there = Path(program[0]).exists()
                    why = "is no program: it cannot be executed" if there else "no such program"
                    raise UsageError(f"{program[0]}: {why}", "name a compiled program after `--`")
                code = 0
                for job in jobs:
                    done = run(job, program, config, interrupt)
                    for note in done.notes:
                        sys.stderr.write(f"hipscope: {note}\n")
                    if done.interrupted:
                        raise typer.Exit(STOPPED)
                    code = code or done.exit_code
            if code:
                raise typer.Exit(code if code > 0 else 128 - code)


def _keep_inputs(jobs: Iterable[Job], words: Iterable[str]) -> None:
    """Raises UsageError where a job would replace a file that the command line names, a source or settings."""
    from hipscope.analysis.runs.emulate import replaced_by

    named = [word.rpartition("=")[2] for word in words]
    for job in jobs:
        for path in replaced_by(job):
            check_output(path, named, "name another folder with -d, or another start of the names with -o")


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """The options, and the program with its arguments."""
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1 :]


def _named_bench(words: list[str]) -> tuple[list[str], str | None]:
    """The options without `--bench NAME`, and that name."""
    from hipscope.analysis.errors import UsageError

    for at, word in enumerate(words):
        if word.startswith("--bench="):
            return words[:at] + words[at + 1 :], word.partition("=")[2]
        if word == "--bench":
            if at + 1 == len(words):
                raise UsageError("--bench needs a name")
            return words[:at] + words[at + 2 :], words[at + 1]
    return words, None


def _built(words: list[str], bench: str | None, run: Run) -> tuple[Config, list[str]]:
    """The settings of a source, and the command line of the program that it becomes."""
    from hipscope.analysis.runs.buildable import buildable_project
    from hipscope.analysis.toolchain.build import build_program
    from hipscope.analysis.toolchain.discovery import find_toolchain

    project = buildable_project(Path(words[0]), words[1:], run=replace(run, tell=told), bench=bench)
    built = build_program(project, find_toolchain(project.config), run)
    return project.config, list(built.argv)
