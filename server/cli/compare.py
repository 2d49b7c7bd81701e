"""`hipscope compare`: two programs, saved profiles, captures or git revisions, by kernel; a gate with `--fail-on`."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hipscope.server.console.options import (
    Backend,
    BackendOption,
    DeviceOption,
    Format,
    GateFormatOption,
    OutputOption,
    WriteOption,
    program_arguments,
)
from hipscope.server.console.results import SourceRoot, check_format, failure_written, write_result
from hipscope.server.console.terminal import check_output, failures_reported, progress_shown, stop_asked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hipscope.analysis.run import Run
    from hipscope.server.jobs.tasks import TaskRequest
    from hipscope.server.reports.schema.compare import ComparedProgram, CompareReport
    from hipscope.server.reports.schema.profile import Provenance, Report

LIMIT_PASSED = 5
"""Exit code when a limit of `--fail-on` was passed."""


@dataclass(frozen=True)
class _Asked:
    """How the programs of both revisions are profiled."""

    arguments: tuple[str, ...]
    backend: str
    device: str | None
    pairs: int

    def of(self, program: Path) -> TaskRequest:
        """The request for a program of one side."""
        from hipscope.server.jobs.tasks import TaskRequest

        return TaskRequest(program, self.arguments, backend=self.backend, device=self.device)


@dataclass(frozen=True)
class _Done:
    """A program that was compared, the kind of its times, and the head's profile; None for one that failed."""

    program: ComparedProgram
    provenance: Provenance | None
    head: Report | None


def compare(
    context: typer.Context,
    base: Annotated[
        str,
        typer.Argument(
            metavar="BASE", help="A program, a saved profile (JSON), a capture, or a git revision."
        ),
    ],
    head: Annotated[
        str, typer.Argument(metavar="HEAD", help="What it is compared with; a revision only with another.")
    ],
    programs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PROGRAM...",
            help="For revisions: the programs to profile in each, relative to the current directory; without, it.",
        ),
    ] = None,
    fail_on: Annotated[
        str,
        typer.Option(
            "--fail-on",
            metavar="LIMITS",
            help="Leave with 5 when a kernel passes one of them, such as 'time>5%,vgpr>0,spills>0,finding:new'.",
        ),
    ] = "",
    pairs: Annotated[
        int,
        typer.Option(
            min=0,
            help="On a GPU: run both so often in turn, for changes with their 95 % interval; 0: one run each.",
        ),
    ] = 20,
    backend: BackendOption = Backend.AUTO,
    device: DeviceOption = None,
    format: GateFormatOption = Format.TEXT,
    output: OutputOption = None,
    write: WriteOption = None,
) -> None:
    """Compare two programs or profiles, or the programs of two git revisions."""
    with failures_reported():
        files: list[tuple[Format, Path | None]] = [(format, output), *(write or ())]
        for form, file in files:
            check_format(form)
            check_output(file, [Path(base), Path(head)])
        from hipscope.analysis.run import Run
        from hipscope.analysis.source.texts import SourceTexts
        from hipscope.server.reports.compare_writer import passed_limits, read_limits
        from hipscope.server.reports.schema.compare import CompareReport

        limits = read_limits(fail_on)
        with contextlib.ExitStack() as trees:
            for form, file in files:
                trees.enter_context(failure_written(Path(head), form, file))
            with stop_asked() as cancel, progress_shown() as progress:
                run = Run(cancel, progress, SourceTexts())
                asked = _Asked(program_arguments(context), backend.value, device, pairs)
                if not programs and any(Path(side).exists() for side in (base, head)):
                    paths = Path(base), Path(head)
                    sides = [_of_path(path, asked, run) for path in paths]
                    one = _compared(Path(head).name, *sides)
                    if all(map(_is_program, paths)):
                        one = _in_turn(one, paths, asked, run)
                    done, root = [one], SourceRoot.here()
                else:
                    done, root = _of_revisions(trees, (base, head), programs or ["."], asked, run)
            compared = tuple(one.program for one in done)
            kinds = {one.provenance for one in done if one.provenance is not None}
            report = CompareReport(
                base=base,
                head=head,
                provenance=kinds.pop() if len(kinds) == 1 else None,
                programs=compared,
                limits=tuple(limit.text for limit in limits),
                passed_limits=passed_limits(compared, limits),
            )
            for form, file in files:
                _write(report, done, form, file, root)
        if report.passed_limits or any(program.failed is not None for program in compared):
            raise typer.Exit(LIMIT_PASSED if report.passed_limits else 4)


