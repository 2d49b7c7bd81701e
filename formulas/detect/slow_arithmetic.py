"""Arithmetic that takes many instructions: divisions, remainders, mathematical functions, with their whole expansion.

Takes a kernel's instructions, gives for each line the kind of slow operation that the compiler expanded there. The
machine code tells: each expansion has instructions that nothing else has.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from hipscope.analysis.metrics.line_costs import is_foreign, user_frame
from hipscope.analysis.profile import Instruction, Kernel
from hipscope.formulas.detect.instruction_mix import is_valu, mnemonic

Kind = Literal["integer division", "double division", "division", "function"]
_PI_HALF = (
    "0x3f22f983",
    "0x3fb8aa3b",
    "0xbfc90fda",
    "0x3fc90fda",
)  # 2/pi, log2(e), pi/2: reductions of arguments
_WIDE_DIVISION = ("0x5f7ffffc", "0x4f7ffffe")  # 2**64 and 2**32, a little less: reciprocals of integers
_FUNCTIONS = ("v_exp_", "v_log_", "v_sin_", "v_cos_", "v_sqrt_", "v_rsq_")
# Functions of HIP's headers, by the name of their inlined frame; `__sinf` and the like are the fast forms.
_LIBRARY = re.compile(
    r"(?:a?(?:sin|cos|tan)(?:h|pi)?|atan2|sincos(?:pi)?|exp(?:2|10|m1)?|log(?:2|10|1p|b)?|r?sqrt|r?cbrt|pow[in]?|r?hypot|"
    r"erfc?x?(?:inv)?|[lt]gamma|normcdf(?:inv)?|fmod|remainder|j[01n]|y[01n]|norm[34]d)f?"
)
_FEWEST = 8  # instructions of a function that is not one operation of the hardware


@dataclass(frozen=True)
class SlowLine:
    """The slow operations of one line. `operations` is how often they ran, summed over waves; `functions` names those
    of HIP's headers that stand there. `once_for_a_loop`: other instructions of the line, its head, ran more often.
    """

    file: str
    line: int
    kind: Kind
    instructions: tuple[Instruction, ...]
    operations: int
    functions: tuple[str, ...] = ()
    once_for_a_loop: bool = False

    @property
    def words(self) -> str:
        """What the line does: `divides integers`, `calls sincosf`."""
        if self.functions:
            divides = any(mnemonic(i).startswith("v_div_fixup") for i in self.instructions)
            return f"calls {' and '.join(self.functions[:3])}{' and divides' if divides else ''}"
        return {
            "integer division": "divides integers",
            "double division": "divides or takes roots in double precision",
            "division": "divides",
            "function": "computes slow functions",
        }[self.kind]


def slow_lines(kernel: Kernel) -> tuple[SlowLine, ...]:
    """The lines with an expansion, in the order of the code."""
    lines: dict[tuple[str, int], list[Instruction]] = {}
    for i in kernel.instructions:
        frame = user_frame(i.source)
        if i.hits and frame is not None and i.memory is None and (is_valu(i) or mnemonic(i).startswith("s_")):
            lines.setdefault((frame.file, frame.line), []).append(i)
    found = []
    for (file, line), group in lines.items():
        kind = _kind(group)
        if kind is not None:
            marks = _marks(kind, group)
            most = max(i.hits for i in marks)  # what runs more often belongs to a loop of the same line
            own = tuple(
                i for i in group if i.hits <= most and (is_valu(i) or not mnemonic(i).startswith(_CONTROL))
            )
            names = dict.fromkeys(name for i in marks if (name := library_function(i)))
            looped = any(i.hits > most for i in group)
            found.append(SlowLine(file, line, kind, own, _operations(kind, group), tuple(names), looped))
    return tuple(found)


_CONTROL = ("s_cbranch", "s_branch", "s_waitcnt", "s_barrier", "s_load", "s_nop", "s_endpgm")


# What a function without a slow instruction does once: round its argument to a multiple, or put its exponent back.
_ROUNDED = (("v_rndne_",), ("v_ldexp_",), ("v_frexp_mant_",))
# Of each kind, the instructions of which one stands for one operation of the source; the first that a line has counts.
_ONCE: Mapping[Kind, tuple[tuple[str, ...], ...]] = {
    "integer division": (("v_rcp_iflag", "v_rcp_f32"),),
    "double division": (("v_div_fixup_f64", "v_rsq_f64", "v_sqrt_f64"), ("v_rcp_f64",)),
    "division": (("v_div_fixup",), ("v_rcp_",)),
    "function": (_FUNCTIONS, *_ROUNDED),
}


def _operations(kind: Kind, group: Sequence[Instruction]) -> int:
    """How often the line's operation ran. An expansion without a slow instruction runs as often as its marks.

    Divisions by one divisor share its reciprocal, which stands before a loop that does not change it.
    """
    corrected = sum(i.hits for i in _corrections(group)) // _CORRECTIONS if kind == "integer division" else 0
    for names in _ONCE[kind]:
        if hits := sum(i.hits for i in group if mnemonic(i).startswith(names)):
            return max(hits, corrected)
    return corrected or max(i.hits for i in group if _MARKS[kind](i))


# LLVM's expandDivRem32: the estimate `v_mul_hi_u32` of a quotient is corrected twice, by a comparison of the remainder
# with the divisor and selections. Divisions by constants have the first without the second; those of 64 bits compare
# in parts and are counted by their reciprocals.
_CORRECTIONS = 2
_COMPARES = ("v_cmp_le_u32", "v_cmp_ge_u32")


def _corrections(group: Sequence[Instruction]) -> list[Instruction]:
    """The comparisons of 32-bit divisions in a line; none where the line divides by constants, or 64 bits."""
    estimates = sum(i.hits for i in group if mnemonic(i).startswith("v_mul_hi_u32"))
    divisors = {r for i in group if mnemonic(i).startswith("v_mul_lo_u32") for r in _operands(i)[1:]}
    compares = [i for i in group if mnemonic(i).startswith(_COMPARES) and divisors & set(_operands(i)[1:])]
    selects = sum(i.hits for i in group if mnemonic(i).startswith("v_cndmask_b32"))
    number = sum(i.hits for i in compares)
    wide = any(_uses(i, _WIDE_DIVISION[:1]) for i in group)
    return compares if 0 < number <= _CORRECTIONS * estimates and selects >= number and not wide else []


def _operands(i: Instruction) -> list[str]:
    _, _, operands = i.text.partition(" ")
    return [operand.strip() for operand in operands.split(",")]


def _marks(kind: Kind, group: Sequence[Instruction]) -> list[Instruction]:
    """The instructions by which a line is known to do this."""
    marks = [i for i in group if _MARKS[kind](i)]
    return marks + _corrections(group) if kind == "integer division" else marks


def _uses(i: Instruction, numbers: Sequence[str]) -> bool:
    """Computes with one of the constants; a move may only bring it to a register before a loop of another line."""
    return any(number in i.text for number in numbers) and not mnemonic(i).startswith(_MOVES)


_MOVES = ("s_mov", "v_mov")


def _integer(i: Instruction) -> bool:
    return "rcp_iflag" in i.text or _uses(i, _WIDE_DIVISION)


def _double(i: Instruction) -> bool:
    return mnemonic(i).startswith(("v_div_fixup_f64", "v_rcp_f64", "v_rsq_f64", "v_sqrt_f64"))


def _division(i: Instruction) -> bool:
    return mnemonic(i).startswith(("v_div_fixup_f32", "v_div_fixup_f16", "v_rcp_f32", "v_rcp_f16"))


def _function(i: Instruction) -> bool:
    return mnemonic(i).startswith(_FUNCTIONS) or library_function(i) is not None or _uses(i, _PI_HALF)


def lanes_in_turn(kernel: Kernel) -> Mapping[int, float]:
    """Instructions of the loops by which the compiler adds up the lanes before an atomic, with
    the rounds of their loop: one per active lane.

    LLVM's atomic optimizer picks a lane (`s_ff1`) and reads it (`v_readlane`) until all are done, on the atomic's line.
    """
    lines: dict[tuple[str, int], list[Instruction]] = {}
    for i in kernel.instructions:
        frame = user_frame(i.source)
        if i.hits and frame is not None:
            lines.setdefault((frame.file, frame.line), []).append(i)
    found: dict[int, float] = {}
    for group in lines.values():
        picks = [i.hits for i in group if mnemonic(i).startswith("s_ff1_i32")]
        atomics = [i.hits for i in group if i.memory is not None and i.memory.kind == "atomic"]
        reads = any(mnemonic(i).startswith("v_readlane") for i in group)
        if picks and atomics and reads and min(picks) >= _ROUNDS * max(atomics):
            rounds = min(picks) / max(atomics)
            found |= {i.index: rounds for i in group if i.hits >= min(picks) and i.memory is None}
    return found


_ROUNDS = 4  # lanes per atomic: fewer are no loop worth naming


def library_function(i: Instruction) -> str | None:
    """The function of HIP's headers that was inlined here: `sincosf`; None in code of the user's own.

    By the name that the program calls: `pow`, which calls `powi` in the headers.
    """
    headers = itertools.takewhile(lambda frame: is_foreign(frame.file), i.source)
    return next((f.function for f in reversed(list(headers)) if _LIBRARY.fullmatch(f.function)), None)


_MARKS: Mapping[Kind, Callable[[Instruction], bool]] = {
    "integer division": _integer,
    "double division": _double,
    "function": _function,
    "division": _division,
}


def _kind(group: Sequence[Instruction]) -> Kind | None:
    for kind, marks in _MARKS.items():
        if any(map(marks, group)) and (kind == "division" or len(group) >= _FEWEST):
            return kind
        if kind == "integer division" and len(group) >= _FEWEST and _corrections(group):
            return kind
    return None
