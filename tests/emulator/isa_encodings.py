"""Every mnemonic that LLVM knows for a target, found by disassembling all opcodes of all encoding formats.

The formats and the widths of their opcode fields are those of the CDNA3 manual, chapter 13. Operand fields are set to
registers that most instructions take; several variants cover those that are particular.
"""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterator

Words = tuple[int, ...]

_SDWA, _DPP, _LITERAL = 0xF9, 0xFA, 0xFF
_SDWA_WORD, _DPP_WORD = 0x06060601, 0xFF001101


def _scalar() -> Iterator[Words]:
    for op in range(128):
        yield (0x80000000 | op << 23 | 4 << 16 | 6 << 8 | 8,)  # SOP2
        yield (0xBF000000 | op << 16 | 6 << 8 | 8,)  # SOPC
        for immediate in (0, 1, 15):
            yield (0xBF800000 | op << 16 | immediate,)  # SOPP
    for op in range(32):
        for immediate in (0, 1, 0x1804):
            yield (0xB0000000 | op << 23 | 4 << 16 | immediate, 0x12345678)  # SOPK
    for op in range(256):
        yield (0xBE800000 | 4 << 16 | op << 8 | 6,)  # SOP1
        for immediate in (0, 1):
            yield (0xC0000000 | op << 18 | immediate << 17 | 4 << 6 | 4, 0)  # SMEM


def _vector() -> Iterator[Words]:
    special = ((_LITERAL, 0x12345678), (_SDWA, _SDWA_WORD), (_DPP, _DPP_WORD))
    for op in range(64):
        yield (op << 25 | 2 << 17 | 3 << 9 | 0x101,)  # VOP2
        yield from ((op << 25 | 2 << 17 | 3 << 9 | source, word) for source, word in special)
    for op in range(256):
        yield (0x7E000000 | 2 << 17 | op << 9 | 0x104,)  # VOP1
        yield (0x7E000000 | 2 << 17 | op << 9 | 6,)
        yield from ((0x7E000000 | 2 << 17 | op << 9 | source, word) for source, word in special)
        yield (0x7C000000 | op << 17 | 3 << 9 | 0x104,)  # VOPC
        yield (0x7C000000 | op << 17 | 3 << 9 | _SDWA, 0x06060002)
    for op in range(1024):  # VOP3, with and without a scalar destination
        for sources in (
            0x104 | 0x106 << 9 | 0x108 << 18,
            0x104 | 6 << 9 | 0x108 << 18,
            0x104 | 0x106 << 9,
            0x104,
            4,
        ):
            yield (0xD0000000 | op << 16 | 2, sources)
        yield (0xD0000000 | op << 16 | 6 << 8 | 2, 0x104 | 0x106 << 9 | 8 << 18)
    for op in range(128):  # VOP3P and its matrix forms
        for high in (0, 0x18000000):
            for op_sel in (0x4000, 0):
                for sources in (
                    0x100 | 0x108 << 9 | 0x120 << 18,
                    0x100 | 0x108 << 9 | 0x80 << 18,
                    0x100 | 0x108 << 9,
                    0x100,
                ):
                    yield (0xD3800000 | op << 16 | op_sel | 16, sources | high)


def _memory() -> Iterator[Words]:
    for op in range(256):
        for gds in (0, 1):
            for operands in (
                2 | 4 << 8 | 6 << 16 | 8 << 24,
                2,
                0,
                8 << 24,
                2 | 8 << 24,
                2 | 4 << 8 | 8 << 24,
            ):
                yield (0xD8000000 | op << 17 | gds << 16, operands)  # DS
    for op in range(128):
        for segment in range(3):
            for base in (0x7F, 4, 0):
                for bits in (0, 1 << 13, 1 << 16):
                    for operands in (2 | 4 << 8 | 6 << 24, 2 | 4 << 8, 2 | 6 << 24, 2):
                        yield (0xDC000000 | op << 18 | segment << 14 | bits, operands | base << 16)  # FLAT
        for lds in (0, 1):
            for returns in (0, 1 << 14):
                yield (
                    0xE0001000 | op << 18 | lds << 16 | returns,
                    2 | 4 << 8 | 3 << 16 | 0x80 << 24,
                )  # MUBUF
        yield (0xE0000000 | op << 18, 0)
        yield (0xF0000F00 | op << 18, 2 | 4 << 8 | 3 << 16)  # MIMG
    for op in range(16):
        yield (0xE8001000 | op << 15 | 0x77 << 19, 2 | 4 << 8 | 3 << 16 | 0x80 << 24)  # MTBUF


def mnemonics(llvm_mc: str, target: str) -> dict[str, str]:
    """Each mnemonic that some encoding of the target disassembles to, with one such line."""
    words = [*_scalar(), *_vector(), *_memory()]
    text = "\n".join(
        " ".join(f"0x{b:02x}" for word in group for b in struct.pack("<I", word)) for group in words
    )
    command = [llvm_mc, "-arch=amdgcn", f"-mcpu={target}", "-disassemble"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=120)
    found: dict[str, str] = {}
    for line in done.stdout.splitlines():
        name, _, _ = line.strip().partition(" ")
        if name and not name.startswith("."):
            found.setdefault(name, line.strip())
    return found
