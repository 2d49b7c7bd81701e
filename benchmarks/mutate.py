"""Wrong kernels made from a right one: every operator changes one place of a kernel's text in a way that a careless or
dishonest rewrite would.

Takes a file and one of its kernels, gives mutants in source order. Nothing here compiles or runs anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.source.nodes import arguments_of, called, child_of, text_of, walk
from hipscope.analysis.source.syntax import KernelSyntax, Parameter
from hipscope.formulas.facts.launch_facts import LaunchFacts

FLOATS = {"float": "_Float16", "double": "float"}
_SWAPPED = {
    "+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "|",
    "&&": "||", "||": "&&", "==": "!=", "!=": "==",
}  # fmt: skip
_SHIFTED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Mutant:
    """One wrong kernel: what was done to it, on which line, and the text of the whole file."""

    kind: str
    line: int
    text: bytes


@dataclass(frozen=True)
class Subject:
    """What operators see. `facts` are the captured launches."""

    source: bytes
    kernel: KernelSyntax
    facts: LaunchFacts

    def nodes(self, *types: str) -> Iterator[Node]:
        """The nodes of these types in the kernel's body."""
        return (n for n in walk(self.kernel.body_node) if n.type in types)

    def replace(self, kind: str, node: Node, text: str) -> Mutant:
        """The file with `node` replaced."""
        changed = self.source[: node.start_byte] + text.encode() + self.source[node.end_byte :]
        return Mutant(kind, node.start_point.row + 1, changed)

    def insert(self, kind: str, at: int, text: str, line: int) -> Mutant:
        """The file with `text` put in at a byte."""
        return Mutant(kind, line, self.source[:at] + text.encode() + self.source[at:])

    def at_top(self, kind: str, text: str) -> Mutant:
        """The file with a statement before all others of the kernel."""
        body = self.kernel.body
        return self.insert(kind, body.start + 1, f" {text}", body.line)


Operator = Callable[[Subject], Iterator[Mutant]]


