"""The things that take time, profile, check and optimize, from a request to the record of its report.

Both the command line and the worker call these. This module imports what computes; only they import it, and late.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hipscope.accordo.compare.tolerance import UserTolerance
from hipscope.analysis.benches.comments import has_benches
from hipscope.analysis.benches.project import resolve_benched
from hipscope.analysis.config import Config
from hipscope.analysis.devices import find_device
from hipscope.analysis.errors import BuildFailed, UsageError
from hipscope.analysis.run import Run
from hipscope.analysis.runs import paired_runs
from hipscope.analysis.runs.buildable import buildable_project
from hipscope.analysis.runs.profile_project import profile_project, program_of
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.toolchain.project import Project, resolve_config
from hipscope.formulas.propose.llm.model_settings import withhold_key
from hipscope.server.jobs.builds import adopted_settings
from hipscope.server.reports.inputs_writer import other_files, source_files
from hipscope.server.reports.isa_store import save_isa
from hipscope.server.reports.isa_writer import isa_of_costliest
from hipscope.server.reports.profile_writer import optimize_report, profile_report
from hipscope.server.reports.schema.check import CheckReport
from hipscope.server.reports.schema.fields import record_of
from hipscope.server.reports.schema.isa import IsaReport
from hipscope.server.reports.schema.optimize import Edit, Optimization
from hipscope.server.reports.schema.profile import Inputs, Report
from hipscope.server.reports.schema.prompt import PromptReport
from hipscope.server.reports.schema.resources import ResourcesReport
from hipscope.server.reports.schema.verdict import LeftOutGate, VerdictReport

if TYPE_CHECKING:
    from hipscope.formulas.optimize.options import GivenRewrite

_LOWEST_PRIORITY = 19
_ISA_KEPT = 64  # kernels of a profile whose machine code an editor can show
CHECKS = ("bounds", "races", "barriers", "alignment", "stale", "uninitialised")


@dataclass(frozen=True)
class TaskRequest:
    """What the user asked for; None leaves what `hipscope.toml` or the default says."""

    target: Path
    program_args: tuple[str, ...] = ()
    alone: bool = False
    keep_isa: bool = False
    bench: str | None = None
    backend: str | None = None
    device: str | None = None
    arch: str | None = None
    time_budget_s: float | None = None
    keep_going: bool = False
    formula: str | None = None
    kernel: str | None = None
    rewriter: str | None = None
    yes_send: bool = False
    rounds: int | None = 1
    time_limit_s: float | None = None
    test_command: str | None = None
    stored_keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    passed_over: tuple[str, ...] = ()
    checks: str = "all"


def profile(request: TaskRequest, run: Run) -> Report:
    """Build and profile; the `hipscope.profile/2` record. Raises HipscopeError."""
    from hipscope.analysis.runs.kernel_defects import wave_defects

    project, run = _begin(request, run)
    others = other_files(project, run.texts)
    session = profile_project(project, run)
    project, run = program_of(session, project, run)
    inputs = Inputs(
        {**others, **source_files(project, run.texts)},
        request.program_args,
        request.device,
        request.arch,
        request.backend or "auto",
    )
    config = project.config
    if request.keep_isa:
        save_isa(request.target, inputs, isa_of_costliest(session.profile, _ISA_KEPT))
    notes = wave_defects(project, run)
    report = profile_report(
        session.profile, config.formulas, config.min_share, run.texts, inputs, notes=notes
    )
    program = replace(report.program, build_note=project.build_note, build_settings=adopted_settings(project))
    return replace(report, program=program)


@dataclass(frozen=True)
class Preparation:
    """Whether there is now something prepared for rewrites."""

    prepared: bool


def prepare(request: TaskRequest, run: Run) -> Preparation:
    """Make what rewrites of the program will be held against, with the lowest priority. Raises HipscopeError."""
    from hipscope.formulas.optimize.prepared_cache import prepare_project

    project, run = _begin(request, run)
    if not project.config.optimize.prepare:
        return Preparation(False)
    os.nice(_LOWEST_PRIORITY)
    return Preparation(prepare_project(project, run))


def check(request: TaskRequest, run: Run) -> CheckReport:
    """Build and run under the sanitizers; the `hipscope.check/1` record. Raises HipscopeError."""
    from hipscope.analysis.runs.check_project import ALIGNED_ACCESSES, check_project
    from hipscope.analysis.runs.kernel_defects import wave_defects
    from hipscope.server.reports.check_writer import check_report

    unknown = set(request.checks.split(",")) - {"all", *CHECKS}
    if unknown:
        raise UsageError(f"there is no check `{min(unknown)}`", f"choose all, or some of {', '.join(CHECKS)}")
    project, run = _begin(request, run, device_flags=ALIGNED_ACCESSES)
    result = check_project(project, run, checks=request.checks)
    notes = wave_defects(project, run) if request.checks == "all" else []
    report = check_report(result, notes, run.texts)
    return replace(report, program=replace(report.program, build_note=project.build_note))


def resources(request: TaskRequest, run: Run) -> ResourcesReport:
    """What kernels need and what is noted, without a run; the `hipscope.resources/1` record. Raises HipscopeError."""
    from hipscope.analysis.runs.inspect_project import inspect_project, lone_source, wave_notes
    from hipscope.server.reports.resources_writer import failed_report, resources_report

    config = _with_request(resolve_config(request.target), request)
    find_device(config.device)
    withhold_key(config.llm)
    asked = request.bench is not None or has_benches(run.texts.text(request.target) or "")
    alone = None if asked else lone_source(request.target, config, run.texts)
    project = alone or resolve_benched(request.target, (), config, run, bench=request.bench)
    try:
        found = inspect_project(project, run)
    except BuildFailed as failure:
        notes = wave_notes(project, run)
        if not notes:
            built = buildable_project(request.target, (), config, run, bench=request.bench)
            if built.build_note is None:
                raise
            return resources_report(str(request.target), inspect_project(built, run), run.texts)
        return failed_report(str(request.target), project.config, notes, failure, run.texts)
    return resources_report(str(request.target), found, run.texts)


@dataclass(frozen=True)
class JudgedRewrite:
    """What came of a rewrite, and all that it was judged on: the SHA-256 of each file that the program is made of."""

    outcome: Optimization
    files: Mapping[str, str]


def judge(request: TaskRequest, run: Run, *, file: str | None, new_text: str | None) -> JudgedRewrite:
    """Judge the new text of a file by all gates, or without one find a rewrite that passes them. Raises HipscopeError.

    Files that the program itself changes while it runs are not among those it was judged on.
    """
    from hipscope.formulas.optimize.options import GivenRewrite

    given = None
    if new_text is not None:
        try:
            text = new_text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            raise UsageError(f"the new text is no Unicode text: {error.reason} at {error.start}") from None
        given = GivenRewrite(Path(file or request.target), text)
    project, run = _begin(request, run, keep_key=True)
    before = _all_files(project, run)
    outcome = optimize(request, run, given=given)
    after = _all_files(project, replace(run, texts=SourceTexts()))
    return JudgedRewrite(
        outcome, {name: digest for name, digest in before.items() if after.get(name) == digest}
    )


def _all_files(project: Project, run: Run) -> dict[str, str]:
    sources = source_files(project, run.texts)
    headers = {os.path.realpath(h): run.texts.digest(h) or "" for h in project.headers}
    return {**other_files(project, run.texts), **sources, **headers}


def optimize(
    request: TaskRequest,
    run: Run,
    ended: threading.Event | None = None,
    *,
    given: GivenRewrite | None = None,
    lost: Mapping[str, str] | None = None,
) -> Optimization:
    """Find, rewrite, prove and time; the `hipscope.optimize/1` record. Raises HipscopeError.

    When `ended` is set, or at the time limit, the record has what was verified so far. A rewrite that is `given` is
    judged in place of those that are looked for. Searches that were `lost` before, by digest, are not made again.
    """
    from hipscope.analysis.runs.kernel_defects import kernel_defects, wave_defects
    from hipscope.formulas.optimize.known_losses import KnownLosses
    from hipscope.formulas.optimize.loop import OptimizeOptions, optimize_project
    from hipscope.formulas.optimize.search_end import SearchEnd

    limit = request.time_limit_s or resolve_config(request.target).optimize.time_limit_s
    end = SearchEnd(run.cancel, seconds=limit, asked=ended)
    project, run = _begin(request, run, keep_key=True)
    rewriter = request.rewriter or project.config.optimize.rewriter
    if rewriter == "recipes":
        withhold_key(project.config.llm)
    options = OptimizeOptions(
        formula=request.formula or "auto",
        kernel=request.kernel,
        rewriter=rewriter,
        yes_send=request.yes_send,
        rounds=request.rounds,
        stored_keys=request.stored_keys,
        end=end,
        given=given,
        passed_over=frozenset(request.passed_over),
        losses=KnownLosses(lost or {}, other_files(project, run.texts)),
    )
    result = optimize_project(project, run, options=options)
    if result.edit is None:
        defects, unknown = wave_defects(project, run), None
    else:
        run.say("checking the kernel as it is")
        kernels = {result.kernel or "", *(gain.kernel for gain in result.kernels)}
        defects, unknown = kernel_defects(project, kernels, run, run.until(end))
    report = optimize_report(result, run.texts, defects)
    return replace(
        report, notes=(*filter(None, [project.build_note]), *report.notes, *filter(None, [unknown]))
    )


def isa(request: TaskRequest, run: Run) -> IsaReport:
    """The machine code of the request's kernel with what each instruction costs; the `hipscope.isa/1` record.

    The target is a program, which is built and profiled, or a capture. Raises HipscopeError.
    """
    from hipscope.server.jobs.opening import capture_kind
    from hipscope.server.reports.isa_writer import isa_report

    if capture_kind(request.target) == "capture":
        from hipscope.analysis.runs.open_capture import open_captures

        profile = open_captures((request.target,), (Path.cwd(),), run).profile
    else:
        project, run = _begin(request, run)
        profile = profile_project(project, run).profile
    return isa_report(profile, request.kernel)


def prompt(request: TaskRequest, run: Run) -> PromptReport:
    """What a language model would be sent for a kernel; sends nothing. Raises HipscopeError."""
    from hipscope.formulas.optimize.model_rewrites import render_prompt

    project, run = _begin(request, run)
    shown = render_prompt(project, request.kernel, run)
    return PromptReport(
        text=shown.text,
        messages=shown.messages,
        profile_bytes=shown.prompt.profile_bytes,
        tokens=shown.prompt.tokens,
        left_out=shown.prompt.left_out,
        complete=bool(shown.messages),
    )


@dataclass(frozen=True)
class Comparison:
    """What `validate` compares the request's program with, and how strictly."""

    candidate: Path
    tolerances: Mapping[str, UserTolerance] = field(default_factory=dict)
    exact: bool = False


