"""What a program needs of the emulator, and what of that it does not have, found without running anything.

Takes a HIP source or project (compiled for the chosen target), or a host program, shared library, bundle or code
object; gives the mnemonics of every kernel, the instructions that are not executed, and the HIP calls and libraries
that are not emulated. What counts as executed is asked of the emulator's own decoder.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from hipscope.analysis.config import Config
from hipscope.analysis.errors import HipscopeError, MissingTool, UsageError
from hipscope.analysis.system.directories import work_directory
from hipscope.analysis.system.process import ProcessStreams, run_process
from hipscope.analysis.toolchain.build import build_program
from hipscope.analysis.toolchain.code_object import code_object_metadata, gpu_images
from hipscope.analysis.toolchain.discovery import Toolchain, find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.emulator.devices import device_table
from hipscope.emulator.runner import NativePartsMissing, coverage_executable, native_library_dir
from hipscope.emulator.symbolize import Position, Symbolizer, demangle

_SECONDS = 120.0
_LONG = ProcessStreams(max_output=1 << 30)
_ELF, _BUNDLE, _COMPRESSED = b"\x7fELF", b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"
_INSTRUCTION = re.compile(r"^\s+(\S+).*// ([0-9A-Fa-f]+): ", re.MULTILINE)
_NOT_EMULATED_LIBRARY = re.compile(
    r"^lib(roc(blas|fft|rand|solver|sparse|alution)|hip(blas|blaslt|fft|rand|solver|sparse)|MIOpen|rccl|hsa-runtime64)"
)


@dataclass(frozen=True)
class NotExecuted:
    """An instruction that is not executed; `positions` is its inline chain, empty without debug lines."""

    mnemonic: str
    text: str
    address: int
    reason: str
    positions: tuple[Position, ...]


@dataclass(frozen=True)
class FunctionCoverage:
    """One kernel, or a device function that was not inlined. `mnemonics` counts the static instructions."""

    name: str
    mangled: str
    kernel: bool
    mnemonics: Mapping[str, int]
    not_executed: tuple[NotExecuted, ...]


@dataclass(frozen=True)
class CodeObjectCoverage:
    """The device code for one target; `executed` says whether the emulator models any GPU with it."""

    target: str
    executed: bool
    functions: tuple[FunctionCoverage, ...]

    @property
    def complete(self) -> bool:
        """Everything in it can be run."""
        return self.executed and not any(f.not_executed for f in self.functions)


@dataclass(frozen=True)
class RuntimeCoverage:
    """The HIP calls that a host binary imports: all of them, those that are refused when called, those that are absent.

    `libraries` are the GPU libraries it is linked with that have no emulation.
    """

    imported: tuple[str, ...]
    refused: tuple[str, ...]
    absent: tuple[str, ...]
    libraries: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Every call and library is emulated."""
        return not (self.refused or self.absent or self.libraries)


@dataclass(frozen=True)
class Coverage:
    """The whole answer for one file; `runtime` is None when there is no host binary to look at."""

    file: str
    code_objects: tuple[CodeObjectCoverage, ...]
    runtime: RuntimeCoverage | None

    @property
    def complete(self) -> bool:
        """Nothing in the file stops the emulator: one target at least is complete, and the calls are there."""
        runs = any(c.complete for c in self.code_objects)
        return runs and (self.runtime is None or self.runtime.complete)


def examine_file(target: Path, config: Config) -> Coverage:
    """Look at a source, directory or binary.

    Raises `UsageError` for a file that is none of them or has no device code, `BuildFailed` when a source does not
    compile, `MissingTool` without compiler or emulator.
    """
    toolchain = find_toolchain(config)
    binary = target
    if not _is_binary(target):
        built = build_program(resolve_project(target, config=config), toolchain)
        if not built.code_objects:
            raise UsageError(
                f"{target}: its build command makes the program, so which file holds device code is not known here",
                "name the built program instead",
            )
        binary = Path(built.argv[0])
    images = gpu_images(binary, toolchain.offload_bundler)
    if not images:
        raise UsageError(f"{binary}: no device code in it")
    with work_directory("coverage") as scratch:
        objects = tuple(_code_object(name, image, scratch, toolchain) for name, image in images)
    return Coverage(str(target), objects, _runtime(binary))