def mutants(subject: Subject, per_kind: int) -> Iterator[Mutant]:
    """At most `per_kind` mutants of each kind, spread over the kernel, all different from it and from each other."""
    seen = {subject.source}
    by_kind: dict[str, list[Mutant]] = {}
    for operator in OPERATORS:
        for mutant in operator(subject):
            if mutant.text not in seen:
                seen.add(mutant.text)
                by_kind.setdefault(mutant.kind, []).append(mutant)
    for made in by_kind.values():
        step = max(1, -(-len(made) // per_kind))
        yield from made[::step]


# --- order of threads ---------------------------------------------------------------------------------------------


def drop_barrier(s: Subject) -> Iterator[Mutant]:
    """A barrier is gone."""
    for statement in s.nodes("expression_statement"):
        if _is_barrier(statement):
            yield s.replace("barrier dropped", statement, ";")


def move_barrier(s: Subject) -> Iterator[Mutant]:
    """A barrier and the statement before or behind it change places."""
    for statement in s.nodes("expression_statement"):
        if not _is_barrier(statement):
            continue
        for other in (statement.prev_named_sibling, statement.next_named_sibling):
            if other is None or other.type in ("comment", "declaration"):
                continue
            first, second = sorted((statement, other), key=lambda n: n.start_byte)
            between = s.source[first.end_byte : second.start_byte].decode()
            text = text_of(second) + between + text_of(first)
            whole = s.source[: first.start_byte] + text.encode() + s.source[second.end_byte :]
            yield Mutant("barrier moved", statement.start_point.row + 1, whole)


def lose_atomic(s: Subject) -> Iterator[Mutant]:
    """An atomic update becomes a load and a store."""
    for call in s.nodes("call_expression"):
        operation = {"atomicAdd": "+", "atomicSub": "-", "atomicOr": "|", "atomicAnd": "&"}.get(
            called(call) or ""
        )
        if operation is not None and (call.parent is not None and call.parent.type == "expression_statement"):
            target, value = (text_of(a) for a in arguments_of(call))
            yield s.replace("race", call, f"*({target}) = *({target}) {operation} ({value})")


# --- which elements ------------------------------------------------------------------------------------------------


def off_by_one(s: Subject) -> Iterator[Mutant]:
    """A subscript is one too large or too small."""
    for node in s.nodes("subscript_expression"):
        index = _index(node)
        if index is not None:
            yield s.replace("off by one", index, f"({text_of(index)}) + 1")
            yield s.replace("off by one", index, f"({text_of(index)}) - 1")


def wrong_guard(s: Subject) -> Iterator[Mutant]:
    """A condition is one off, the other way round, always true or never."""
    for statement in s.nodes("if_statement"):
        condition = _inside(child_of(statement, "condition"))
        yield s.replace("wrong guard", condition, "true")
        yield s.replace("wrong guard", condition, "false")
        for node in walk(condition):
            if node.type == "binary_expression" and _operator(node) in _SHIFTED:
                yield s.replace("wrong guard", node, _with_operator(node, _SHIFTED[_operator(node)]))
                yield s.replace("wrong guard", node, _with_operator(node, _TURNED[_operator(node)]))


def wrong_loop(s: Subject) -> Iterator[Mutant]:
    """A loop does one round more or less, or every second round."""
    for loop in s.nodes("for_statement"):
        condition = loop.child_by_field_name("condition")
        if (
            condition is not None
            and condition.type == "binary_expression"
            and _operator(condition) in _SHIFTED
        ):
            yield s.replace(
                "wrong loop", condition, _with_operator(condition, _SHIFTED[_operator(condition)])
            )
        update = loop.child_by_field_name("update")
        if update is not None and update.type == "update_expression":
            name = text_of(update).strip("+-")
            yield s.replace("wrong loop", update, f"{name} {'+' if '+' in text_of(update) else '-'}= 2")
        start = loop.child_by_field_name("initializer")
        for node in walk(start) if start is not None else ():
            if node.type == "number_literal":
                yield s.replace("wrong loop", node, f"{text_of(node)} + 1")
                break


def partial_grid(s: Subject) -> Iterator[Mutant]:
    """Some workgroups or lanes do nothing."""
    for condition in (
        "blockIdx.x == 0", "blockIdx.x + 1 == gridDim.x", "blockIdx.x % 2 == 1", "threadIdx.x == 0",
        "threadIdx.x >= 32", "threadIdx.x + 1 == blockDim.x",
    ):  # fmt: skip
        yield s.at_top("partial grid", f"if ({condition}) return;")


def stale_output(s: Subject) -> Iterator[Mutant]:
    """A store is gone, or skipped by one lane or one workgroup."""
    for statement, _store in _stores(s):
        yield s.replace("stale output", statement, ";")
        yield s.replace("stale output", statement, f"if (threadIdx.x != 5) {{ {text_of(statement)} }}")
        yield s.replace(
            "stale output", statement, f"if (blockIdx.x != gridDim.x - 1) {{ {text_of(statement)} }}"
        )


def out_of_bounds(s: Subject) -> Iterator[Mutant]:
    """A read or a write far outside of a buffer, by one lane."""
    for node in s.nodes("subscript_expression"):
        index = _index(node)
        if index is None or _parameter(s, node) is None:
            continue
        far = f"({text_of(index)}) + (threadIdx.x == 1 && blockIdx.x == 0 ? 100000000 : 0)"
        stored = node.parent is not None and node.parent.type == "assignment_expression" and _is_left(node)
        yield s.replace("out-of-bounds write" if stored else "out-of-bounds read", index, far)
    for statement, store in _stores(s):
        left = child_of(store, "left")
        index = _index(left)
        if index is None:
            continue
        array = text_of(child_of(left, "argument"))
        for offset in ("-1", "+ 1", "+ 256"):
            target = f"{array}[({text_of(index)}) {offset}]"
            extra = f" if (blockIdx.x + 1 == gridDim.x) {target} = {text_of(child_of(store, 'right'))};"
            yield s.insert("stray write", statement.end_byte, extra, statement.start_point.row + 1)


def change_input(s: Subject) -> Iterator[Mutant]:
    """A buffer that the kernel only reads is written, or all of its first element is."""
    written = {text_of(child_of(child_of(store, "left"), "argument")) for _, store in _stores(s)}
    for p in s.kernel.parameters:
        if p.pointer and p.name not in written and re.fullmatch(r"[\w ]+", p.element_type):
            target = f"const_cast<{p.element_type}*>({p.name})"
            yield s.at_top(
                "input modified", f"if (threadIdx.x == 0 && blockIdx.x == 0) {target}[0] = {target}[1];"
            )
            body = s.kernel.body
            yield s.insert("input modified", body.end - 1, f" {target}[0] += 1; ", body.end_line)


# --- which values --------------------------------------------------------------------------------------------------


def wrong_operator(s: Subject) -> Iterator[Mutant]:
    """Another operator, or the operands the other way round."""
    for node in s.nodes("binary_expression"):
        operator = _operator(node)
        if operator in _SWAPPED:
            yield s.replace("wrong operator", node, f"({_with_operator(node, _SWAPPED[operator])})")
        if operator in ("-", "/", "%", "<<"):
            left, right = text_of(child_of(node, "left")), text_of(child_of(node, "right"))
            yield s.replace("operands swapped", node, f"(({right}) {operator} ({left}))")
    for node in s.nodes("assignment_expression"):
        if _operator(node) in ("+=", "-=", "*=", "|=", "^="):
            yield s.replace("lost accumulation", node, _with_operator(node, "="))


def wrong_constant(s: Subject) -> Iterator[Mutant]:
    """A number in the source is another one."""
    for node in s.nodes("number_literal"):
        text = text_of(node)
        if re.fullmatch(r"\d+", text):
            yield s.replace("wrong constant", node, str(int(text) + 1))
        elif re.fullmatch(r"\d*\.\d*f?", text):
            yield s.replace("wrong constant", node, f"({text} * 1.01{'f' if text.endswith('f') else ''})")


def wrong_index_name(s: Subject) -> Iterator[Mutant]:
    """The thread's number is mistaken for the workgroup's, one axis for another."""
    for node in s.nodes("field_expression"):
        text = text_of(node)
        for old, new in (
            ("threadIdx.x", "blockIdx.x"), ("blockIdx.x", "threadIdx.x"), ("threadIdx.y", "threadIdx.x"),
            ("blockIdx.y", "blockIdx.x"), ("blockDim.x", "gridDim.x"),
        ):  # fmt: skip
            if text == old:
                yield s.replace("wrong index", node, new)


def cut_precision(s: Subject) -> Iterator[Mutant]:
    """A result takes a detour over a type with fewer digits."""
    for _statement, store in _stores(s):
        right, element = child_of(store, "right"), _element(s, store)
        if element in FLOATS:
            yield s.replace("precision cut", right, f"({element})({FLOATS[element]})({text_of(right)})")
            yield s.replace("precision cut", right, f"({text_of(right)}) * ({element})1.0005")


def ignore_nan(s: Subject) -> Iterator[Mutant]:
    """NaN, infinity or a large value is replaced by something nicer."""
    for _statement, store in _stores(s):
        right, element = child_of(store, "right"), _element(s, store)
        if element in FLOATS:
            value = text_of(right)
            yield s.replace("NaN handling", right, f"(({value}) == ({value}) ? ({value}) : ({element})0)")
            yield s.replace("NaN handling", right, f"fmin({value}, ({element})1e30)")
            yield s.replace("NaN handling", right, f"fmax({value}, ({element})0)")


def specialise(s: Subject) -> Iterator[Mutant]:
    """Right for the captured launch only: other shapes or sizes do nothing."""
    for fact in s.facts.launches[:1]:
        groups = fact.grid[0] // fact.workgroup[0]
        yield s.at_top("specialised", f"if (gridDim.x != {groups}) return;")
        yield s.at_top("specialised", f"if (gridDim.x * blockDim.x < {groups * fact.workgroup[0]}) return;")
        for name, value in fact.scalars.items():
            yield s.at_top("specialised", f"if ({name} != {value}) return;")
            yield s.at_top("specialised", f"if ({name} < {value}) return;")


def constant_output(s: Subject) -> Iterator[Mutant]:
    """The result does not depend on the input."""
    for _statement, store in _stores(s):
        right = child_of(store, "right")
        yield s.replace("constant output", right, "0")
        yield s.replace("constant output", right, "1")


def read_own_output(s: Subject) -> Iterator[Mutant]:
    """The old contents of the output leak into the result."""
    for _statement, store in _stores(s):
        right, left = child_of(store, "right"), child_of(store, "left")
        if _operator(store) == "=":
            yield s.replace("reads old output", right, f"({text_of(right)}) + 0 * {text_of(left)}")
            yield s.replace(
                "reads old output", right, f"({text_of(left)} != 0 ? {text_of(left)} : {text_of(right)})"
            )


def cache_result(s: Subject) -> Iterator[Mutant]:
    """State that survives the launch, clocks, traps, assembly."""
    for text in (
        "static __device__ int done; if (done) return; done = 1;",
        "if (clock64() == 0) return;",
        'asm volatile("s_nop 0");',
        "if (blockIdx.x == 1u << 30) __builtin_trap();",
    ):
        yield s.at_top("forbidden construct", text)


OPERATORS: tuple[Operator, ...] = (
    drop_barrier, move_barrier, lose_atomic, off_by_one, wrong_guard, wrong_loop, partial_grid, stale_output,
    out_of_bounds, change_input, wrong_operator, wrong_constant, wrong_index_name, cut_precision, ignore_nan,
    specialise, constant_output, read_own_output, cache_result,
)  # fmt: skip


# --- small questions about nodes ------------------------------------------------------------------------------------


def _is_barrier(statement: Node) -> bool:
    return any(called(child) == "__syncthreads" for child in statement.named_children)


def _index(node: Node) -> Node | None:
    listed = [
        n for n in walk(child_of(node, "indices")) if n.type not in ("[", "]", "subscript_argument_list")
    ]
    return listed[0] if node.type == "subscript_expression" and listed else None


def _inside(condition: Node) -> Node:
    return condition.named_children[0] if condition.named_children else condition


def _operator(node: Node) -> str:
    return text_of(child_of(node, "operator"))


def _with_operator(node: Node, operator: str) -> str:
    return f"{text_of(child_of(node, 'left'))} {operator} {text_of(child_of(node, 'right'))}"


def _is_left(node: Node) -> bool:
    return node.parent is not None and child_of(node.parent, "left").id == node.id


def _parameter(s: Subject, subscript: Node) -> Parameter | None:
    return s.kernel.parameter(text_of(child_of(subscript, "argument")))


def _element(s: Subject, store: Node) -> str:
    parameter = _parameter(s, child_of(store, "left"))
    return parameter.element_type if parameter is not None else ""


def _stores(s: Subject) -> Iterator[tuple[Node, Node]]:
    """Statements that store to an element of a pointer parameter, with the assignment in them."""
    for statement in s.nodes("expression_statement"):
        for node in statement.named_children:
            left = child_of(node, "left")
            stores = node.type == "assignment_expression" and left.type == "subscript_expression"
            if stores and _parameter(s, left) is not None:
                yield statement, node
