"""What a region of code changes, and whether other work-items may see it: one answer for all rules.

Takes a syntax node, gives the names that may hold something else behind it: by assignment, reference, pointer, alias,
macro, inline assembly, lambda, or in a function that it calls. What is not known to keep a name counts as a change.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from tree_sitter import Node

from hipscope.analysis.builtins import is_a, method_is_a
from hipscope.analysis.source.functions import reaching
from hipscope.analysis.source.nodes import (
    LOOPS,
    PUBLISHING,
    PUBLISHING_CALLS,
    TOGETHER,
    VOLATILE,
    ancestors,
    arguments_of,
    called,
    child_of,
    code_of,
    declared_name,
    joins,
    names_in,
    text_of,
    walk,
)
from hipscope.analysis.source.syntax import KernelSyntax, Subscript

_BY_VALUE = (
    "math", "converts", "lanes", "lane_number", "barrier", "other_barrier", "fence", "sleep", "keeps_arguments",
    "output",
)  # fmt: skip
_MEMORY = ("atomic", "ordered_atomic", "copies", "uncached")
_INSIDE = ("subscript_expression", "field_expression", "cast_expression", "parenthesized_expression")
# A change, an address that is taken, or assembly in the text of a macro.
_MUTATES = re.compile(r"\+\+|--|(?<![=!<>])=(?!=)|(?:^|[(,=!|<>+*/?:{;-]|return)\s*&(?!&)|\basm\b|__asm")
_READS = ("subscript_expression", "pointer_expression")
_SHARED = ("__shared__", "HIP_DYNAMIC_SHARED")
_ASSIGNS = ("assignment_expression", "init_declarator")
_WORD = re.compile(r"[A-Za-z_]\w*")


class Change(NamedTuple):
    """A name that may hold something else; `declared` where that is because another variable begins here.

    `through`: not the variable changes, but what lies in memory behind it, a pointer or an array in LDS.
    """

    name: str
    declared: bool = False
    through: bool = False


def changed_names(*regions: Node, known: Set[int] = frozenset()) -> frozenset[str]:
    """The names that regions declare or may change. Calls with `known` ids are values or elements, which keep names."""
    return frozenset(change.name for region in regions for change in changes(region, known))


def reassigned_names(*regions: Node) -> frozenset[str]:
    """The same without names that only begin there."""
    return frozenset(change.name for region in regions for change in changes(region) if not change.declared)


def variables_set(region: Node, known: Set[int] = frozenset()) -> frozenset[str]:
    """The variables that a region may change, not those that begin there, nor memory behind a pointer or in LDS."""
    return frozenset(c.name for c in changes(region, known) if not c.declared and not c.through)


def seen_through(kernel: KernelSyntax) -> frozenset[int]:
    """The calls and elements of a kernel that are known to be values, or places in memory that it is given."""
    views = (s.node.id for s in kernel.subscripts if s.node.type == "call_expression" or _is_view(s))
    return frozenset(kernel.through.meanings) | frozenset(views)


def _is_view(subscript: Subscript) -> bool:
    """Whether brackets are an operator that leads on to memory: `m[i]` that stands for `m.data[i]`."""
    return not places_of(subscript.node) & {subscript.base, subscript.base.partition(".")[0]} or (
        "." in subscript.base and subscript.base not in text_of(subscript.node)
    )


def changes(region: Node, known: Set[int] = frozenset()) -> Iterator[Change]:
    """Each change of a name in a region, in the order of the text; one that an alias shares stands behind its own."""
    function = _function_of(region)
    for node in walk(region):
        for change in _changes_at(node, function, known):
            yield change
            if not change.declared:
                yield from function.shared_by(change)


def changed_once_declared(kernel: KernelSyntax) -> frozenset[str]:
    """The variables that may change behind their declaration, and names that stand for two variables."""
    listed = [*changes(kernel.body_node, seen_through(kernel))]
    begun = Counter(
        [change.name for change in listed if change.declared] + [p.name for p in kernel.parameters]
    )
    found = {change.name for change in listed if not change.declared and not change.through}
    return frozenset(found | {name for name, times in begun.items() if times > 1})


def unsteady_names(kernel: KernelSyntax) -> frozenset[str]:
    """The names that may change where they do not stand: references and what these stand for, what a pointer leads to,
    what a lambda changes, members of the object, and what other work-items or signals may change.
    """
    function = _function_of(kernel.body_node)
    found = {p.name for p in kernel.parameters if re.search(r"&|\bvolatile\b", p.type)} | kernel.state
    found |= {array.name for array in kernel.shared if not array.dimensions}
    return frozenset(found | function.same.keys() | function.leads.keys() | function.escaped | function.apart)


def places_of(expression: Node) -> frozenset[str]:
    """The variables that an expression is, or is a part of: `a` of `a.x[i]`, both of `c ? a : b`. No value has any."""
    kind = expression.type
    if kind == "identifier":
        return frozenset({text_of(expression)})
    if kind == "subscript_expression" or kind == "field_expression":
        return places_of(child_of(expression, "argument"))
    if kind == "parenthesized_expression" or kind == "initializer_list" or kind == "argument_list":
        return frozenset().union(*map(places_of, expression.named_children))
    if kind == "conditional_expression":
        return places_of(child_of(expression, "consequence")) | places_of(child_of(expression, "alternative"))
    if kind == "comma_expression":
        return places_of(child_of(expression, "left")) | places_of(child_of(expression, "right"))
    if kind == "assignment_expression":
        return places_of(child_of(expression, "left"))
    if kind == "update_expression":
        return places_of(child_of(expression, "argument"))
    if kind == "cast_expression":
        return places_of(child_of(expression, "value"))
    if kind == "pointer_expression":
        inner = child_of(expression, "argument")
        return places_of(inner) if inner.type != "binary_expression" else names_in(inner)
    if kind == "qualified_identifier":
        return names_in(expression)
    if kind == "call_expression" and not is_a(called(expression) or "", "math", "converts"):
        return names_in(child_of(expression, "arguments"))
    return frozenset()


def publishes(region: Node, kernel: KernelSyntax, until: int | None = None) -> str:
    """The first word by which others may see the memory or wait for it in a region up to a byte, or in what it calls
    there; "" without.
    """
    end = region.end_byte if until is None else until
    code = code_of(region, end)
    for assembly in (n for n in walk(region) if n.type == "gnu_asm_expression" and _computes(n)):
        code = code.replace(code_of(assembly), " ")
    if (word := PUBLISHING.search(code)) is not None:
        return word[0].strip("(. ")
    named = _called_in(region, end)
    function = _function_of(region)
    if reached := sorted(named & (kernel.through.publishing | function.file.publishing)):
        return reached[0]
    if reached := sorted(named & (kernel.through.volatile | function.file.volatile)):
        elsewhere = (c for c in walk(region) if c.type == "call_expression" and not _on_lds(c, function))
        if found := next((name for c in elsewhere if (name := called(c) or "") in reached), ""):
            return found
    used = names_in(region)
    shared = (p for p in kernel.parameters if p.name in used and PUBLISHING.search(p.type))
    return next((PUBLISHING.findall(p.type)[0] for p in shared), "")


def _computes(assembly: Node) -> bool:
    """Whether assembly only computes its operands: vector instructions of AMD GPUs, moves of others, no memory."""
    code = text_of(child_of(assembly, "assembly_code"))
    lines = (line.strip(' "') for line in re.split(r"\\n|[;\n]", code))
    return '"memory"' not in text_of(assembly) and all(re.match(r"v_|mov\.|$", line) for line in lines)


def _on_lds(call: Node, function: _Function) -> bool:
    """Whether a call is given arrays in LDS and numbers: nothing that other workgroups see."""
    given = frozenset().union(*(places_of(a) for a in arguments_of(call)))
    return bool(given & function.named.shared) and not given & function.named.pointers


def waits_together(region: Node, kernel: KernelSyntax) -> str:
    """The first word by which lanes or waves wait for each other or exchange something in a region; "" without."""
    if (word := TOGETHER.search(code_of(region))) is not None:
        return word[0].strip("(. ")
    return next(iter(sorted(_called_in(region, region.end_byte) & kernel.through.together)), "")


def _called_in(region: Node, end: int) -> set[str]:
    """The functions, methods and macros that are named before a byte: no variables of the function."""
    own = _function_of(region).named.declared
    found = {text_of(n) for n in walk(region) if n.type == "field_identifier" and n.start_byte < end}
    return found | {
        text_of(n)
        for n in walk(region)
        if n.type == "identifier" and n.start_byte < end and text_of(n) not in own
    }


def spinning_loop(kernel: KernelSyntax) -> Node | None:
    """A loop that ends when others have changed memory: no step moves what its conditions read."""
    loops = (n for n in walk(kernel.body_node) if n.type in LOOPS and n.type != "for_range_loop")
    return next((loop for loop in loops if _spins(loop)), None)


def relies_on_others(kernel: KernelSyntax) -> str:
    """Why the workgroups of a launch may depend on each other's order, as the end of "the kernel uses"; "" if not."""
    if word := publishes(kernel.body_node, kernel):
        return f"`{word}`"
    if any(PUBLISHING.search(p.type) for p in kernel.parameters):
        return "`volatile` memory or an atomic type"
    loop = spinning_loop(kernel)
    return (
        "" if loop is None else f"a loop on line {loop.start_point.row + 1} that waits for memory to change"
    )


