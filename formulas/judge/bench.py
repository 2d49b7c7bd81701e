"""What candidates for one kernel are held against: its source, its recorded launches, its replays and its time.

Takes a project, a profile and a kernel, gives a Bench for the length of a `with` block. It judges nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Generic, TypeVar

from hipscope.accordo.dispatch.captured import CapturedDispatch, how_to_replay, read_capture_set
from hipscope.accordo.dispatch.heaviest_launches import with_heaviest
from hipscope.accordo.dispatch.parameters import template_values
from hipscope.accordo.dispatch.signature import Signature
from hipscope.accordo.oracle.launch import WidenedKernel
from hipscope.accordo.proof.inputs import KernelText, Recording, proof_inputs
from hipscope.accordo.reference.prepare import Reference, prepare_reference
from hipscope.accordo.reference.saved import read_reference
from hipscope.accordo.reference.settings import ReferenceSettings
from hipscope.accordo.replay.emulator_tool import replay_tool
from hipscope.accordo.replay.replay import ReplayTool
from hipscope.analysis.errors import HipscopeError
from hipscope.analysis.metrics.line_costs import is_foreign
from hipscope.analysis.profile import Kernel
from hipscope.analysis.run import Run
from hipscope.analysis.runs.profile_project import ProfileSession
from hipscope.analysis.semantics.meaning import Meaning
from hipscope.analysis.source.functions import callables_in
from hipscope.analysis.source.includes import texts_with_types
from hipscope.analysis.source.inlining import see_through
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.system.directories import work_directory
from hipscope.analysis.system.process import Stop
from hipscope.analysis.toolchain.build import compile_device, other_sources
from hipscope.analysis.toolchain.code_object import CodeObject
from hipscope.analysis.toolchain.libclang import meaning_of
from hipscope.analysis.toolchain.project import Project, find_sources
from hipscope.emulator.symbolize import demangle
from hipscope.formulas.facts.called_functions import CalledFunction, called_functions, hottest
from hipscope.formulas.facts.host_values import HostCode
from hipscope.formulas.facts.launch_facts import LaunchFacts, SourceTypes
from hipscope.formulas.facts.recorded_launches import all_facts, launch_facts
from hipscope.formulas.facts.source_types import source_types, template_numbers
from hipscope.formulas.facts.template_instances import instances
from hipscope.formulas.judge.timed_replay import (
    LostGains,
    Measured,
    Part,
    TimesAt,
    measure,
    measure_part,
    plan_part,
    read_measured,
)
from hipscope.formulas.propose.candidate import Candidate

_T = TypeVar("_T")
BASELINE = "baseline"
_REFERENCE = (
    3.0  # times the program's run: before its first launch is through; on public programs it took 2 to 4
)
_PROOF = 0.5  # of what the reference took: it makes two replays on each input, a candidate most often one
_WHOLE_PROGRAM = 1.5  # runs: with the rewrite, and the original once more by another clock, without times
_MOST_SOURCES = 16  # that the compiler is asked about for the size of a launch
_HIP_ONLY = (".cu", ".cuh", ".hip")  # what no compiler of host code alone reads


class CannotJudge(HipscopeError):
    """There is nothing to hold a candidate against: no source, no recorded launch, no stable reference."""

    exit_code = 1


class OnDemand(Generic[_T]):
    """Work of a pool that begins when it is first asked for. Safe to ask from several threads."""

    def __init__(self, pool: ThreadPoolExecutor, work: Callable[[], _T]) -> None:
        self._pool, self._work = pool, work
        self._lock = threading.Lock()
        self._future: Future[_T] | None = None
        self._begun = self._ended = math.inf
        self.part = 0.0
        """Of the work, which is through."""

    def begin(self) -> Future[_T]:
        """The work, which goes on beside what the caller does."""
        with self._lock:
            if self._future is None:
                self._begun = time.monotonic()
                self._future = self._pool.submit(self._work)
                self._future.add_done_callback(self._end)
            return self._future

    def done(self) -> bool:
        """Whether its result is there."""
        return self._future is not None and self._future.done()

    @property
    def seconds(self) -> float:
        """What it has taken so far."""
        return max(0.0, min(self._ended, time.monotonic()) - self._begun)

    def _end(self, _future: Future[_T]) -> None:
        self._ended = time.monotonic()


@dataclass(frozen=True)
class BackgroundWork:
    """What is made while candidates are thought of and compiled.

    The reference is most of the work, and only what is fast enough is held against it: it waits for the first such one.
    """

    pool: ThreadPoolExecutor
    baseline: Future[Measured]
    reference: OnDemand[Reference]
    part: OnDemand[Part | None]
    widened: Callable[[str], WidenedKernel | str] | None


@dataclass(frozen=True)
class Bench:
    """Everything that candidates for one kernel are held against. Valid inside `open_bench` only.

    `symbols` are the mangled names of all instances of the kernel. `run` is the one that opened it.
    `functions` are the hot ones that the kernel calls, with why not, where one may not be rewritten for it;
    `other_files` are those of the project that it runs code of, beside `source`.
    `timed_later`: a GPU decides about time, so the model only says in which order candidates are tried.
    `lost_gains` are those that the program did not show so far, `times_at` those of the longest launch as it is with
    other constants of the model. `passed_over` are titles of candidates than which the user wants another.
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
    ahead: BackgroundWork
    run: Run
    timed_later: bool = False
    functions: tuple[CalledFunction, ...] = ()
    other_files: tuple[Path, ...] = ()
    lost_gains: LostGains = field(default_factory=LostGains)
    passed_over: frozenset[str] = frozenset()
    times_at: TimesAt = field(default_factory=dict)

    def edited_text(self, candidate: Candidate) -> bytes:
        """What a candidate's file holds before it."""
        return self.original if candidate.file is None else self.run.texts.needed(candidate.file)

    def not_launched(self, compiled: CodeObject) -> frozenset[str]:
        """The instances of the kernel's template in a source's code that the program does not launch."""
        launched = self.symbols | {k.mangled for k in self.session.profile.kernels}
        there = (s for s in compiled.kernels if is_instance(s, self.kernel.name))
        return frozenset(there) - launched

    def other_sources(self, candidate: Candidate) -> tuple[Path, ...]:
        """The sources whose GPU code a candidate's file is compiled into, beside that of `compiled`."""
        toolchain, file = self.session.toolchain, candidate.file or self.source
        return other_sources(self.project, toolchain, file, self.source, self.run)

    @property
    def baseline(self) -> Measured:
        """The kernel as it is, timed. Raises CannotJudge when it cannot be replayed."""
        return self.ahead.baseline.result()

    @property
    def part(self) -> Part | None:
        """The part of the device on which variants are ranked; None where their launches are timed in full."""
        return self.ahead.part.begin().result()

    @property
    def reference(self) -> Reference:
        """The kernel as it is, ready to judge. Raises CannotJudge when no rewrite of it can be proved."""
        return self.ahead.reference.begin().result()

    @property
    def seconds_to_verify(self) -> float:
        """What it takes to prove a candidate that was timed and to run the program with it, as far as that is known."""
        spent, program = self.ahead.reference.seconds, self.session.seconds
        part = self.ahead.reference.part
        reference = spent / part if part else max(spent, _REFERENCE * program)
        return reference - spent + _PROOF * reference + _WHOLE_PROGRAM * program

    def prepare_precision(self) -> None:
        """Compile the kernel in double precision in the meantime: a candidate will probably ask for it."""
        if self.ahead.widened is not None:
            for symbol in self.facts_by_symbol:
                self.ahead.pool.submit(self.ahead.widened, symbol)


