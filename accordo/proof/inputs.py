"""What every proof is made with: how it replays, how strict it is, and what the source says of the kernel's parameters.

Takes the recorded launches of one kernel and, where there is one, its text; gives `ReferenceSettings` and
`Signature`. The command line, the editor and `accordo.api` all begin a proof here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from hipscope.accordo.compare.tolerance import UserTolerance, user_tolerances
from hipscope.accordo.dispatch.captured import CapturedDispatch
from hipscope.accordo.dispatch.parameters import signature_of
from hipscope.accordo.dispatch.signature import Signature
from hipscope.accordo.oracle.build import WidenedSource
from hipscope.accordo.oracle.launch import WidenedKernel
from hipscope.accordo.reference.settings import ReferenceSettings
from hipscope.accordo.replay.replay import ReplayTool
from hipscope.analysis.errors import BuildFailed, UsageError
from hipscope.analysis.run import Run
from hipscope.analysis.source.includes import included_files, texts_with_types
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.structures import Definitions, definitions_in
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.analysis.toolchain.build import compile_device, source_command
from hipscope.analysis.toolchain.code_object import CodeObject, read_code_object
from hipscope.analysis.toolchain.compile_commands import assumes_finite
from hipscope.analysis.toolchain.discovery import Toolchain
from hipscope.analysis.toolchain.libclang import instances_of
from hipscope.analysis.toolchain.project import Project
from hipscope.emulator.symbolize import demangle


@dataclass(frozen=True)
class Recording:
    """The recorded launches of one kernel, and what they are replayed with. `work` is a directory for that.

    `source` is None for a binary. `code` is the reference's machine code as the program loaded it.
    """

    kernel: str
    dispatches: tuple[CapturedDispatch, ...]
    source: Path | None
    project: Project
    toolchain: Toolchain
    tool: ReplayTool
    work: Path
    run: Run

    @property
    def code(self) -> CodeObject:
        """The code object of the first recorded launch."""
        return read_code_object(self.dispatches[0].code_object)


@dataclass(frozen=True)
class KernelText:
    """A kernel as its source has it. `texts` are those in which the types may be defined that it uses."""

    file: Path
    syntax: KernelSyntax
    texts: tuple[bytes, ...]

    def definitions(self) -> Definitions:
        """The structures of the program, read when they are first asked for."""
        return self._definitions

    @functools.cached_property
    def _definitions(self) -> Definitions:
        return definitions_in(self.texts)


def proof_inputs(
    recording: Recording,
    text: KernelText | None,
    *,
    tolerances: Mapping[str, UserTolerance] | None = None,
    rewrite: bool = False,
) -> tuple[ReferenceSettings, Signature]:
    """How to prove that something is the recorded kernel.

    `tolerances` are by name of the argument, over those of the project. `rewrite`: the candidates are rewrites for
    this program, whose launches are all known; a free candidate is also tried in larger workgroups.
    Raises UsageError for a tolerance of an argument that there is not.
    """
    config, work = recording.project.config, recording.work / "proof"
    known = argument_names(recording)
    signature = Signature(known)
    if text is not None:
        symbols = tuple(dict.fromkeys(d.kernel for d in recording.dispatches))
        of_compiler = (recording.project, recording.toolchain, text.file, recording.run, symbols)
        signature = signature_of(recording.dispatches, text.syntax, instances_of(*of_compiler))
    if unknown := sorted(set(tolerances or {}) - set(signature.names)):
        names = ", ".join(signature.names)
        raise UsageError(f"the kernel has no argument {unknown[0]!r}", f"it has: {names}")
    alone = text is not None and not (text.syntax.barriers or text.syntax.shared)
    return ReferenceSettings(
        tool=recording.tool,
        cxxfilt=recording.toolchain.bin / "llvm-cxxfilt",
        work=work,
        tolerance=UserTolerance(config.tolerance) if config.tolerance else None,
        tolerances={**user_tolerances(config.accordo.tolerances), **(tolerances or {})},
        odd_workgroups=rewrite and alone,
        larger_workgroups=not rewrite,
        widened=_widened(recording, text),
        less_precise=rewrite and config.optimize.fast_math,  # the setting agrees to less precision
        sanitize="all",
        finite_only=_assumes_finite(recording, text),
        require_all=config.accordo.require == "all",
        wrapped=_wrapped(recording, text),
    ), signature


def kernel_text(recording: Recording) -> KernelText | None:
    """The kernel in the recording's source or in what that includes; None for a binary, or where it is not found."""
    if recording.source is None:
        return None
    texts, root = recording.run.texts, recording.project.root
    name = base_name(demangle(recording.dispatches[0].kernel))
    for file in included_files(texts, (recording.source,), root):
        syntax = parse(texts.read(file) or b"").kernel(name)
        if syntax is not None:
            found = texts_with_types(texts, file, (recording.source, *recording.project.headers), root)
            return KernelText(file, syntax, found)
    return None


def argument_names(recording: Recording) -> tuple[str, ...]:
    """What arguments are called when no source names them."""
    return tuple(f"arg{i + 1}" for i in range(len(recording.dispatches[0].explicit_arguments)))


def _assumes_finite(recording: Recording, text: KernelText | None) -> bool:
    """Whether the program's compiler may assume that no float is NaN or infinite; not, where nobody can tell."""
    file = text.file if text is not None else recording.source
    if file is None:
        return False
    try:
        return assumes_finite(
            source_command(recording.project, recording.toolchain, file, recording.run).flags
        )
    except (BuildFailed, UsageError):
        return False


def _widened(recording: Recording, text: KernelText | None) -> Callable[[str], WidenedKernel | str] | None:
    source = text.file if text is not None else recording.source
    if source is None:
        return None
    return WidenedSource(recording.project, recording.toolchain, source, recording.run).kernel


def _wrapped(recording: Recording, text: KernelText | None) -> Callable[[], Path | None] | None:
    source, project = text.file if text is not None else recording.source, recording.project
    if source is None or project.build_kind != "single":
        return None
    flags = [*project.config.flags, "-fwrapv"]
    other = replace(project, config=project.config.model_copy(update={"flags": flags}))

    @functools.cache
    def compiled() -> Path | None:
        try:
            return compile_device(other, recording.toolchain, source, recording.run).path
        except BuildFailed:
            return None

    return compiled
