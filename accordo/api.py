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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from hipscope.accordo.compare.tolerance import UserTolerance
from hipscope.accordo.dispatch.captured import how_to_replay, read_capture_set
from hipscope.accordo.dispatch.signature import Signature
from hipscope.accordo.model.verdict import Verdict
from hipscope.accordo.proof.inputs import Recording as Recording
from hipscope.accordo.proof.inputs import kernel_text, proof_inputs
from hipscope.accordo.proof.validate import validate
from hipscope.accordo.reference.prepare import Reference, prepare_reference
from hipscope.accordo.replay.emulator_tool import replay_tool
from hipscope.accordo.replay.replay import Replay, ReplayRequest
from hipscope.accordo.replay.replay import replay as replay_dispatch
from hipscope.analysis.build_files.source_files import HEADER_SUFFIXES, PROGRAM_SUFFIXES
from hipscope.analysis.config import Config
from hipscope.analysis.errors import UsageError
from hipscope.analysis.profilers.base import ProfilerRun, program_failed
from hipscope.analysis.profilers.emulator import run_emulated
from hipscope.analysis.run import Run
from hipscope.analysis.runs.buildable import buildable_project
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.system.directories import work_directory
from hipscope.analysis.system.places import named
from hipscope.analysis.toolchain.build import BuiltProgram, build_program, compile_device, precompile_headers
from hipscope.analysis.toolchain.code_object import (
    CodeObject,
    KernelMetadata,
    embedded_code_objects,
    read_code_object,
)
from hipscope.analysis.toolchain.discovery import Toolchain, find_toolchain
from hipscope.analysis.toolchain.project import Project, resolve_config
from hipscope.emulator.symbolize import demangle

_SOURCES = (*PROGRAM_SUFFIXES, ".c++", *HEADER_SUFFIXES)


@contextlib.contextmanager
def capture(
    program: str | os.PathLike[str],
    *,
    kernel: str,
    arguments: Sequence[str] = (),
    bench: str | None = None,
    config: Config | None = None,
    run: Run | None = None,
) -> Iterator[Recording]:
    """Build (a source) and run a program on the emulator and record the launches of one kernel.

    `kernel` is its name in the source, or its mangled name; `bench` names a bench of the source. Raises
    UsageError when it is not launched, BuildFailed, ProgramFailed, MissingTool. What was recorded is removed at the
    end.
    """
    run, path = run or Run(), named(Path(program))
    if not path.exists():
        raise UsageError(f"{program}: no such file")
    settings = config or resolve_config(path)
    toolchain = find_toolchain(settings)
    project, built = _built(path, arguments, bench, settings, toolchain, run)
    with work_directory("accordo") as work:
        run.say("running the reference")
        recorded = work / "dispatches"
        job = ProfilerRun(
            built=built, toolchain=toolchain, config=settings, device=settings.device,
            time_budget_s=settings.emulator.time_budget_s, directory=work, capture_kernels=(), run=run,
        )  # fmt: skip
        completed = run_emulated(job, None, recorded)
        launches = read_capture_set(recorded) if recorded.is_dir() else ()
        if not launches:
            raise program_failed(completed, settings.timeout_s)
        chosen = tuple(d for d in launches if kernel in (d.kernel, base_name(demangle(d.kernel))))
        if not chosen:
            known = ", ".join(sorted({base_name(demangle(d.kernel)) for d in launches}))
            raise UsageError(f"{path.name} launches no kernel {kernel!r}", f"it launches: {known}")
        replayable = tuple(d for d in chosen if not d.unusable)
        if not replayable:
            raise UsageError(
                f"no launch of {kernel!r} can be replayed: {chosen[0].reason}", how_to_replay(chosen[0])
            )
        source = project.own_source if path.is_dir() or is_source(path) else None
        tool = replay_tool(settings, toolchain, work)
        yield Recording(kernel, replayable, source, project, toolchain, tool, work, run)


