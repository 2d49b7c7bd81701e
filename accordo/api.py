"""Accordo from Python: record a program's launches, run other code on them, say whether it is the same function.

    from hipscope.accordo import api as accordo

    with accordo.capture("saxpy.hip", kernel="saxpy") as recording:
        verdict = accordo.compare(recording, "faster.hip")
        print(verdict.explain())

Sources and binaries may be mixed. Everything runs on the emulator, so no GPU is needed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hipscope.accordo.compare.tolerance import UserTolerance, user_tolerances
from hipscope.accordo.dispatch.captured import CapturedDispatch, read_capture_set
from hipscope.accordo.dispatch.element_types import MemberPointer
from hipscope.accordo.dispatch.signature import Signature
from hipscope.accordo.model.verdict import Verdict
from hipscope.accordo.oracle.build import WidenedSource
from hipscope.accordo.proof.validate import validate
from hipscope.accordo.reference.prepare import Reference, prepare_reference
from hipscope.accordo.reference.settings import Settings
from hipscope.accordo.replay.emulator_tool import replay_tool
from hipscope.accordo.replay.replay import Replay, ReplayTool, Request
from hipscope.accordo.replay.replay import replay as replay_dispatch
from hipscope.analysis.config import Config
from hipscope.analysis.errors import UsageError
from hipscope.analysis.profilers.base import ProfilerRun, program_failed
from hipscope.analysis.profilers.emulator import run_emulated
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.system.directories import work_directory
from hipscope.analysis.toolchain.build import BuiltProgram, build_program, compile_device
from hipscope.analysis.toolchain.code_object import (
    CodeObject,
    KernelMetadata,
    embedded_code_objects,
    read_code_object,
)
from hipscope.analysis.toolchain.discovery import Toolchain, find_toolchain
from hipscope.analysis.toolchain.project import Project, resolve_config, resolve_project
from hipscope.emulator.symbolize import demangle

_SOURCES = (".hip", ".cpp", ".cc", ".cxx", ".cu", ".c++")
Said = Callable[[str], None]


@dataclass(frozen=True)
class Recording:
    """The recorded launches of one kernel. Valid inside `capture` only.

    `source` is None for a binary. `code` is the reference's machine code as the program loaded it.
    """

    kernel: str
    dispatches: tuple[CapturedDispatch, ...]
    source: Path | None
    project: Project
    toolchain: Toolchain
    tool: ReplayTool
    work: Path

    @property
    def code(self) -> CodeObject:
        """The code object of the first recorded launch."""
        return read_code_object(self.dispatches[0].code_object)


@contextlib.contextmanager
def capture(
    program: str | os.PathLike[str],
    *,
    kernel: str,
    arguments: Sequence[str] = (),
    config: Config | None = None,
    progress: Said = lambda _: None,
    cancel: threading.Event | None = None,
) -> Iterator[Recording]:
    """Build (a source) and run a program on the emulator and record the launches of one kernel.

    `kernel` is its name in the source, or its mangled name. Raises UsageError when it is not launched, BuildFailed,
    ProgramFailed, MissingTool. What was recorded is removed at the end.
    """
    path = Path(program).absolute()
    if not path.exists():
        raise UsageError(f"{program}: no such file")
    settings = config or resolve_config(path)
    toolchain = find_toolchain(settings)
    project, built = _built(path, arguments, settings, toolchain, progress, cancel)
    with work_directory("accordo") as work:
        progress("running the reference")
        recorded = work / "dispatches"
        run = ProfilerRun(
            built=built, toolchain=toolchain, config=settings, device=settings.device,
            time_budget_s=settings.emulator.time_budget_s, directory=work, capture_kernels=(), cancel=cancel,
        )  # fmt: skip
        completed = run_emulated(run, None, recorded)
        launches = read_capture_set(recorded) if recorded.is_dir() else ()
        if not launches:
            raise program_failed(completed, settings.timeout_s)
        chosen = tuple(d for d in launches if kernel in (d.kernel, base_name(demangle(d.kernel))))
        if not chosen:
            known = ", ".join(sorted({base_name(demangle(d.kernel)) for d in launches}))
            raise UsageError(f"{path.name} launches no kernel {kernel!r}", f"it launches: {known}")
        source = path if is_source(path) else None
        yield Recording(
            kernel, chosen, source, project, toolchain, replay_tool(settings, toolchain, work), work
        )


def replay(
    recording: Recording, code: str | os.PathLike[str] | None = None, *, dispatch: int = 0, seed: int = 0
) -> Replay:
    """Run one recorded launch again, with other code if that is given; `Replay.after` gives the buffers it left.

    `code` is a source, a program or a code object. `seed` orders the waves.
    """
    chosen = recording.dispatches[dispatch]
    path = chosen.code_object if code is None else code_object_of(recording, Path(code).absolute()).path
    return replay_dispatch(
        recording.tool, Request(chosen, path, recording.work / f"replay_{seed}", seed=seed)
    )


def compare(
    recording: Recording,
    candidate: str | os.PathLike[str],
    *,
    exact: bool = False,
    tolerances: Mapping[str, UserTolerance] | None = None,
    names: Sequence[str] = (),
    types: Sequence[str] = (),
    members: Mapping[str, Mapping[int, tuple[MemberPointer, ...]]] | None = None,
    structures: Mapping[str, str] | None = None,
    progress: Said = lambda _: None,
    cancel: threading.Event | None = None,
) -> Verdict:
    """Is the kernel of `candidate` (a source, a program or a code object) the same function as the recorded one?

    `exact` asks for the same bits. `tolerances` are by name of the argument; `names` and `types` are the kernel's
    parameters in the source, else arguments are called `arg1`, `arg2`, ... `members` are the pointers in parameters
    that are structures, by mangled name of the kernel and number of the parameter; `structures` the types behind
    pointers that are structures of floats of one type, with that type.
    """
    compiled = code_object_of(recording, Path(candidate).absolute(), cancel)
    for dispatch in recording.dispatches:
        if (why := _unlike(recording.code.kernels[dispatch.kernel], compiled)) is not None:
            return Verdict(outcome="different", reason=f"Not equivalent: {why}.")
    reference = prepare(
        recording,
        tolerances=tolerances,
        names=names,
        types=types,
        members=members,
        structures=structures,
        progress=progress,
        cancel=cancel,
    )
    return validate(reference, compiled.path, exact=exact, progress=progress, cancel=cancel)


def code_object_of(recording: Recording, path: Path, cancel: threading.Event | None = None) -> CodeObject:
    """The machine code of a source (compiled like the reference), a program or a code object.

    Raises BuildFailed, and UsageError for a file that holds no code for the architecture.
    """
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    config = recording.project.config
    if is_source(path):
        project, text = recording.project, path.read_bytes()
        target = recording.source
        if target is None or target.parent != path.parent:
            project, target = Project(path.parent, path, (path,), config, (), "single"), path
        return compile_device(project, recording.toolchain, target, text, confined=True, cancel=cancel)
    data = path.read_bytes()
    if data[18:20] == b"\xe0\x00":  # e_machine is EM_AMDGPU: a plain code object
        return read_code_object(path)
    images = embedded_code_objects(path, config.arch)
    wanted = {d.kernel for d in recording.dispatches}
    for number, image in enumerate(images):
        file = recording.work / f"{path.name}.{number}.co"
        file.write_bytes(image)
        if wanted & (found := read_code_object(file)).kernels.keys():
            return found
    if not images:
        raise UsageError(f"{path}: holds no GPU code for {config.arch}")
    file = recording.work / f"{path.name}.0.co"
    return read_code_object(file)


def argument_names(recording: Recording) -> tuple[str, ...]:
    """What arguments are called when no source names them."""
    return tuple(f"arg{i + 1}" for i in range(len(recording.dispatches[0].explicit_arguments)))


def prepare(
    recording: Recording,
    *,
    tolerances: Mapping[str, UserTolerance] | None = None,
    names: Sequence[str] = (),
    types: Sequence[str] = (),
    members: Mapping[str, Mapping[int, tuple[MemberPointer, ...]]] | None = None,
    structures: Mapping[str, str] | None = None,
    progress: Said = lambda _: None,
    cancel: threading.Event | None = None,
) -> Reference:
    """The recorded kernel on all that a candidate is tried on: `validate` holds any number of them against it."""
    tolerances = tolerances or {}
    config = recording.project.config
    known = tuple(names) or argument_names(recording)
    if unknown := sorted(set(tolerances) - set(known)):
        raise UsageError(f"the kernel has no argument {unknown[0]!r}", f"it has: {', '.join(known)}")
    widened = None
    if recording.source is not None:
        text = recording.source.read_bytes()
        symbols = tuple(dict.fromkeys(d.kernel for d in recording.dispatches))
        widened = WidenedSource(
            recording.project, recording.toolchain, recording.source, text, symbols, cancel
        ).kernel
    work = recording.work / "proof"
    shutil.rmtree(work, ignore_errors=True)
    settings = Settings(
        tool=recording.tool,
        cxxfilt=recording.toolchain.bin / "llvm-cxxfilt",
        work=work,
        tolerance=UserTolerance(config.tolerance) if config.tolerance else None,
        tolerances={**user_tolerances(config.accordo.tolerances), **tolerances},
        widened=widened,
        sanitize="all",
    )
    signature = Signature(known, tuple(types), members or {}, structures or {})
    return prepare_reference(recording.dispatches, settings, signature, progress=progress, cancel=cancel)


def _unlike(reference: KernelMetadata, candidate: CodeObject) -> str | None:
    """Why the candidate's kernel cannot be launched as the reference is, or None."""
    name = demangle(reference.symbol)
    kernel = candidate.kernels.get(reference.symbol)
    if kernel is None:
        others = ", ".join(sorted(demangle(s) for s in candidate.kernels)) or "none"
        return f"the candidate has no kernel `{name}`; it has: {others}"
    layouts = [[(a.offset, a.size, a.value_kind) for a in k.explicit_arguments] for k in (reference, kernel)]
    return None if layouts[0] == layouts[1] else f"the arguments of `{name}` lie differently in memory"


def _built(
    path: Path,
    arguments: Sequence[str],
    config: Config,
    toolchain: Toolchain,
    progress: Said,
    cancel: threading.Event | None,
) -> tuple[Project, BuiltProgram]:
    if path.is_dir() or is_source(path):
        project = resolve_project(path, tuple(arguments), config)
        progress("compiling the reference")
        return project, build_program(project, toolchain, cancel=cancel)
    if not os.access(path, os.X_OK):
        raise UsageError(f"{path}: neither a HIP source nor a program")
    project = Project(path.parent, path, (), config, tuple(arguments), "single")
    built = BuiltProgram(
        argv=(str(path), *arguments), directory=Path.cwd(), env=config.env, compile_seconds=0.0, cached=True,
        code_objects=(), output="",
    )  # fmt: skip
    return project, built


def is_source(path: Path) -> bool:
    """Whether a file is compiled before it is compared, by its name."""
    return path.suffix in _SOURCES
