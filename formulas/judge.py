"""The judge of rewrites: a bench for one kernel, and the verdict on each candidate that is put on it.

Takes a profiled project and a kernel, replays the reference once, and then answers for any new text of the file:
refused, wrong, not faster, or accepted, always with the reason. Recipes, the LLM rewriter and `hipscope validate` all
go through `judge_candidate`; none of them decides anything itself.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from hipscope.accordo.capture import CapturedDispatch, read_capture_set
from hipscope.accordo.reference import Reference, Settings, Signature, prepare_reference
from hipscope.accordo.replay import ReplayTool
from hipscope.accordo.validate import validate
from hipscope.accordo.verdict import Verdict
from hipscope.analysis.build import compile_device
from hipscope.analysis.codeobject import CodeObject
from hipscope.analysis.errors import BuildFailed, HipscopeError, MissingTool
from hipscope.analysis.ingest.definitions import base_name
from hipscope.analysis.paths import cache_directory
from hipscope.analysis.profile import Kernel
from hipscope.analysis.project import Project
from hipscope.analysis.session import ProfileSession
from hipscope.emulator.devices import write_device_config
from hipscope.emulator.runner import NativePartsMissing, replay_executable
from hipscope.emulator.symbolize import demangle
from hipscope.formulas.base import Formula, Objective
from hipscope.formulas.candidate import Candidate, LaunchFacts
from hipscope.formulas.guard import check_code_object, check_source
from hipscope.formulas.launches import all_facts, launch_facts
from hipscope.formulas.measure import Measured, measure
from hipscope.formulas.registry import all_formulas
from hipscope.formulas.syntax import KernelSyntax, names_in, parse, walk

Progress = Callable[[str, float | None], None]
Stage = Literal[
    "accepted", "refused", "not_compiled", "different", "inconclusive", "not_faster", "metric_not_moved"
]

_MOVED = 0.97  # the objective's metric must become at least 3 % better
_WORSE = 1.10  # another metric that becomes worse than this is named as the price


class CannotJudge(HipscopeError):
    """There is nothing to hold a candidate against: no source, no recorded launch, no stable reference."""

    exit_code = 1


@dataclass(frozen=True)
class Bench:
    """Everything that candidates for one kernel are held against. Valid inside `open_bench` only."""

    project: Project
    session: ProfileSession
    source: Path
    original: bytes
    kernel: KernelSyntax
    name: str
    dispatches: tuple[CapturedDispatch, ...]
    facts: LaunchFacts
    facts_by_symbol: Mapping[str, LaunchFacts]
    compiled: CodeObject
    reference: Reference
    baseline: Measured
    work: Path


@dataclass(frozen=True)
class Judgement:
    """What came of one candidate. `notes` are things a user should know about an accepted one: what it costs."""

    candidate: Candidate
    stage: Stage
    reason: str
    verdict: Verdict | None = None
    after: Measured | None = None
    speedup: float | None = None
    metric: tuple[str, float | None, float | None] | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def accepted(self) -> bool:
        """Equivalent, faster, and the promised metric moved."""
        return self.stage == "accepted"


@contextlib.contextmanager
def open_bench(
    project: Project,
    session: ProfileSession,
    kernel: Kernel,
    *,
    overlay: Mapping[Path, bytes] | None = None,
    progress: Progress = lambda _message, _share: None,
    cancel: threading.Event | None = None,
) -> Iterator[Bench]:
    """Prepare the judgement of rewrites of `kernel`: find its source, replay and time the reference.

    Raises CannotJudge with the reason, or what the build raises. Everything written is removed at the end.
    """
    source, original, syntax = find_source(project, kernel, overlay or {})
    dispatches = _recorded(session, original, syntax)
    compiled = compile_device(project, session.toolchain, source, original, cancel=cancel)
    by_symbol = launch_facts(dispatches, syntax, compiled, session.profile.device)
    with tempfile.TemporaryDirectory(prefix="hipscope-judge-") as folder:
        work = Path(folder)
        tool = _replay_tool(project, session, work)
        settings = Settings(
            tool=tool,
            cxxfilt=session.toolchain.bin / "llvm-cxxfilt",
            work=work / "proof",
            tolerance=project.config.tolerance,
            odd_workgroups=not (syntax.barriers or syntax.shared),
        )
        signature = Signature(
            names=tuple(p.name for p in syntax.parameters), types=tuple(p.type for p in syntax.parameters)
        )
        progress("replaying the kernel as it is", None)
        baseline = measure(tool, dispatches, None, work / "baseline", project.config.device, cancel)
        if isinstance(baseline, str):
            raise CannotJudge(f"`{syntax.name}` cannot be replayed: {baseline}")
        reference = prepare_reference(
            dispatches, settings, signature, progress=lambda m: progress(m, None), cancel=cancel
        )
        if reference.broken is not None:
            raise CannotJudge(f"no rewrite of `{syntax.name}` can be proved: {reference.broken}")
        yield Bench(
            project=project,
            session=session,
            source=source,
            original=original,
            kernel=syntax,
            name=kernel.name,
            dispatches=dispatches,
            facts=all_facts(by_symbol),
            facts_by_symbol=by_symbol,
            compiled=compiled,
            reference=reference,
            baseline=baseline,
            work=work,
        )


def judge_candidate(
    bench: Bench,
    candidate: Candidate,
    formula: Formula | None = None,
    *,
    progress: Progress = lambda _message, _share: None,
    cancel: threading.Event | None = None,
) -> Judgement:
    """Guard, compile, prove, time: the first gate that does not open gives the reason.

    `formula` names the metric that must move; None asks for speed only. Raises Cancelled, and what a broken replay
    executable raises; never because of what the candidate is.
    """
    if reasons := check_source(bench.original, candidate.text, bench.kernel):
        return Judgement(candidate, "refused", _sentence("Refused: " + "; ".join(reasons)))
    progress("compiling the candidate", None)
    try:
        compiled = compile_device(
            bench.project, bench.session.toolchain, bench.source, candidate.text, cancel=cancel
        )
    except BuildFailed as failure:
        return Judgement(candidate, "not_compiled", _compiler_words(failure))
    if reasons := check_code_object(bench.compiled, compiled, bench.facts_by_symbol):
        return Judgement(candidate, "refused", _sentence("Refused: " + "; ".join(reasons)))
    verdict = validate(
        bench.reference,
        compiled.path,
        exact=candidate.exact,
        progress=lambda message: progress(message, None),
        cancel=cancel,
    )
    if not verdict.equivalent:
        stage: Stage = "different" if verdict.outcome == "different" else "inconclusive"
        return Judgement(candidate, stage, verdict.reason, verdict)
    progress("timing the candidate", None)
    device = bench.project.config.device
    tool = bench.reference.settings.tool
    after = measure(tool, bench.dispatches, compiled.path, bench.work / "candidate", device, cancel)
    if isinstance(after, str):
        return Judgement(candidate, "different", _sentence(f"Not equivalent: {after}"), verdict)
    return _weigh(bench, candidate, formula, verdict, after)


def find_source(
    project: Project, kernel: Kernel, overlay: Mapping[Path, bytes]
) -> tuple[Path, bytes, KernelSyntax]:
    """The file that defines the kernel, its text, and the kernel in it. Raises CannotJudge."""
    name = base_name(kernel.name)
    named = [project.root / kernel.file] if kernel.file else []
    for path in [*named, *project.sources]:
        file = path.absolute()
        if file not in overlay and not file.is_file():
            continue
        text = overlay.get(file, b"") or file.read_bytes()
        syntax = parse(text)
        at_line = syntax.kernel_at(kernel.line) if kernel.line and path in named else None
        found = at_line if at_line is not None and at_line.name == name else syntax.kernel(name)
        if found is not None:
            if not file.resolve().is_relative_to(project.root.resolve()):
                raise CannotJudge(f"`{name}` is defined outside of the project, in {file}")
            return file, text, found
    raise CannotJudge(f"the source of `{kernel.name}` was not found in the project")


def _unseen_state(
    dispatches: tuple[CapturedDispatch, ...], source: bytes, kernel: KernelSyntax
) -> str | None:
    """A `__device__` variable that the kernel, or a device function it may call, mentions; None when there is none."""
    variables = {
        base_name(demangle(symbol))
        for d in dispatches
        for symbol in d.globals
        if not symbol.startswith("__hip_cuid")
    }
    functions = [
        node
        for node in walk(parse(source).root)
        if node.type == "function_definition" and any(c.type == "__device__" for c in node.children)
    ]
    mentioned = names_in(kernel.body_node).union(*(names_in(f) for f in functions))
    for name in sorted(variables & mentioned):
        if re.search(rb"__constant__[^;]*\b" + name.encode() + rb"\b", source) is None:
            return name
    return None


def recorded_launches(
    project: Project,
    session: ProfileSession,
    source: Path,
    original: bytes,
    kernel: KernelSyntax,
    cancel: threading.Event | None = None,
) -> LaunchFacts:
    """What a bench would know of the kernel's launches, without replaying anything. Raises as `open_bench` does."""
    dispatches = _recorded(session, original, kernel)
    compiled = compile_device(project, session.toolchain, source, original, cancel=cancel)
    return all_facts(launch_facts(dispatches, kernel, compiled, session.profile.device))