def validate(request: TaskRequest, comparison: Comparison, run: Run) -> VerdictReport:
    """Is the candidate's kernel the reference's? The `hipscope.verdict/1` record. Raises HipscopeError."""
    from hipscope.accordo import api
    from hipscope.analysis.system.sandbox import isolation
    from hipscope.formulas.judge.gates import LEFT_OUT_BY_VALIDATE

    config = _with_request(resolve_config(request.target), request)
    withhold_key(config.llm)
    kernel, candidate = request.kernel or "", comparison.candidate
    with api.capture(
        request.target,
        kernel=kernel,
        arguments=request.program_args,
        bench=request.bench,
        config=config,
        run=run,
    ) as recording:
        verdict = api.compare(recording, candidate, exact=comparison.exact, tolerances=comparison.tolerances)
    return record_of(
        VerdictReport,
        verdict,
        kernel=kernel,
        reference=str(request.target),
        candidate=str(candidate),
        left_out=tuple(LeftOutGate(gate.name, gate.asks) for gate in LEFT_OUT_BY_VALIDATE),
        isolation=isolation() if api.is_source(candidate) else None,
    )


def check_writable(request: TaskRequest) -> None:
    """Raises UsageError when a rewrite of the request's program could not be written into its file."""
    from hipscope.formulas.optimize.verified_edit import check_writable as check_file

    project = find_project(request, Run())
    check_file(project.own_source or project.directory)