# -- changes of one node


def _changes_at(node: Node, function: _Function, known: Set[int]) -> Iterator[Change]:
    kind = node.type
    if kind == "assignment_expression":
        left = child_of(node, "left")
        if left.id not in known:
            yield from _stored(left, function)
    elif kind == "update_expression" or (kind == "pointer_expression" and text_of(node).startswith("&")):
        yield from _stored(child_of(node, "argument"), function)
    elif kind == "call_expression":
        if node.id not in known:
            yield from _changed_by_call(node, function)
    elif kind == "declaration":
        for declarator in node.children_by_field_name("declarator"):
            yield from (Change(name, declared=True) for name in _declared(declarator))
    elif kind == "for_range_loop":
        yield from (Change(name, declared=True) for name in _declared(child_of(node, "declarator")))
    elif kind == "gnu_asm_expression":
        for output in (n for n in walk(node) if n.type == "gnu_asm_output_operand"):
            yield from _stored(child_of(output, "value"), function)
        if "memory" in text_of(node):
            yield from map(Change, function.escaped)
    elif kind == "identifier" and (node.parent is None or node.parent.type != "call_expression"):
        yield from map(Change, _changed_by_macro(function.file.macros.get(text_of(node), ()), function))


def _declared(declarator: Node) -> Iterator[str]:
    if declarator.type == "init_declarator":
        declarator = child_of(declarator, "declarator")
    bindings = next((n for n in walk(declarator) if n.type == "structured_binding_declarator"), None)
    if bindings is not None:
        yield from (text_of(n) for n in bindings.named_children if n.type == "identifier")
    elif (name := declared_name(declarator)) is not None:
        yield text_of(name)


