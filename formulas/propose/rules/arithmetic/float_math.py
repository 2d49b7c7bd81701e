"""precision: float data, but literals of type double, so that the compiler computes in double precision.

Appends `f` to the literals, converts the file's double constants, and calls the float function where an integer
argument picks the double one. Needs a kernel that never asks for `double` itself, and values that stay floats: what
is turned into an integer keeps its precision. Results are rounded differently.
"""

from __future__ import annotations

import re

from tree_sitter import Node

from hipscope.analysis.source.nodes import ancestors, arguments_of, called, child_of, names_in, text_of, walk
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import FileSyntax, KernelSyntax
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Advice, Answer
from hipscope.formulas.propose.rule import edited, rewrite
from hipscope.formulas.propose.rules.shared.arithmetic_types import roundings
from hipscope.formulas.propose.rules.shared.edit_helpers import INTEGER_TYPES, declared_type
from hipscope.formulas.propose.splice import Splice

NAME = "float_math"

_FLOAT_MAX, _FLOAT_MIN = 3.4e38, 1.2e-38
_MATH_CONSTANTS = frozenset(
    {"M_PI", "M_PI_2", "M_PI_4", "M_1_PI", "M_2_PI", "M_E", "M_LN2", "M_SQRT2", "M_SQRT1_2"}
)
_MIXED = {name: f"{name}f" for name in ("pow", "fmax", "fmin", "fmod", "atan2", "hypot", "fdim", "copysign")}


@rewrite("float_math", "Arithmetic", "precision", function=True, rank=51)
def propose(source: bytes, kernel: KernelSyntax, facts: LaunchFacts) -> Answer:
    """`f` on literals, float constants and functions.

    Needs: a kernel without `double` in its text; values that become integers keep their precision.
    Results: rounded to float at each step.
    """
    file = parse(source)
    definition = kernel.body_node.parent
    for node in walk(definition if definition is not None else kernel.body_node):
        if node.type == "primitive_type" and text_of(node) == "double":
            return f"the kernel asks for `double` itself, on line {node.start_point.row + 1}"
    splices: list[Splice] = []
    kept: list[str] = []
    for node in walk(kernel.body_node):
        replacement = _replacement(node, kernel, file)
        if replacement is None:
            continue
        where = f"`{text_of(node)}` on line {node.start_point.row + 1}"
        if not _representable(node):
            kept.append(f"{where} is no float")
        elif (reason := _becomes_integer(node, kernel)) is not None:
            kept.append(f"{where} {reason}")
        else:
            splices.append(Splice(node.start_byte, node.end_byte, replacement.encode()))
    if not splices:
        if (helper := _helper_with_doubles(kernel, file)) is not None:
            return Advice(
                NAME,
                f"Write the literals in `{helper}` as floats (`0.5f`)",
                f"`{helper}` is none of the functions that may be rewritten for the kernel",
            )
        return "; ".join(kept) if kept else "the kernel has no literal or constant of type double"
    return edited(
        source,
        splices,
        title="Compute in float: literals with `f`",
        expected=(
            "No double-precision instructions are left where the data are float; results are rounded to float "
            "at each step, so they are not the same bit for bit."
        ),
        exact=False,
        terms=roundings(kernel),
    )


def is_double_literal(node: Node) -> bool:
    """`1.0`, `1e-3`, `.5`, `0x1p3`, without a suffix."""
    text = text_of(node).lower().replace("'", "")
    if node.type != "number_literal":
        return False
    if text.startswith("0x"):
        return "p" in text and not text.endswith(("f", "l"))
    return re.fullmatch(r"(\d+\.\d*|\.\d+)(e[+-]?\d+)?|\d+e[+-]?\d+", text) is not None