def replay(
    recording: Recording, code: str | os.PathLike[str] | None = None, *, dispatch: int = 0, seed: int = 0
) -> Replay:
    """Run one recorded launch again, with other code if that is given; `Replay.after` gives the buffers it left.

    `code` is a source, a program or a code object. `seed` orders the waves.
    """
    chosen = recording.dispatches[dispatch]
    path = chosen.code_object if code is None else code_object_of(recording, named(Path(code))).path
    return replay_dispatch(
        recording.tool, ReplayRequest(chosen, path, recording.work / f"replay_{seed}", seed=seed)
    )


def compare(
    recording: Recording,
    candidate: str | os.PathLike[str],
    signature: Signature | None = None,
    *,
    exact: bool = False,
    tolerances: Mapping[str, UserTolerance] | None = None,
) -> Verdict:
    """Is the kernel of `candidate` (a source, a program or a code object) the same function as the recorded one?

    `exact` asks for the same bits. `tolerances` are by name of the argument. `signature` says what the parameters are
    where that is not what the recorded source says; those of a binary are called `arg1`, `arg2`, ...
    """
    compiled = code_object_of(recording, named(Path(candidate)))
    for dispatch in recording.dispatches:
        if (why := _unlike(recording.code.kernels[dispatch.kernel], compiled)) is not None:
            return Verdict(outcome="different", reason=f"Not equivalent: {why}.")
    reference = prepare(recording, signature, tolerances=tolerances)
    return validate(reference, compiled.path, recording.run, exact=exact)


def code_object_of(recording: Recording, path: Path) -> CodeObject:
    """The machine code of a source (compiled like the reference), a program or a code object.

    Raises BuildFailed, and UsageError for a file that holds no code for the architecture.
    """
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    config = recording.project.config
    if is_source(path):
        project, run = recording.project, recording.run
        target = recording.source
        if target is None or (target.parent != path.parent and project.subject is None):
            project, target = Project(path.parent, path, (path,), config, (), "single"), path
        candidate = run.replacing(target, run.texts.needed(path))
        return compile_device(project, recording.toolchain, target, candidate, confined=True)
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


def prepare(
    recording: Recording,
    signature: Signature | None = None,
    *,
    tolerances: Mapping[str, UserTolerance] | None = None,
) -> Reference:
    """The recorded kernel on all that a candidate is tried on: `validate` holds any number of them against it."""
    settings, own = proof_inputs(recording, kernel_text(recording), tolerances=tolerances)
    shutil.rmtree(settings.work, ignore_errors=True)
    return prepare_reference(recording.dispatches, settings, signature or own, recording.run)


def _unlike(reference: KernelMetadata, candidate: CodeObject) -> str | None:
    """Why the candidate's kernel cannot be launched as the reference is, or None."""
    name = demangle(reference.symbol)
    kernel = candidate.kernels.get(reference.symbol)
    if kernel is None:
        others = ", ".join(sorted(demangle(s) for s in candidate.kernels)) or "none"
        return f"the candidate has no kernel `{name}`; it has: {others}"
    return (
        None if reference.layout == kernel.layout else f"the arguments of `{name}` lie differently in memory"
    )


def _built(
    path: Path,
    arguments: Sequence[str],
    bench: str | None,
    config: Config,
    toolchain: Toolchain,
    run: Run,
) -> tuple[Project, BuiltProgram]:
    if path.is_dir() or is_source(path):
        project = buildable_project(path, tuple(arguments), config, run, bench=bench)
        run.say("compiling the reference")
        built = build_program(project, toolchain, run)
        # For the candidates and the kernel in double precision, which begin as the reference does.
        precompile_headers(project, toolchain, run, sides=("device",), shared=True)
        return project, built
    if not os.access(path, os.X_OK):
        raise UsageError(f"{path}: neither a HIP source nor a program")
    project = Project(path.parent, path, (), config, tuple(arguments), "single")
    built = BuiltProgram(
        argv=(str(path), *arguments), directory=Path.cwd(), tree=Path.cwd(), env=config.env,
        compile_seconds=0.0, cached=True, code_objects=(), output="",
    )  # fmt: skip
    return project, built


def is_source(path: Path) -> bool:
    """Whether a file is compiled before it is compared, by its name."""
    return path.suffix in _SOURCES