def _stored(target: Node, function: _Function) -> Iterator[Change]:
    """What a store to an expression changes; through a pointer of unknown origin all that pointers may lead to."""
    found, named = places_of(target), function.named
    if _is_behind(target, only_pointers=True):
        if not found & (named.parameters | named.arrays | function.leads.keys()):
            yield from map(Change, function.escaped)
        found = found & (named.memory | named.arrays) or found  # of `*(p + i)` the pointer, not the index
    behind = _is_behind(target) and (found <= named.memory or _is_member(target, function.file))
    yield from (Change(name, through=behind) for name in found)


def _is_member(target: Node, file: _File) -> bool:
    """Whether brackets stand behind a member of a structure that is no array in this file: a pointer to memory."""
    while target.type in _INSIDE:
        inner = target.child_by_field_name("argument") or target.named_children[0]
        if target.type == "subscript_expression" and inner.type == "field_expression":
            return text_of(child_of(inner, "field")) not in file.array_members
        target = inner
    return False


def _is_behind(target: Node, *, only_pointers: bool = False) -> bool:
    """Whether a place is reached by brackets, `*` or `->`."""
    while target.type in _INSIDE or target.type == "pointer_expression":
        indirect = target.type == "pointer_expression" or "->" in (c.type for c in target.children)
        if indirect or (target.type == "subscript_expression" and not only_pointers):
            return True
        inner = target.child_by_field_name("argument") or target.child_by_field_name("value")
        target = inner if inner is not None else target.named_children[0]
    return False


