"""Which values may differ between the threads of a workgroup, and which code not all of them reach.

Takes the body of a kernel, gives names and reasons. Cautious: what may differ counts as different.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from tree_sitter import Node

from hipscope.analysis.source.nodes import (
    BARRIERS,
    LOOPS,
    ancestors,
    called,
    child_of,
    declarations_in,
    declared_name,
    squeeze,
    text_of,
    walk,
)

Uses = frozenset[tuple[str, int]]
"""Uses of variables: their names, and the bytes that they begin at."""

_THREAD_SOURCES = frozenset(
    {
        "threadIdx",
        "hipThreadIdx_x",
        "hipThreadIdx_y",
        "hipThreadIdx_z",
        "__lane_id",
        "__builtin_amdgcn_mbcnt_lo",
    }
)
_UNIFORM_CALLS = BARRIERS | frozenset(
    {"min", "max", "abs", "fabsf", "fabs", "sqrtf", "sqrt", "int", "float", "double", "unsigned", "size_t"}
)


@dataclass(frozen=True)
class ThreadVariables:
    """`names` of variables whose value may differ between the threads of a workgroup.

    `uniform` are the uses of such a name that mean another variable, which is the same for all threads.
    """

    names: frozenset[str]
    uniform: Uses


def thread_variables(body: Node, known: frozenset[str] = frozenset()) -> ThreadVariables:
    """What may differ between threads (flow-insensitive, so rather too much). `known` are names that do to begin with.

    A counter `i` of two loops is two variables.
    """
    scopes = _scopes(body, known)
    uses: dict[str, list[tuple[int, tuple[str, int]]]] = {}
    for node in walk(body):
        if node.type == "identifier" and (name := text_of(node)) in scopes:
            uses.setdefault(name, []).append((node.start_byte, _variable(node, scopes)))
    names = set(known)
    uniform: set[tuple[str, int]] = set()
    differing: set[tuple[str, int]] = set()
    definitions = [(node, *found) for node in walk(body) if (found := _definition(node))[0] is not None]
    changed = True
    while changed:
        changed = False
        for node, target, value in definitions:
            assert target is not None
            if (variable := _variable(target, scopes)) in differing or (name := variable[0]) in known:
                continue
            reasons = value is not None and thread_dependent(value, names, uniform)
            if reasons or _condition_around(node, body, names, uniform) is not None:
                of_name = uses.get(name, ())
                uniform |= {(name, at) for at, _ in of_name if name not in names}
                uniform -= {(name, at) for at, used in of_name if used == variable}
                differing.add(variable)
                names.add(name)
                changed = True
    return ThreadVariables(frozenset(names), frozenset(uniform))


def _scopes(body: Node, known: frozenset[str]) -> Mapping[str, Sequence[tuple[int, int]]]:
    """Where each variable of a name is seen, of names that the body declares: from its declaration to its block's end.

    Without names that are declared in other ways than by statements, as parameters of a lambda are.
    """
    found: dict[str, list[tuple[int, int]]] = {}
    other = set(known)
    for node in walk(body):
        if node.type in ("parameter_declaration", "for_range_loop", "structured_binding_declarator"):
            other |= {text_of(n) for n in walk(node) if n.type == "identifier"}
    for name, _, declaration in declarations_in(body):
        block = declaration.parent
        if block is None or block.type not in ("compound_statement", "for_statement"):
            other.add(name)
        else:
            found.setdefault(name, []).append((declaration.start_byte, block.end_byte))
    return {name: listed for name, listed in found.items() if name not in other}


def _variable(node: Node, scopes: Mapping[str, Sequence[tuple[int, int]]]) -> tuple[str, int]:
    """The name, and where the variable is declared that it means there; -1 for one from outside of the body."""
    name, at = text_of(node), node.start_byte
    return name, max((begin for begin, end in scopes.get(name, ()) if begin <= at < end), default=-1)


def thread_dependent(
    expression: Node, dependent: AbstractSet[str], uniform: AbstractSet[tuple[str, int]] = frozenset()
) -> bool:
    """True when the expression's value may differ between threads of one workgroup; `uniform` as in ThreadVariables."""
    for node in walk(expression):
        if node.type == "identifier":
            name = text_of(node)
            if name in _THREAD_SOURCES or (name in dependent and (name, node.start_byte) not in uniform):
                return True
        if node.type == "call_expression":
            function = called(node)
            if function is None or (function not in _UNIFORM_CALLS and not function.startswith("hipBlock")):
                return True
    return False


def _definition(node: Node) -> tuple[Node | None, Node | None]:
    """(variable, value) for a declaration with a value, an assignment, or an increment; else (None, None)."""
    if node.type == "init_declarator":
        return declared_name(child_of(node, "declarator")), node.child_by_field_name("value")
    if node.type == "assignment_expression":
        left = child_of(node, "left")
        return next((n for n in walk(left) if n.type == "identifier"), None), node.child_by_field_name(
            "right"
        )
    if node.type == "update_expression":
        return declared_name(node), None
    return None, None


def _condition_around(
    node: Node, body: Node, dependent: AbstractSet[str], uniform: AbstractSet[tuple[str, int]]
) -> Node | None:
    """The innermost thread-dependent condition that decides whether `node` runs."""
    child = node
    for outer in ancestors(node, body):
        condition = outer.child_by_field_name("condition")
        if condition is not None and condition.id != child.id and outer.type not in ("do_statement",):
            initialises = outer.type == "for_statement" and child_of(outer, "initializer").id == child.id
            if not initialises and thread_dependent(condition, dependent, uniform):
                return condition
        child = outer
    return None


@dataclass(frozen=True)
class Divergence:
    """Why not every thread of a workgroup may reach a place equally often: it stands under `condition`, or threads may
    have left under it by `word` (`return`, `break`, `continue`). `sentence` says so.
    """

    sentence: str
    condition: str
    word: str = ""


def divergence(
    barrier: Node,
    body: Node,
    dependent: AbstractSet[str],
    uniform: AbstractSet[tuple[str, int]] = frozenset(),
) -> Divergence | None:
    """Why not every thread of the workgroup may reach this barrier equally often, or None."""
    if (condition := _condition_around(barrier, body, dependent, uniform)) is not None:
        text = squeeze(text_of(condition))
        return Divergence(f"it stands under the thread-dependent condition `{text}`", text)
    enclosing = {n.id for n in ancestors(barrier, body) if n.type in LOOPS}
    for node in walk(body):
        leaves = node.type == "return_statement" and node.start_byte < barrier.start_byte
        if node.type in ("break_statement", "continue_statement"):
            loop = next((a for a in ancestors(node, body) if a.type in LOOPS), None)
            leaves = loop is not None and loop.id in enclosing
        if leaves and (condition := _condition_around(node, body, dependent, uniform)) is not None:
            word = text_of(node).rstrip(";").split()[0]
            sentence = f"threads may have left by the `{word}` on line {node.start_point.row + 1}"
            return Divergence(sentence, squeeze(text_of(condition)), word)
    return None