def _is_binary(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_BUNDLE)).startswith((_ELF, _BUNDLE, _COMPRESSED))


def _code_object(target: str, image: bytes, scratch: Path, toolchain: Toolchain) -> CodeObjectCoverage:
    arch = target.partition(":")[0]
    if arch not in {row["arch"] for row in device_table().values()}:
        return CodeObjectCoverage(target, False, ())
    path, text = scratch / "code.co", scratch / "code.s"
    path.write_bytes(image)
    printed = run_process([toolchain.objdump, "-d", path], timeout=_SECONDS, given=_LONG)
    if not printed.ok:
        raise HipscopeError(
            f"the disassembler cannot read the code object for {target}: {printed.text.strip()[-200:]}"
        )
    text.write_bytes(printed.stdout)
    reasons = dict(_not_executed(_ask(arch, str(text))))
    symbols = Symbolizer(path)
    kernels = {kernel.symbol for kernel in code_object_metadata(path)}
    counts: dict[str, Counter[str]] = {}
    missing: dict[str, list[NotExecuted]] = {}
    for found in _INSTRUCTION.finditer(printed.stdout.decode("utf-8", "replace")):
        address = int(found[2], 16)
        function = symbols.function_at(address)
        if function is None:  # padding between functions
            continue
        counts.setdefault(function.name, Counter())[found[1]] += 1
        if address in reasons:
            line = found[0].partition("//")[0].strip()
            missing.setdefault(function.name, []).append(
                NotExecuted(found[1], line, address, reasons[address], symbols.positions(address))
            )
    functions = tuple(
        FunctionCoverage(
            demangle(name), name, name in kernels, dict(sorted(used.items())), tuple(missing.get(name, ()))
        )
        for name, used in counts.items()
    )
    return CodeObjectCoverage(target, True, functions)


def _ask(*arguments: str) -> str:
    try:
        tool = coverage_executable()
    except NativePartsMissing as error:
        raise MissingTool(str(error), "make setup   (in a checkout; a wheel has it)") from error
    answer = run_process([tool, *arguments], timeout=_SECONDS, given=_LONG)
    if answer.returncode not in (0, 1) or answer.timed_out:
        raise HipscopeError(f"{tool.name} failed: {answer.text.strip()[-200:]}")
    return answer.stdout.decode("utf-8", "replace")


def _not_executed(answer: str) -> Iterator[tuple[int, str]]:
    for line in answer.splitlines():
        address, _, reason = line.partition("\t")
        yield int(address, 16), reason


def _runtime(binary: Path) -> RuntimeCoverage | None:
    with binary.open("rb") as file:
        try:
            elf = ELFFile(file)
        except ELFError:
            return None
        if elf["e_machine"] == "EM_AMDGPU":
            return None
        needed = [
            str(vars(tag)["needed"])
            for section in elf.iter_sections()
            if isinstance(section, DynamicSection)
            for tag in section.iter_tags("DT_NEEDED")
        ]
        # What an object file still needs stands in its one table; a program's is what its loader reads.
        table = ".symtab" if elf["e_type"] == "ET_REL" else ".dynsym"
        imported = sorted(name for name in _symbols(elf, table, defined=False) if _is_hip(name))
    with (native_library_dir() / "libamdhip64.so").open("rb") as file:
        exported = set(_symbols(ELFFile(file), ".dynsym", defined=True))
    stubs = set(_ask("--refused-calls").split())
    return RuntimeCoverage(
        imported=tuple(imported),
        refused=tuple(n for n in imported if n in stubs),
        absent=tuple(n for n in imported if n not in exported),
        libraries=tuple(sorted(n for n in needed if _NOT_EMULATED_LIBRARY.match(n))),
    )


def _is_hip(name: str) -> bool:
    return re.match(r"(__)?hip(rtc)?[A-Z]", name) is not None


def _symbols(elf: ELFFile, section: str, *, defined: bool) -> Iterator[str]:
    table = elf.get_section_by_name(section)
    if isinstance(table, SymbolTableSection):
        for symbol in table.iter_symbols():
            if (symbol["st_shndx"] != "SHN_UNDEF") == defined and symbol.name:
                yield symbol.name