@contextlib.contextmanager
def open_bench(
    project: Project,
    session: ProfileSession,
    kernel: Kernel,
    run: Run | None = None,
    *,
    work: Path | None = None,
    wait: bool = True,
    timed_later: bool = False,
) -> Iterator[Bench]:
    """Prepare the judgement of rewrites of `kernel`: find its source, replay and time the reference.

    Without `wait` the bench is there before its `baseline` is, and its `reference` begins when it is asked for: reading
    them waits. Both are taken up when the session has them prepared. Raises CannotJudge with the reason, or what the
    build raises. All that is written is removed at the end, unless `work` names a directory for it.
    """
    run = run or Run()
    found = find_source(project, kernel, run.texts)
    same = instances(session.profile, kernel)
    dispatches = _recorded(session, same)
    compiled = compile_device(project, session.toolchain, found.file, run, first=True)
    check_code(kernel, found.file, compiled)
    meaning, by_symbol, facts = _known(project, session, kernel, found, dispatches, compiled, run)
    shared = _same_types(found.syntax, _instances(found.syntax, compiled, by_symbol))
    callables = callables_in(found.texts)
    syntax = see_through(found.syntax, callables, found.definitions(), shared)
    functions = [
        replace(f, syntax=see_through(f.syntax, callables, found.definitions()))
        for f in _functions(project, session, same, meaning, facts, run)
    ]
    with (
        work_directory("judge") if work is None else contextlib.nullcontext(work) as work,
        _threads(run.cancel) as (pool, stop),
    ):
        tool = replay_tool(project.config, session.toolchain, work, program_seconds=session.seconds)
        tool = replace(tool, replays=run.replays)
        until = run.quietly().until(stop)
        recording = Recording(
            syntax.name, dispatches, found.file, project, session.toolchain, tool, work, until
        )
        settings, signature = proof_inputs(recording, found, rewrite=True)
        run.say("replaying the kernel as it is")
        ready = _prepared_folder(session, kernel)
        if ready is None:
            baseline = pool.submit(_timed, recording, work / BASELINE)

            def through(part: float) -> None:
                reference.part = part

            reference = OnDemand(pool, lambda: _replayed(recording, settings, signature, through))
        else:
            baseline = pool.submit(read_measured, ready / BASELINE, run.texts)
            reference = OnDemand(pool, lambda: read_reference(ready, ready.parent, settings, signature))
            reference.begin()
        part = OnDemand(pool, lambda: _timed_in_part(recording, same, work / "part"))
        bench = Bench(
            project=project,
            session=session,
            source=found.file,
            original=run.texts.needed(found.file),
            kernel=syntax,
            name=kernel.name,
            symbols=frozenset(k.mangled for k in same),
            dispatches=dispatches,
            facts=facts,
            facts_by_symbol=by_symbol,
            compiled=compiled,
            tool=tool,
            work=work,
            ahead=BackgroundWork(pool, baseline, reference, part, settings.widened),
            run=run,
            timed_later=timed_later,
            functions=tuple(functions),
            other_files=_other_files(project, session, same, found.file),
        )
        if wait:
            reference.begin()
            baseline.result()
            reference.begin().result()
        yield bench


