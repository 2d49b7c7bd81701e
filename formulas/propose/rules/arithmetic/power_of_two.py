"""precision: a shift and a mask where what divides an integer is a power of two when the kernel runs.

Channels, widths and the steps of butterflies are arguments, so the compiler divides in tens of instructions. The
divisor is looked at when the kernel runs, once for all threads: any other value divides as before.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from hipscope.analysis.kernel.effects import changed_once_declared
from hipscope.analysis.source.nodes import child_of, text_of, walk
from hipscope.analysis.source.number_types import NUMBER_TYPES, integers
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Candidate, Proposal, Refusal
from hipscope.formulas.propose.rule import rewrite
from hipscope.formulas.propose.rules.arithmetic.division import is_division, operand_types
from hipscope.formulas.propose.rules.shared.edit_helpers import Style, helper_above, style_of
from hipscope.formulas.propose.splice import Splice, apply_splices

if TYPE_CHECKING:
    from hipscope.formulas.base import Finding

NAME = "power_of_two"

_INTEGERS, _UNSIGNED = integers(32, 32), integers(32, 32, signed=False)
_SIGNS = str.maketrans("+-*()", "     ")
_HELPERS = {"%": ("remainder_by", "value & (size - 1)"), "/": ("quotient_by", "value >> (31 - __clz(size))")}


@rewrite(NAME, "Arithmetic", "precision", anywhere=True, rank=55)
def propose(source: bytes, kernel: KernelSyntax, finding: Finding | None, facts: LaunchFacts) -> Proposal:
    """A shift or a mask for a division by an argument that is a power of two.

    Needs: 32-bit operands; an argument that was a power of two in each recorded launch.
    """
    del finding
    file, style = parse(source), style_of(source, kernel)
    steady = {p.name: p.type.removeprefix("const ") for p in kernel.parameters if not p.pointer}
    steady = {name: kind for name, kind in steady.items() if name not in changed_once_declared(kernel)}
    splices, helpers, reasons = [], dict[str, str](), list[str]()
    for node in walk(kernel.body_node):
        if not is_division(node, kernel, file, facts):
            continue
        left, right = child_of(node, "left"), text_of(child_of(node, "right"))
        types = operand_types(left, kernel, facts), {steady.get(right, "")}
        if not types[0] | types[1] <= _INTEGERS or not _is_plain(text_of(left)):
            reasons.append(f"`{text_of(node)}` is no division of 32-bit numbers by an argument")
        elif not facts.launches or not all(_power(f.scalars.get(right)) for f in facts.launches):
            reasons.append(f"`{right}` was no power of two in a recorded launch")
        else:
            operator = text_of(child_of(node, "operator"))
            stem, cheap = _HELPERS[operator]
            define = functools.partial(_helper, operator, cheap, style)
            name, helpers[operator] = helper_above(source, kernel, stem, define)
            signs = [bool(kinds & _UNSIGNED) for kinds in types]
            values = [
                f"static_cast<unsigned>({text})" if any(signs) and not unsigned else text
                for text, unsigned in zip((text_of(left), right), signs, strict=True)
            ]
            splices.append(Splice(node.start_byte, node.end_byte, f"{name}({', '.join(values)})".encode()))
    if not splices:
        return Refusal(NAME, "; ".join(reasons) or "the kernel divides no integers by a variable")
    above = Splice(kernel.span.start, kernel.span.start, "".join(helpers.values()).encode())
    title = "Divide by powers of two with shifts and masks"
    expected = "A few instructions for each division. Results stay the same bit for bit."
    return [Candidate(NAME, title, apply_splices(source, [above, *splices]), expected)]


def _is_plain(text: str) -> bool:
    """Names and numbers in sums and products, whose type is that of the names."""
    words = text.translate(_SIGNS).split()
    names = (word.replace(".", "_").isidentifier() for word in words)
    plain = all(name or word.isdigit() for name, word in zip(names, words, strict=True))
    return plain and not NUMBER_TYPES.keys() & set(words)


def _power(value: object) -> bool:
    return isinstance(value, int) and value > 0 and value & (value - 1) == 0


def _helper(operator: str, cheap: str, style: Style, name: str) -> str:
    """The definition of a helper of that name."""
    lines = [
        f"// `value {operator} size`, which divides only by what is no power of two.",
        "template <typename T>",
        f"static __device__ T {name}(T value, T size) {{",
        f"{style.step}const bool power = size > 0 && (size & (size - 1)) == 0;",
        f"{style.step}return power && value >= 0 ? {cheap} : value {operator} size;",
        "}",
        "",
        "",
    ]
    return style.newline.join(lines)
