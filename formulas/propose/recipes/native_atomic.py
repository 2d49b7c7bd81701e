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
from typing import TYPE_CHECKING

from tree_sitter import Node

from hipscope.analysis.source.nodes import called, child_of, declared_name, text_of, walk
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.formulas.detect.cas_loops import CasLoop, cas_loop, loops_with_cas
from hipscope.formulas.detect.cas_names import FunctionNames
from hipscope.formulas.detect.cas_values import (
    BIT_CASTS,
    SPELLINGS,
    Term,
    TypeCode,
    as_operand,
    bit_cast,
    code_of_type,
    written,
)
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Candidate, Proposal, Refusal
from hipscope.formulas.propose.recipes.shared.edit_helpers import (
    Style,
    fresh_name,
    indentation,
    line_start,
    style_of,
)
from hipscope.formulas.propose.recipes.shared.moved_declarations import removal
from hipscope.formulas.propose.rule import rewrite
from hipscope.formulas.propose.splice import Splice, apply_splices

if TYPE_CHECKING:
    from hipscope.formulas.base import Finding

NAME = "native_atomic"

# The types that HIP's functions take, by operation; another type of the same size goes through the first that fits.
_TYPES = {
    "Add": ("i4", "u4", "u8", "f4", "f8"),
    "Sub": ("i4", "u4"),
    "Min": ("i4", "u4", "i8", "u8"),
    "Max": ("i4", "u4", "i8", "u8"),
    "And": ("i4", "u4", "u8"),
    "Or": ("i4", "u4", "u8"),
    "Xor": ("i4", "u4", "u8"),
    "Exch": ("i4", "u4", "u8", "f4"),
    "Inc": ("u4",),
}
_BUILT_IN = {
    "Add": "fetch_add", "Min": "fetch_min", "Max": "fetch_max", "And": "fetch_and", "Or": "fetch_or",
    "Xor": "fetch_xor", "Exch": "exchange",
}  # fmt: skip
_BEATS = {"Min": "<", "Max": ">"}
_OTHER = {"Min": "Max", "Max": "Min"}
_NAMES = ("type_identifier", "identifier")
_PURE_CALLS = re.compile(
    r"(?:__hip_atomic_load|__atomic_load_n|__nv_atomic_load_n|\w*_cast(?:\s*<.*)?)", re.DOTALL
)


@dataclass(frozen=True)
class _Plan:
    """A loop with the names of its function, and whether integers are read before their atomic, too."""

    loop: CasLoop
    names: FunctionNames
    reads_first: bool

    @property
    def code(self) -> TypeCode:
        return self.loop.operation.type

    @property
    def floating_extreme(self) -> bool:
        return self.loop.operation.name in _BEATS and self.code[0] == "f"


@rewrite("native_atomic", "Atomics", "atomicContention", "latencyHiding", function=True, rank=10)
def propose(source: bytes, kernel: KernelSyntax, finding: Finding | None, facts: LaunchFacts) -> Proposal:
    """One atomic operation in place of a loop of compare-and-swap.

    Needs: every way through a step is followed: it starts from the value that it read or last saw, ends where the
    swap succeeds or nothing would change, does nothing else; a type that HIP's functions have.
    Assumes: Memory of the device; read first: AMD GPUs only.
    Results: integers and extremes: same bits; floats in another order.
    For: HeCBench atomicCAS.
    """
    del finding
    function = kernel.body_node.parent
    loops = loops_with_cas(kernel.body_node)
    if function is None or not loops:
        return Refusal(NAME, "the kernel itself has no loop around a compare-and-swap")
    found = [_read(loop, function, source, facts) for loop in loops]
    chosen = [entry for entry in found if not isinstance(entry, str)]
    if not chosen:
        reasons = [
            f"the loop on line {n.start_point.row + 1}: {why}" for n, why in zip(loops, found, strict=True)
        ]
        return Refusal(NAME, "no loop emulates an operation that the hardware has: " + "; ".join(reasons))
    extremes = any(loop.operation.name in _BEATS and loop.operation.type[0] != "f" for loop, _ in chosen)
    return [
        _candidate(source, kernel, [_Plan(loop, names, reads_first) for loop, names in chosen])
        for reads_first in ((False, True) if extremes else (False,))
    ]