def _changed_by_call(call: Node, function: _Function) -> Iterator[Change]:
    target, name, arguments = child_of(call, "function"), called(call) or "", arguments_of(call)
    plain = name.rpartition("::")[2]
    if target.type == "field_expression":
        if not method_is_a(text_of(child_of(target, "field")), "lanes", "barrier", "other_barrier"):
            yield from map(
                Change,
                places_of(child_of(target, "argument"))
                | _given(arguments, function.named)
                | function.escaped,
            )
    elif (macros := function.file.macros.get(plain)) is not None:
        yield from map(Change, _changed_by_macro(macros, function, arguments))
    elif (lambdas := function.lambdas.get(name)) is not None:
        yield from (c for one in lambdas for c in changes(child_of(one, "body")))
        yield from _by_reference(lambdas, arguments, function)
    elif target.type == "primitive_type" or text_of(target).startswith("static_cast"):
        return
    elif (defined := function.file.functions.get(plain)) is not None:
        yield from _by_reference(defined, arguments, function)
        yield from map(Change, _of_the_file(plain, function.file))
    elif is_a(name, *_MEMORY):
        moved = arguments[:2] if is_a(name, "uncached") else arguments[:1]
        yield from (
            Change(name, through=name in function.named.memory) for name in _given(moved, function.named)
        )
    elif is_a(name, "by_reference"):
        yield from map(Change, _given(arguments, function.named))
    elif not is_a(name, *_BY_VALUE):
        yield from map(Change, _given(arguments, function.named) | function.escaped)


def _given(arguments: Iterable[Node], named: _Named) -> frozenset[str]:
    """The variables that a callee may change if it takes its arguments by reference or as pointers."""
    found: frozenset[str] = frozenset()
    for argument in arguments:
        if joins(argument, "+", "-"):
            sides = places_of(child_of(argument, "left")) | places_of(child_of(argument, "right"))
            found |= sides & (named.memory | named.arrays)
        elif not text_of(argument).startswith("&"):  # an address is a change where it is taken
            found |= places_of(argument)
    return found


def _by_reference(
    callees: Iterable[Node], arguments: tuple[Node, ...], function: _Function
) -> Iterator[Change]:
    """The arguments that one of these functions or lambdas takes by a reference or pointer to what it may change."""
    for callee in callees:
        listed = next((n for n in walk(child_of(callee, "declarator")) if n.type == "parameter_list"), None)
        parameters = [c for c in listed.named_children if c.type != "comment"] if listed is not None else []
        for number, argument in enumerate(arguments):
            parameter = parameters[number] if number < len(parameters) else None
            if parameter is None or _may_change(parameter):
                behind = parameter is not None and "&" not in text_of(parameter)
                memory = function.named.memory if behind else frozenset[str]()
                yield from (
                    Change(name, through=name in memory) for name in _given([argument], function.named)
                )


def _may_change(parameter: Node) -> bool:
    text = text_of(parameter).partition("=")[0]
    indirect = re.search(r"[&*\[]|\.\.\.", text) is not None or parameter.type.startswith("variadic")
    return indirect and (re.search(r"\bconst\b", text) is None or text.count("*") + text.count("&") > 1)


def _changed_by_macro(
    macros: Iterable[Node], function: _Function, arguments: tuple[Node, ...] = ()
) -> frozenset[str]:
    """What a macro of the file changes: nothing where it only computes, else all that it may name."""
    found: frozenset[str] = frozenset()
    texts, seen = [*macros], set[int]()
    while texts:
        macro = texts.pop()
        value = macro.child_by_field_name("value")
        if macro.id in seen or value is None:
            continue
        seen.add(macro.id)
        text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text_of(value))
        inner = _WORD.findall(text)
        texts += [other for word in inner for other in function.file.macros.get(word, ())]
        calls = set(re.findall(r"([A-Za-z_]\w*)\s*(?:<[^;()]*>)?\s*\(", text))
        plain = all(
            is_a(word, *_BY_VALUE) or word in function.file.macros or word in _KEYWORDS for word in calls
        )
        if _MUTATES.search(text) or not plain:
            found |= frozenset(inner) | _given(arguments, function.named) | names_of_all(arguments)
    return found


_KEYWORDS = frozenset({"if", "for", "while", "switch", "return", "sizeof", "defined"})


def names_of_all(nodes: Iterable[Node]) -> frozenset[str]:
    """The names in several expressions."""
    return frozenset(name for node in nodes for name in names_in(node))


# -- what the function and the file around a region declare


