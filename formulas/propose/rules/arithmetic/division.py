"""precision: integer division and remainder, which take tens of instructions each.

A remainder whose quotient is at hand becomes a multiplication (exact for all values). Signed or 64-bit division of
values that are known to be non-negative and below 2^31 becomes unsigned 32-bit division. What is known of parameters
comes from the recorded launches; it is assumed for all, and shown. Division by constants is left to the compiler.
"""

from __future__ import annotations

from collections.abc import Sequence

from tree_sitter import Node

from hipscope.analysis.kernel.effects import changed_names, changes, reassigned_names, unsteady_names
from hipscope.analysis.source.nodes import (
    ancestors,
    bare,
    built_in,
    child_of,
    declarations_in,
    joins,
    names_in,
    operator_of,
    sets,
    squeeze,
    text_of,
    walk,
)
from hipscope.analysis.source.number_types import integers
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.ranges.integer_ranges import Ranges
from hipscope.formulas.propose.rules.shared.edit_helpers import INTEGER_TYPES, declared_type
from hipscope.formulas.propose.splice import Splice

_LIMIT = 2**31
_NARROW = integers(8, 32, signed=True)
_UNSIGNED_32 = integers(32, 32, signed=False)


@rewrite("division", "Arithmetic", "precision", function=True, any_caller=True, rank=54)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """One division for a quotient with its remainder; unsigned 32 bits where the operands allow it.

    Needs: operands known to be in 0..2^31.
    Assumes: parameters as recorded.
    For: HeCBench lif.
    """
    file = parse(source)
    ranges = Ranges(kernel, file, facts)
    splices: list[Splice] = []
    reasons: list[str] = []
    saved = 0
    for node in walk(kernel.body_node):
        if not is_division(node, kernel, file, facts) or _inside(node, splices):
            continue
        left, right = child_of(node, "left"), child_of(node, "right")
        if operator_of(node) == "%" and (name := _quotient(node, kernel, facts)) is not None:
            text = f"{_grouped(left)} - {name} * {_grouped(right)}"
            whole = node.parent is not None and node.parent.type in ("init_declarator", "argument_list")
            whole = whole or _is_right_side(node)
            splices.append(Splice(node.start_byte, node.end_byte, (text if whole else f"({text})").encode()))
            saved += 1
            continue
        types = operand_types(left, kernel, facts) | operand_types(right, kernel, facts)
        if types <= _UNSIGNED_32:
            reasons.append(f"`{text_of(node)}` is unsigned already")
            continue
        above, below = ranges.of(left), ranges.of(right)
        if above is None or below is None:
            reasons.append(f"the operands of `{text_of(node)}` are not known to be non-negative")
        elif above[0] < 0 or below[0] <= 0 or max(above[1], below[1]) >= _LIMIT:
            reasons.append(f"the operands of `{text_of(node)}` may be negative, zero or 2^31 and more")
        else:
            splices.append(Splice(node.start_byte, node.end_byte, _unsigned(node, types).encode()))
    if not splices:
        return "; ".join(reasons) if reasons else "the kernel divides no integers by a variable"
    used = sorted(ranges.used) if len(splices) > saved else []
    listed = ", ".join(f"`{name}`" for name in used)
    return edited(
        source,
        splices,
        title="Divide integers more cheaply",
        expected=(
            "Fewer instructions for each integer division: no signs and no 64-bit operands, one division "
            "for a quotient with its remainder. Results stay the same bit for bit."
        ),
        assumes=(
            (f"{listed} and what is divided stay below 2^31 and are never negative, as recorded",)
            if used
            else ()
        ),
    )


def is_division(node: Node, kernel: KernelSyntax, file: FileSyntax, facts: LaunchFacts) -> bool:
    """An integer `/` or `%` by something that is no constant."""
    if not joins(node, "/", "%"):
        return False
    right = child_of(node, "right")
    if not names_in(right) - set(file.constants) or right.type == "number_literal":
        return False
    types = operand_types(child_of(node, "left"), kernel, facts) | operand_types(right, kernel, facts)
    return bool(types) and types <= INTEGER_TYPES