def _read(
    loop: Node, function: Node, source: bytes, facts: LaunchFacts
) -> tuple[CasLoop, FunctionNames] | str:
    """The loop's operation, the same one in every instance of a template."""
    types = facts.types
    spans = types.spans if types.text == source else {}
    returned = types.returned if types.text == source else {}
    generic = _template_types(function, facts)
    read = [
        (cas_loop(loop, n), n) for n in (FunctionNames(function, m, spans, returned) for m in generic or [{}])
    ]
    first, names = read[0]
    if isinstance(first, str):
        return first
    if (
        generic
        and (other := next((n for n, t in generic[0].items() if code_of_type(t) is None), None)) is not None
    ):
        name = f"atomic{first.operation.name}"
        return (
            f"it is {name} where `{other}` is `{generic[0][other]}`, and `{other}` may be something else: write an "
            f"overload or a specialisation for that, which calls {name}"
        )
    if (reason := _not_written(first)) is not None:
        return reason
    if generic is not None:
        texts = {_generic_text(entry, names_) for entry, names_ in read}
        if len(texts) > 1 or "" in texts:
            return "what it does depends on the template's types"
    return first, names


def _template_types(function: Node, facts: LaunchFacts) -> list[dict[str, str]] | None:
    """What the template's types stand for in each instance, where that is known; None where the function has none."""
    outer, names = function.parent, []
    while outer is not None:
        if outer.type == "template_declaration":
            for one in child_of(outer, "parameters").named_children:
                if one.type in ("type_parameter_declaration", "optional_type_parameter_declaration"):
                    names += [text_of(n) for n in walk(one) if n.type == "type_identifier"][:1]
        outer = outer.parent
    words = {text_of(n) for n in walk(function) if n.type in (*_NAMES, "namespace_identifier")}
    used = [name for name in names if name in words]
    if not used:
        return None
    known = facts.types.instances.get(used[0], frozenset()) if len(used) == 1 else frozenset()
    if known:
        return [{used[0]: one} for one in sorted(known)]
    written = _template_parameters(function)
    return [
        {name: kind for name, kind in zip(written, given, strict=True) if name in used}
        for given in sorted(facts.types.arguments)
        if len(given) == len(written)
    ]


def _template_parameters(function: Node) -> list[str]:
    """The names of the parameters of the function's own template, in their order."""
    outer = function.parent
    if outer is None or outer.type != "template_declaration":
        return []
    parameters = [n for n in child_of(outer, "parameters").named_children if n.type != "comment"]
    return [next((text_of(n) for n in reversed(list(walk(p))) if n.type in _NAMES), "") for p in parameters]


def _generic_text(entry: CasLoop | str, names: FunctionNames) -> str:
    """The text for one instance of a template, if it is right for every type that the template may be given."""
    plan = None if isinstance(entry, str) else _Plan(entry, names, False)
    if plan is None or plan.floating_extreme or _not_written(plan.loop) is not None:
        return ""
    text = "\n".join(_statements(plan, "value", "place", "found"))
    return "" if re.search(r"\*\)|__\w+_as_\w+", text) else text


def _not_written(loop: CasLoop) -> str | None:
    """Why HIP has no function for an operation that was read."""
    operation = loop.operation
    if operation.type not in SPELLINGS or operation.type[1:] != loop.memory[1:]:
        return "it works on a type that no atomic operation has"
    if loop.order not in ("", "__ATOMIC_RELAXED") and operation.name in _BEATS and not loop.guarded:
        return "its memory order would be lost where a read comes first"
    if loop.order and (operation.name == "Inc" or (operation.type[0] == "f" and operation.name == "Exch")):
        return "HIP has no built-in function for it"
    return None


