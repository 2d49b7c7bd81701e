"""The instructions of a code object as LLVM prints them.

Takes an ELF file for an AMD GPU, gives mnemonics and operands. A file that cannot be read has no instructions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from hipscope.analysis.errors import HipscopeError
from hipscope.analysis.system.process import run_process
from hipscope.emulator.symbolize import FileContents as FileContents

_LINE = re.compile(r"^\s+([a-z]\w*)(?: ([^\n]*?))?\s*// [0-9A-F]+:", re.MULTILINE)
_MNEMONIC = re.compile(r"^\t([a-z]\w*)", re.MULTILINE)
_ENCODING = re.compile(r"_(?:e32|e64|sdwa|dpp|e64_dpp)$")


@dataclass(frozen=True)
class AssemblyInstruction:
    """One instruction: the mnemonic without its encoding (`v_add_f32`), the operands as printed."""

    mnemonic: str
    operands: tuple[str, ...]


def disassemble(
    code_object: Path, objdump: Path, kernel: str | None = None
) -> tuple[AssemblyInstruction, ...]:
    """The instructions of a kernel by its mangled name, or of all of the code."""
    try:
        return _disassemble(FileContents.of(code_object), objdump, kernel)
    except (OSError, HipscopeError):
        return ()


def mnemonics(code_object: Path, objdump: Path, kernel: str | None = None) -> Mapping[str, int]:
    """How often each mnemonic stands in a kernel, or in all of the code: of large code in a fraction of the time."""
    try:
        return _mnemonics(FileContents.of(code_object), objdump, kernel)
    except (OSError, HipscopeError):
        return {}


@lru_cache(maxsize=8)
def _disassemble(code: FileContents, objdump: Path, kernel: str | None) -> tuple[AssemblyInstruction, ...]:
    """Raises HipscopeError where that fails: another try may not."""
    return tuple(
        AssemblyInstruction(
            _ENCODING.sub("", found[1]),
            tuple(word.strip() for word in (found[2] or "").split(",")) if found[2] else (),
        )
        for found in _LINE.finditer(_printed(code, objdump, kernel))
    )


@lru_cache(maxsize=64)
def _mnemonics(code: FileContents, objdump: Path, kernel: str | None) -> Mapping[str, int]:
    """Raises HipscopeError where that fails."""
    found: Counter[str] = Counter()
    for word, count in Counter(_MNEMONIC.findall(_printed(code, objdump, kernel))).items():
        found[_ENCODING.sub("", word)] += count
    return found


def _printed(code: FileContents, objdump: Path, kernel: str | None) -> str:
    wanted = f"--disassemble-symbols={kernel}" if kernel else "--disassemble"
    done = run_process([str(objdump), wanted, str(code.path)], timeout=60)
    if not done.ok:
        raise HipscopeError(f"{code.path}: cannot be disassembled")
    return done.stdout.decode("utf-8", "replace")
