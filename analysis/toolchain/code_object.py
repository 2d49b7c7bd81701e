"""Reads GPU code objects: what each kernel needs, and the code objects inside a built program.

Takes plain ELF files for AMD GPUs, or host programs that carry them in `.hip_fatbin`; gives data. The layout of the
notes is in LLVM's "User Guide for AMDGPU Backend", "Code Object V5 Metadata"; that of the bundle in "Clang Offload
Bundler".
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgpack
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection, SymbolTableSection

from hipscope.analysis.errors import HipscopeError
from hipscope.analysis.system.directories import work_directory
from hipscope.analysis.system.process import run_process

_NT_AMDGPU_METADATA = 32
_IDENTITY = "__hip_cuid_"  # of the translation unit: a byte that nothing reads
_BEFORE_LITERAL = (
    4  # bytes from the program counter that s_getpc_b64 gives to the literal of the s_add_u32 behind it
)
_BUNDLE_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
_COMPRESSED_MAGIC = b"CCOB"
_PROCESSOR = re.compile(r"gfx[0-9a-f]+(?:-[0-9a-z-]*generic)?(?::\w+[+-])*$")


@dataclass(frozen=True)
class KernelArgument:
    """One argument in the kernarg segment: bytes from its start. Hidden ones have a `hidden_...` kind and no name."""

    offset: int
    size: int
    value_kind: str
    name: str
    type_name: str = ""
    address_space: str = ""

    @property
    def hidden(self) -> bool:
        """Filled in by the runtime, not by the caller."""
        return self.value_kind.startswith("hidden_")


@dataclass(frozen=True)
class KernelMetadata:
    """What one kernel asks of the hardware. Sizes are bytes; LDS and scratch are the static parts.

    Where VGPRs and AGPRs share one register file (gfx90a and later), `vgprs` counts both.
    """

    symbol: str
    arguments: tuple[KernelArgument, ...]
    kernarg_size: int
    vgprs: int
    agprs: int
    sgprs: int
    vgpr_spills: int
    sgpr_spills: int
    lds: int
    scratch: int
    max_flat_workgroup_size: int
    wavefront_size: int
    dynamic_stack: bool

    @property
    def explicit_arguments(self) -> tuple[KernelArgument, ...]:
        """The arguments that the source names, in order."""
        return tuple(argument for argument in self.arguments if not argument.hidden)

    @property
    def layout(self) -> tuple[tuple[int, int, str], ...]:
        """Offset, size and kind of each of these: how a launch hands them over."""
        return tuple((a.offset, a.size, a.value_kind) for a in self.explicit_arguments)


@dataclass(frozen=True)
class CodeObject:
    """One plain ELF file for one GPU architecture, with its kernels by mangled name."""

    path: Path
    kernels: dict[str, KernelMetadata]


def code_object_metadata(path: Path) -> list[KernelMetadata]:
    """The kernels of a code object, in the order of its notes. Raises `HipscopeError` when it is not one."""
    try:
        with path.open("rb") as file:
            return [_kernel(entry) for entry in _metadata(ELFFile(file)).get("amdhsa.kernels", [])]
    except (ELFError, OSError, ValueError, KeyError) as error:
        raise HipscopeError(f"{path}: not a code object for an AMD GPU: {error}") from error


def read_code_object(path: Path) -> CodeObject:
    """The file with its metadata."""
    return CodeObject(path, {kernel.symbol: kernel for kernel in code_object_metadata(path)})


def machine_code(path: Path) -> bytes:
    """The instructions, kernel descriptors and constants of a code object, without names and line tables."""
    with path.open("rb") as file:
        try:
            elf = ELFFile(file)
            found = [elf.get_section_by_name(name) for name in (".text", ".rodata", ".data")]
        except ELFError as error:
            raise HipscopeError(f"{path}: not a code object for an AMD GPU: {error}") from error
        return b"\0".join(section.data() for section in found if section is not None)


@dataclass(frozen=True)
class _Variable:
    address: int
    size: int
    section: str
    content: bytes


@dataclass(frozen=True)
class _Code:
    """The parts of a code object; `rest` are its data beside the variables."""

    address: int
    text: bytes
    constants: bytes
    rest: bytes
    variables: dict[str, _Variable]


def executes_alike(one: Path, other: Path) -> bool:
    """Whether both have the same instructions, descriptors, constants and variables, wherever the variables lie.

    A compiler may order the variables that the host uses by hashes of its own addresses: the same text does not always
    give the same bytes. A word of the code that differs has to be the distance to the same place of the same variable,
    in an addition to the program counter. Raises HipscopeError for a file that is no code object.
    """
    if machine_code(one) == machine_code(other):
        return True
    before, after = _parts(one), _parts(other)
    return (
        (before.address, len(before.text), before.constants, before.rest)
        == (after.address, len(after.text), after.constants, after.rest)
        and before.variables.keys() == after.variables.keys()
        and all(_alike(v, after.variables[name]) for name, v in before.variables.items())
        and all(_same_target(before, after, at) for at in range(0, len(before.text) - 3, 4))
    )


def _alike(one: _Variable, other: _Variable) -> bool:
    return (one.size, one.section, one.content) == (other.size, other.section, other.content)


def _same_target(one: _Code, other: _Code, at: int) -> bool:
    """Whether the words at this place are the same, or distances to the same place of a variable."""
    word, now = (struct.unpack_from("<i", code.text, at)[0] for code in (one, other))
    if word == now:
        return True
    if not (_adds_to_counter(one.text, at) and _adds_to_counter(other.text, at)):
        return False
    origin = one.address + at - _BEFORE_LITERAL
    targets = origin + word, origin + now
    return any(
        targets[0] - v.address == targets[1] - other.variables[name].address
        and 0 <= targets[0] - v.address < max(1, v.size)
        for name, v in one.variables.items()
    )


def _adds_to_counter(text: bytes, at: int) -> bool:
    """Whether the word is the literal of `s_add_u32` right behind an `s_getpc_b64` into the same register."""
    if at < 8:
        return False
    getpc: int
    add: int
    getpc, add = struct.unpack_from("<II", text, at - 8)
    register = getpc >> 16 & 0x7F
    return (
        getpc & 0xFF80FFFF == 0xBE801C00
        and add & 0xFF80FFFF == 0x8000FF00 | register
        and add >> 16 & 0x7F == register
    )


def _parts(path: Path) -> _Code:
    with path.open("rb") as file:
        try:
            elf = ELFFile(file)
            sections = list(elf.iter_sections())
            symbols = [s for t in sections if isinstance(t, SymbolTableSection) for s in t.iter_symbols()]
        except ELFError as error:
            raise HipscopeError(f"{path}: not a code object for an AMD GPU: {error}") from error
        data = {s.name: bytearray(s.data()) for s in sections if s.name in (".text", ".rodata", ".data")}
        address = next((s["sh_addr"] for s in sections if s.name == ".text"), 0)
    variables: dict[str, _Variable] = {}
    for symbol in symbols:
        index = symbol["st_shndx"]
        if symbol["st_info"]["type"] != "STT_OBJECT" or not isinstance(index, int):
            continue
        section = sections[index]
        if section.name not in (".data", ".bss") or symbol.name.startswith(_IDENTITY):
            continue
        start, size = symbol["st_value"] - section["sh_addr"], symbol["st_size"]
        held = data[section.name][start : start + size] if section.name == ".data" else b""
        variables[symbol.name] = _Variable(symbol["st_value"], size, section.name, bytes(held))
    for one in variables.values():
        if one.section == ".data":
            base = next(s["sh_addr"] for s in sections if s.name == ".data")
            start = one.address - base
            data[".data"][start : start + one.size] = bytes(one.size)
    rest = bytes(data.get(".data", b"")).strip(b"\0")
    text, constants = (bytes(data.get(name, b"")) for name in (".text", ".rodata"))
    return _Code(address, text, constants, rest, variables)


def kernel_code(path: Path) -> dict[str, bytes]:
    """The instructions of each kernel by its symbol; under "" those of all functions, the constants and the data.

    Kernel descriptors are left out: they say where a kernel stands, and else what its metadata say.
    """
    with path.open("rb") as file:
        try:
            elf = ELFFile(file)
            sections = list(elf.iter_sections())
            data = [
                bytearray(s.data()) if s.name in (".text", ".rodata", ".data") else None for s in sections
            ]
            symbols = {
                s.name: s for t in sections if isinstance(t, SymbolTableSection) for s in t.iter_symbols()
            }
        except ELFError as error:
            raise HipscopeError(f"{path}: not a code object for an AMD GPU: {error}") from error
    found: dict[str, bytes] = {}
    for descriptor in (name for name in symbols if name.endswith(".kd")):
        for name in (descriptor, descriptor.removesuffix(".kd")):
            symbol = symbols.get(name)
            where = symbol["st_shndx"] if symbol is not None else None
            held = data[where] if isinstance(where, int) and where < len(data) else None
            if symbol is None or held is None or not isinstance(where, int):
                raise HipscopeError(f"{path}: the kernel {name} has no code of its own")
            start = symbol["st_value"] - sections[where]["sh_addr"]
            end = start + symbol["st_size"]
            found[name] = bytes(held[start:end])
            held[start:end] = bytes(end - start)
    rest = [_without_padding(bytes(part)) for part in data if part is not None]
    return {**{n: code for n, code in found.items() if not n.endswith(".kd")}, "": b"\0".join(rest)}


def _without_padding(code: bytes) -> bytes:
    """The words that are neither zero nor stand between functions (s_nop 0, s_code_end)."""
    words = struct.unpack(f"<{len(code) // 4}I", code[: len(code) // 4 * 4])
    kept = [word for word in words if word not in (0, 0xBF800000, 0xBF9F0000)]
    return struct.pack(f"<{len(kept)}I", *kept) + code[len(code) // 4 * 4 :]


def embedded_code_objects(program: Path, arch: str) -> list[bytes]:
    """The code objects for `arch` in a host program or shared library, in link order. Empty when it has none."""
    with program.open("rb") as file:
        try:
            section = ELFFile(file).get_section_by_name(".hip_fatbin")
        except ELFError as error:
            raise HipscopeError(f"{program}: not an ELF file: {error}") from error
        data = section.data() if section is not None else b""
    return [image for target, image in _bundle_entries(data, program) if _is_for(target, arch)]


def gpu_images(file: Path, bundler: Path) -> list[tuple[str, bytes]]:
    """Target ("gfx942:sramecc+") and bytes of every code object in a host binary, bundle or code object file.

    Compressed bundles are opened with `bundler` (clang-offload-bundler). Raises `HipscopeError` for a damaged file.
    """
    data = file.read_bytes()
    try:
        if data.startswith(b"\x7fELF"):
            elf = ELFFile(io.BytesIO(data))
            if elf["e_machine"] == "EM_AMDGPU":
                return [(processor(str(_metadata(elf).get("amdhsa.target", ""))), data)]
            section = elf.get_section_by_name(".hip_fatbin")
            data = section.data() if section is not None else b""
        found = []
        for bundle in _plain_bundles(data, bundler):
            found += [
                (t, image) for t, image in _bundle_entries(bundle, file) if t.startswith(("hip-", "hipv4-"))
            ]
        return [(processor(target), image) for target, image in found]
    except (ELFError, ValueError, KeyError, struct.error, IndexError) as error:
        raise HipscopeError(f"{file}: damaged: {error}") from error


def _plain_bundles(data: bytes, bundler: Path) -> Iterator[bytes]:
    """`data` itself, or the contents of its compressed bundles."""
    start = data.find(_COMPRESSED_MAGIC) if not data.startswith(_BUNDLE_MAGIC) else -1
    if start < 0:
        yield data
    while start >= 0:
        end = data.find(_COMPRESSED_MAGIC, start + 4)
        yield _decompressed(data[start : end if end >= 0 else len(data)], bundler)
        start = end


def _decompressed(bundle: bytes, bundler: Path) -> bytes:
    """An uncompressed bundle with the same GPU code objects."""
    with work_directory("bundle") as scratch:
        packed = scratch / "packed"
        packed.write_bytes(bundle)
        listed = run_process([bundler, "-list", "-type=o", f"-input={packed}"], timeout=60)
        targets = [t for t in listed.stdout.decode().split() if t.startswith(("hip-", "hipv4-"))]
        outputs = [scratch / str(i) for i in range(len(targets))]
        done = run_process(
            [
                bundler, "-unbundle", "-type=o", f"-input={packed}", f"-targets={','.join(targets)}",
                *(f"-output={path}" for path in outputs),
            ],
            timeout=60,
        )  # fmt: skip
        if not listed.ok or not done.ok or not targets:
            raise ValueError(
                f"its compressed bundle cannot be opened: {(listed.text + done.text).strip()[-200:]}"
            )
        images = [path.read_bytes() for path in outputs]
    table = struct.pack("<Q", len(targets))
    offset = len(_BUNDLE_MAGIC) + 8 + sum(24 + len(t) for t in targets)
    for target, image in zip(targets, images, strict=True):
        table += struct.pack("<QQQ", offset, len(image), len(target)) + target.encode()
        offset += len(image)
    return _BUNDLE_MAGIC + table + b"".join(images)


def undefined_symbols(host_object: Path) -> list[str]:
    """The symbols that an object file needs from elsewhere."""
    with host_object.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        if not isinstance(table, SymbolTableSection):
            return []
        return [
            symbol.name
            for symbol in table.iter_symbols()
            if symbol["st_shndx"] == "SHN_UNDEF" and symbol.name
        ]


def _bundle_entries(data: bytes, program: Path) -> Iterator[tuple[str, bytes]]:
    """Each entry's target and bytes, over all bundles in the section (one per translation unit)."""
    if data.startswith(_COMPRESSED_MAGIC):
        raise HipscopeError(
            f"{program}: its GPU code is compressed",
            "build without --offload-compress, so that it can be read",
        )
    start = data.find(_BUNDLE_MAGIC)
    while start >= 0:
        (count,) = struct.unpack_from("<Q", data, start + len(_BUNDLE_MAGIC))
        at = start + len(_BUNDLE_MAGIC) + 8
        for _ in range(count):
            offset, size, name_size = struct.unpack_from("<QQQ", data, at)
            at += 24
            target = data[at : at + name_size].decode("ascii", "replace")
            at += name_size
            if size:
                yield target, data[start + offset : start + offset + size]
        start = data.find(_BUNDLE_MAGIC, at)