def _candidate(source: bytes, kernel: KernelSyntax, plans: list[_Plan]) -> Candidate:
    style = style_of(source, kernel)
    given: list[str] = []
    splices: list[Splice] = []
    gone: list[tuple[int, int]] = []
    for plan in plans:
        own = [fresh_name(stem, style, given) for stem in ("value", "place", "found")]
        given += own
        splice = _replaced(source, plan, own, style)
        splices.append(splice)
        gone.append((splice.start, splice.end))
    kept = " ".join(s.text.decode() for s in splices)
    splices += _left_over(source, kernel, plans, gone, kept)
    lines = ", ".join(str(p.loop.line) for p in plans)
    what = ", ".join(dict.fromkeys(f"atomic{p.loop.operation.name}" for p in plans))
    first = " after a read" if any(p.reads_first or p.floating_extreme for p in plans) else ""
    sums = any(p.code[0] == "f" and p.loop.operation.name in ("Add", "Sub") for p in plans)
    return Candidate(
        recipe=NAME,
        title=f"Use {what}{first} instead of a compare-and-swap loop (line {lines})",
        text=apply_splices(source, splices),
        expected="The operation is done where the memory is, in one trip: no read, no tries that another thread's "
        "write makes vain."
        + (" Floats are added in another order, as they are in every run." if sums else ""),
        exact=not sums,
        assumes=_assumed(plans),
    )


def _assumed(plans: list[_Plan]) -> tuple[str, ...]:
    """What the operations rely on beyond the loops."""
    loose = any(p.floating_extreme and not p.loop.operation.strict for p in plans)
    # AMD "HIP programming guide", "Hardware atomics": PCIe has sums of integers, exchanges and compare-and-swap only.
    beyond = any(p.code[0] == "f" or p.loop.operation.name not in ("Add", "Sub", "Exch") for p in plans)
    numbers = "no NaN is compared in the minima and maxima; of two zeros either sign may stay"
    device = "what is changed is memory of the device, not of the host"
    return (numbers,) * loose + (device,) * beyond


def _replaced(source: bytes, plan: _Plan, own: list[str], style: Style) -> Splice:
    """The loop, and a `return` of what it found right behind it, by the statements that do the same."""
    loop = plan.loop
    indent = indentation(source, loop.node.start_byte)
    lines = _statements(plan, *own, result=loop.result, step=style.step)
    listed = loop.node.parent is not None and loop.node.parent.type == "compound_statement"
    alone = not source[line_start(source, loop.node.start_byte) : loop.node.start_byte].strip()
    if listed and (alone or len(lines) == 1):
        text = f"{style.newline}{indent}".join(lines)
    elif len(lines) == 1:
        text = lines[0]
    else:
        inner = "".join(f"{indent}{style.step}{line}{style.newline}" for line in lines)
        text = f"{{{style.newline}{inner}{indent}}}"
    return Splice(loop.node.start_byte, loop.end, text.encode())


def _statements(
    plan: _Plan, value: str, place: str, found: str, *, result: TypeCode | None = None, step: str = "  "
) -> list[str]:
    """The lines that do what the loop does; `result` is the type in which they return what they found."""
    loop = plan.loop
    lines: list[str] = []
    pointer = _pointer(plan, plan.code)
    read = plan.floating_extreme or (plan.reads_first and loop.operation.name in _BEATS)
    operand = written(loop.operation.operand)
    if read:
        if not _is_simple(loop.operation.operand):
            lines.append(f"const {SPELLINGS[plan.code]} {value} = {operand};")
            operand = value
        if any(
            n.type in ("call_expression", "update_expression", "assignment_expression")
            for n in walk(loop.pointer)
        ):
            lines.append(f"{SPELLINGS[plan.code]}* const {place} = {pointer};")
            pointer = place
    used = bool(loop.kept) or result is not None
    if not read:
        text, code = _native(plan, pointer, operand)
        return [*lines, *_given_on(plan, text, code, result, found)]
    beats = f"{operand} {_BEATS[loop.operation.name]}"
    if used:
        lines.append(f"{SPELLINGS[plan.code]} {found} = {_load(loop, pointer)};")
        lines += _if_it_beats(plan, f"if ({beats} {found})", found, pointer, operand, step)
        return [*lines, *_given_on(plan, found, plan.code, result, found)]
    if not plan.floating_extreme:
        return [*lines, f"if ({beats} {_load(loop, pointer)}) {_native(plan, pointer, operand)[0]};"]
    positive, one, other = _by_sign(plan, pointer, operand)
    inner = [f"{step}if ({positive}) {one};", f"{step}else {other};"]
    return [*lines, f"if ({beats} {_load(loop, pointer)}) {{", *inner, "}"]