def _replacement(node: Node, kernel: KernelSyntax, file: FileSyntax) -> str | None:
    """The float form of a literal, a constant of the file or a function's name; None for anything else."""
    if is_double_literal(node):
        return text_of(node) + "f"
    if node.type != "identifier":
        return None
    name = text_of(node)
    value = file.constants.get(name)
    doubles = value is not None and any(is_double_literal(n) for n in walk(value)) and _is_double(name, file)
    if doubles or (name in _MATH_CONSTANTS and value is None):
        return f"static_cast<float>({name})" if declared_type(name, kernel) is None else None
    call = node.parent
    is_function = (
        call is not None and call.type == "call_expression" and child_of(call, "function").id == node.id
    )
    mixed = is_function and call is not None and _picks_double(arguments_of(call), kernel)
    return _MIXED.get(name) if mixed else None


def _is_double(name: str, file: FileSyntax) -> bool:
    """False for a constant that is declared with another type, as in `constexpr float k = 0.5;`."""
    value = file.constants[name]
    around = value.parent
    while around is not None and around.type != "declaration":
        around = around.parent
    kind = around.child_by_field_name("type") if around is not None else None
    # A define's value was parsed inside a declaration of its own (`int x = value;`), which says nothing.
    own = around is not None and name in names_in(around)
    return not own or kind is None or text_of(kind) in ("double", "auto")


def _picks_double(arguments: tuple[Node, ...], kernel: KernelSyntax) -> bool:
    """An integer beside a float: the overload is the double one."""
    kinds = [_kind(a, kernel) for a in arguments]
    return "integer" in kinds and "float" in kinds


def _kind(node: Node, kernel: KernelSyntax) -> str:
    if node.type == "number_literal":
        return "integer" if re.fullmatch(r"\d+[uUlL]*", text_of(node)) else "float"
    kinds = {declared_type(n, kernel) for n in names_in(node)}
    if node.type == "identifier" and kinds <= INTEGER_TYPES:
        return "integer"
    return "float" if "float" in kinds else "unknown"


def _representable(node: Node) -> bool:
    """Whether the value has a float of about the same size; constants and functions are taken to have one."""
    if node.type != "number_literal":
        return True
    text = text_of(node).replace("'", "")
    value = abs(float.fromhex(text) if text.lower().startswith("0x") else float(text))
    return value == 0 or _FLOAT_MIN <= value <= _FLOAT_MAX


def _becomes_integer(node: Node, kernel: KernelSyntax) -> str | None:
    """Why the value decides an integer, where another rounding is another result; None when it does not."""
    for outer in ancestors(node, kernel.body_node):
        if outer.type == "cast_expression" and text_of(child_of(outer, "type")) in INTEGER_TYPES:
            return "is turned into an integer"
        if outer.type == "call_expression":
            head = text_of(child_of(outer, "function"))
            if re.match(
                r"(static_cast\s*<\s*(unsigned|int|long|size_t|u?int\d+_t)|__float2|__double2|l?lrint|l?lround)",
                head,
            ):
                return "is turned into an integer"
            if called(outer) in ("int", "unsigned", "size_t"):
                return "is turned into an integer"
        if outer.type == "subscript_argument_list":
            return "is part of an index"
        if outer.type == "declaration":
            kind = outer.child_by_field_name("type")
            return "becomes an integer" if kind is not None and text_of(kind) in INTEGER_TYPES else None
        if outer.type == "assignment_expression":
            left = child_of(outer, "left")
            if left.type == "identifier" and declared_type(text_of(left), kernel) in INTEGER_TYPES:
                return "becomes an integer"
        if outer.type.endswith("_statement"):
            return None
    return None


def _helper_with_doubles(kernel: KernelSyntax, file: FileSyntax) -> str | None:
    """A function of the file that the kernel calls and that has double literals."""
    calls = {called(n) for n in walk(kernel.body_node)}
    for node in walk(file.root):
        if node.type == "function_definition":
            name = next(
                (text_of(n) for n in walk(child_of(node, "declarator")) if n.type == "identifier"), ""
            )
            if name in calls and any(is_double_literal(n) for n in walk(child_of(node, "body"))):
                return name
    return None