@dataclass(frozen=True)
class _File:
    """The functions with a body and the macros of one text, by name; `publishing` are those that reach such a word.

    `array_members` are members of structures that hold their elements themselves.
    """

    functions: Mapping[str, tuple[Node, ...]]
    macros: Mapping[str, tuple[Node, ...]]
    publishing: frozenset[str]
    volatile: frozenset[str]
    array_members: frozenset[str]


@dataclass(frozen=True)
class _Function:
    """The function around a region. `same` are references with the other names of what they stand for, `leads` pointers
    and the variables that they may lead to; `escaped` is all that pointers may lead to.

    `apart` are variables that change without a statement of it: volatile and static ones, and what its lambdas change.
    """

    file: _File
    named: _Named
    same: Mapping[str, frozenset[str]]
    leads: Mapping[str, frozenset[str]]
    escaped: frozenset[str]
    lambdas: Mapping[str, tuple[Node, ...]]
    apart: frozenset[str]

    def shared_by(self, change: Change) -> Iterator[Change]:
        """The same change under the other names of the place."""
        yield from (Change(name, through=change.through) for name in sorted(self.same.get(change.name, ())))
        around = change.through or change.name not in self.named.memory
        for name in sorted(self.leads.get(change.name, ())) if around else ():
            yield Change(name, through=name in self.named.memory)


def _function_of(region: Node) -> _Function:
    around, outer = region, region.parent
    while outer is not None:
        if outer.type in ("function_definition", "translation_unit"):
            around = outer if outer.type == "function_definition" else around
        outer = outer.parent
    return _read_function(around)


@functools.lru_cache(maxsize=64)
def _read_function(function: Node) -> _Function:
    root = function
    while root.parent is not None:
        root = root.parent
    named = _Named.read(function)
    same: list[_Pair] = []
    leads: list[_Pair] = []
    escaped, apart = set[str](), set[str]()
    lambdas: dict[str, list[Node]] = {}
    for node in walk(function):
        same += _bound(node)
        leads += _leading(node, named)
        if node.type == "pointer_expression":
            behind = _is_behind(
                child_of(node, "argument")
            )  # `&p->x` lies where `p` leads, and is not the variable `p`
            escaped |= named.address_of(node) - (named.pointers if behind else frozenset())
        elif node.type == "lambda_expression":
            changed = _changed_inside(node)
            escaped, apart = escaped | changed, apart | changed
        elif node.type == "declaration" and any(text_of(c) in ("volatile", "static") for c in node.children):
            apart |= {name for d in node.children_by_field_name("declarator") for name in _declared(d)}
        elif node.type == "init_declarator" and child_of(node, "value").type == "lambda_expression":
            for name in _declared(node):
                lambdas.setdefault(name, []).append(child_of(node, "value"))
    return _Function(
        _read_file(root),
        named,
        _groups(same),
        _groups(leads),
        frozenset(escaped),
        {name: tuple(found) for name, found in lambdas.items()},
        frozenset(apart),
    )


_Pair = tuple[frozenset[str], frozenset[str]]


@dataclass(frozen=True)
class _Named:
    """The names of a function by what they are declared as; `shared` are arrays in LDS, `arrays` others."""

    parameters: frozenset[str]
    arrays: frozenset[str]
    pointers: frozenset[str]
    shared: frozenset[str]
    declared: frozenset[str]

    @property
    def memory(self) -> frozenset[str]:
        """The names whose elements are memory, not a part of the variable."""
        return self.pointers | self.shared

    @staticmethod
    def read(function: Node) -> _Named:
        """Those of all blocks together; a name for an array and a pointer counts as both."""
        parameters, arrays, pointers, shared, declared = (set[str]() for _ in range(5))
        for node in walk(function):
            if node.type == "parameter_declaration":
                named = declared_name(child_of(node, "declarator"))
                if named is not None:
                    parameters.add(text_of(named))
                    pointers |= {text_of(named)} if re.search(r"[*\[]", text_of(node)) else set()
            elif node.type == "declaration":
                listed = [*node.children_by_field_name("declarator")]
                is_shared = any(
                    "shared" in text_of(c).lower() for c in node.children if c.type != "init_declarator"
                )
                for declarator in listed:
                    declared |= set(_declared(declarator))
                    kinds = {n.type for n in _heads(declarator)}
                    value = declarator.child_by_field_name("value")
                    is_auto = text_of(child_of(node, "type")).endswith("auto")
                    taken = value is not None and is_auto and text_of(value).startswith("&")
                    into = shared if is_shared else arrays if "array_declarator" in kinds else pointers
                    if kinds & {"array_declarator", "pointer_declarator"} or taken:
                        into |= set(_declared(declarator))
        own = pointers - arrays, shared - arrays, declared | parameters
        return _Named(frozenset(parameters), frozenset(arrays), *map(frozenset, own))

    def address_of(self, expression: Node) -> frozenset[str]:
        """The variables whose address `&x` is; none where a pointer that was given leads to the place."""
        if not text_of(expression).startswith("&"):
            return frozenset()
        place = child_of(expression, "argument")
        return places_of(place) - (self.parameters if _is_behind(place) else frozenset())

    def pointed_to(self, value: Node) -> frozenset[str]:
        """The variables of the function that a value may point to."""
        taken = frozenset[str]().union(
            *(self.address_of(n) for n in walk(value) if n.type == "pointer_expression")
        )
        given = _pointers_in(value) & (self.arrays | self.memory)
        return taken | (given - self.parameters)