def check_code(kernel: Kernel, file: Path, compiled: CodeObject) -> None:
    """Raises CannotJudge when the code that is compiled of a file does not hold the kernel: no text could change it."""
    name = base_name(kernel.name)
    if all(base_name(demangle(symbol)) != name for symbol in compiled.kernels):
        raise CannotJudge(
            f"`{name}` is not in the code that the source with {file.name} is compiled to",
            "the build compiles the file for another source as well; compile that one by a call of its own",
        )


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


def _timed(recording: Recording, work: Path) -> Measured:
    """The kernel as it is under the profiler. Raises CannotJudge."""
    device = recording.project.config.device
    found = measure(recording.tool, recording.dispatches, None, work, device, recording.run)
    if isinstance(found, str):
        raise CannotJudge(f"`{recording.kernel}` cannot be replayed: {found}")
    return found


def _timed_in_part(recording: Recording, kernels: Sequence[Kernel], work: Path) -> Part | None:
    device, tool = recording.project.config.device, recording.tool
    plan = plan_part(device, recording.dispatches, kernels) if tool.batches else None
    return None if plan is None else measure_part(tool, plan, work, device, recording.run)


def _replayed(
    recording: Recording,
    settings: ReferenceSettings,
    signature: Signature,
    progress: Callable[[float], None],
) -> Reference:
    """The kernel as it is, as the measure of its rewrites. Raises CannotJudge."""
    reference = prepare_reference(recording.dispatches, settings, signature, recording.run, progress)
    if reference.broken is not None:
        raise CannotJudge(f"no rewrite of `{recording.kernel}` can be proved: {reference.broken}")
    return reference


def find_source(project: Project, kernel: Kernel, texts: SourceTexts) -> KernelText:
    """The file that defines the kernel, and the kernel in it. Raises CannotJudge."""
    name = base_name(kernel.name)
    if of_a_library(kernel, texts):
        raise CannotJudge(
            f"`{name}` is a kernel of a library ({kernel.file}), whose files are not edited",
            "what the program hands to it, such as a functor, can be made faster; findings name the lines of that",
        )
    named = [project.root / kernel.file] if kernel.file else []
    for path in [*named, *project.sources]:
        file = path.absolute()
        text = texts.read(file)
        if text is None:
            continue
        read = parse(text)
        at_line = read.kernel_at(kernel.line) if kernel.line and path in named else None
        syntax = at_line if at_line is not None and at_line.name == name else read.kernel(name)
        if syntax is not None:
            if not file.resolve().is_relative_to(project.root.resolve()):
                raise CannotJudge(
                    f"`{name}` is defined in {file}, outside of the project {project.root}. A hipscope.toml with "
                    "`build` and `run` in a folder above both makes them one project"
                )
            around = texts_with_types(texts, file, project.headers, project.root)
            return KernelText(file, syntax, around)
    raise CannotJudge(_why_not_found(name, [*named, *project.sources], kernel, texts))


