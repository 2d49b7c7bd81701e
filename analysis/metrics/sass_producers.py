"""Which loads a wait of NVIDIA's machine code waited for: the last access before it that wrote what it reads.

Takes a kernel with samples by instruction of SASS, gives it with `waited_for`. A wait on the short scoreboard goes to
an access to shared memory, one on the long scoreboard to one of global memory. Only instructions that are executed one
behind the other are gone back: where a jump may lead to in between, the search ends and the wait stays where it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hipscope.analysis.profile import Instruction, Kernel, StallReason

_ACCESSES = {
    StallReason.LDS: re.compile(r"(?:LDS|LDSM|ATOMS)\b"),
    StallReason.GLOBAL_MEMORY: re.compile(r"(?:LDG|LD|LDL|ATOMG|ATOM)\b"),
}
_GUARD = re.compile(r"^@!?U?P[T\d]\s+")
_JUMP = re.compile(r"(?:BRA|BRX|BRXU|JMP|JMX|CALL|RET|EXIT|BREAK)\b")
_TARGET = re.compile(r"0x[0-9a-f]+")
_REGISTER = re.compile(r"\bR(\d+)(\.64)?")
_WIDTH = re.compile(r"\.(64|128)\b")
_PREDICATE = re.compile(r"P[T\d]$")


def with_sass_producers(kernel: Kernel) -> Kernel:
    """The kernel with its waits given to what they waited for, as far as that is known."""
    code = [_Parts(i.text) for i in kernel.instructions]
    targets = {int(t, 16) for part in code if part.jumps for t in _TARGET.findall(part.text)}
    changed = tuple(
        _attributed(i, place, kernel.instructions, code, targets)
        for place, i in enumerate(kernel.instructions)
    )
    return kernel.model_copy(update={"instructions": changed})


class _Parts:
    """An instruction: its operation, the registers that it writes, and those that it reads."""

    def __init__(self, text: str) -> None:
        self.text = text
        plain = _GUARD.sub("", text.strip())
        self.operation, _, operands = plain.partition(" ")
        self.jumps = _JUMP.match(self.operation) is not None
        first, *others = [part.strip() for part in operands.split(",")] or [""]
        if _PREDICATE.match(first) and others:
            first, *others = others
        stores = self.operation.startswith(("ST", "RED"))
        self.written = frozenset() if stores else _registers(first, self.operation)
        self.read = frozenset().union(*(_registers(o, "") for o in ([first, *others] if stores else others)))


def _registers(operand: str, operation: str) -> frozenset[int]:
    width = _WIDTH.search(operation)
    more = int(width[1]) // 32 if width else 1
    return frozenset(
        int(number) + n for number, wide in _REGISTER.findall(operand) for n in range(2 if wide else more)
    )


def _attributed(
    instruction: Instruction,
    place: int,
    instructions: Sequence[Instruction],
    code: Sequence[_Parts],
    targets: set[int],
) -> Instruction:
    waited: dict[int, float] = {}
    for reason, access in _ACCESSES.items():
        cycles = instruction.stalls.get(reason, 0.0)
        producer = _producer(place, access, instructions, code, targets) if cycles > 0 else None
        if producer is not None:
            waited[producer] = waited.get(producer, 0.0) + cycles
    return instruction.model_copy(update={"waited_for": waited}) if waited else instruction


def _producer(
    place: int,
    access: re.Pattern[str],
    instructions: Sequence[Instruction],
    code: Sequence[_Parts],
    targets: set[int],
) -> int | None:
    """The index of the access whose result is read, or written over; None where none is found on the way back."""
    wanted = code[place].read | code[place].written
    for before in range(place - 1, -1, -1):
        if instructions[before + 1].address in targets or (
            code[before].jumps and not code[before].text.strip().startswith("@")
        ):
            return None
        if wanted & code[before].written and access.match(code[before].operation):
            return instructions[before].index
    return None
