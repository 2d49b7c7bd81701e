"""Cost per source line: what the editor shows and what the profile report lists.

Takes a `Kernel`, gives one record per line of the user's own files. An instruction inlined from a HIP or system header
counts for the line that called it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from hipscope.analysis.metrics.memory_patterns import add_patterns
from hipscope.analysis.metrics.stalls import blamed_stalls
from hipscope.analysis.profile import Frame, Instruction, Kernel, MemoryPattern, StallReason

# Where compilers, HIP and the C++ library keep headers that a user does not edit.
_FOREIGN_PREFIXES = ("/usr/", "/opt/", "/lib/")
_FOREIGN_PARTS = (
    "/include/hip/",
    "/lib/clang/",
    "/lib/llvm",
    "/include/c++/",
    "/emulator/overlay/hip/",
    "/emulator/stand_ins/",
)
_ROCM_FOLDER = re.compile(r"/rocm(-\d[^/]*)?/(include|lib|llvm|amdgcn)/")


@dataclass(frozen=True)
class LineCost:
    """One source line of one kernel.

    `stalls` are the waits that this line causes, `latency` those plus its issue cycles, all summed over waves.
    `hits` is how often its most executed instruction ran. `share` is its part of the kernel's cycles, 0..1.
    """

    file: str
    line: int
    column: int
    hits: int
    latency: float
    stall: float
    share: float
    stalls: Mapping[StallReason, float]
    memory: tuple[MemoryPattern, ...] = ()
    instructions: tuple[int, ...] = field(default=())


def user_frame(chain: Sequence[Frame]) -> Frame | None:
    """The innermost frame in a file of the user's, else the outermost frame; None without a chain."""
    for frame in chain:
        if not is_foreign(frame.file):
            return frame
    return chain[-1] if chain else None


@lru_cache(maxsize=1024)  # every instruction of a kernel asks, for few files
def is_foreign(file: str) -> bool:
    """The file belongs to the compiler, HIP or the system, not to the user."""
    if file.startswith(_FOREIGN_PREFIXES) or any(part in file for part in _FOREIGN_PARTS):
        return True
    return _ROCM_FOLDER.search(file) is not None


def line_costs(kernel: Kernel) -> tuple[LineCost, ...]:
    """The kernel's lines, most expensive first. Instructions without a source position are left out."""
    blamed = blamed_stalls(kernel)
    grouped: dict[tuple[str, int], list[Instruction]] = {}
    total = 0.0
    for instruction in kernel.instructions:
        total += instruction.latency
        frame = user_frame(instruction.source)
        if frame is not None:
            grouped.setdefault((frame.file, frame.line), []).append(instruction)
    lines = []
    for (file, line), instructions in grouped.items():
        stalls: dict[StallReason, float] = {}
        for instruction in instructions:
            for reason, cycles in blamed[instruction.index].items():
                stalls[reason] = stalls.get(reason, 0.0) + cycles
        stall = sum(stalls.values())
        latency = stall + sum(i.latency - i.stall for i in instructions)
        hits = max(i.hits for i in instructions)
        if not hits and not latency:
            continue
        lines.append(
            LineCost(
                file=file,
                line=line,
                column=_column(instructions, blamed),
                hits=hits,
                latency=latency,
                stall=stall,
                share=latency / total if total else 0.0,
                stalls=dict(sorted(stalls.items(), key=lambda item: -item[1])),
                memory=add_patterns(i.memory for i in instructions if i.memory is not None),
                instructions=tuple(i.index for i in instructions),
            )
        )
    return tuple(sorted(lines, key=lambda cost: (-cost.latency, cost.file, cost.line)))


def _column(instructions: Sequence[Instruction], blamed: Sequence[Mapping[StallReason, float]]) -> int:
    """The column of the most expensive instruction that has one; 0 when none has."""
    with_column = [i for i in instructions if (frame := user_frame(i.source)) is not None and frame.column]
    if not with_column:
        return 0
    worst = max(with_column, key=lambda i: sum(blamed[i.index].values()))
    frame = user_frame(worst.source)
    return frame.column if frame is not None else 0