def processor(target: str) -> str:
    """Processor and features of a target id however it is spelled, "gfx942:sramecc+:xnack-"; the id itself without one.

    Known spellings: "hipv4-amdgcn-amd-amdhsa--gfx942:xnack-", "amdgcn-amd-amdhsa-unknown-gfx942", and newer LLVM's
    "amdgpu9.42-amd-amdhsa-unknown-gfx942".
    """
    found = _PROCESSOR.search(target)
    return found.group() if found else target


def _is_for(target: str, arch: str) -> bool:
    return target.startswith(("hip-", "hipv4-")) and processor(target).partition(":")[0] == arch


def _metadata(elf: ELFFile) -> dict[str, Any]:
    for section in elf.iter_sections():
        if not isinstance(section, NoteSection):
            continue
        for note in section.iter_notes():
            if note["n_name"] == "AMDGPU" and note["n_type"] in (_NT_AMDGPU_METADATA, "NT_AMDGPU_METADATA"):
                body = note["n_descdata"]
                raw = body if isinstance(body, bytes) else note["n_desc"].encode("latin-1")
                values = msgpack.unpack(io.BytesIO(raw), raw=False, strict_map_key=False)
                if isinstance(values, dict):
                    return values
    raise ValueError("it has no AMDGPU metadata note")


def _kernel(entry: dict[str, Any]) -> KernelMetadata:
    return KernelMetadata(
        symbol=entry[".name"],
        arguments=tuple(_argument(argument) for argument in entry.get(".args", [])),
        kernarg_size=entry[".kernarg_segment_size"],
        vgprs=entry[".vgpr_count"],
        agprs=entry.get(".agpr_count", 0),
        sgprs=entry[".sgpr_count"],
        vgpr_spills=entry.get(".vgpr_spill_count", 0),
        sgpr_spills=entry.get(".sgpr_spill_count", 0),
        lds=entry[".group_segment_fixed_size"],
        scratch=entry[".private_segment_fixed_size"],
        max_flat_workgroup_size=entry[".max_flat_workgroup_size"],
        wavefront_size=entry[".wavefront_size"],
        dynamic_stack=bool(entry.get(".uses_dynamic_stack", False)),
    )


def _argument(entry: dict[str, Any]) -> KernelArgument:
    return KernelArgument(
        offset=entry[".offset"],
        size=entry[".size"],
        value_kind=entry[".value_kind"],
        name=entry.get(".name", ""),
        type_name=entry.get(".type_name", ""),
        address_space=entry.get(".address_space", ""),
    )
