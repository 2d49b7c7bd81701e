"""The tools of `hipscope mcp`: each takes what an agent names, gives JSON text within its budget.

A HipscopeError is the tool's answer, one line with what to do. Only `apply_verified` writes a file of the user.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from hipscope.analysis.errors import HipscopeError, UsageError
from hipscope.analysis.history import store
from hipscope.server.agents import shown
from hipscope.server.agents.answers import DEFAULT_TOKENS, Answer, Answers
from hipscope.server.agents.desk import Desk
from hipscope.server.agents.work import SessionJobs, WorkFailed
from hipscope.server.jobs.messages import JobKind, JobRequest
from hipscope.server.jobs.opening import capture_kind, of_kernels
from hipscope.server.reports import report_reader
from hipscope.server.reports.compare_writer import compare_reports
from hipscope.server.reports.history_writer import keep_report
from hipscope.server.reports.schema.check import CheckReport
from hipscope.server.reports.schema.fields import RecordMismatch, read_record
from hipscope.server.reports.schema.isa import IsaReport
from hipscope.server.reports.schema.profile import Report
from hipscope.server.reports.schema.resources import ResourcesReport
from hipscope.server.reports.schema.verdict import VerdictReport

LONGEST_TEXT = 4 << 20
_WORKER = "a report of the worker"

Wire = Context[Any, Any]
Path_ = Annotated[str, Field(description="A source file or a folder, absolute or from the first root.")]
ReportId = Annotated[str, Field(description="The id that `profile` gave, such as report-1.")]
KernelName = Annotated[
    str | None, Field(description="A kernel by its identifier, demangled or mangled name.")
]
Device = Annotated[str | None, Field(description="The modelled device, such as mi300x; None: the project's.")]
Arguments = Annotated[list[str] | None, Field(description="Arguments of the program.")]
Bench = Annotated[str | None, Field(description="A line of a bench for a kernel without `main`.")]
Tokens = Annotated[int, Field(description="How long the answer may be, in tokens; the rest gets a handle.")]


class Tools:
    """The tools of one session."""

    def __init__(self, desk: Desk, work: SessionJobs, answers: Answers) -> None:
        self._desk, self._work, self._answers = desk, work, answers

    async def profile(
        self,
        ctx: Wire,
        path: Path_,
        kernel: KernelName = None,
        arguments: Arguments = None,
        bench: Bench = None,
        device: Device = None,
        max_tokens: Tokens = DEFAULT_TOKENS,
    ) -> str:
        """Build and run a program and see what its kernels wait for: kernels, findings with evidence, what helps.

        Of a capture or a saved report nothing is built or run. The id in `report` is for the other tools.
        """

        async def answer() -> Answer:
            found = self._desk.roots.existing(path)
            kind: JobKind = "open" if capture_kind(found) is not None else "profile"
            if kind == "profile":
                found = self._desk.roots.runnable(path)
            request = self._request(kind, found, arguments, bench=bench, device=device)
            data = await self._work.report(request, _teller(ctx))
            if data.get("schema") not in ("hipscope.profile/1", "hipscope.profile/2"):
                raise UsageError(f"{path} is a saved report of something else than a profile")
            report = report_reader.read_report(dict(data), _WORKER)
            name = self._desk.keep(report)
            return shown.profile_answer(report if kernel is None else of_kernels(report, kernel), name)

        return await self._told(answer, max_tokens)

    async def hotspots(
        self, report: ReportId, kernel: KernelName = None, max_tokens: Tokens = DEFAULT_TOKENS
    ) -> str:
        """The source lines that cost most, with their text, what they wait for, and their share of all GPU time."""

        async def answer() -> Answer:
            found = self._chosen(report, kernel)
            lines = shown.hot_lines(found, found.kernels, self._desk.source_line)
            return {"times_are": found.provenance, "lines": lines}

        return await self._told(answer, max_tokens)

    async def explain_line(
        self, report: ReportId, file: str, line: int, max_tokens: Tokens = DEFAULT_TOKENS
    ) -> str:
        """Why one source line costs what it costs: stalls and their meaning, memory pattern, findings, what helps."""

        async def answer() -> Answer:
            found = self._desk.report(report)
            files = sorted({row.file for k in found.kernels for row in k.lines if row.file})
            whole = [f for f in files if f == file] or [
                f for f in files if f.endswith(f"/{file.lstrip('./')}")
            ]
            if len(whole) != 1:
                raise UsageError(
                    f"{report} has {'no' if not whole else 'several'} files {file!r} with costs",
                    f"its files: {', '.join(files[:8])}",
                )
            return shown.line_answer(found, whole[0], line, self._desk.source_line)

        return await self._told(answer, max_tokens)

    async def isa(
        self,
        ctx: Wire,
        path: Path_,
        kernel: KernelName = None,
        line: Annotated[int | None, Field(description="Only the code of this source line.")] = None,
        arguments: Arguments = None,
        bench: Bench = None,
        device: Device = None,
        max_tokens: Tokens = DEFAULT_TOKENS,
    ) -> str:
        """The machine code of a kernel (the longest without a name) with what each instruction costs and waits for."""

        async def answer() -> Answer:
            found = self._desk.roots.existing(path)
            if capture_kind(found) is None:
                found = self._desk.roots.runnable(path)
            request = self._request("isa", found, arguments, bench=bench, device=device, kernel=kernel)
            isa = _read(IsaReport, await self._work.report(request, _teller(ctx)))
            return shown.isa_answer(isa, line)

        return await self._told(answer, max_tokens)

    async def roofline(
        self, report: ReportId, kernel: KernelName = None, max_tokens: Tokens = DEFAULT_TOKENS
    ) -> str:
        """Each kernel beside the ceilings of the device: what it reaches of each, its occupancy and its resources."""

        async def answer() -> Answer:
            found = self._chosen(report, kernel)
            return shown.roofline_answer(found, found.kernels)

        return await self._told(answer, max_tokens)

    async def resources(
        self, ctx: Wire, path: Path_, device: Device = None, max_tokens: Tokens = DEFAULT_TOKENS
    ) -> str:
        """Compile only: registers, spills, scratch, LDS and occupancy of every kernel and template instance."""

        async def answer() -> Answer:
            request = self._request("inspect", self._desk.roots.runnable(path), None, device=device)
            report = _read(ResourcesReport, await self._work.report(request, _teller(ctx)))
            return shown.resources_answer(report)

        return await self._told(answer, max_tokens)

    async def check(
        self,
        ctx: Wire,
        path: Path_,
        arguments: Arguments = None,
        bench: Bench = None,
        max_tokens: Tokens = DEFAULT_TOKENS,
    ) -> str:
        """Run a program under sanitizers: stray accesses, races, divergent barriers, uninitialised reads."""

        async def answer() -> Answer:
            request = self._request("check", self._desk.roots.runnable(path), arguments, bench=bench)
            report = _read(CheckReport, await self._work.report(request, _teller(ctx)))
            return shown.check_answer(report)

        return await self._told(answer, max_tokens)

    async def validate(
        self,
        ctx: Wire,
        reference: Path_,
        candidate: Path_,
        kernel: Annotated[str, Field(description="The kernel's name in the source.")],
        exact: Annotated[bool, Field(description="Ask for the same bits.")] = False,
        arguments: Arguments = None,
        max_tokens: Tokens = DEFAULT_TOKENS,
    ) -> str:
        """Is a kernel in two files the same function? Answers equivalence only: no time, no edit, no id."""

        async def answer() -> Answer:
            request = self._request(
                "validate",
                self._desk.roots.runnable(reference),
                arguments,
                kernel=kernel,
                candidate=str(self._desk.roots.runnable(candidate)),
                exact=exact,
            )
            report = _read(VerdictReport, await self._work.report(request, _teller(ctx)))
            return {
                **shown.verdict_answer(report),
                "not_asked": [f"{gate.gate}: {gate.asks}" for gate in report.left_out],
            }

        return await self._told(answer, max_tokens)

    async def optimize(
        self,
        ctx: Wire,
        path: Path_,
        kernel: KernelName = None,
        formula: Annotated[str, Field(description="A finding's formula; auto: the worst.")] = "auto",
        time_limit_s: Annotated[float, Field(description="End the search after so many seconds.")] = 300.0,
        arguments: Arguments = None,
        bench: Bench = None,
        max_tokens: Tokens = DEFAULT_TOKENS,
    ) -> str:
        """Let hipscope's own recipes look for a rewrite that passes all gates. It writes nothing.

        A verified one has an id. No language model is asked.
        """

        async def answer() -> Answer:
            request = self._request(
                "judge",
                self._desk.roots.runnable(path),
                arguments,
                bench=bench,
                kernel=kernel,
                formula=formula,
                time_limit_s=max(1.0, time_limit_s),
            )
            return await self._judged(request, ctx)

        return await self._told(answer, max_tokens)

    async def judge_rewrite(
        self,
        ctx: Wire,
        file: Annotated[str, Field(description="The source file that the rewrite is of.")],
        new_text: Annotated[
            str, Field(description="The whole new text of that file; one kernel may differ, nothing else.")
        ],
        replaces: Annotated[
            str | None,
            Field(
                description="The piece of the file, there once, that new_text takes the place of; None: all."
            ),
        ] = None,
        program: Annotated[
            str | None, Field(description="The program to judge it in, where that is another file or folder.")
        ] = None,
        kernel: KernelName = None,
        arguments: Arguments = None,
        bench: Bench = None,
        max_tokens: Tokens = DEFAULT_TOKENS,
    ) -> str:
        """Judge your own rewrite by the whole gate: text guard, compiler, proof on changed inputs, time, whole program.

        Writes nothing. `verdict` is `verified` only when every gate has opened; then `id` is what apply_verified takes.
        Else `reason` says which gate did not open, with the failing input.
        """

        async def answer() -> Answer:
            source = self._desk.roots.runnable(file)
            if not source.is_file():
                raise UsageError(f"{file} is not a file")
            if len(new_text) > LONGEST_TEXT:
                raise UsageError(f"the new text is longer than {LONGEST_TEXT} characters")
            whole = new_text if replaces is None else _replaced(source, replaces, new_text)
            target = source if program is None else self._desk.roots.runnable(program)
            request = self._request(
                "judge",
                target,
                arguments,
                bench=bench,
                kernel=kernel,
                file=str(source),
                new_text=whole,
            )
            return await self._judged(request, ctx)

        return await self._told(answer, max_tokens)

    async def apply_verified(
        self,
        id: Annotated[str, Field(description="The id of a verified rewrite, of judge_rewrite or optimize.")],
        file: Annotated[str | None, Field(description="The file that it must be of.")] = None,
    ) -> str:
        """Write a verified rewrite into its file; refused when anything that it was judged on has changed since."""

        async def answer() -> Answer:
            from hipscope.server.jobs import tasks

            edit = self._desk.take(id, file)
            kept = await asyncio.to_thread(tasks.apply, edit)
            return {
                "written": [part.file for part in edit.parts],
                "originals": [str(path) for path in kept],
                "undo": f"hipscope restore {edit.file}",
            }

        return await self._told(answer, DEFAULT_TOKENS)

    async def compare(
        self,
        base: Annotated[str, Field(description="The id of a report.")],
        head: Annotated[str, Field(description="The id of the report that it is compared with.")],
        max_tokens: Tokens = DEFAULT_TOKENS,
    ) -> str:
        """Two profiles kernel by kernel: time, registers, LDS, occupancy, bound, findings that came and went."""

        async def answer() -> Answer:
            one, other = self._desk.report(base), self._desk.report(head)
            provenance = one.provenance if one.provenance == other.provenance else None
            return shown.compared_answer(compare_reports(head, one, other), provenance)

        return await self._told(answer, max_tokens)

    async def attempts(
        self,
        path: Path_,
        kernel: Annotated[str | None, Field(description="Only this kernel, by its identifier.")] = None,
        max_tokens: Tokens = DEFAULT_TOKENS,
    ) -> str:
        """What was tried on the kernels of a project before, the newest first: outcome, gain, why it was refused."""

        async def answer() -> Answer:
            project = self._project(self._desk.roots.existing(path))
            if not self._desk.roots.holds(project):
                raise UsageError(
                    f"the log is of {project}, which is outside of the roots",
                    "start hipscope mcp with --root on it",
                )
            rows = await asyncio.to_thread(store.attempt_rows, project)
            return shown.attempts_answer([row for row in reversed(rows) if kernel in (None, row[1].kernel)])

        return await self._told(answer, max_tokens)

    async def more(
        self,
        handle: Annotated[str, Field(description="A handle of `left_out`.")],
        max_tokens: Tokens = DEFAULT_TOKENS,
    ) -> str:
        """The next part of what an earlier answer left out."""
        try:
            return self._answers.more(handle, max_tokens)
        except HipscopeError as failure:
            raise ToolError(str(failure)) from None

    async def _told(self, answer: Callable[[], Awaitable[Answer]], tokens: int) -> str:
        """The text of an answer. Raises ToolError with the one line of a failure, and what was printed last."""
        try:
            return self._answers.text(await answer(), tokens)
        except WorkFailed as failure:
            told = {"error": failure.message, "what_to_do": failure.hint, "printed": failure.output or None}
            raise ToolError(self._answers.text(told, tokens)) from None
        except HipscopeError as failure:
            told = {"error": failure.message, "what_to_do": failure.hint}
            raise ToolError(self._answers.text(told, tokens)) from None
        except OSError as error:
            raise ToolError(json.dumps({"error": f"{error.filename or ''}: {error.strerror}"})) from None

    async def _judged(self, request: JobRequest, ctx: Wire) -> Answer:
        data = await self._work.report(request, _teller(ctx))
        try:
            outcome = report_reader.read_optimization(data["outcome"], _WORKER)
            files = {str(name): str(digest) for name, digest in data["files"].items()}
        except (KeyError, AttributeError):
            raise UsageError("the worker's answer is of another version of hipscope") from None
        with contextlib.suppress(HipscopeError, OSError):  # a log that cannot be kept costs no verdict
            target = Path(request.target)
            await asyncio.to_thread(keep_report, target, outcome, None, self._desk.roots.of_path(target))
        return shown.outcome_answer(outcome, self._desk.verified(outcome, files))

    def _project(self, path: Path) -> Path:
        """The folder whose history a path below the roots belongs to."""
        return store.project_of(path, self._desk.roots.of_path(path))

    def _chosen(self, name: str, kernel: str | None) -> Report:
        report = self._desk.report(name)
        return report if kernel is None else of_kernels(report, kernel)

    def _request(self, kind: JobKind, target: Path, arguments: list[str] | None, **given: Any) -> JobRequest:
        folders = tuple(str(root) for root in self._desk.roots.folders)
        given.setdefault("file", str(target))
        rewriter = "recipes" if kind == "judge" else None
        return JobRequest(
            kind,
            str(target),
            program_args=tuple(arguments or ()),
            rewriter=rewriter,
            source_roots=folders,
            **given,
        )


def _teller(ctx: Wire) -> Callable[[float, float | None, str], Awaitable[None]]:
    async def tell(progress: float, total: float | None, message: str) -> None:
        await ctx.report_progress(progress, total, message)

    return tell


def _replaced(source: Path, piece: str, new_text: str) -> str:
    """The text of a file with another one in place of a piece of it. Raises UsageError unless that is there once.

    Bytes that are no UTF-8, as in comments in Latin-1, are lone surrogates and come back as they are.
    """
    try:
        text = source.read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise UsageError(f"{source}: {error}", "give the whole new text") from None
    count = text.count(piece) if piece else 0
    if count != 1:
        found = "not in it" if count == 0 else f"in it {count} times"
        raise UsageError(
            f"the piece to replace is {found}",
            "copy it from the file as it is, with lines around it that make it the only one",
        )
    return text.replace(piece, new_text)


def _read(kind: type[Any], data: Mapping[str, Any]) -> Any:
    try:
        return read_record(kind, data, _WORKER, "it is of another version of hipscope")
    except RecordMismatch as mismatch:
        raise UsageError(mismatch.message, mismatch.hint) from None
