"""What candidates for one kernel are held against: its source, its recorded launches, its replays and its time.

Takes a project, a profile and a kernel, gives a Bench for the length of a `with` block. It judges nothing.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from hipscope.accordo.compare.tolerance import UserTolerance, user_tolerances
from hipscope.accordo.dispatch.captured import CapturedDispatch, read_capture_set
from hipscope.accordo.dispatch.signature import Signature
from hipscope.accordo.oracle.build import WidenedSource
from hipscope.accordo.reference.prepare import Reference, prepare_reference
from hipscope.accordo.reference.saved import read_reference
from hipscope.accordo.reference.settings import Settings
from hipscope.accordo.replay.emulator_tool import replay_tool
from hipscope.accordo.replay.replay import ReplayTool
from hipscope.analysis.errors import HipscopeError
from hipscope.analysis.profile import Kernel
from hipscope.analysis.runs.profile_project import ProfileSession
from hipscope.analysis.source.functions import callables_in
from hipscope.analysis.source.includes import texts_with_types
from hipscope.analysis.source.inlining import see_through
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.source.struct_layout import definitions_in
from hipscope.analysis.source.syntax import KernelSyntax, parse
from hipscope.analysis.system.directories import work_directory
from hipscope.analysis.system.process import Stop
from hipscope.analysis.toolchain.build import compile_device
from hipscope.analysis.toolchain.code_object import CodeObject
from hipscope.analysis.toolchain.project import Project
from hipscope.emulator.symbolize import demangle
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.facts.recorded_launches import (
    all_facts,
    float_structures,
    launch_facts,
    pointers_inside,
    template_values,
)
from hipscope.formulas.facts.template_instances import instances
from hipscope.formulas.judge.timed_replay import Measured, measure, read_measured

Progress = Callable[[str, float | None], None]
BASELINE = "baseline"


class CannotJudge(HipscopeError):
    """There is nothing to hold a candidate against: no source, no recorded launch, no stable reference."""

    exit_code = 1


@dataclass(frozen=True)
class Ahead:
    """What is made while candidates are thought of and compiled."""

    pool: ThreadPoolExecutor
    baseline: Future[Measured]
    reference: Future[Reference]
    widened: WidenedSource


@dataclass(frozen=True)
class Bench:
    """Everything that candidates for one kernel are held against. Valid inside `open_bench` only.

    `symbols` are the mangled names of all instances of the kernel.
    `timed_later`: a GPU decides about time, so the model only says in which order candidates are tried.
    """

    project: Project
    session: ProfileSession
    source: Path
    original: bytes
    kernel: KernelSyntax
    name: str
    symbols: frozenset[str]
    dispatches: tuple[CapturedDispatch, ...]
    facts: LaunchFacts
    facts_by_symbol: Mapping[str, LaunchFacts]
    compiled: CodeObject
    tool: ReplayTool
    work: Path
    ahead: Ahead
    timed_later: bool = False

    @property
    def baseline(self) -> Measured:
        """The kernel as it is, timed. Raises CannotJudge when it cannot be replayed."""
        return self.ahead.baseline.result()

    @property
    def reference(self) -> Reference:
        """The kernel as it is, ready to judge. Raises CannotJudge when no rewrite of it can be proved."""
        return self.ahead.reference.result()

    def prepare_precision(self) -> None:
        """Compile the kernel in double precision in the meantime: a candidate will probably ask for it."""
        self.ahead.pool.submit(self.ahead.widened.prepare)


@contextlib.contextmanager
def open_bench(
    project: Project,
    session: ProfileSession,
    kernel: Kernel,
    *,
    overlay: Mapping[Path, bytes] | None = None,
    work: Path | None = None,
    wait: bool = True,
    timed_later: bool = False,
    progress: Progress = lambda _message, _share: None,
    cancel: threading.Event | None = None,
) -> Iterator[Bench]:
    """Prepare the judgement of rewrites of `kernel`: find its source, replay and time the reference.

    Without `wait` the bench is there before its `baseline` and `reference` are: whoever asks for them waits. Both are
    taken up when the session has them prepared. Raises CannotJudge with the reason, or what the build raises. All that
    is written is removed at the end, unless `work` names a directory for it.
    """
    source, original, syntax = find_source(project, kernel, overlay or {})
    same = instances(session.profile, kernel)
    dispatches = _recorded(session, same)
    compiled = compile_device(project, session.toolchain, source, original, cancel=cancel)
    texts = texts_with_types(project, source, {**(overlay or {}), source: original})
    definitions = functools.cache(lambda: definitions_in(texts))
    by_symbol = launch_facts(dispatches, syntax, compiled, session.profile.device, definitions)
    syntax = see_through(syntax, callables_in(texts), definitions(), _same_types(syntax, by_symbol))
    with (
        work_directory("judge") if work is None else contextlib.nullcontext(work) as work,
        _threads(cancel) as (pool, stop),
    ):
        tool = replay_tool(project.config, session.toolchain, work)
        widened = WidenedSource(project, session.toolchain, source, original, tuple(by_symbol), stop)
        settings = Settings(
            tool=tool,
            cxxfilt=session.toolchain.bin / "llvm-cxxfilt",
            work=work / "proof",
            tolerance=UserTolerance(project.config.tolerance) if project.config.tolerance else None,
            tolerances=user_tolerances(project.config.accordo.tolerances),
            odd_workgroups=not (syntax.barriers or syntax.shared),
            larger_workgroups=False,  # all launches of this program are known
            widened=widened.kernel,
            less_precise=project.config.optimize.fast_math,  # who asks for it has agreed to less precision
            sanitize="all",
        )
        signature = Signature(
            names=tuple(p.name for p in syntax.parameters),
            types=tuple(p.type for p in syntax.parameters),
            members=pointers_inside(dispatches, syntax, definitions),
            structures=float_structures(dispatches, syntax, definitions),
        )
        progress("replaying the kernel as it is", None)
        ready = _prepared_folder(session, kernel)
        if ready is None:
            baseline = pool.submit(_timed, tool, dispatches, work / BASELINE, project, syntax.name, stop)
            reference = pool.submit(_replayed, dispatches, settings, signature, syntax.name, stop)
        else:
            baseline = pool.submit(read_measured, ready / BASELINE)
            reference = pool.submit(read_reference, ready, ready.parent, settings, signature)
        bench = Bench(
            project=project,
            session=session,
            source=source,
            original=original,
            kernel=syntax,
            name=kernel.name,
            symbols=frozenset(k.mangled for k in same),
            dispatches=dispatches,
            facts=_facts(same, by_symbol),
            facts_by_symbol=by_symbol,
            compiled=compiled,
            tool=tool,
            work=work,
            ahead=Ahead(pool, baseline, reference, widened),
            timed_later=timed_later,
        )
        if wait:
            baseline.result()
            reference.result()
        yield bench


@contextlib.contextmanager
def _threads(cancel: threading.Event | None) -> Iterator[tuple[ThreadPoolExecutor, Stop]]:
    """Threads and what ends their work; none of it outlives the block."""
    stop = Stop(cancel)
    with ThreadPoolExecutor(max_workers=3) as pool:
        try:
            yield pool, stop
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)


def kernel_folder(mangled: str) -> str:
    """The name of the directory that holds what was prepared for a kernel."""
    return f"kernel_{hashlib.sha256(mangled.encode()).hexdigest()[:16]}"


def _prepared_folder(session: ProfileSession, kernel: Kernel) -> Path | None:
    """What was prepared for the kernel; None when nothing was."""
    if session.prepared_dir is None:
        return None
    folder = session.prepared_dir / kernel_folder(kernel.mangled)
    return folder if folder.is_dir() else None


def _timed(
    tool: ReplayTool,
    dispatches: Sequence[CapturedDispatch],
    work: Path,
    project: Project,
    name: str,
    cancel: threading.Event,
) -> Measured:
    """The kernel as it is under the profiler. Raises CannotJudge."""
    found = measure(tool, dispatches, None, work, project.config.device, cancel)
    if isinstance(found, str):
        raise CannotJudge(f"`{name}` cannot be replayed: {found}")
    return found


def _replayed(
    dispatches: Sequence[CapturedDispatch],
    settings: Settings,
    signature: Signature,
    name: str,
    cancel: threading.Event,
) -> Reference:
    """The kernel as it is, as the measure of its rewrites. Raises CannotJudge."""
    reference = prepare_reference(dispatches, settings, signature, cancel=cancel)
    if reference.broken is not None:
        raise CannotJudge(f"no rewrite of `{name}` can be proved: {reference.broken}")
    return reference


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
                raise CannotJudge(
                    f"`{name}` is defined in {file}, outside of the project {project.root}. A hipscope.toml with "
                    "`build` and `run` in a folder above both makes them one project"
                )
            return file, text, found
    raise CannotJudge(f"the source of `{kernel.name}` was not found in the project")


def recorded_launches(
    project: Project,
    session: ProfileSession,
    source: Path,
    original: bytes,
    kernel: Kernel,
    syntax: KernelSyntax,
    cancel: threading.Event | None = None,
) -> LaunchFacts:
    """What a bench would know of the kernel's launches, without replaying anything. Raises as `open_bench` does."""
    same = instances(session.profile, kernel)
    dispatches = _recorded(session, same)
    compiled = compile_device(project, session.toolchain, source, original, cancel=cancel)
    definitions = functools.cache(
        lambda: definitions_in(texts_with_types(project, source, {source: original}))
    )
    by_symbol = launch_facts(dispatches, syntax, compiled, session.profile.device, definitions)
    return _facts(same, by_symbol)


def _same_types(kernel: KernelSyntax, symbols: Iterable[str]) -> dict[str, str]:
    """The template arguments that all recorded instances have in common."""
    first, *others = [template_values(kernel, demangle(symbol)) for symbol in symbols]
    return {n: v for n, v in first.items() if all(o.get(n) == v for o in others)}


def _facts(same: Sequence[Kernel], by_symbol: Mapping[str, LaunchFacts]) -> LaunchFacts:
    """The facts of all instances, with the largest workgroup of all launches, also those not recorded."""
    sizes = [math.prod(d.workgroup) for k in same for d in k.dispatches]
    return replace(all_facts(by_symbol), threads=max(sizes, default=0))


def _recorded(session: ProfileSession, same: Sequence[Kernel]) -> tuple[CapturedDispatch, ...]:
    if session.capture_dir is None:
        raise CannotJudge("the profile holds no recorded launches", "profile with the emulator")
    listed = read_capture_set(session.capture_dir)
    symbols = {k.mangled for k in same}
    dispatches = tuple(d for d in listed if d.kernel in symbols)
    if not dispatches:
        raise CannotJudge(
            f"no launch of `{base_name(same[0].name)}` was recorded, so no rewrite of it can be proved"
        )
    return dispatches