def _why_not_found(name: str, files: Iterable[Path], kernel: Kernel, texts: SourceTexts) -> str:
    """Why no file has the kernel: one that names it may hold text that cannot be read."""
    definition = re.compile(rb"__global__[^;{]*\b%s\s*\(" % re.escape(name.encode()))
    for file in files:
        text = texts.read(file.absolute()) or b""
        if (found := definition.search(text)) is not None:
            line = text.count(b"\n", 0, found.end()) + 1
            errors = parse(text).errors
            near = f": line {min(errors, key=lambda n: abs(n - line))} is not understood" if errors else ""
            return f"`{name}` stands in {file.name}, line {line}, in text that cannot be read{near}"
    return f"the source of `{kernel.name}` was not found in the project"


def of_a_library(kernel: Kernel, texts: SourceTexts) -> bool:
    """Whether a header of ROCm or the system defines the kernel. The program's kernel of that name is another one."""
    if not kernel.file or not is_foreign(kernel.file):
        return False
    name = re.compile(rb"\b%s\b" % re.escape(base_name(kernel.name).encode()))
    return name.search(texts.read(Path(kernel.file)) or b"") is not None


def recorded_launches(
    project: Project, session: ProfileSession, kernel: Kernel, found: KernelText, run: Run
) -> LaunchFacts:
    """What a bench would know of the kernel's launches, without replaying anything. Raises as `open_bench` does."""
    dispatches = _recorded(session, instances(session.profile, kernel))
    compiled = compile_device(project, session.toolchain, found.file, run)
    return _known(project, session, kernel, found, dispatches, compiled, run)[2]


def _known(
    project: Project,
    session: ProfileSession,
    kernel: Kernel,
    found: KernelText,
    dispatches: Sequence[CapturedDispatch],
    compiled: CodeObject,
    run: Run,
) -> tuple[Meaning | None, dict[str, LaunchFacts], LaunchFacts]:
    """What the compiler says of the kernel's file, and the facts of its instances, alone and together."""
    symbols = tuple(dict.fromkeys(d.kernel for d in dispatches))
    meaning = meaning_of(project, session.toolchain, found.file, run, symbols)
    said = meaning.function if meaning is not None else lambda _symbol: None
    by_symbol = launch_facts(dispatches, found.syntax, compiled, session.profile.device, said)
    written = _written(project, session, kernel, run, by_symbol)
    types = _types(meaning, found, run, by_symbol, compiled)
    return meaning, by_symbol, _facts(instances(session.profile, kernel), by_symbol, types, written)


def _instances(kernel: KernelSyntax, compiled: CodeObject, recorded: Iterable[str]) -> tuple[str, ...]:
    """The symbols that the kernel's text is compiled to, those that are not launched as well: it is one text for all
    of them.
    """
    others = (s for s in compiled.kernels if is_instance(s, kernel.name))
    return tuple(dict.fromkeys((*recorded, *others)))


def is_instance(symbol: str, name: str) -> bool:
    """Whether the symbol is an instance of a template of that name."""
    readable = demangle(symbol)
    return "<" in readable and base_name(readable) == name


def _same_types(kernel: KernelSyntax, symbols: Iterable[str]) -> dict[str, str]:
    """The template arguments that all these instances have in common."""
    first, *others = [template_values(kernel, demangle(symbol)) for symbol in symbols]
    return {n: v for n, v in first.items() if all(o.get(n) == v for o in others)}


def _facts(
    same: Sequence[Kernel], by_symbol: Mapping[str, LaunchFacts], types: SourceTypes, written: int | None
) -> LaunchFacts:
    """The facts of all instances, with the largest workgroup of all launches, also those not recorded."""
    sizes = [math.prod(d.workgroup) for k in same for d in k.dispatches]
    return replace(all_facts(by_symbol), threads=max(sizes, default=0), types=types, written=written)


