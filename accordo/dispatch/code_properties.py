"""What a code object says that a launch does not show: the dimensions that a kernel asks for, variables that keep
state, clocks, whether it can leave floats in memory.

Takes ELF files for AMD GPUs. Bits of the kernel descriptor are those of LLVM's "User Guide for AMDGPU Backend", "Kernel
Descriptor", compute_pgm_rsrc2.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from hipscope.accordo.dispatch.disassembly import AssemblyInstruction, disassemble, mnemonics
from hipscope.analysis.errors import HipscopeError
from hipscope.analysis.toolchain.code_object import read_code_object

_LARGEST_WORKGROUP = 1024
_RSRC2 = 52  # offset in the kernel descriptor
_MODULE_MARK = re.compile(r"__hip_cuid_\w+")
_HARDWARE = frozenset({"s_getreg_b32", "s_get_waveid_in_workgroup"})
_HARMLESS = re.compile(r"HW_REG_(?:MODE|LDS_ALLOC|GPR_ALLOC)\b")
_CLOCKS = frozenset({"s_memtime", "s_memrealtime"})
_ELSEWHERE = ("s_swappc", "s_setpc", "s_call")  # goes on in code that is not the kernel's own
_MAKES_FLOATS = re.compile(r"(?!v_cmp)\w+_b?f(?:16|32|64)")
_OF_THE_DEVICE = re.compile(r"(?:global|flat|buffer)_atomic")  # acts on memory that all workgroups see
_WITH_SCOPE = re.compile(r"(?:global|flat|buffer)_(?:load|store|wbl2|inv)")
# Names of gfx90a and older, where accesses of the device's scope have the bit that makes an atomic give something back.
_OLD_BIT, _OLD_FENCE = "glc", "buffer_wbinvl1"
_LEAVES_WORDS = re.compile(r"(?!ds_|scratch_)\w+_(?:store(?!_byte)|atomic)")


@dataclass(frozen=True)
class Dimensions:
    """What a kernel asks about its place: along how many dimensions of the workgroup, and along which of the grid."""

    workgroup: int
    grid: tuple[bool, bool, bool]


_ALL = Dimensions(3, (True, True, True))


def asked_dimensions(code_object: Path, kernel: str) -> Dimensions:
    """From the descriptor of a kernel by its mangled name; all of them when it cannot be read."""
    try:
        with code_object.open("rb") as file:
            elf = ELFFile(file)
            for table in elf.iter_sections():
                if not isinstance(table, SymbolTableSection):
                    continue
                for symbol in table.get_symbol_by_name(f"{kernel}.kd") or ():
                    section = elf.get_section(symbol["st_shndx"])
                    at = symbol["st_value"] - section["sh_addr"] + _RSRC2
                    (bits,) = struct.unpack_from("<I", section.data(), at)
                    grid = (True, bool(bits >> 8 & 1), bool(bits >> 9 & 1))
                    return Dimensions(1 + (bits >> 11 & 3), grid)
    except (OSError, ELFError, struct.error, ValueError, TypeError, KeyError):
        pass
    return _ALL


def largest_workgroup(code_object: Path, kernel: str) -> int:
    """How many work-items a workgroup may have by its launch bounds; 1024 without them, or if it cannot be read."""
    try:
        known = read_code_object(code_object).kernels.get(kernel)
    except (OSError, HipscopeError):
        known = None
    return known.max_flat_workgroup_size if known is not None else _LARGEST_WORKGROUP


def own_state(candidate: Path, reference: Path) -> list[str]:
    """Mangled names of variables that the candidate can write to and the reference does not have."""
    own = sorted(_writable(candidate) - _writable(reference))
    # The compiler gives each module one byte that is named after the file and that nothing uses.
    marks = [name for name in own if _MODULE_MARK.fullmatch(name)]
    return [name for name in own if name not in marks[:1]]


def reads_a_clock(code_object: Path, objdump: Path) -> bool:
    """Whether an instruction of it reads the time."""
    return not _CLOCKS.isdisjoint(mnemonics(code_object, objdump))


def own_hardware_reads(candidate: Path, reference: Path, objdump: Path) -> list[str]:
    """What the candidate's code asks the hardware for and the reference's does not: the compute unit, the wave's slot.

    No result may depend on it. Registers of rounding and of the sizes of LDS are no such state.
    """
    if not any(word in mnemonics(candidate, objdump) for word in _HARDWARE):
        return []
    asked = [
        {
            f"`{one.mnemonic} {', '.join(one.operands[1:])}`".replace(" `", "`")
            for one in disassemble(path, objdump)
            if one.mnemonic in _HARDWARE and not _HARMLESS.search(" ".join(one.operands))
        }
        for path in (candidate, reference)
    ]
    return sorted(asked[0] - asked[1])


def could_leave_floats(code_object: Path, objdump: Path, kernel: str) -> bool:
    """Whether a kernel by its mangled name may leave in memory what an instruction on floats made; True where its code
    does not say. It cannot without such instructions, and where it stores nothing but single bytes.
    """
    code = mnemonics(code_object, objdump, kernel)
    if not code or any(word.startswith(_ELSEWHERE) for word in code):
        return True
    return any(map(_MAKES_FLOATS.match, code)) and any(map(_LEAVES_WORDS.match, code))


def meeting_places(code_object: Path, objdump: Path, kernel: str) -> int:
    """How many instructions of a kernel by its mangled name reach other workgroups: atomics, accesses and fences of the
    device's scope. 0 where none of them tells a wave what others have done: no order of waves changes anything then.
    """
    found = [one for one in disassemble(code_object, objdump, kernel) if _reaches_others(one)]
    return len(found) if any(map(_tells, found)) else 0


def _reaches_others(one: AssemblyInstruction) -> bool:
    if _OF_THE_DEVICE.match(one.mnemonic):
        return True
    if one.mnemonic.startswith(_OLD_FENCE):
        return True
    return _WITH_SCOPE.match(one.mnemonic) is not None and not {"sc1", _OLD_BIT}.isdisjoint(_flags(one))


def _tells(one: AssemblyInstruction) -> bool:
    """Atomics that return something, loads, and fences behind which plain loads see what others wrote."""
    if _OF_THE_DEVICE.match(one.mnemonic):
        return not {"sc0", _OLD_BIT}.isdisjoint(_flags(one))
    return "_load" in one.mnemonic or one.mnemonic == "buffer_inv" or one.mnemonic.startswith(_OLD_FENCE)


def _flags(one: AssemblyInstruction) -> list[str]:
    return one.operands[-1].split() if one.operands else []


def _writable(path: Path) -> set[str]:
    try:
        with path.open("rb") as file:
            elf = ELFFile(file)
            return {
                symbol.name
                for table in elf.iter_sections()
                if isinstance(table, SymbolTableSection)
                for symbol in table.iter_symbols()
                if symbol["st_info"]["type"] == "STT_OBJECT" and isinstance(symbol["st_shndx"], int)
                if elf.get_section(symbol["st_shndx"])["sh_flags"] & SH_FLAGS.SHF_WRITE
            }
    except (OSError, ELFError):
        return set()