def operand_types(node: Node, kernel: KernelSyntax, facts: LaunchFacts) -> set[str]:
    """The types of the names in an expression; "" for one that is not known."""
    found = set()
    for inner in walk(node):
        if inner.type == "subscript_expression":
            return {""}
        if inner.type == "number_literal" and not text_of(inner).rstrip("uUlL").isdigit():
            return {""}
        if inner.type == "field_expression":
            known = "unsigned" if built_in(text_of(inner)) is not None else ""
            found.add(facts.member_numbers.get(text_of(inner), known))
        elif inner.type == "identifier" and built_in(text_of(inner)) is not None:
            found.add("unsigned")
        elif inner.type == "identifier" and (inner.parent is None or inner.parent.type != "field_expression"):
            declared = declared_type(text_of(inner), kernel)
            parameter = kernel.parameter(text_of(inner))
            if parameter is not None and parameter.pointer:
                return {""}
            found.add(declared or "")
    return found


def _quotient(remainder: Node, kernel: KernelSyntax, facts: LaunchFacts) -> str | None:
    """A variable that holds the quotient of the same operands, declared before in a block around; None without one."""
    operands = [squeeze(text_of(child_of(remainder, side))) for side in ("left", "right")]
    types = (operand_types(child_of(remainder, side), kernel, facts) for side in ("left", "right"))
    kept, given = set[str]().union(*types), names_in(remainder)
    if given & unsteady_names(kernel):
        return None
    for block in (*ancestors(remainder, kernel.body_node), kernel.body_node):
        passed: list[Node] = []
        for statement in reversed(block.named_children if block.type == "compound_statement" else ()):
            if statement.start_byte >= remainder.start_byte:
                continue
            passed.append(statement)
            for name, declarator, _ in declarations_in(statement) if statement.type == "declaration" else ():
                value = declarator.child_by_field_name("value")
                if (
                    value is None
                    or value.type != "binary_expression"
                    or declarator.start_byte > remainder.start_byte
                ):
                    continue
                same = [squeeze(text_of(child_of(value, side))) for side in ("left", "right")] == operands
                divides = same and operator_of(value) == "/"
                # The quotient must be kept as it is computed: in a narrower type it could be cut.
                if divides and {declared_type(name, kernel) or ""} == kept and _stay(given, name, passed):
                    return name
    return None


def _stay(operands: frozenset[str], quotient: str, statements: Sequence[Node]) -> bool:
    """Whether the operands and their quotient are the same behind these statements, the last of which declares it."""
    *behind, declaration = statements
    changed = changed_names(*behind) | reassigned_names(declaration)
    begun = [change.name for change in changes(declaration) if change.declared]
    return not changed & (operands | {quotient}) and not operands & set(begun)


def _unsigned(node: Node, types: set[str]) -> str:
    left, right = child_of(node, "left"), child_of(node, "right")
    text = f"{_as_unsigned(left)} {text_of(child_of(node, 'operator'))} {_as_unsigned(right)}"
    kinds = types - _UNSIGNED_32
    result = "int" if kinds <= _NARROW else next(iter(sorted(kinds - _NARROW)), "int")
    return text if _is_initializer(node) else f"static_cast<{result}>({text})"


def _as_unsigned(node: Node) -> str:
    if node.type == "number_literal":
        return text_of(node).rstrip("uUlL") + "u"
    return f"static_cast<unsigned>({text_of(bare(node))})"


def _is_initializer(node: Node) -> bool:
    """True where the value, which is below 2^31, is converted to an integer type anyway."""
    declarator = node.parent
    declaration = (
        declarator.parent if declarator is not None and declarator.type == "init_declarator" else None
    )
    kind = declaration.child_by_field_name("type") if declaration is not None else None
    return kind is not None and text_of(kind) in INTEGER_TYPES


def _is_right_side(node: Node) -> bool:
    parent = node.parent
    return parent is not None and sets(parent) and child_of(parent, "right").id == node.id


def _grouped(node: Node) -> str:
    simple = node.type in ("identifier", "number_literal", "field_expression", "parenthesized_expression")
    return text_of(node) if simple else f"({text_of(node)})"


def _inside(node: Node, splices: list[Splice]) -> bool:
    return any(s.start <= node.start_byte and node.end_byte <= s.end for s in splices)