def _given_on(plan: _Plan, text: str, code: TypeCode, result: TypeCode | None, found: str) -> Iterator[str]:
    """What was found goes to whom asks for it."""
    loop = plan.loop
    if result is not None:
        yield f"return {bit_cast(text, code, result)};"
        return
    if len(loop.kept) > 1 and text != found:
        yield f"const {SPELLINGS[code]} {found} = {text};"
        text = found
    for name, own in loop.kept.items():
        yield f"{name} = {bit_cast(text, code, own)};"
    if not loop.kept and text != found:
        yield f"{text};"
    if loop.returns:
        yield "return;"


def _native(plan: _Plan, pointer: str, operand: str) -> tuple[str, TypeCode]:
    """The call, and the type of its result."""
    operation = plan.loop.operation
    name, code = operation.name, operation.type
    if name == "Sub" and (code not in _TYPES["Sub"] or plan.loop.order):
        wide = "(unsigned long long)" if code[1:] == "8" and code[0] != "f" else ""
        name, operand = "Add", f"-{wide}({operand})"
    used = code if code in _TYPES[name] or plan.loop.order else f"u{code[1:]}"
    if used != code:
        pointer = _pointer(plan, used)
        operand = bit_cast(operand, code, used) if code[0] == "f" else operand
    return _call(plan.loop, name, pointer, operand), used


def _if_it_beats(plan: _Plan, condition: str, found: str, pointer: str, operand: str, step: str) -> list[str]:
    """The minimum or maximum under the condition, which leaves in `found` what it found."""
    if not plan.floating_extreme:
        return [f"{condition} {found} = {_native(plan, pointer, operand)[0]};"]
    positive, one, other = _by_sign(plan, pointer, operand)
    signed, unsigned = (f"{kind}{plan.code[1:]}" for kind in "iu")
    return [
        condition,
        f"{step}{found} = {positive}",
        f"{step}{step}? {bit_cast(one, signed, plan.code)}",
        f"{step}{step}: {bit_cast(other, unsigned, plan.code)};",
    ]


def _by_sign(plan: _Plan, pointer: str, operand: str) -> tuple[str, str, str]:
    """Whether the operand has no sign, the call for that case, and for the other one."""
    signed, unsigned = (f"{kind}{plan.code[1:]}" for kind in "iu")
    bits = bit_cast(operand, plan.code, signed)
    name = plan.loop.operation.name
    one = _call(plan.loop, name, f"({SPELLINGS[signed]}*){_to(pointer)}", bits)
    other_bits = bit_cast(operand, plan.code, unsigned)
    other = _call(plan.loop, _OTHER[name], f"({SPELLINGS[unsigned]}*){_to(pointer)}", other_bits)
    return f"{bits} >= 0", one, other


def _call(loop: CasLoop, name: str, pointer: str, operand: str) -> str:
    if not loop.order:
        return f"atomic{name}({pointer}, {_bare(operand)})"
    return f"__hip_atomic_{_BUILT_IN[name]}({pointer}, {_bare(operand)}, {loop.order}, {loop.scope})"


def _pointer(plan: _Plan, code: TypeCode) -> str:
    """The address as a pointer to that type."""
    pointer = plan.loop.pointer
    spelled = plan.names.pointee_type(pointer)
    text = text_of(pointer)
    if spelled is not None and code_of_type(spelled) == code and spelled not in ("long", "unsigned long"):
        return text
    return f"({SPELLINGS[code]}*){_to(text)}"


def _to(pointer: str) -> str:
    """The pointer as an operand of a cast."""
    return pointer if pointer.startswith("&") else as_operand(pointer)


