"""gfx950's own instructions as data: the machine code of every line that the tests run.

LLVM 19 does not know the target: `gfx950_lines.txt` holds what a newer LLVM makes of each line, the line, tab, what
the disassembler prints, tab, the words. A line may end in ` @N`: N is put into its OP_SEL field, which saves knowing
how the assembler spells that. `python -m tests.emulator.isa_gfx950 LLVM_MC LLVM_OBJDUMP` writes the file anew.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.emulator import isa_oracle as isa

STORED = Path(__file__).parent / "gfx950_lines.txt"
TARGET = "gfx950"


def known() -> dict[str, tuple[str, str]]:
    """Line -> disassembly, words."""
    found = {}
    for entry in STORED.read_text().splitlines():
        line, text, words = entry.split("\t")
        found[line] = (text, words)
    return found


def run(lines: Sequence[str], states: np.ndarray, folder: Path) -> np.ndarray:
    """As isa_oracle.run, of stored lines."""
    stored = known()
    address = 0x1000
    written = ["0000000000001000 <kernel>:"]
    for line in lines:
        text, words = stored[line]
        written.append(f"\t{text}  // {address:012X}: {words}")
        address += 4 * len(words.split())
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "in.txt"
    path.write_text("\n".join(written) + "\n")
    return isa.run_disassembly(path, states, folder, TARGET)


def write(llvm_mc: str, llvm_objdump: str, lines: Sequence[str]) -> None:
    """Assembles the lines, sets OP_SEL, and disassembles."""
    plain = assembled(llvm_mc, llvm_objdump, [line.partition(" @")[0] for line in lines])
    patched = []
    for line, (_, words) in zip(lines, plain, strict=True):
        first, *rest = (int(word, 16) for word in words.split())
        first |= int(line.partition(" @")[2] or 0) << 11
        patched.append(".long " + ", ".join(hex(word) for word in (first, *rest)))
    entries = assembled(llvm_mc, llvm_objdump, patched)
    STORED.write_text(
        "".join(f"{line}\t{text}\t{words}\n" for line, (text, words) in zip(lines, entries, strict=True))
    )


def assembled(llvm_mc: str, llvm_objdump: str, lines: Sequence[str]) -> list[tuple[str, str]]:
    """Text and words of each line."""
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder) / "in.s", Path(folder) / "in.o"
        source.write_text("\n".join(lines) + "\n")
        command = [
            llvm_mc,
            "-arch=amdgcn",
            f"-mcpu={TARGET}",
            "-filetype=obj",
            str(source),
            "-o",
            str(binary),
        ]
        subprocess.run(command, check=True, timeout=120)
        done = subprocess.run([llvm_objdump, "-d", str(binary)], check=True, capture_output=True, timeout=120)
    shown = [text.rpartition("// ") for text in done.stdout.decode().splitlines() if text.startswith("\t")]
    return [(code.strip(), comment.partition(":")[2].strip()) for code, _, comment in shown]


if __name__ == "__main__":
    from tests.emulator import test_isa_gfx950

    write(sys.argv[1], sys.argv[2], test_isa_gfx950.all_lines())