def _write(
    report: CompareReport, done: Sequence[_Done], format: Format, output: Path | None, root: SourceRoot
) -> None:
    """Write the comparison in one form; one that is of findings has those of the head."""
    from hipscope.server.render.compare import render_compare
    from hipscope.server.reports.schema.programs import ProgramError, ProgramReport, ProgramsReport

    shown: CompareReport | ProgramsReport = report
    if format in (Format.SARIF, Format.CODEQUALITY):
        shown = ProgramsReport(
            tuple(
                ProgramReport(
                    one.program.program,
                    0 if one.program.failed is None else 4,
                    None if one.program.failed is None else ProgramError(one.program.failed, None),
                    one.head,
                )
                for one in done
            )
        )
    write_result(shown, lambda console: render_compare(report, console), format, output, root=root)


def _of_path(path: Path, asked: _Asked, run: Run) -> Report:
    """The profile that a path is, or that of the program that it is. Raises HipscopeError."""
    from hipscope.analysis.errors import UsageError
    from hipscope.server.jobs.opening import OpenRequest, open_report
    from hipscope.server.reports.schema.profile import Report

    if not path.exists():
        raise UsageError(
            f"{path}: no such file or directory", "git revisions are compared with each other only"
        )
    if _is_program(path):
        return _profile(path, asked, run)
    opened = open_report(OpenRequest((path,), (Path.cwd(),)), run).report
    if not isinstance(opened, Report):
        raise UsageError(
            f"{path} is not a profile",
            "compare takes what `hipscope profile -o` saved, captures, or programs",
        )
    return opened


def _is_program(path: Path) -> bool:
    from hipscope.server.jobs.opening import capture_kind

    return capture_kind(path) is None and not path.name.endswith(".json")


def _of_revisions(
    trees: contextlib.ExitStack, revisions: tuple[str, str], programs: Sequence[str], asked: _Asked, run: Run
) -> tuple[list[_Done], SourceRoot]:
    """The comparison of each program, profiled in both revisions, and where the files of the head lie until `trees` are
    closed. A program that fails leaves the others. Raises HipscopeError for what is no revision.
    """
    from hipscope.analysis.errors import Cancelled, HipscopeError
    from hipscope.analysis.system.revisions import repository_of, revision_files
    from hipscope.server.reports.schema.compare import ComparedProgram

    repository = repository_of(Path.cwd(), run.cancel)
    below = Path.cwd().resolve().relative_to(repository.resolve())
    found: list[_Done] = []
    folders = [trees.enter_context(revision_files(repository, name, run.cancel)) for name in revisions]
    for program in programs:
        try:
            places = folders[0] / below / program, folders[1] / below / program
            base, head = (_profile(place, asked, run) for place in places)
            found.append(_in_turn(_compared(program, base, head), places, asked, run))
        except Cancelled:
            raise
        except HipscopeError as failure:
            why = str(failure)
            for folder in folders:
                why = why.replace(f"{folder}/", "")
            found.append(_Done(ComparedProgram(program, (), why), None, None))
    return found, SourceRoot(folders[1], repository)


def _profile(program: Path, asked: _Asked, run: Run) -> Report:
    """The profile of a program of one revision. Raises HipscopeError, also when the program failed."""
    from dataclasses import replace

    from hipscope.analysis.errors import ProgramFailed
    from hipscope.analysis.source.texts import SourceTexts
    from hipscope.server.jobs import tasks

    report = tasks.profile(asked.of(program), replace(run, texts=SourceTexts()))
    if (why := report.failure()) is not None:
        raise ProgramFailed(why, output=report.program.output)
    return report


def _compared(program: str, base: Report, head: Report) -> _Done:
    from hipscope.server.reports.compare_writer import compare_reports
    from hipscope.server.reports.compared_texts import KernelTexts

    kind = base.provenance if base.provenance == head.provenance else None
    return _Done(compare_reports(program, base, head, KernelTexts()), kind, head)


def _in_turn(done: _Done, programs: tuple[Path, Path], asked: _Asked, run: Run) -> _Done:
    """With measured changes by runs in turn: one run each says nothing of noise. Raises HipscopeError."""
    from dataclasses import replace

    from hipscope.server.jobs import tasks
    from hipscope.server.jobs.measured_changes import measured_in_turn

    if done.provenance != "measured" or done.program.failed is not None or not asked.pairs:
        return done
    times = tasks.run_in_turn(asked.of(programs[0]), asked.of(programs[1]), asked.pairs, run)
    return done if times is None else replace(done, program=measured_in_turn(done.program, times))