def apply(edit: Edit) -> tuple[Path, ...]:
    """Write a verified edit into its files; where the original of each is kept. Raises UsageError."""
    from hipscope.formulas.optimize.verified_edit import VerifiedEdit, apply_edit

    return apply_edit(VerifiedEdit(**asdict(edit)))


def run_in_turn(
    base: TaskRequest, head: TaskRequest, pairs: int, run: Run
) -> list[tuple[paired_runs.RunTimes, paired_runs.RunTimes]] | None:
    """Both programs in turn, so often; None where they are not measured. Raises HipscopeError."""
    sides = [_begin(request, replace(run, texts=SourceTexts())) for request in (base, head)]
    return paired_runs.run_in_turn(sides[0], sides[1], pairs)


def find_project(request: TaskRequest, run: Run) -> Project:
    """The project with the request's settings over those of its `hipscope.toml`. Raises HipscopeError."""
    config = _with_request(resolve_config(request.target), request)
    find_device(config.device)
    return resolve_benched(request.target, request.program_args, config, run, bench=request.bench)


def _begin(
    request: TaskRequest, run: Run, *, keep_key: bool = False, device_flags: Sequence[str] = ()
) -> tuple[Project, Run]:
    """The project of a request as it can be built, and its run. `device_flags` are those it will be built with.

    Unless `keep_key`, nothing that is built or run for it sees the key of its language model.
    """
    config = _with_request(resolve_config(request.target), request)
    find_device(config.device)
    if not keep_key:
        withhold_key(config.llm)
    if request.alone:
        project = resolve_benched(request.target, request.program_args, config, run, bench=request.bench)
        return project, run
    project = buildable_project(
        request.target, request.program_args, config, run, bench=request.bench, device_flags=device_flags
    )
    return project, run


def _with_request(config: Config, request: TaskRequest) -> Config:
    changes: dict[str, Any] = {}
    if request.backend not in (None, "auto"):
        changes["backend"] = request.backend
    if request.device:
        changes["device"] = find_device(request.device).name
    if request.arch:
        changes["arch"] = request.arch
    if request.test_command:
        changes["optimize"] = config.optimize.model_copy(update={"test_command": request.test_command})
    emulator: dict[str, Any] = {}
    if request.time_budget_s:
        emulator["time_budget_s"] = request.time_budget_s
    if request.keep_going:
        emulator["keep_going"] = True
    if emulator:
        changes["emulator"] = config.emulator.model_copy(update=emulator)
    if not changes:
        return config
    settings = config.model_dump()
    if config.wanted_arch is None or request.device:
        del settings["arch"]  # that of the device, or of the GPU
    return Config.model_validate({**settings, **changes})