def _recorded(session: ProfileSession, original: bytes, kernel: KernelSyntax) -> tuple[CapturedDispatch, ...]:
    if session.capture_dir is None:
        raise CannotJudge("the profile holds no recorded launches", "profile with the emulator")
    listed = read_capture_set(session.capture_dir)
    dispatches = tuple(d for d in listed if base_name(demangle(d.kernel)) == kernel.name)
    if not dispatches:
        raise CannotJudge(f"no launch of `{kernel.name}` was recorded, so no rewrite of it can be proved")
    if (variable := _unseen_state(dispatches, original, kernel)) is not None:
        raise CannotJudge(
            f"the device variable `{variable}` may be changed, and replays do not compare variables"
        )
    return dispatches


def _replay_tool(project: Project, session: ProfileSession, work: Path) -> ReplayTool:
    try:
        executable = replay_executable()
    except NativePartsMissing as missing:
        raise MissingTool(str(missing), "run make, or install a wheel of hipscope") from missing
    config = work / "device.txt"
    write_device_config(project.config.device, config)
    disassembly = cache_directory() / "disassembly"
    disassembly.mkdir(parents=True, exist_ok=True)
    return ReplayTool(
        argv=(str(executable),),
        options=(
            *("--objdump", str(session.toolchain.objdump)),
            *("--device-config", str(config)),
            *("--cache", str(disassembly)),
            *("--threads", str(project.config.emulator.threads or os.cpu_count() or 1)),
        ),
        timeout_s=project.config.accordo.replay_timeout_s,
    )