def _pointers_in(value: Node) -> frozenset[str]:
    """The names that a value may be a copy of: of `p + i` both, of an element none."""
    if value.type == "identifier":
        return frozenset({text_of(value)})
    if value.type in (
        "binary_expression",
        "parenthesized_expression",
        "conditional_expression",
        "cast_expression",
    ):
        return frozenset().union(*map(_pointers_in, value.named_children))
    return frozenset()


def _heads(declarator: Node) -> Iterator[Node]:
    """The declarators inside a declarator, its value left out."""
    inner: Node | None = declarator
    while inner is not None:
        yield inner
        inner = inner.child_by_field_name("declarator") or next(
            (c for c in inner.named_children if c.type.endswith("declarator")), None
        )


def _changed_inside(node: Node) -> set[str]:
    """The plain changes of variables within a lambda."""
    targets = {"assignment_expression": "left", "update_expression": "argument"}
    return {
        name
        for inner in walk(node)
        if inner.type in targets
        for name in places_of(child_of(inner, targets[inner.type]))
    }


def _bound(node: Node) -> Iterator[_Pair]:
    """A reference, and what it is bound to."""
    if node.type in ("init_declarator", "for_range_loop"):
        declarator = child_of(node, "declarator")
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        kinds = [n.type for n in (declarator, *declarator.children)]
        if "reference_declarator" in kinds and value is not None:
            yield frozenset(_declared(declarator)), places_of(value)
    elif node.type == "reference_declarator" and any(c.type == "function_declarator" for c in node.children):
        listed = [text_of(n) for n in walk(node) if n.type in ("identifier", "type_identifier")]
        yield frozenset(listed[:1]), frozenset(listed[1:])


def _leading(node: Node, named: _Named) -> Iterator[_Pair]:
    """A pointer, or a structure that has one, and the variables that it may lead to."""
    if node.type == "assignment_expression":
        yield places_of(child_of(node, "left")), named.pointed_to(child_of(node, "right"))
    elif node.type == "init_declarator":
        kinds = {n.type for n in _heads(child_of(node, "declarator"))}
        value = node.child_by_field_name("value")
        if value is not None and "reference_declarator" not in kinds:
            yield frozenset(_declared(node)), named.pointed_to(value)


def _groups(pairs: Iterable[_Pair]) -> dict[str, frozenset[str]]:
    """For each name that has another one, all others that lead to its place."""
    found: dict[str, frozenset[str]] = {}
    for names, others in pairs:
        if not names or not others:
            continue
        together = names | others | frozenset().union(*(found.get(n, frozenset()) for n in names | others))
        found |= dict.fromkeys(together, together)
    return {name: group - {name} for name, group in found.items()}


@functools.lru_cache(maxsize=16)
def _read_file(root: Node) -> _File:
    functions: dict[str, list[Node]] = {}
    macros: dict[str, list[Node]] = {}
    members, left = set[str](), [root]
    while left:
        node = left.pop()
        if node.type == "field_declaration":
            members |= {
                text_of(declared)
                for d in walk(node)
                if d.type == "array_declarator" and (declared := declared_name(d))
            }
        elif node.type in ("preproc_function_def", "preproc_def"):
            macros.setdefault(text_of(child_of(node, "name")), []).append(node)
        elif node.type == "function_definition":
            name = declared_name(child_of(node, "declarator"))
            functions.setdefault(text_of(name) if name is not None else "", []).append(node)
        left += node.named_children if node.type != "expression_statement" else ()
    texts = [
        (name, code_of(node))
        for named in (functions, macros)
        for name, found in named.items()
        for node in found
    ]
    return _File(
        {name: tuple(found) for name, found in functions.items()},
        {name: tuple(found) for name, found in macros.items()},
        reaching(texts, PUBLISHING_CALLS, macros.keys()),
        reaching(texts, VOLATILE, macros.keys()),
        frozenset(members),
    )


