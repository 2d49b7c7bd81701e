"""atomicContention, latencyHiding and any hot kernel: one atomic operation in place of a compare-and-swap loop.

A loop of `atomicCAS` makes a trip to the L2 for its first read and one for each try, and all lanes that meet at an
address take turns. The L2 and the LDS have the operation itself: sums, extremes, bits, exchanges. Minima and maxima of
floats are those of integers, once the sign is known: the bits of positive floats are in order as signed integers, those
of negative ones in the opposite order as unsigned ones. They are only done where a read finds a value to replace, so
that NaN and zeros are treated as the loop treats them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.source.nodes import child_of, declared_name, names_in, text_of, walk
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.detect.cas_loops import SPELLINGS, CasLoop, bit_cast, cas_loop, loops_with_cas
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Answer, Candidate
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.edit_helpers import (
    fresh_name,
    in_place_of,
    style_of,
)
from hipscope.formulas.propose.rules.shared.moved_declarations import removal
from hipscope.formulas.propose.splice import Splice

# The types that HIP's functions take, by operation; another type of the same size goes through the unsigned one.
_TYPES = {
    "Add": ("i4", "u4", "u8", "f4", "f8"),
    "Sub": ("i4", "u4"),
    "Min": ("i4", "u4", "i8", "u8"),
    "Max": ("i4", "u4", "i8", "u8"),
    "And": ("i4", "u4", "u8"),
    "Or": ("i4", "u4", "u8"),
    "Xor": ("i4", "u4", "u8"),
    "Exch": ("i4", "u4", "u8", "f4"),
}
_BEATS = {"Min": "<", "Max": ">"}
_OTHER = {"Min": "Max", "Max": "Min"}


@rewrite("native_atomic", "Atomics", "atomicContention", "latencyHiding", function=True, rank=10)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """One atomic operation in place of a loop of compare-and-swap.

    Needs: a step starts from the value that it read or last saw, ends where the swap succeeds or nothing would change,
    and does nothing else; types that are known and that HIP's functions have.
    Assumes: Memory of the device; read first: AMD GPUs only.
    Results: integers and extremes: same bits; floats in another order.
    For: HeCBench atomicCAS.
    """
    function = kernel.body_node.parent
    loops = loops_with_cas(kernel.body_node)
    if function is None or not loops:
        return "the kernel itself has no loop around a compare-and-swap"
    found = [cas_loop(loop, function, lambda node: facts.types.of(source, node)) for loop in loops]
    chosen = [entry for entry in found if not isinstance(entry, str)]
    if not chosen:
        reasons = (
            f"the loop on line {n.start_point.row + 1}: {why}" for n, why in zip(loops, found, strict=True)
        )
        return "no loop emulates an operation that the hardware has: " + "; ".join(reasons)
    extremes = any(loop.name in _BEATS and loop.type[0] != "f" for loop in chosen)
    return [
        _candidate(source, kernel, [_Plan(loop, first) for loop in chosen])
        for first in ((False, True) if extremes else (False,))
    ]


@dataclass(frozen=True)
class _Plan:
    """A loop, and whether integers are read before their minimum or maximum, too."""

    loop: CasLoop
    reads_first: bool

    @property
    def reads(self) -> bool:
        return self.loop.name in _BEATS and (self.reads_first or self.loop.type[0] == "f")

    def pointer(self, code: str) -> str:
        """The address as a pointer to that type."""
        text = text_of(self.loop.pointer)
        plain = re.fullmatch(r"&?\w+(\[[^\[\]]*\])?", text)
        return text if self.loop.pointed == code else f"({SPELLINGS[code]}*){text if plain else f'({text})'}"

    def native(self) -> tuple[str, str]:
        """The call, and the type of its result."""
        name, code, operand = self.loop.name, self.loop.type, _bare(self.loop.operand)
        if name == "Sub" and code not in _TYPES["Sub"]:
            wide = "(unsigned long long)" if code[0] != "f" else ""
            name, operand = "Add", f"-{wide}({operand})"
        used = code if code in _TYPES[name] else f"u{code[1:]}"
        operand = bit_cast(operand, code, used) if code[0] == "f" else operand
        return f"atomic{name}({self.pointer(used)}, {operand})", used

    def by_sign(self, operand: str) -> tuple[str, str, str]:
        """Whether the operand has no sign, the call for that case, and for the other one."""
        signed, unsigned = f"i{self.loop.type[1:]}", f"u{self.loop.type[1:]}"
        bits = bit_cast(operand, self.loop.type, signed)
        one = f"atomic{self.loop.name}({self.pointer(signed)}, {bits})"
        cast = bit_cast(operand, self.loop.type, unsigned)
        return f"{bits} >= 0", one, f"atomic{_OTHER[self.loop.name]}({self.pointer(unsigned)}, {cast})"

    def statements(self, value: str, found: str, step: str) -> Iterator[str]:
        """The lines that do what the loop does."""
        loop, code, operand = self.loop, self.loop.type, _bare(self.loop.operand)
        if not self.reads:
            text, used = self.native()
            yield from _given_on(loop, text, used, found)
            return
        if not re.fullmatch(r"\w+", operand):
            yield f"const {SPELLINGS[code]} {value} = {operand};"
            operand = value
        # A read that does not race with the atomic operations of other threads.
        load = f"__hip_atomic_load({self.pointer(code)}, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)"
        asked = found if loop.kept else load
        if loop.kept:
            yield f"{SPELLINGS[code]} {found} = {load};"
        begin = f"if ({operand} {_BEATS[loop.name]} {asked})"
        into = f"{found} = " if loop.kept else ""
        if code[0] != "f":
            yield f"{begin} {into}atomic{loop.name}({self.pointer(code)}, {operand});"
        else:
            positive, one, other = self.by_sign(operand)
            signed, unsigned = f"i{code[1:]}", f"u{code[1:]}"
            if loop.kept:
                one, other = bit_cast(one, signed, code), bit_cast(other, unsigned, code)
            yield f"{begin} {{"
            yield f"{step}if ({positive}) {into}{one};"
            yield f"{step}else {into}{other};"
            yield "}"
        if loop.kept:
            yield from _given_on(loop, found, code, found)


def _given_on(loop: CasLoop, text: str, code: str, found: str) -> Iterator[str]:
    """What was found goes to the variables that are used later."""
    if len(loop.kept) > 1 and text != found:
        yield f"const {SPELLINGS[code]} {found} = {text};"
        text = found
    for name, own in loop.kept.items():
        yield f"{name} = {bit_cast(text, code, own)};"
    if not loop.kept:
        yield f"{text};"


def _candidate(source: bytes, kernel: KernelSyntax, plans: list[_Plan]) -> Candidate:
    style = style_of(source, kernel)
    given: list[str] = []
    splices: list[Splice] = []
    for plan in plans:
        value, found = (fresh_name(stem, style, given) for stem in ("value", "found"))
        given += [value, found]
        written = [*plan.statements(value, found, style.step)]
        splices.append(in_place_of(source, plan.loop.node, written, style))
    kept = " ".join(s.text.decode() for s in splices)
    splices += _left_over(source, kernel, [plan.loop.node for plan in plans], kept)
    lines = ", ".join(str(p.loop.line) for p in plans)
    what = ", ".join(dict.fromkeys(f"atomic{p.loop.name}" for p in plans))
    first = " after a read" if any(p.reads for p in plans) else ""
    sums = any(p.loop.type[0] == "f" and p.loop.name in ("Add", "Sub") for p in plans)
    # AMD "HIP programming guide", "Hardware atomics": PCIe has sums of integers, exchanges and compare-and-swap only.
    beyond = any(p.loop.type[0] == "f" or p.loop.name not in ("Add", "Sub", "Exch") for p in plans)
    device = "what is changed is memory of the device, not of the host"
    return edited(
        source,
        splices,
        title=f"Use {what}{first} instead of a compare-and-swap loop (line {lines})",
        expected=(
            "The operation is done where the memory is, in one trip: no read, no tries that another thread's "
            "write makes vain."
            + (" Floats are added in another order, as they are in every run." if sums else "")
        ),
        exact=not sums,
        assumes=(device,) * beyond,
    )


def _left_over(source: bytes, kernel: KernelSyntax, loops: list[Node], kept: str) -> Iterator[Splice]:
    """The declarations that only the loops needed, taken out; those of a list and behind `#if` stay."""
    names = {name for loop in loops for name in names_in(loop)}
    gone = [(loop.start_byte, loop.end_byte) for loop in loops]
    declared = [n for n in walk(kernel.body_node) if n.type == "declaration"]
    while True:
        dead = [d for d in declared if _is_dead(d, names, kernel, gone, kept)]
        if not dead:
            return
        for declaration in dead:
            yield removal(source, declaration)
            gone.append((declaration.start_byte, declaration.end_byte))
            names |= names_in(declaration)
        declared = [d for d in declared if d not in dead]


def _is_dead(
    declaration: Node, names: set[str], kernel: KernelSyntax, gone: list[tuple[int, int]], kept: str
) -> bool:
    """Whether nothing that stays names the variables of a declaration, and their first values are only computed."""
    if declaration.parent is None or declaration.parent.type != "compound_statement":
        return False
    ranges = [*gone, (declaration.start_byte, declaration.end_byte)]
    if any(start <= declaration.start_byte < end for start, end in gone):
        return False
    own = {text_of(n) for d in declaration.children_by_field_name("declarator") if (n := declared_name(d))}
    if not own <= names or any(re.search(rf"\b{name}\b", kept) for name in own):
        return False
    effects = ("assignment_expression", "update_expression", "lambda_expression", "new_expression")
    if any(n.type in effects or (n.type == "call_expression" and not _reads(n)) for n in walk(declaration)):
        return False
    uses = (n for n in walk(kernel.body_node) if n.type == "identifier" and text_of(n) in own)
    return all(any(start <= n.start_byte < end for start, end in ranges) for n in uses)


def _reads(call: Node) -> bool:
    """Whether a call only reads memory or bits."""
    return (
        re.match(r"__\w*atomic_load\w*$|\w+_cast\b|__\w+_as_\w+$", text_of(child_of(call, "function")))
        is not None
    )


def _bare(text: str) -> str:
    """An argument without parentheses around all of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and place < len(text) - 1:
            return text
    return text[1:-1]