def _compiler_words(failure: BuildFailed) -> str:
    errors = [d for d in failure.diagnostics if d.severity == "error"]
    if errors:
        return f"It does not compile: line {errors[0].line}: {errors[0].message}"
    return f"It does not compile: {failure.message}"


def _weigh(
    bench: Bench, candidate: Candidate, formula: Formula | None, verdict: Verdict, after: Measured
) -> Judgement:
    """Faster, and for the promised reason?"""
    before = bench.baseline
    speedup = before.time_ns / after.time_ns if after.time_ns > 0 else 0.0
    moved, metric = _objective(formula, before, after)
    least = bench.project.config.optimize.min_speedup
    stage: Stage = "accepted"
    times = f"{before.time_ns / 1e3:.4g} us before, {after.time_ns / 1e3:.4g} us after (modelled)"
    reason = f"{speedup:.2f}x as fast: {times}. {verdict.reason}"
    if speedup < least:
        stage = "not_faster"
        word = "slower" if speedup < 1 else "not faster enough" if speedup > 1.0005 else "not faster"
        reason = f"Equivalent, but {word}: {speedup:.3f}x, at least {least:g}x is asked for ({times})."
    elif metric is not None and not moved:
        stage = "metric_not_moved"
        reason = (
            f"Faster ({speedup:.2f}x), but not for the reason it was made: {metric[0]} went from "
            f"{_shown(metric[1])} to {_shown(metric[2])}."
        )
    notes = _price(bench, after, formula) if stage == "accepted" else ()
    return Judgement(candidate, stage, reason, verdict, after, speedup, metric, notes)


def _objective(
    formula: Formula | None, before: Measured, after: Measured
) -> tuple[bool, tuple[str, float | None, float | None] | None]:
    """Whether an objective of the formula moved, and the one that did (the main one when none did)."""
    if formula is None or not formula.objectives:
        return False, None
    was, now = _measured(formula, before), _measured(formula, after)
    for objective in formula.objectives:
        name = objective.metric
        if _moved(was.get(name), now.get(name), objective):
            return True, (name, was[name], now.get(name))
    main = formula.objectives[0].metric
    return False, (main, was.get(main), now.get(main))


def _measured(formula: Formula, measured: Measured) -> Mapping[str, float]:
    return formula.measure(measured.kernel, measured.profile.device)


def _moved(before: float | None, after: float | None, objective: Objective) -> bool:
    if before is None:
        return False
    if objective.direction == "up":
        return after is not None and after * _MOVED >= before
    return (after or 0.0) <= before * _MOVED  # what is not there any more is 0


def _price(bench: Bench, after: Measured, formula: Formula | None) -> tuple[str, ...]:
    """What became worse: another formula's metric, or the occupancy."""
    notes = []
    for other in all_formulas():
        if formula is not None and other.name == formula.name:
            continue
        before, later = _measured(other, bench.baseline), _measured(other, after)
        for objective in other.objectives:
            name = objective.metric
            if name not in before or name not in later:
                continue
            was, now = before[name], later[name]
            worse = now > was * _WORSE if objective.direction == "down" else now * _WORSE < was
            if worse:
                notes.append(f"in exchange {name} went from {_shown(was)} to {_shown(now)}")
    fitted, fits = bench.baseline.occupancy, after.occupancy
    if fitted is not None and fits is not None and fits < fitted:
        notes.append(f"occupancy falls from {fitted:g} to {fits:g} waves per SIMD")
    return tuple(notes)


def _shown(value: float | None) -> str:
    return "nothing recorded" if value is None else f"{value:.4g}"


def _sentence(text: str) -> str:
    return text if text.endswith(".") else text + "."
