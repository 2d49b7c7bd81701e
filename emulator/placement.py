"""Source positions of the instructions that ran, also of loads that the compiler gave none.

A load that is moved out of two branches belongs to no single line any more (line 0 in DWARF). It is placed where what
it loaded is first used; without such a line, and for all other instructions, the symbolizer's answer stands.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hipscope.emulator.raw import RawInstruction
from hipscope.emulator.symbolize import Position, Symbolizer

_LOAD = re.compile(r"(global|flat|scratch|buffer|s|s_buffer)_load_(?!lds)|ds_read")
_READS_ALL = re.compile(r"\w*_store_|ds_write|s_cmp_|s_bitcmp|s_cbranch|s_setpc|s_waitcnt|\w+_atomic_")
_REGISTERS = re.compile(r"\b([vsa])(?:(\d+)\b|\[(\d+):(\d+)\])")
_FAR = 2000  # instructions; what is not used by then has no line of its own

Registers = frozenset[tuple[str, int]]


class Placement:
    """Positions of one kernel's instructions that ran, in the order of their addresses."""

    def __init__(self, instructions: Sequence[RawInstruction], symbols: Symbolizer) -> None:
        self._ran = sorted(instructions, key=lambda i: i.address)
        self._index = {instruction.address: at for at, instruction in enumerate(self._ran)}
        self._symbols = symbols

    def positions(self, address: int) -> tuple[Position, ...]:
        """The inline chain of the instruction at `address`, innermost first; empty when nothing is known."""
        at = self._index.get(address)
        if at is not None and _LOAD.match(self._ran[at].text) and not self._symbols.has_line(address):
            user = self._first_use(at)
            if user is not None:
                return self._symbols.positions(user)
        return self._symbols.positions(address)

    def _first_use(self, load: int) -> int | None:
        """Where the loaded value, or what is computed from it, first meets an instruction that has a line."""
        wanted, _ = _written_and_read(self._ran[load].text)
        for later in self._ran[load + 1 : load + _FAR]:
            written, read = _written_and_read(later.text)
            if not wanted.isdisjoint(read):
                if self._symbols.has_line(later.address):
                    return later.address
                wanted |= written
            else:
                wanted -= written
            if not wanted:
                return None
        return None


def where_used(symbols: Symbolizer, load: int, uses: Sequence[Sequence[int]]) -> tuple[Position, ...]:
    """The position of one instruction, of a load without a line that of all its uses, if they share one.

    `uses`: what reads the loaded value, then what reads what these computed, and so on. The nearest that have lines
    count, and they must not lie outside of a function that the load was inlined into.
    """
    chain = symbols.positions(load)
    if symbols.has_line(load):
        return chain
    with_lines = ([use for use in level if symbols.has_line(use)] for level in uses)
    places = [symbols.positions(use) for use in next(filter(None, with_lines), [])]
    if len({tuple((p.file, p.line, p.function) for p in place) for place in places}) != 1:
        return chain
    functions = [p.function for p in reversed(places[0])]
    return places[0] if functions[: len(chain)] == [p.function for p in reversed(chain)] else chain


def _written_and_read(text: str) -> tuple[Registers, Registers]:
    """The registers that an instruction names as its result, and as its operands."""
    mnemonic, _, operands = text.partition(" ")
    if _READS_ALL.match(mnemonic):
        return frozenset(), _named(operands)
    result, _, rest = operands.partition(",")
    return _named(result), _named(rest)


def _named(operands: str) -> Registers:
    found: set[tuple[str, int]] = set()
    for kind, single, first, last in _REGISTERS.findall(operands):
        low, high = (int(single), int(single)) if single else (int(first), int(last))
        found.update((kind, number) for number in range(low, high + 1))
    return frozenset(found)