def _of_the_file(name: str, file: _File) -> frozenset[str]:
    """The names of the file that a function of it may change, those that it calls included."""
    found, left, seen = set[str](), [name], set[str]()
    while left:
        if (name := left.pop()) in seen:
            continue
        seen.add(name)
        for definition in file.functions.get(name, ()):
            own = _Named.read(definition).declared
            found |= _changed_inside(definition) - own
            left += [c.rpartition("::")[2] for n in walk(definition) if (c := called(n)) is not None]
    return frozenset(found)


# -- loops that wait


def _spins(loop: Node) -> bool:
    conditions = [*_ends(loop)]
    if not conditions:
        return False
    moving = _moving(loop)
    watched = [c for c in conditions if not names_in(c) & moving]
    return len(watched) == len(conditions) and any(map(_reads_memory, _sources(watched, loop)))


def _ends(loop: Node) -> Iterator[Node]:
    """The conditions that decide whether a loop goes on: its own, and those of the ways out of it."""
    condition = loop.child_by_field_name("condition")
    if condition is not None and names_in(condition) - {"true"}:
        yield condition
    for node in walk(loop):
        if node.type not in ("break_statement", "return_statement", "goto_statement"):
            continue
        around = list(ancestors(node, loop))
        if node.type == "break_statement" and any(
            a.type in LOOPS or a.type == "switch_statement" for a in around
        ):
            continue
        branches = (a.child_by_field_name("condition") for a in around if a.type == "if_statement")
        yield from (branch for branch in branches if branch is not None)


def _moving(loop: Node) -> frozenset[str]:
    """The names that a step changes by itself, not only by reading memory at a place that stays the same."""
    assigned = [n for n in walk(loop) if n.type in _ASSIGNS]
    reads = [n for n in assigned if _only_reads(n)]
    direct = {n.id for n in reads}
    moving = set(names_of_all(child_of(n, "argument") for n in walk(loop) if n.type == "update_expression"))
    moving |= {name for n in assigned if n.id not in direct for name in _names(n)}
    moving |= {
        name for n in reads for name in _names(n) if name in _sources_of(n, reads)
    }  # it walks along a list
    while more := {name for n in reads if names_in(_value(n)) & moving for name in _names(n)} - moving:
        moving |= more
    return frozenset(moving)


def _sources_of(node: Node, reads: Sequence[Node]) -> frozenset[str]:
    """The names that decide what is read, also by way of other reads."""
    found = names_in(_value(node))
    while more := names_of_all(_value(n) for n in reads if _names(n) & found) - found:
        found |= more
    return found


def _names(node: Node) -> frozenset[str]:
    """The variables that an assignment or a declaration gives a value."""
    left = node.child_by_field_name("left")
    return places_of(left) if left is not None else frozenset(_declared(node))


def _value(node: Node) -> Node:
    return node.child_by_field_name("right") or child_of(node, "value")


def _only_reads(node: Node) -> bool:
    """A plain assignment or declaration of a variable with what is read from memory, or given by a call."""
    operator = node.child_by_field_name("operator")
    target = node.child_by_field_name("left") or child_of(node, "declarator")
    plain = operator is None or text_of(operator) == "="
    return plain and target.type == "identifier" and _reads_memory(_value(node))


def _sources(conditions: Sequence[Node], loop: Node) -> Iterator[Node]:
    """The conditions, and what the variables in them are assigned in the loop."""
    names = names_of_all(conditions)
    yield from conditions
    yield from (_value(n) for n in walk(loop) if n.type in _ASSIGNS and _names(n) & names)


def _reads_memory(expression: Node) -> bool:
    for node in walk(expression):
        if node.type in _READS or (node.type == "field_expression" and "->" in text_of(node)):
            return True
        if node.type == "call_expression" and not is_a(called(node) or "", "math", "converts", "lanes"):
            return True
    return False