def _load(loop: CasLoop, pointer: str) -> str:
    """A read that does not race with the atomic operations of other threads."""
    return f"__hip_atomic_load({pointer}, __ATOMIC_RELAXED, {loop.scope or '__HIP_MEMORY_SCOPE_AGENT'})"


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


def _is_simple(operand: Term) -> bool:
    return operand.kind == "given" and re.fullmatch(r"\w+", operand.text) is not None


def _left_over(
    source: bytes, kernel: KernelSyntax, plans: list[_Plan], gone: list[tuple[int, int]], kept: str
) -> list[Splice]:
    """The declarations that only the loops needed, taken out."""
    names = {text_of(n) for p in plans for n in walk(p.loop.node) if n.type == "identifier"}
    dead: dict[int, Node] = {}  # declarators
    while True:
        found = [
            d
            for d in _declarators(kernel.body_node)
            if d.id not in dead and _is_dead(d, names, kernel, gone, dead, kept)
        ]
        if not found:
            break
        dead |= {d.id: d for d in found}
        names |= {text_of(n) for d in found for n in walk(d) if n.type == "identifier"}
    splices = []
    whole: dict[int, Node] = {}
    for declaration in {d.parent.id: d.parent for d in dead.values() if d.parent is not None}.values():
        if any(start <= declaration.start_byte < end for start, end in gone):
            continue
        listed = declaration.children_by_field_name("declarator")
        left = [d for d in listed if d.id not in dead]
        if left:
            text = ", ".join(text_of(d) for d in left)
            splices.append(Splice(listed[0].start_byte, listed[-1].end_byte, text.encode()))
        else:
            whole[declaration.id] = declaration
    return splices + _removed(source, whole)


def _removed(source: bytes, declarations: dict[int, Node]) -> list[Splice]:
    """Whole declarations taken out, with the `#if` around them where nothing else stands in it."""
    places: dict[int, Node] = {}
    for declaration in declarations.values():
        outer = declaration
        while outer.parent is not None and outer.parent.type.startswith("preproc_"):
            outer = outer.parent
        empty = outer.id != declaration.id and all(
            n.id in declarations or n.type not in ("declaration", "expression_statement") for n in walk(outer)
        )
        place = outer if empty or outer.id == declaration.id else declaration
        places[place.id] = place
    return [removal(source, place) for place in places.values()]


def _declarators(body: Node) -> Iterator[Node]:
    for node in walk(body):
        if node.type == "declaration":
            yield from node.children_by_field_name("declarator")


def _is_dead(
    declarator: Node,
    names: set[str],
    kernel: KernelSyntax,
    gone: list[tuple[int, int]],
    dead: dict[int, Node],
    kept: str,
) -> bool:
    """Whether nothing that stays names the variable, and its first value is only computed."""
    named = declared_name(declarator)
    if named is None or text_of(named) not in names or re.search(rf"\b{text_of(named)}\b", kept):
        return False
    ranges = [*gone, *((d.start_byte, d.end_byte) for d in dead.values())]
    others = [
        n
        for n in walk(kernel.body_node)
        if n.type == "identifier"
        and text_of(n) == text_of(named)
        and not _declares(n)
        and not any(start <= n.start_byte < end for start, end in ranges)
    ]
    return not others and all(_only_computes(n) for n in walk(declarator))


def _declares(name: Node) -> bool:
    """Whether this is where a variable is declared: also in another branch of an `#if`."""
    outer: Node | None = name
    while outer is not None and outer.parent is not None and outer.parent.type.endswith("declarator"):
        if outer.parent.type == "init_declarator" and child_of(outer.parent, "value").id == outer.id:
            return False
        outer = outer.parent
    return outer is not None and outer.parent is not None and outer.parent.type == "declaration"


def _only_computes(node: Node) -> bool:
    if node.type in ("assignment_expression", "update_expression", "lambda_expression", "new_expression"):
        return False
    name = called(node) or text_of(child_of(node, "function"))
    return node.type != "call_expression" or name in BIT_CASTS or _PURE_CALLS.fullmatch(name) is not None