def _written(
    project: Project, session: ProfileSession, kernel: Kernel, run: Run, symbols: Collection[str]
) -> int | None:
    """The largest workgroup of all launches in the program's text; None where a run decides the size of one."""
    name = base_name(kernel.name)
    encoded = f"{len(name)}{name}"  # as it stands in the mangled name of every instance
    sources = list(dict.fromkeys(project.sources))
    there = [s for s in sources if name.encode() in (run.texts.read(s) or b"")]
    read = _meanings(project, session, there, run, symbols)
    launches = {launch for meaning in read or () for launch in meaning.launches()}
    mine = [launch for launch in launches if launch.kernel == name or encoded in launch.kernel]
    if read is None or not mine:
        return None
    sizes = [launch.block_value for launch in mine]
    if None in sizes:
        compiled = [source for source in sources if source not in project.headers]
        few = len(compiled) <= _MOST_SOURCES
        read = _meanings(project, session, compiled, run, symbols) if few else None
        host = _host_code(project, read, run) if read is not None else None
        sizes = [host.most_threads(launch) for launch in mine] if host is not None else sizes
    known = [size for size in sizes if size is not None]
    return max(known) if len(known) == len(sizes) else None


def _host_code(project: Project, read: Iterable[Meaning], run: Run) -> HostCode:
    """All host code of a program of which each source was read."""
    own = {file.absolute() for file in project.sources}
    built = find_sources(project.directory, project.config) if project.build_kind == "command" else ()
    others = [file for file in built if file.suffix not in _HIP_ONLY and file.absolute() not in own]
    return HostCode(
        [call for meaning in read for call in meaning.host_calls],
        [one for meaning in read for one in meaning.host_assignments],
        {file: run.texts.read(file) or b"" for file in own},
        [run.texts.read(file) or b"" for file in others],
    )


def _meanings(
    project: Project, session: ProfileSession, sources: Iterable[Path], run: Run, symbols: Collection[str]
) -> list[Meaning] | None:
    """What the compiler says of all of these; None where it cannot be asked about one."""
    read = [meaning_of(project, session.toolchain, source, run, symbols) for source in sources]
    known = [meaning for meaning in read if meaning is not None]
    return known if len(known) == len(read) else None


def _types(
    meaning: Meaning | None, found: KernelText, run: Run, symbols: Collection[str], compiled: CodeObject
) -> SourceTypes:
    """What the compiler says of the types in the kernel; only its template's numbers where it cannot be asked."""
    values = template_numbers(found.syntax, _instances(found.syntax, compiled, symbols))
    if meaning is None:
        return SourceTypes(values=values)
    types = source_types(meaning, symbols, found.file, run.texts.needed(found.file), run.texts)
    return replace(types, values=values)


def _functions(
    project: Project,
    session: ProfileSession,
    same: Sequence[Kernel],
    meaning: Meaning | None,
    facts: LaunchFacts,
    run: Run,
) -> tuple[CalledFunction, ...]:
    """The hot functions of the project that the kernel calls; fixed are those that too many sources are compiled of."""
    units = session.built.units
    if meaning is None or not facts.launches:
        return ()
    root = project.root.resolve()
    everywhere = frozenset(file for unit, read in units.items() for file in (unit, *read))
    called = called_functions(meaning, {k.mangled for k in same}, facts, run.texts, root, everywhere)
    found = []
    for function in hottest(called, same):
        if not function.file.resolve().is_relative_to(root):
            continue
        reading = sum(function.file in {unit, *read} for unit, read in units.items())
        if not 1 <= reading <= _MOST_SOURCES:
            function = replace(function, fixed=f"{function.file.name} is compiled into {reading} sources")
        elif reading > 1:  # kernels of the others may call it with what overlaps
            facts = replace(function.facts, promised=frozenset(), disjoint=frozenset())
            function = replace(function, facts=facts)
        found.append(function)
    # As they stand: what an edit puts beside the first of two equally good ones is there for the other, too.
    return tuple(sorted(found, key=lambda f: (f.file, f.syntax.span.start)))


def _other_files(
    project: Project, session: ProfileSession, same: Sequence[Kernel], source: Path
) -> tuple[Path, ...]:
    """The files of the project that instructions of the kernel come from, beside its own; not those of many sources."""
    units, root = session.built.units, project.root.resolve()
    reading = Counter(file.resolve() for unit, read in units.items() for file in {unit, *read})
    named = {f.file for k in same for i in k.instructions for f in i.source if f.file is not None}
    found = {Path(name).resolve() for name in named} - {source.resolve()}
    return tuple(
        file for file in sorted(found) if file.is_relative_to(root) and 1 <= reading[file] <= _MOST_SOURCES
    )


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
    recorded = tuple(d for d in dispatches if not d.unusable)
    if not recorded:
        raise CannotJudge(
            f"no launch of `{base_name(same[0].name)}` can be replayed: {dispatches[0].reason}",
            how_to_replay(dispatches[0]),
        )
    return with_heaviest(recorded, {d.id: d.time_ns for k in same for d in k.dispatches})
